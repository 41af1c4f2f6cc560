"""Which nodes count, and which rows show: tfprof's regular expressions.

They are RE2's and must match the whole text; each distinct text is looked at once.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from nbprof.arrays import Mask
from nbprof.options import EVERYTHING

if TYPE_CHECKING:
    from nbprof._profile import Profile


def matches(texts: Sequence[str], patterns: tuple[str, ...]) -> Mask:
    """Tell which texts one of the patterns matches."""
    if patterns == EVERYTHING or not patterns:
        return np.full(len(texts), bool(patterns))
    known = _known(set(texts), patterns)
    return np.fromiter(map(known.__getitem__, texts), np.bool_, len(texts))


def _known(texts: Iterable[str], patterns: tuple[str, ...]) -> dict[str, bool]:
    compiled = [_compile(pattern) for pattern in patterns]
    return {text: any(one.fullmatch(text) for one in compiled) for text in texts}


@cache
def _compile(pattern: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


def weights(profile: "Profile", patterns: tuple[str, ...]) -> npt.NDArray[np.int64]:
    """Count for each node how many of the patterns match one of its types.

    tfprof adds a node up once for each pattern that matches it, but for `.*` alone.
    """
    nodes = profile.nodes
    if patterns == EVERYTHING:
        return np.ones(len(nodes), dtype=np.int64)
    total = np.zeros(len(nodes), dtype=np.int64)
    columns = [pd.factorize(nodes[name]) for name in ("op_type", "device")]
    further = [(row, types) for row, types in enumerate(profile.types) if types]
    for pattern in patterns:
        matched = np.zeros(len(nodes), dtype=bool)
        for codes, texts in columns:
            matched |= matches([text or "\n" for text in texts], (pattern,))[codes]
        known = _known({text for _, types in further for text in types}, (pattern,))
        matched[[row for row, types in further if any(map(known.__getitem__, types))]] = True
        total += matched
    return total
