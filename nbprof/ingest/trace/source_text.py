"""The source lines of Python stacks, looked up right after the cell, before files change."""

import linecache
import re
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from nbprof.capture.capture import Frame, Stack
from nbprof.ingest.trace.python_stacks import is_framework

FRAMES = {
    **{"stack": np.int64, "file": object, "line": np.int64},
    **{"function": object, "source": object, "framework": bool},
}
"""Columns of the table of frames."""
CELLS = {"file": object, "line": np.int64, "text": object}
"""Columns of the table of cells."""

MAGIC_AS_COMMENT = re.compile(r"^# (?=%%(tfprof|memit|mprun|memobj)\b)")
"""How the line of a magic is compiled: as a comment."""


def line_texts(stacks: list[Stack], cells: Mapping[str, str]) -> dict[Frame, str]:
    """Look up the lines of all frames outside frameworks; a line not found is an empty text."""
    files = {name: file for file, name in cells.items()}
    return {
        (file, line, function): linecache.getline(files.get(file, file), line).strip()
        for file, line, function in set[Frame]().union(*stacks)
        if not is_framework(file)
    }


def cell_texts(stacks: Iterable[Stack], cells: Mapping[str, str]) -> dict[str, list[str]]:
    """Look up all lines of the cells that occur in a stack."""
    used = {file for file, _, _ in set[Frame]().union(*stacks)}
    return {name: linecache.getlines(file) for file, name in cells.items() if name in used}


def frame_table(
    stacks: list[Stack], module_stacks: list[Stack], texts: Mapping[Frame, str]
) -> pd.DataFrame:
    """List the frames of all stacks; the text of lines is known for `stacks` only."""
    rows = []
    for number, stack in enumerate((*stacks, *module_stacks)):
        known = texts if number < len(stacks) else {}
        for file, line, function in stack:
            text = known.get((file, line, function), "")
            rows.append((number, file, line, function, text, is_framework(file)))
    columns = zip(FRAMES.items(), zip(*rows, strict=True) if rows else ((),) * 6, strict=True)
    return pd.DataFrame({name: np.array(values, dtype) for (name, dtype), values in columns})


def cell_table(texts: Mapping[str, list[str]]) -> pd.DataFrame:
    """List the lines of cells; the line of a magic is shown as it was typed."""
    rows = [
        (name, number, (MAGIC_AS_COMMENT.sub("", text) if number == 1 else text).rstrip("\n"))
        for name, lines in texts.items()
        for number, text in enumerate(lines, start=1)
    ]
    columns = zip(CELLS.items(), zip(*rows, strict=True) if rows else ((),) * 3, strict=True)
    return pd.DataFrame({name: np.array(values, dtype) for (name, dtype), values in columns})
