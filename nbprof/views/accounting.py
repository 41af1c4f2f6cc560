"""Which nodes count: tfprof's regular expressions.

They have RE2's syntax and must match the whole text; each distinct text is matched once.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from nbprof.arrays import Ints, Mask, Names, Rows
from nbprof.options import EVERYTHING

if TYPE_CHECKING:
    from nbprof._profile import Profile


def matches(texts: Sequence[str] | Names, patterns: tuple[str, ...]) -> Mask:
    """Mark the texts that one of the patterns matches."""
    if patterns == EVERYTHING or not patterns:
        return np.full(len(texts), bool(patterns))
    matched = _match_each(set(texts), patterns)
    return np.fromiter(map(matched.__getitem__, texts), np.bool_, len(texts))


def _match_each(texts: Iterable[str], patterns: tuple[str, ...]) -> dict[str, bool]:
    compiled = [_compile(pattern) for pattern in patterns]
    return {text: any(regex.fullmatch(text) for regex in compiled) for text in texts}


@cache
def _compile(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


def weights(profile: "Profile", patterns: tuple[str, ...]) -> Ints:
    """Count for each node how many of the patterns match one of its types.

    tfprof adds a node up once for each pattern that matches it, except for `.*` alone.
    """
    count = len(profile.nodes)
    if patterns == EVERYTHING:
        return np.ones(count, dtype=np.int64)
    names = [name for name in ("op_type", "kernel", "device") if name in profile.nodes]
    columns = [pd.factorize(profile.nodes[name]) for name in names]
    types_of_node = {node: types for node, types in enumerate(profile.types) if types}
    weight = np.zeros(count, dtype=np.int64)
    for pattern in patterns:
        matched = np.zeros(count, dtype=bool)
        for codes, texts in columns:
            # An empty text is no type: no `.` matches a line break.
            matched |= matches([text or "\n" for text in texts], (pattern,))[codes]
        matched[_nodes_with_type(types_of_node, pattern)] = True
        weight += matched
    return weight


def _nodes_with_type(types_of_node: dict[int, Sequence[str]], pattern: str) -> list[int]:
    """Return the nodes with a further type that the pattern matches."""
    matched = _match_each(set().union(*types_of_node.values()), (pattern,))
    return [node for node, types in types_of_node.items() if any(map(matched.__getitem__, types))]


def accounted_rows(count: int, rows: Rows, patterns: tuple[str, ...]) -> Mask:
    """Mark the rows that count: the given ones, or all of them if every type counts."""
    accounted = np.full(count, patterns == EVERYTHING)
    accounted[rows] = True
    return accounted
