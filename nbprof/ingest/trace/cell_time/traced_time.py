"""What the cell's thread did while it was traced, by the innermost event of each moment."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import NONE, Ints, Mask, Positions, Rows
from nbprof.categories import Category
from nbprof.ingest.trace.cell_time.event_categories import CATEGORY_OF
from nbprof.ingest.trace.cell_time.pieces import Pieces, cut_into_pieces
from nbprof.ingest.trace.work.event_kinds import Kind
from nbprof.ingest.trace.work.nesting import Nesting, sort_order

if TYPE_CHECKING:
    from nbprof.capture.capture import Capture
    from nbprof.ingest.trace.stages import RecordedTrace
    from nbprof.ingest.trace.work.host_events import HostEvents
    from nbprof.ingest.trace.work.op_runs import Runs

LONG_NS = 1_000_000
"""Shortest time that counts as building a graph or as teardown, in ns; usual calls take less."""
EAGERLY, TRACED = b"eager", b"traced"
"""How TensorFlow's description of a call begins that runs as plain Python, or traces."""
DELETE = b"TFE_Delete"
"""How the names of events begin in which Python releases an object of TensorFlow."""
REDUCE = b"ReduceDatasetOp::DoCompute"
"""The name of events that ask for batches, and also compute on them."""
PYTHON_OPS = ("EagerPyFunc", "PyFunc", "PyFuncStateless")
"""Types of the ops that run Python."""

OUTSIDE, OF_OP, OF_FUNCTION = range(3)
"""Where a piece lies: between calls into TensorFlow, or in one that runs an op or a function."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TracedTime:
    """The traced time of the cell's thread in pieces; times in ns since the cell's start."""

    pieces: Pieces
    category: Rows
    """The Category of each piece; PYTHON where no event has one."""
    call: Rows
    """OUTSIDE, OF_OP or OF_FUNCTION; OUTSIDE are also the first run of a function, which prepares
    it, and what samples tell apart where nothing is traced: Python, and asking for a batch."""
    window_start: Ints
    window_end: Ints

    def of(self, category: Category) -> Pieces:
        """Return the pieces of a category."""
        return self.pieces.only(self.category == category)


def find_traced_time(trace: "RecordedTrace", runs: "Runs") -> TracedTime:
    """Cut the cell's thread into pieces and find the category of each."""
    window_start, window_end = windows_of(trace.capture)
    events = _events(trace, runs, window_start, window_end)
    nesting = Nesting(np.zeros(len(events.row), np.int32), events.start, events.end)
    pieces = cut_into_pieces(events.start, events.end, nesting.parent)
    of_event = np.where(_builds(events, nesting), NONE, events.category)
    category = of_event[_self_or_above(nesting, of_event != NONE)][pieces.event]
    prepares = events.is_first[pieces.event] & (pieces.length >= LONG_NS)
    category = np.where(prepares, Category.BUILDING, category)
    category[(_self_or_above(nesting, events.asks) != NONE)[pieces.event]] = Category.INPUT
    call = _calls(events, nesting)[pieces.event]
    call[category == Category.PYTHON] = OUTSIDE
    call[(category == Category.INPUT) & (call == OF_OP)] = OUTSIDE
    return TracedTime(
        pieces=pieces,
        category=category,
        call=call,
        window_start=window_start,
        window_end=window_end,
    )


def windows_of(capture: "Capture") -> tuple[Ints, Ints]:
    """Return when the traced windows begin and end; a trace file is one window."""
    bounds = [
        (window.began_ns - capture.start_ns, window.ended_ns - capture.start_ns)
        if window.ended_ns
        else (0, capture.traced_ns)
        for window in capture.windows
    ]
    start, end = np.clip(np.array(bounds, dtype=np.int64).reshape(-1, 2).T, 0, capture.wall_ns)
    # Clocks are read one after the other, so a window may seem to begin within the one before.
    return np.maximum(start, np.append(0, end)[: len(start)]), end


@dataclass(frozen=True, eq=False, kw_only=True)
class _Events:
    """The windows and the events on the cell's thread, in the order that Nesting needs."""

    row: Rows
    """The host event, NONE for a window."""
    start: Ints
    end: Ints
    category: Rows
    """NONE for events that leave it to the one around them."""
    asks: Mask
    """Whether it asks for a batch; whatever runs inside is then waited for as input."""
    hands_over: Mask
    """Whether Python dispatches to TensorFlow, to run something or to build a graph."""
    is_call: Mask
    """Whether Python makes TensorFlow do something."""
    is_function: Mask
    """Whether it makes it run a function."""
    is_first: Mask
    """Whether that is the function's first run, which prepares its graph."""


