"""Work on GPUs: kernels and copies on their streams, charged to the ops that launched them.

The runs of an op are counted on the host, where they were launched. If the host's part is missing
from the trace, consecutive kernels of an op count as one run. A copy, and a kernel without an op,
is a run of its own.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import NONE, Floats, Rows, distinct, distinct_pairs
from nbprof.ingest.trace.function_names import function_of_module
from nbprof.ingest.trace.work import stream_texts
from nbprof.ingest.trace.work.allocations import runs_at
from nbprof.ingest.trace.work.nesting import Nesting, sort_order
from nbprof.ingest.trace.work.op_runs import XLA_CLUSTER, Executed, hlo_type
from nbprof.ingest.trace.work.stream_texts import COPY_TYPES, OTHER_COPY, UNNAMED
from nbprof.ingest.xspace.stat_columns import StatsOf
from nbprof.units import format_seconds

if TYPE_CHECKING:
    import numpy.typing as npt

    from nbprof.arrays import Ints, Mask
    from nbprof.ingest.trace.work.host_events import HostEvents
    from nbprof.ingest.trace.work.op_runs import Runs
    from nbprof.ingest.trace.work.steps import DeviceSteps
    from nbprof.ingest.xspace.xspace import XSpace

SEPARATOR = "::"
"""Separates the names of nested HLO ops, outermost first."""
HOST = "/host:CPU"
"""The plane of the host's threads."""
KERNEL = len(COPY_TYPES)
"""What an event does is an index into COPY_TYPES, or this."""
LABELS = ("tf_op", "annotation", *(f"level {depth}" for depth in range(7, -1, -1)))
"""Stats that name the op an event works for, the first one counts; traces until 2020 lack `tf_op`
and number the levels of nested annotations from the outside."""
NOTABLE = 0.01
"""Share of the accelerators' time from which on kernels without an op are noted."""

WHOLE_FUNCTION = "/"
"""Name of the node that stands for all of a function compiled by XLA."""


@dataclass(frozen=True, eq=False, kw_only=True)
class StreamRuns:
    """What the trace states about the runs on GPUs."""

    run: Rows
    """The runs on GPUs."""
    shape: Rows
    """Their input shapes as rows of `strings`, 0 if unknown."""
    is_copy: "Mask"
    """Whether each is a copy or a fill."""
    copied: Floats
    """Bytes copied or filled, NaN if unknown."""


NOTHING = StreamRuns(
    run=np.zeros(0, np.intp),
    shape=np.zeros(0, np.intp),
    is_copy=np.zeros(0, np.bool_),
    copied=np.zeros(0),
)


@dataclass(frozen=True, eq=False, kw_only=True)
class GpuWork:
    """All runs, those on GPUs included."""

    runs: "Runs"
    on_streams: StreamRuns
    notes: tuple[str, ...]


def add_kernels(host: "HostEvents", steps: "DeviceSteps", runs: "Runs") -> GpuWork:
    """Add the work of GPUs to the runs; a note says if much of it belongs to no known op."""
    space = host.space
    event = _stream_events(space)
    if not len(event):
        return GpuWork(runs=runs, on_streams=NOTHING, notes=())
    stats = StatsOf(space, event)
    does = _what_is_done(space, event, stats)
    on_streams = StreamRuns(
        run=len(runs.node) + np.arange(len(event)),
        shape=stats.text("shape"),
        is_copy=does != KERNEL,
        copied=_bytes_of(space, stats),
    )
    nodes, node = _nodes_of(space, stats, does, runs)
    node = _by_launch(host, runs, event, node)
    step = _steps_of(space, event, steps)
    line, start, duration = space.line[event], space.start_ps[event], space.duration_ps[event]
    own = _own_times(line, start, duration)
    unnamed = np.array([each == _UNKNOWN for each in nodes], dtype=bool)[node]
    is_run = on_streams.is_copy | unnamed
    rest = np.flatnonzero(~is_run & ~np.isin(node, runs.node))
    is_run[rest] = _begins_run(line[rest], node[rest], step[rest], start[rest])
    added = runs.with_accelerator_work(
        nodes,
        node=node,
        step=step,
        line=line,
        start=start,
        duration=duration,
        own=own,
        is_run=is_run,
    )
    notes = _notes(int(own[unnamed].sum()), int(own.sum()))
    return GpuWork(runs=added, on_streams=on_streams, notes=notes)


def _stream_events(space: "XSpace") -> "Rows":
    """Find the work on GPU streams; a GPU's other lines show the same time again."""
    is_stream = [
        space.plane_names[plane].startswith("/device:") and name.startswith("Stream")
        for plane, name in zip(space.line_plane, space.line_name, strict=True)
    ]
    event = np.flatnonzero(np.array(is_stream, dtype=bool)[space.line])
    names, which = distinct(space.name[event], len(space.strings))
    at_work = [stream_texts.is_work(space.strings[name]) for name in names.tolist()]
    chosen: Rows = event[np.array(at_work, dtype=bool)[which]]
    return chosen


