"""Rows of the function view, whose text is pstats' table: of nbprof's reports."""

import re
from collections.abc import Sequence
from math import nan
from typing import Any

from nbprof.columns import ROOT
from nbprof.units import NOT_RECORDED
from nbprof.views.printed.legend import RowError

NAME = "filename:lineno(function)"
"""The title of the last column."""


def read(lines: Sequence[str]) -> tuple[list[str], list[dict[str, Any]]]:
    """Read the legend and the rows; return the names of their columns, too."""
    titles = lines[0].split()
    if titles[-1:] != [NAME] or not {*titles[:-1]} <= {"ncalls", "tottime", "cumtime", "percall"}:
        raise RowError(f"expected ncalls, tottime, percall, cumtime, percall and {NAME}")
    pattern = re.compile(r"\s*" + r"(\S+)\s+" * (len(titles) - 2) + r"(\S+) ( *)(.*)")
    rows: list[dict[str, Any]] = []
    above: list[int] = []
    for line in lines[1:]:
        found = pattern.fullmatch(line)
        if not found:
            raise RowError(f"expected {len(titles) - 1} numbers and a name at {line!r}")
        *cells, indent, name = found.groups()
        depth = len(indent) // 2
        if depth > len(above) or (depth == 0) != (name == ROOT):
            raise RowError("expected a row indented by two spaces more than the one it is below")
        del above[depth:]
        parent = above[-1] if above else -1
        above.append(len(rows))
        numbers = _numbers(titles, cells)
        for metric in ("calls", "primitive_calls"):
            numbers[metric] = numbers.get(f"total_{metric}", nan) if depth else 0.0
        rows.append(
            {"name": name, "parent": parent, "depth": depth, "accounted": depth > 0, **numbers}
        )
    names = {"tottime": "wall_micros", "ncalls": "calls"}
    return [column for title, column in names.items() if title in titles], rows


def _numbers(titles: list[str], cells: Sequence[str]) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for title, cell in zip(titles, cells, strict=False):
        if title == "ncalls":
            calls, _, primitive = cell.partition("/")
            numbers |= {"total_calls": _number(calls)}
            numbers |= {"total_primitive_calls": _number(primitive or calls)}
        elif title == "tottime":
            numbers["wall_micros"] = round(_number(cell) * 1e6, 3)
        elif title == "cumtime":
            numbers["total_wall_micros"] = round(_number(cell) * 1e6, 3)
    return numbers


def _number(cell: str) -> float:
    try:
        return nan if cell == NOT_RECORDED else float(cell)
    except ValueError:
        raise RowError(f"{cell!r} is not a number") from None
