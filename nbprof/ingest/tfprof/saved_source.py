"""A saved profile as the source of a Profile: its nodes, and the records of its execs."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from nbprof.arrays import NONE, Ints, Mask
from nbprof.ingest.protobuf.wire import Buffer, Spans
from nbprof.ingest.tfprof.graph_def import count_up, read_attributes, read_data_format
from nbprof.ingest.tfprof.profile_source import Dims, Edges, Records, check_times
from nbprof.protos.saved_profile import ExecMemory, Execs, SavedProfile, Traces


class SavedInputs:
    """The nodes of a saved profile, sorted by key; the first node with a name wins."""

    def __init__(self, saved: SavedProfile) -> None:
        self._saved = saved
        names = saved.name.strings()
        last = {key: place for place, key in enumerate(saved.key.tolist())}
        self._row_of_name: dict[str, int] = {}
        chosen: list[int] = []
        for _, place in sorted(last.items()):
            if names[place] not in self._row_of_name:
                self._row_of_name[names[place]] = len(chosen)
                chosen.append(place)
        self._place = np.array(chosen, dtype=np.int64)
        self._row = np.full(len(saved), NONE)
        self._row[self._place] = np.arange(len(chosen))
        self._row_of_key = {
            key: self._row_of_name[names[place]] for key, place in sorted(last.items())
        }

    @property
    def names(self) -> list[str]:
        """Names of all nodes."""
        return list(self._row_of_name)

    @cached_property
    def ops(self) -> list[str]:
        """Op type of each node."""
        return self._saved.op.take(self._place).strings()

    @property
    def steps(self) -> list[int]:
        """Numbers of the steps with runs."""
        return [int(step) for step in self._saved.steps]

    @property
    def misses_streams(self) -> bool:
        """Whether the records lack the streams of a GPU that was used."""
        return self._saved.miss_accelerator_stream

    @cached_property
    def _own_devices(self) -> list[str]:
        return self._saved.canonical_device.take(self._place).strings()

    @cached_property
    def devices(self) -> list[str]:
        """Distinct devices of all nodes and execs; if there are execs, the last one has no name."""
        execs = self._saved.execs
        seen = dict.fromkeys(filter(None, self._own_devices))
        seen.update(dict.fromkeys(execs.times.device.strings()))
        seen.update(dict.fromkeys(execs.devices.text.strings()))
        seen.pop("", None)
        return [*seen, *([""] if len(execs) else [])]

    @cached_property
    def _number(self) -> dict[str, int]:
        return {device: number for number, device in enumerate(self.devices)}

    @cached_property
    def device_of_node(self) -> Ints:
        """Device of each node, or NONE."""
        numbers = [self._number[name] if name else NONE for name in self._own_devices]
        return np.array(numbers, dtype=np.int64)

    @cached_property
    def types(self) -> list[tuple[str, ...]]:
        """Types of each node besides its op and its device."""
        found: list[tuple[str, ...]] = [()] * len(self._place)
        labels = self._saved.op_types
        for place, text in zip(labels.owner.tolist(), labels.text.strings(), strict=True):
            row = self._row[place]
            if row != NONE and text not in (self.ops[row], self._own_devices[row], *found[row]):
                found[row] = (*found[row], text)
        return found

    @property
    def float_ops(self) -> Ints:
        """Float operations of one run of each node."""
        return self._saved.float_ops[self._place]

    @property
    def has_log(self) -> bool:
        """Whether anything is known that only an op log has."""
        return self._saved.has_trace or bool(self.float_ops.any()) or any(self.types)

    @property
    def has_stack(self) -> Mask:
        """Whether each node has a call stack; a saved profile states it only for all together."""
        return np.full(len(self.names), self._saved.has_trace)

    @property
    def traces(self) -> Traces | None:
        """Frames of the call stacks; their owners are places in the file."""
        return self._saved.traces

    def stack_entries(self) -> list[tuple[int, int]]:
        """Return each node that has a stack, with its place in the file."""
        return [
            (row, place)
            for row, place in enumerate(self._place.tolist())
            if self._saved.has_code[place]
        ]

    def texts(self) -> dict[int, str]:
        """Return the texts that the frames refer to by number."""
        return self._saved.id_to_string.lookup()

    def shapes(self) -> list[Dims]:
        """Return the shape of each node itself, empty if it has none."""
        found: list[Dims] = [()] * len(self._place)
        owner, dims = self._saved.shape_owner, self._saved.shape
        places, starts = np.unique(owner, return_index=True)
        for place, some in zip(places.tolist(), np.split(dims, starts[1:]), strict=False):
            if self._row[place] != NONE:
                found[self._row[place]] = tuple(some.tolist())
        return found

    def data_formats(self) -> list[str]:
        """Return the attribute `data_format` of each node, empty if it has none."""
        labels = self._saved.attributes
        entries = Spans(labels.owner, labels.text.begin, labels.text.size)
        buffer = Buffer(labels.text.data, "the profile", "ProfileProto")
        formats = read_data_format(buffer, read_attributes(buffer, entries))
        return [formats.get(place, b"").decode(errors="replace") for place in self._place.tolist()]

    def edges(self) -> Edges:
        """Return the inputs of all nodes; the last input saved for a position wins."""
        inputs = self._saved.inputs
        owners = self._row[inputs.owner].tolist()
        places = zip(owners, inputs.key.tolist(), strict=True)
        sources = dict(zip(places, inputs.value.tolist(), strict=True))
        kept = sorted((place, source) for place, source in sources.items() if place[0] != NONE)
        rows = [self._row_of_key.get(source, NONE) for _, source in kept]
        return Edges(
            node=np.array([node for (node, _), _ in kept], dtype=np.int64),
            position=np.array([position for (_, position), _ in kept], dtype=np.int64),
            source=np.array(rows, dtype=np.int64),
            shapes=[self._shape(node, source) for (node, _), source in kept],
        )

    def _shape(self, node: int, source: int) -> Dims:
        """Return the shape of the source's output that the node takes."""
        output = self._taken_outputs.get((node, source))
        return self._output_shapes.get((self._row_of_key.get(source, NONE), output), ())

    @cached_property
    def _taken_outputs(self) -> dict[tuple[int, int], int]:
        table = self._saved.src_output_index
        rows = self._row[table.owner].tolist()
        keys = zip(rows, table.key.tolist(), strict=True)
        return dict(zip(keys, table.value.tolist(), strict=True))

    @cached_property
    def _output_shapes(self) -> dict[tuple[int, int | None], Dims]:
        table = self._saved.output_shapes
        rows = self._row[table.owner].tolist()
        values = np.split(table.values, table.start[1:])
        return {
            (row, key): tuple(dims.tolist())
            for row, key, dims in zip(rows, table.key.tolist(), values, strict=False)
        }

    @cached_property
    def records(self) -> Records:
        """What ran."""
        return _read_records(self._saved.execs, self._row, self._number)