def _what_is_done(space: "XSpace", event: "Rows", stats: StatsOf) -> "Rows":
    """Return what each event does: an index into COPY_TYPES, or KERNEL."""
    names, which = distinct(space.name[event], len(space.strings))
    number = {name: row for row, name in enumerate(COPY_TYPES)}
    types = [stream_texts.copy_type(space.strings[name]) for name in names.tolist()]
    does = np.array([number.get(copied, KERNEL) for copied in types], dtype=np.intp)[which]
    # AMD's tracer names copies differently, but describes them in the same stat.
    does[(does == KERNEL) & (stats.text("memcpy_details") > 0)] = number[OTHER_COPY]
    return does


def _bytes_of(space: "XSpace", stats: StatsOf) -> Floats:
    details = stats.text("memcpy_details")
    details = np.where(details > 0, details, stats.text("memset_details"))
    texts, which = distinct(details, len(space.strings))
    sizes = [stream_texts.copied_bytes(space.strings[text]) for text in texts.tolist()]
    return np.array(sizes, dtype=np.float64)[which]


def _nodes_of(
    space: "XSpace", stats: StatsOf, does: "Rows", runs: "Runs"
) -> tuple[list[Executed], "Rows"]:
    """Return the nodes, new ones added, and the node that each event works for."""
    texts, doing, which = _distinct_kinds(space, stats, does)
    nodes = list(runs.nodes)
    exact = {node: row for row, node in enumerate(nodes)}
    by_name = {node[1:]: row for row, node in enumerate(nodes)}
    found = []
    for (label, hlo_op, module), done in zip(texts, doing, strict=True):
        node = _asker(label, hlo_op, module)
        if not node.function:  # an op of the host's, in whichever function
            row = by_name.get(node[1:], NONE)
            node = nodes[row] if row != NONE else node
        if done != KERNEL:
            node = _copy_for(node, COPY_TYPES[done])
        row = exact.setdefault(node, len(nodes))
        if row == len(nodes):
            nodes.append(node)
        found.append(row)
    return nodes, np.array(found, dtype=np.intp)[which]


def _distinct_kinds(
    space: "XSpace", stats: StatsOf, does: "Rows"
) -> tuple[list[tuple[bytes, bytes, bytes]], list[int], "Rows"]:
    """Return the distinct (label, HLO op, module), what is done, and which each event is."""
    count = len(space.strings)
    labels, ops, which = distinct_pairs(_labels(stats, len(does)), stats.text("hlo_op"), count)
    inner, modules, which = distinct_pairs(which, stats.text("hlo_module"), count)
    pairs, doing, which = distinct_pairs(which, does, KERNEL + 1)
    rows = zip(labels[inner[pairs]], ops[inner[pairs]], modules[pairs], strict=True)
    strings = space.strings
    texts = [(strings[label], strings[op], strings[module]) for label, op, module in rows]
    return texts, doing.tolist(), which


def _labels(stats: StatsOf, count: int) -> "Rows":
    """Return the text that names the op of each event as a row of `strings`, 0 if none does."""
    found = np.zeros(count, dtype=np.intp)
    for stat in LABELS:
        missing = np.flatnonzero(found == 0)
        if not len(missing):
            break
        found[missing] = stats.text(stat)[missing]
    return found


_UNKNOWN = Executed(UNNAMED, WHOLE_FUNCTION, UNNAMED)


def _asker(label: bytes, hlo_op: bytes, module: bytes) -> Executed:
    """Return the node that asked for work.

    A kernel that XLA compiled belongs to its HLO op; its label launched the whole function.
    """
    function = function_of_module(module.decode("utf-8", "replace")) if module else ""
    if hlo_op:
        op = hlo_op.decode("utf-8", "replace").rpartition(SEPARATOR)[2]
        return Executed(function, f"/{op}", hlo_type(op))
    name, op_type = stream_texts.op_of(label)
    if not op_type and function:
        return Executed(function, WHOLE_FUNCTION, XLA_CLUSTER)
    return Executed("", name, op_type or name) if name else _UNKNOWN


def _copy_for(asker: Executed, copied: str) -> Executed:
    """Return the node of a copy: it has the name of the node that asked for it."""
    if asker == _UNKNOWN:
        return Executed("", copied, copied)
    op_type = stream_texts.type_for(copied, asker.name)
    return Executed("", op_type, op_type) if op_type != copied else asker._replace(op_type=copied)


