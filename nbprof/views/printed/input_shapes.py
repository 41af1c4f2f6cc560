"""Input shapes: `0:1x17x17x768`, `1:unknown`, and the lines that the op view prints below a row."""

import re
from math import nan
from typing import Any

from nbprof.units import MICROS, parse_number
from nbprof.views.printed.legend import RowError

DETAIL = "input_type:"
"""Beginning of a line of shapes below a row."""
_COUNTS = re.compile(r"run\*([0-9]{1,18})\|defined\*([0-9]{1,18})\)\s*")


def parse_shapes(cell: str) -> list[dict[str, Any]]:
    """Read a cell of a tree, which has only the shapes."""
    shapes = _without_positions(cell.split("|")) if cell else []
    return [_entry(shapes, nan, nan, nan)] if shapes else []


def parse_detail(line: str) -> dict[str, Any]:
    """Read a line of shapes below a row of the op view."""
    rest, mark, time = line.strip().removeprefix(DETAIL).rpartition("exec_time:")
    listed, opened, counts = rest.rpartition("(")
    found = _COUNTS.fullmatch(counts)
    if not mark or not opened or not found:
        raise RowError("expected '(run*N|defined*N)' and 'exec_time:' after the shapes")
    shapes = _without_positions(listed.split(",")) if listed.strip() else []
    try:
        micros = parse_number(time.strip(), MICROS)
    except ValueError as error:
        raise RowError(f"{error}") from None
    return _entry(shapes, int(found[1]), int(found[2]), micros)


def _entry(shapes: list[str], runs: float, defined: float, micros: float) -> dict[str, Any]:
    return {"shapes": shapes, "run_count": runs, "defined_count": defined, "micros": micros}


def _without_positions(cells: list[str]) -> list[str]:
    """Strip the positions, which count from 0."""
    shapes = []
    for position, cell in enumerate(cells):
        number, colon, shape = cell.strip().partition(":")
        if not colon or number != str(position):
            raise RowError(f"expected the shape of input {position} at {cell.strip()[:40]!r}")
        shapes.append(shape)
    return shapes
