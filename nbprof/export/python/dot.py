"""Write `.dot`: the call graph for Graphviz, `dot -Tsvg x.dot -o x.svg`.

Nodes have a function's share of the time with and without what it calls; the redder, the more.
Small ones are left out, so that the picture can be read.
"""

from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from nbprof.export.python.call_tables import CallTables, call_tables
from nbprof.export.python.texts import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from nbprof._profile import Profile
    from nbprof.arrays import Floats, Mask

LEAST_NODE, LEAST_EDGE = 0.005, 0.001
"""Shares of the whole time from which functions and calls are shown."""
MOST_NODES = 100
"""Most functions that are shown."""
LONGEST = 80
"""Most characters of a name."""
HEAD = """\
digraph {{
\tgraph [label={title}, labelloc=t, fontname=Helvetica, nodesep=0.2, ranksep=0.4];
\tnode [shape=box, style=filled, fontname=Helvetica, fontcolor=white];
\tedge [fontname=Helvetica];
"""
COLD, HOT = np.array([30, 60, 130]), np.array([190, 20, 20])
"""Colours of shares of nothing and of everything, in RGB; white text can be read on both."""


def write(profile: "Profile", file: BinaryIO) -> None:
    """Write the graph of the functions that took the most time."""
    tables = call_tables(profile, ".dot")
    for line in _lines(tables, profile.recording.what):
        file.write(line.encode())


def _lines(tables: CallTables, what: str) -> "Iterator[str]":
    functions, calls = tables.functions, tables.calls
    own, total = (functions[name].to_numpy(float) for name in ("self_ns", "total_ns"))
    whole = max(float(own.sum()), 1.0)
    shown = _shown(total / whole)
    left_out = f"; {len(shown) - shown.sum():,} functions left out" if not shown.all() else ""
    yield HEAD.format(title=_quoted(f"{one_line(what)}{left_out}"))
    for row in np.flatnonzero(shown).tolist():
        yield _node(row, functions.iloc[row], own[row] / whole, total[row] / whole)
    share = calls["total_ns"].to_numpy(float) / whole
    rows = calls[["caller", "function"]].to_numpy(np.intp)
    for row in np.flatnonzero(shown[rows].all(axis=1) & ~(share < LEAST_EDGE)).tolist():
        caller, function = rows[row].tolist()
        yield _edge(caller, function, calls["calls"].iloc[row], share[row])
    yield "}\n"


def _shown(share: "Floats") -> "Mask":
    """Return which functions to show."""
    highest = np.zeros(len(share), dtype=bool)
    highest[np.argsort(-share, kind="stable")[:MOST_NODES]] = True
    return highest & (share >= LEAST_NODE)


def _node(row: int, function: "pd.Series[int]", own: float, total: float) -> str:
    place = one_line(str(function["file"])).replace("\\", "/").rpartition("/")[2]
    lines = [_short(one_line(str(function["function"])))]
    if function["file"] and function["line"] > 0:
        lines.append(f"{_short(place)}:{function['line']}")
    lines += [_percent(total), f"({_percent(own)})"]
    if function["calls"] == function["calls"]:
        lines.append(f"{int(function['calls']):,}×")
    colour = np.rint(COLD + (HOT - COLD) * min(max(total, 0.0), 1.0)).astype(int)
    return f'\t{row} [label={_quoted(*lines)}, color="#{bytes(colour.tolist()).hex()}"];\n'


def _edge(caller: int, function: int, calls: float, share: float) -> str:
    lines = [_percent(share)] if share == share else []
    if calls == calls:
        lines.append(f"{int(calls):,}×")
    width = 0.5 + 3 * min(max(share, 0.0), 1.0) if share == share else 0.5
    return f"\t{caller} -> {function} [label={_quoted(*lines)}, penwidth={width:.2f}];\n"


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _quoted(*lines: str) -> str:
    """Return lines as a string of dot, which reads backslashes as escapes."""
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(escaped) + '"'