@dataclass(frozen=True, eq=False)
class _ExecRows:
    """Execs on devices: one row per time, or one row if there are no times."""

    owner: Ints
    """Row of the exec."""
    device: Ints
    start: Ints
    """Start in µs."""
    micros: Ints
    """Time in µs that counts for the node."""
    duration: Ints
    """Duration in µs, counted or not."""
    is_run: Mask
    accelerator: Mask

    def join(self, other: "_ExecRows") -> "_ExecRows":
        """Return these rows followed by the other ones."""
        names = [field.name for field in fields(self)]
        return _ExecRows(*(np.append(getattr(self, name), getattr(other, name)) for name in names))


def _read_records(execs: Execs, row_of_place: Ints, number: Mapping[str, int]) -> Records:
    """Return a record for each time on a device, and for each device that has no times.

    `row_of_place` has the node at each position in the file, `number` the number of each device.
    The last device is for execs that name none.
    """
    timed = _timed_rows(execs, number)
    rows = timed.join(_idle_rows(execs, timed, number))
    check_times(rows.start)
    node = row_of_place[execs.owner]
    order = np.lexsort((rows.owner, execs.step[rows.owner]))
    order = order[_counts(execs, node)[rows.owner[order]]]
    columns: dict[str, Any] = {
        "node": node[rows.owner],
        "step": execs.step[rows.owner],
        "device": rows.device,
        "start": rows.start,
        "micros": rows.micros,
        "duration": rows.duration,
        "is_run": rows.is_run,
        "accelerator": rows.accelerator,
        **_memory_of_rows(execs.memory, rows, len(execs)),
    }
    return Records(**{name: column[order] for name, column in columns.items()})


