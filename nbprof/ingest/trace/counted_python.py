"""The tables of what Python ran while its calls or lines were counted."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from nbprof.ingest.trace.allocation_sites import site_table
from nbprof.python_code import TOP_LEVEL
from nbprof.user_files import is_users

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbprof.capture.capture import Capture, Frame, Stack
    from nbprof.capture.python.call_log import CallCounts, CallLog
    from nbprof.capture.python.line_log import LineLog

IN_C = "~"
"""The file of C functions."""
COUNTS = ("calls", "primitive_calls", "self_ns", "total_ns")


def python_tables(capture: "Capture") -> dict[str, Any]:
    """Return the tables of what was counted."""
    tables: dict[str, Any] = {}
    if "calls" in capture.recorded:
        functions, row = function_table(capture.recorded["calls"], capture.cells)
        tables |= {
            "functions": functions,
            "calls": partial(call_table, capture.recorded["calls"], row),
        }
    if "lines" in capture.recorded:
        tables["lines"] = line_table(capture.recorded["lines"], capture.cells)
    if "sites" in capture.recorded:
        tables["sites"] = site_table(capture.recorded["sites"], capture.cells)
    return tables


def notes_on_python(capture: "Capture") -> tuple[str, ...]:
    """Return what was noted while counting."""
    return tuple(note for log in capture.recorded.values() for note in getattr(log, "notes", ()))


def counted_lines(tables: dict[str, Any]) -> "list[Stack]":
    """Return the user's lines in these tables, each as a stack of its own."""
    found: set[Frame] = set()
    for name in {"lines", "sites"} & tables.keys():
        columns = (tables[name][column].tolist() for column in ("file", "line", "function"))
        found.update(zip(*columns, strict=True))
    return [(frame,) for frame in found]


def function_table(
    log: "CallLog", cells: "Mapping[str, str]"
) -> "tuple[pd.DataFrame, pd.Series[int]]":
    """List the functions; also return the row of each function of the log.

    The statements of a cell are compiled one by one, but they are one function to the user: the
    cell's top level, which was called as often as each of them.
    """
    named = [(cells.get(file, file), line, name) for file, line, name in log.functions]
    top = [file in cells and name.startswith(TOP_LEVEL) for file, _, name in log.functions]
    named = [
        (file, 1, TOP_LEVEL[0]) if is_top else (file, line, name)
        for (file, line, name), is_top in zip(named, top, strict=True)
    ]
    places = list(dict.fromkeys(named))
    row_of = {place: row for row, place in enumerate(places)}
    row = pd.Series([row_of[place] for place in named], dtype=np.int64)
    counted = _counts(log.counts)
    sums = counted.groupby(row.to_numpy()).sum()
    often = counted[["calls", "primitive_calls"]].groupby(row.to_numpy()).max()
    is_top = np.zeros(len(places), dtype=bool)
    is_top[row[np.array(top, dtype=bool)]] = True
    for name in often:
        sums[name] = np.where(is_top, often[name], sums[name])
    files = [file for file, _, _ in places]
    table = pd.DataFrame(
        {
            "file": pd.Series(files, dtype=object),
            "line": np.array([line for _, line, _ in places], dtype=np.int64),
            "function": pd.Series([name for _, _, name in places], dtype=object),
            "framework": [file == IN_C or not is_users(file) for file in files],
        }
    ).astype({"framework": bool})
    return table.join(sums.reset_index(drop=True)), row


def call_table(log: "CallLog", row: "pd.Series[int]") -> pd.DataFrame:
    """List who called whom; `row` is the row of each function of the log."""
    numbers = row.to_numpy()
    ends = pd.DataFrame({"caller": numbers[log.caller], "function": numbers[log.callee]})
    by_pair = pd.concat([ends, _counts(log.by_caller)], axis=1).groupby(["caller", "function"])
    return by_pair.sum().reset_index()


def _counts(counts: "CallCounts") -> pd.DataFrame:
    return pd.DataFrame({name: getattr(counts, name) for name in COUNTS})


def line_table(log: "LineLog", cells: "Mapping[str, str]") -> pd.DataFrame:
    """List the lines in source order, and after each the watched functions that it called."""
    places = [(cells.get(file, file), line, name) for file, line, name in log.lines]
    places = [(file, line, _plain(name)) for file, line, name in places]
    own = pd.DataFrame(places, columns=["file", "line", "function"], dtype=object)
    lines = own.assign(
        hits=log.hits, self_ns=log.self_ns.astype(float), called="", calls=0, source=log.sources
    )
    of_pairs = own.iloc[log.caller].reset_index(drop=True)
    pairs = of_pairs.assign(
        hits=0,
        self_ns=log.called_ns.astype(float),
        called=[f"{cells.get(file, file)}:{line}({name})" for file, line, name in log.called],
        calls=log.calls,
        source="",
    )
    table = pd.concat([lines, pairs], ignore_index=True)
    sums = {"hits": "sum", "self_ns": "sum", "calls": "sum", "source": "first"}
    first_seen = pd.unique(table["file"])
    table["place"] = table["file"].map({file: place for place, file in enumerate(first_seen)})
    keys = ["place", "file", "line", "function", "called"]
    added = table.groupby(keys, sort=True).agg(sums).reset_index()
    columns = ["file", "line", "function", "hits", "self_ns", "called", "calls", "source"]
    return added[columns].astype({"line": "int64", "hits": "int64", "calls": "int64"})


def _plain(function: str) -> str:
    """Name the top level of a cell alike in all versions of IPython."""
    return TOP_LEVEL[0] if function.startswith(TOP_LEVEL) else function