def _events(trace: "RecordedTrace", runs: "Runs", window_start: Ints, window_end: Ints) -> _Events:
    host = trace.host
    row = np.flatnonzero((host.line == trace.cell_line) & (host.duration > 0))
    start = host.start[row] // 1000 + trace.origin_ns
    end = host.end[row] // 1000 + trace.origin_ns
    row, start, end = _within(row, start, end, window_start, window_end)
    category = _categories(host, runs, row)
    function = np.flatnonzero(
        (host.kind[row] == Kind.EAGER) & (host.number("is_func", 0)[row] == 1)
    )
    first = function[np.unique(host.text("eager_op")[row[function]], return_index=True)[1]]

    count = len(window_start)
    row = np.append(np.full(count, NONE), row)
    start, end = np.append(window_start, start), np.append(window_end, end)
    order = sort_order(np.zeros(len(row), np.int32), start, end - start)
    kind = np.append(host.kind, 0)[row]
    return _Events(
        row=row[order],
        start=start[order],
        end=end[order],
        category=np.append(np.full(count, Category.PYTHON), category)[order],
        asks=np.append(np.zeros(count, dtype=bool), _asks(host, row[count:]))[order],
        hands_over=np.isin(kind, (Kind.HANDOVER, Kind.CALL))[order],
        is_call=np.isin(kind, (Kind.EAGER, Kind.HANDOVER))[order],
        is_function=_marked(function + count, len(row))[order],
        is_first=_marked(first + count, len(row))[order],
    )


def _marked(places: Rows, count: int) -> Mask:
    marked = np.zeros(count, dtype=bool)
    marked[places] = True
    return marked


def _within(
    row: Rows, start: Ints, end: Ints, window_start: Ints, window_end: Ints
) -> tuple[Rows, Ints, Ints]:
    """Cut events off where their window ends; drop those outside of all windows."""
    if not len(window_start):
        return row[:0], start[:0], end[:0]
    window = np.maximum(np.searchsorted(window_start, start, side="right") - 1, 0)
    start = np.maximum(start, window_start[window])
    end = np.minimum(end, window_end[window])
    inside = end > start
    return row[inside], start[inside], end[inside]


def _categories(host: "HostEvents", runs: "Runs", rows: Rows) -> Rows:
    """Return the category of each of these events, NONE if it has none."""
    of_kind = np.full(max(Kind) + 1, NONE)
    of_kind[list(CATEGORY_OF)] = list(CATEGORY_OF.values())
    category = of_kind[host.kind[rows]]
    how, name = host.text("tf_function_call")[rows], host.space.name[host.row[rows]]
    category[_begins(host, how, EAGERLY)] = NONE
    category[_begins(host, how, TRACED)] = Category.BUILDING
    gives_up = _begins(host, name, DELETE) & (host.duration[rows] >= LONG_NS * 1000)
    category[gives_up] = Category.TEARDOWN
    of_run = np.full(len(host.row) + 1, NONE)  # the last entry is for NONE
    runs_python = np.array([node.op_type in PYTHON_OPS for node in runs.nodes], dtype=bool)
    of_run[runs.event] = np.where(runs_python[runs.node], Category.PYTHON, Category.OPS)
    return np.where(of_run[rows] != NONE, of_run[rows], category)


def _asks(host: "HostEvents", rows: Rows) -> Mask:
    """Mark the events that do nothing but get a batch."""
    reduces = _begins(host, host.space.name[host.row[rows]], REDUCE)
    asks: Mask = np.isin(host.kind[rows], (Kind.WAIT, Kind.ITERATOR)) & ~reduces
    return asks


def _begins(host: "HostEvents", text: Positions, prefix: bytes) -> Mask:
    """Mark the texts, rows of the trace's strings, that begin with a prefix."""
    strings = host.space.strings
    return np.isin(text, [row for row, string in enumerate(strings) if string.startswith(prefix)])


def _builds(events: _Events, nesting: Nesting) -> Mask:
    """Mark what Python hands to TensorFlow for the graph that it is building, not to run it."""
    hands = events.hands_over
    around = nesting.nearest((events.category != NONE) & ~hands)
    builds: Mask = hands & (np.append(events.category, NONE)[around] == Category.BUILDING)
    return builds


def _calls(events: _Events, nesting: Nesting) -> Rows:
    """Return for each event whether it is or lies in a call that runs an op or a function."""
    call = np.where(events.is_call, OF_OP, OUTSIDE)
    call[events.is_function] = OF_FUNCTION
    call[events.is_first] = OUTSIDE
    return np.append(call, OUTSIDE)[_self_or_above(nesting, events.is_call)]


def _self_or_above(nesting: Nesting, marked: Mask) -> Rows:
    """Return each event itself if it is marked, else the innermost marked one around it."""
    return np.where(marked, np.arange(len(marked)), nesting.nearest(marked))


def line_of_cell(host: "HostEvents") -> int:
    """Return the line of the thread that ran the cell, NONE if the trace does not mark it."""
    marked = np.flatnonzero(host.kind == Kind.CELL)
    return int(host.line[marked[0]]) if len(marked) else NONE