def _timed_rows(execs: Execs, number: Mapping[str, int]) -> _ExecRows:
    table, times = execs.times, execs.times.times
    accelerator = table.is_accelerator[times.owner]
    return _ExecRows(
        owner=table.owner[times.owner],
        device=_device_numbers(table.device.strings(), number)[times.owner],
        start=times.start_micros,
        micros=times.micros,
        duration=times.micros,
        is_run=~accelerator,
        accelerator=accelerator,
    )


def _idle_rows(execs: Execs, timed: _ExecRows, number: Mapping[str, int]) -> _ExecRows:
    """Return a row for each device without times; one without a name for an exec without any."""
    seen = execs.devices.owner
    seen_on = _device_numbers(execs.devices.text.strings(), number)
    width = len(number)
    idle = ~np.isin(seen * width + seen_on, timed.owner * width + timed.device)
    bare = np.setdiff1d(np.arange(len(execs)), np.append(timed.owner, seen[idle]))
    owner = np.append(seen[idle], bare)
    start = execs.all_start_micros[owner]
    return _ExecRows(
        owner=owner,
        device=np.append(seen_on[idle], np.full(len(bare), width - 1)),
        start=start,
        micros=np.zeros(len(owner), dtype=np.int64),
        duration=np.where(start > 0, execs.latest_end_micros[owner] - start, 0),
        is_run=np.zeros(len(owner), dtype=bool),
        accelerator=np.zeros(len(owner), dtype=bool),
    )


def _device_numbers(devices: list[str], number: Mapping[str, int]) -> Ints:
    return np.array([number[name] for name in devices], dtype=np.int64)


def _counts(execs: Execs, node: Ints) -> Mask:
    """Return which execs count: the last one for each known node and step."""
    pairs = zip(execs.owner.tolist(), execs.step.tolist(), strict=True)
    last = {pair: place for place, pair in enumerate(pairs)}
    counts = np.zeros(len(execs), dtype=bool)
    counts[np.fromiter(last.values(), np.int64, len(last))] = True
    counts[node == NONE] = False
    return counts


def _memory_of_rows(memory: ExecMemory, rows: _ExecRows, count: int) -> dict[str, Ints]:
    """Return the memory of each row in bytes; what no run claims goes to its exec's first row."""
    first = np.zeros(count, dtype=np.int64)
    first[rows.owner[::-1]] = np.arange(len(rows.owner))[::-1]
    runs = np.flatnonzero(rows.is_run)
    row_of_run = dict(zip(_numbered(rows.owner[runs]), runs.tolist(), strict=True))
    row = np.array(
        [row_of_run.get(run, first[run[0]]) for run in _numbered(memory.owner)], dtype=np.int64
    )
    columns = {
        "bytes": memory.requested_bytes,
        "peak_bytes": memory.peak_bytes,
        "residual_bytes": memory.residual_bytes,
        "output_bytes": memory.output_bytes,
    }
    sums = {name: np.zeros(len(rows.owner), dtype=np.int64) for name in columns}
    for name, values in columns.items():
        np.add.at(sums[name], row, values)
    return sums


def _numbered(owner: Ints) -> list[tuple[int, int]]:
    """Pair each row's owner with the number of rows of that owner directly before it."""
    return list(zip(owner.tolist(), count_up(owner).tolist(), strict=True))
