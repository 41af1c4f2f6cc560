"""Rows of a tree of Python lines, made of the stacks that lead to them."""

from collections.abc import Hashable, Iterable
from typing import TypeVar

import numpy as np
import pandas as pd

from nbprof.arrays import NONE
from nbprof.protos.texts import to_utf8
from nbprof.views.tree_nesting import Nesting, visiting_order
from nbprof.views.view import RowLines

Path = tuple[str, ...]
"""The labels from the outermost line to a row."""
Row = TypeVar("Row", bound=Hashable)
"""What stands for a row in a path: a label, or whatever a view needs."""

LONGEST_NAME = 19
"""Longest function name that is not cut, in bytes."""
CUT_NAME = 17
"""Bytes that remain of a function name that is cut."""
NO_LINE = ("", 0)
"""The file and line of a row that has none of its own."""


def place_of(file: str, line: int) -> str:
    """Name a place in a file: `train.py:9`, and `In [3]:9` in a cell."""
    return f"{file.rpartition('/')[2]}:{line}"


def label(file: str, line: int, function: str) -> str:
    """Name a line as tfprof does: `train.py:9:<module>`, and `In [3]:9:<module>` in a cell.

    A line of which only the function is known has its name.
    """
    encoded = to_utf8(function)
    if len(encoded) > LONGEST_NAME:
        function = encoded[:CUT_NAME].decode(errors="replace") + "..."
    return f"{place_of(file, line)}:{function}" if file else function


def labelled(frames: pd.DataFrame) -> pd.DataFrame:
    """Add the label of each frame."""
    labels = list(map(label, frames["file"], frames["line"], frames["function"]))
    return frames.assign(label=pd.Series(labels, frames.index, dtype=object))


def stack_rows(paths: list[tuple[Row, ...]]) -> tuple[list[tuple[Row, ...]], Nesting]:
    """Make a row for each line, with siblings in order of first occurrence."""
    found: dict[tuple[Row, ...], int] = {}
    parent: list[int] = []
    for path in paths:
        if path not in found:
            for end in range(1, len(path) + 1):
                if path[:end] not in found:
                    parent.append(found.get(path[: end - 1], NONE))
                    found[path[:end]] = len(found)
    rows = list(found)
    order, nesting = visiting_order(parent)
    return [rows[row] for row in order.tolist()], nesting


def source_texts(labels: Iterable[str], frames: pd.DataFrame) -> list[str]:
    """Return the source of each line, empty where it is not known."""
    sources = dict(zip(frames["label"], frames["source"], strict=True))
    return [sources.get(text, "") for text in labels]


def row_lines(labels: Iterable[str], frames: pd.DataFrame) -> RowLines:
    """Return the line of each row by its label and, at the end, that of the root: none."""
    places = zip(frames["file"], frames["line"].tolist(), strict=True)
    known = dict(zip(frames["label"], places, strict=True))
    found = [*(known.get(label, NO_LINE) for label in labels), NO_LINE]
    return RowLines(
        np.array([file for file, _ in found], dtype=object),
        np.array([line for _, line in found], dtype=np.int64),
    )