def _by_launch(host: "HostEvents", runs: "Runs", event: "Rows", node: "Rows") -> "Rows":
    """Tell nodes of the same name in several functions apart by the run that launched a kernel."""
    space, of_host = host.space, len(runs.nodes)
    label = {each[1:]: number for number, each in enumerate(runs.nodes)}
    if len(label) == of_host:
        return node
    labels = np.array([label[each[1:]] for each in runs.nodes], dtype=np.intp)
    shared = np.append(np.bincount(labels, minlength=of_host)[labels] > 1, False)
    kernel = np.flatnonzero(shared[np.minimum(node, of_host)])
    launch = _launches(space, event[kernel])
    kernel, launch = kernel[launch != NONE], launch[launch != NONE]
    run = runs_at(host, runs, _threads(space)[space.line[launch]], space.start_ps[launch])
    kernel, launched_by = kernel[run != NONE], runs.node[run[run != NONE]]
    same = labels[launched_by] == labels[node[kernel]]
    found = node.copy()
    found[kernel[same]] = launched_by[same]
    return found


def _threads(space: "XSpace") -> "npt.NDArray[np.int32]":
    """Return for each line the one with the ops of the same thread: CUPTI has planes of its own."""
    on_host = [space.plane_names[plane] == HOST for plane in space.line_plane]
    line_of = {number: line for line, number in enumerate(space.line_id.tolist()) if on_host[line]}
    return np.array(
        [line_of.get(number, line) for line, number in enumerate(space.line_id.tolist())], np.int32
    )


def _own_times(line: "npt.NDArray[np.int32]", start: "Ints", duration: "Ints") -> "Ints":
    """Return each event's time without what began later on the same stream.

    Only kernels of a CUDA graph overlap. Every moment of a stream belongs to the event that began
    last, so that none counts twice.
    """
    order = sort_order(line, start, duration)
    line, start, end = line[order], start[order], (start + duration)[order]
    if not ((line[1:] == line[:-1]) & (end[:-1] > start[1:])).any():
        return duration
    # The owner of time changes only where an event begins or ends.
    begins = np.repeat((True, False), len(line))
    where, time = np.concatenate((line, line)), np.concatenate((start, end))
    by_time = np.lexsort((time, where))
    begins, where, time = begins[by_time], where[by_time], time[by_time]
    owner = Nesting(line, start, end).open_at(np.cumsum(begins) - 1, where, time)
    length = np.append(np.where(where[1:] == where[:-1], np.diff(time), 0), 0)
    own = np.zeros(len(line) + 1, dtype=np.int64)  # the last entry is for NONE
    np.add.at(own, np.append(order, NONE)[owner], length)
    return own[:-1]


def _steps_of(space: "XSpace", event: "Rows", steps: "DeviceSteps") -> "Rows":
    """Return the step that launched each kernel, which may run long after that step."""
    plane = space.line_plane[space.line[event]].astype(np.intp)
    step = steps.at(plane, space.start_ps[event])
    if not len(steps.steps.event):
        return step
    launch = _launches(space, event)
    launched = launch != NONE
    step[launched] = steps.steps.at(space.start_ps[launch[launched]])
    return step


def _launches(space: "XSpace", event: "Rows") -> "Rows":
    """Find the host event that launched each kernel, by correlation id, or NONE."""
    found = space.stat("correlation_id")
    if found.is_text or found.value.dtype.kind != "i" or not len(found.event):
        return np.full(len(event), NONE)
    of_event = np.full(len(space.line), NONE, dtype=np.int64)
    of_event[found.event] = found.value
    on_device = np.array([name.startswith("/device:") for name in space.plane_names], dtype=bool)
    host = found.event[~on_device[space.line_plane[space.line[found.event]]]]
    host = host[np.argsort(of_event[host], kind="stable")]
    number = of_event[event]
    place = np.searchsorted(of_event[host], number)
    launch = np.append(host, NONE)[np.minimum(place, len(host))]
    same = (launch != NONE) & (number != NONE) & (of_event[launch] == number)
    return np.where(same, launch, NONE)


def _begins_run(line: "npt.NDArray[np.int32]", node: "Rows", step: "Rows", start: "Ints") -> "Mask":
    """Mark the kernels that are of another node or step than the one before on their line."""
    order = np.lexsort((start, line))
    line, node, step = line[order], node[order], step[order]
    changes = (line[1:] != line[:-1]) | (node[1:] != node[:-1]) | (step[1:] != step[:-1])
    begins = np.zeros(len(start), dtype=bool)
    begins[order] = np.append(True, changes)[: len(start)]
    return begins


def _notes(unnamed_ps: int, total_ps: int) -> tuple[str, ...]:
    if unnamed_ps < NOTABLE * total_ps or not unnamed_ps:
        return ()
    return (
        f"{format_seconds(unnamed_ps // 1000)} of accelerator work "
        f'({100 * unnamed_ps / total_ps:.0f}%) carry no op\'s name: the row "{UNNAMED}"',
    )
