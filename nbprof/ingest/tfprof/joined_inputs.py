"""Join tfprof's inputs: a graph, its runs step by step, and Python's log.

The rules are tfprof's: the first definition of a node counts; a node that only the runtime knows is
added, with its name as its op; a node runs on the first device it was seen on; and the log only
adds to nodes already known.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from nbprof.arrays import NONE, Ints, Mask
from nbprof.ingest.tfprof.graph_def import GraphDef, Shapes
from nbprof.ingest.tfprof.op_log import OpLog
from nbprof.ingest.tfprof.profile_source import Dims, Edges, Records, check_times
from nbprof.ingest.tfprof.run_metadata import RunMetadata
from nbprof.protos.saved_profile import Traces

CANONICAL = re.compile(r".*/(device:gpu|gpu|device:cpu|cpu):\d+", re.DOTALL)
"""Names of devices that nodes are placed on."""

STREAMS = "stream:all"
"""Part of the names of devices that stand for all streams of a GPU."""

NOT_NODES = frozenset(("RecvTensor", "_SOURCE"))
"""Names of records that belong to no node."""

COPY = "MEMCPY"
"""Part of the names of records of memory copies, which belong to no node."""


class TfprofInputs:
    """The nodes and records of a graph and its runs."""

    def __init__(
        self, graph: GraphDef, runs: Sequence[tuple[int, RunMetadata]], log: OpLog | None
    ) -> None:
        with_stats = [(step, run) for step, run in runs if run.has_step_stats]
        self.graph = graph
        self.steps = [step for step, _ in with_stats]
        self.runs = [run for _, run in with_stats]
        """The runs, in the order they were given."""
        self._log = log
        self._row: dict[str, int] = {}
        self._graph_names: list[str] = []
        self._first = self._read_names()
        self.ops: list[str] = self.graph.op.take(self._first).strings()
        self._node_of_record = joined([self._nodes_of(run) for run in self.runs])

    def _read_names(self) -> Ints:
        """Number the names of the graph; return the rows of the graph that define them."""
        names = self.graph.name.strings()
        row = self._row
        row.update(zip(names, range(len(names)), strict=True))
        if len(row) == len(names):
            self._graph_names = names
            return np.arange(len(names))
        row.clear()
        first = []
        for place, name in enumerate(names):
            if name not in row:
                row[name] = len(row)
                first.append(place)
        return np.array(first, dtype=np.int64)

    def _nodes_of(self, run: RunMetadata) -> Ints:
        """Return the node of each record, NONE if it has none; add nodes that are new."""
        names = run.node_name.strings()
        if ":" in "".join(names):
            names = [name.partition(":")[0] for name in names]
        row = self._row
        found = list(map(row.get, names))
        unknown = [place for place, node in enumerate(found) if node is None]
        for place in unknown:
            name = names[place]
            node = row.get(name)  # an earlier record may have added it
            if node is None:
                if name in NOT_NODES or COPY in name:
                    node = NONE
                else:
                    node = row[name] = len(row)
                    self.ops.append(name)
            found[place] = node
        return np.array(found, dtype=np.int64)

    # Nodes

    @property
    def names(self) -> list[str]:
        """Names of all nodes."""
        return list(self._row)

    @cached_property
    def _row_of_place(self) -> Ints:
        """Node at each position in the file; NONE for a repeated definition."""
        row = np.full(len(self.graph), NONE)
        row[self._first] = np.arange(len(self._first))
        return row

    def shapes(self) -> list[Dims]:
        """Return the shape of each node itself, (1,) for a scalar as in tfprof, empty if none."""
        return self._by_node(self.graph.shape)

    def _first_outputs(self) -> list[Dims]:
        """Return the shape of the first output of each node, empty if it is unknown."""
        outputs = self.graph.output_shapes
        return self._by_node(outputs, np.flatnonzero(outputs.output == 0))

    def _by_node(self, shapes: Shapes, rows: Ints | None = None) -> list[Dims]:
        found: list[Dims] = [()] * len(self._row)
        chosen = np.arange(len(shapes)) if rows is None else rows
        dims = shapes.dims.tolist()
        columns = (self._row_of_place[shapes.node], shapes.start, shapes.rank, shapes.unknown_rank)
        for row, start, rank, unknown in zip(*(c[chosen].tolist() for c in columns), strict=True):
            if row != NONE and not unknown:
                found[row] = tuple(dims[start : start + rank]) or (1,)
        return found

    def data_formats(self) -> list[str]:
        """Return the attribute `data_format` of each node, empty if it has none."""
        of_place = self.graph.data_format
        found = [""] * len(self._row)
        if of_place:
            for row, place in enumerate(self._first.tolist()):
                found[row] = of_place.get(place, b"").decode(errors="replace")
        return found

    def edges(self) -> Edges:
        """Return the inputs of all nodes."""
        inputs = self.graph.inputs
        node = self._row_of_place[inputs.node]
        texts = inputs.text.strings()
        known = {
            text: self._row.get(text.removeprefix("^").partition(":")[0], NONE)
            for text in set(texts)
        }
        kept = node != NONE
        source = np.fromiter(map(known.__getitem__, texts), np.int64, len(texts))[kept]
        outputs = [*self._first_outputs(), ()]  # the last one, at NONE, for unknown sources
        return Edges(
            node=node[kept],
            position=inputs.position[kept],
            source=source,
            shapes=[outputs[row] for row in source.tolist()],
        )

    # Devices

    @cached_property
    def devices(self) -> list[str]:
        """Distinct devices of all runs, in lower case."""
        names = (name.lower() for run in self.runs for name in run.devices.strings())
        return list(dict.fromkeys(names))

    @property
    def misses_streams(self) -> bool:
        """Whether the records lack the streams of a GPU that was used."""
        gpus = [name for name in self.devices if "gpu" in name]
        return bool(gpus) and not any(STREAMS in name for name in gpus)

    @cached_property
    def _is_accelerator(self) -> Mask:
        """Which devices' time counts as accelerator time."""
        return np.array([STREAMS in name for name in self.devices], dtype=bool)

    @cached_property
    def _is_canonical(self) -> Mask:
        """Which devices nodes can be placed on."""
        names = self.devices
        return np.array(
            [STREAMS not in name and bool(CANONICAL.fullmatch(name)) for name in names], dtype=bool
        )

    @cached_property
    def _device_of_record(self) -> Ints:
        number = {device: place for place, device in enumerate(self.devices)}
        return joined(
            np.array([number[name.lower()] for name in run.devices.strings()], dtype=np.int64)[
                run.device
            ]
            for run in self.runs
        )

    @cached_property
    def device_of_node(self) -> Ints:
        """Device of each node: the first canonical one it was seen on, or NONE."""
        found = np.full(len(self._row), NONE)
        node, device = self._node_of_record, self._device_of_record
        fits = np.flatnonzero((node != NONE) & self._is_canonical[device])
        seen, first = np.unique(node[fits], return_index=True)
        found[seen] = device[fits[first]]
        return found

    # Records

    @cached_property
    def records(self) -> Records:
        """The records of all runs that tfprof keeps, in the order they were given."""
        device, kept = self._device_of_record, self._kept
        start = joined(run.all_start_micros for run in self.runs)
        check_times(start)
        is_timed = start > 0
        end = joined(run.op_end_rel_micros for run in self.runs)
        duration = np.where(is_timed, np.where(end == 0, 1, end), 0)
        on_accelerator = self._is_accelerator[device] & is_timed
        is_run = self._is_canonical[device] & is_timed
        columns: dict[str, Any] = {
            "node": self._node_of_record,
            "step": joined(
                np.full(len(run), step) for step, run in zip(self.steps, self.runs, strict=True)
            ),
            "device": device,
            "start": np.where(is_timed, start, 0),
            "micros": np.where(is_run | on_accelerator, duration, 0),
            "duration": duration,
            "is_run": is_run,
            "accelerator": on_accelerator,
            **self._memory(is_run | (self._is_nameless & is_timed)),
        }
        return Records(**{name: column[kept] for name, column in columns.items()})

    @cached_property
    def _is_nameless(self) -> Mask:
        """Which records belong to a node without a device and ran on a device without a name.

        tfprof counts their memory.
        """
        nameless = np.array([not name for name in self.devices], dtype=bool)
        own = np.append(self.device_of_node, NONE)[self._node_of_record]
        found: Mask = nameless[self._device_of_record] & (own == NONE)
        return found

    @cached_property
    def _kept(self) -> Mask:
        """Which records tfprof keeps: those of nodes, unless on another canonical device."""
        node, device = self._node_of_record, self._device_of_record
        own = np.append(self.device_of_node, NONE)[node]
        kept: Mask = (node != NONE) & ~(self._is_canonical[device] & (device != own))
        return kept

    @property
    def event_of_record(self) -> Ints:
        """Row in `records` of each record of all runs, NONE if it was dropped."""
        return np.where(self._kept, np.cumsum(self._kept) - 1, NONE)

    def _memory(self, counts: Mask) -> dict[str, Ints]:
        """Return the memory of each record in bytes as tfprof sums it, 0 unless it counts."""
        parts = [run.memory for run in self.runs]
        kept = joined(part.persistent for part in parts)
        used = kept + joined(part.temp for part in parts)
        held = {
            "bytes": joined(part.total for part in parts) + used,
            "peak_bytes": joined(part.peak for part in parts) + used,
            "residual_bytes": joined(part.live for part in parts) + kept,
            "output_bytes": joined(run.output_bytes for run in self.runs),
        }
        return {name: np.where(counts, values, 0) for name, values in held.items()}

    # The log

    @property
    def has_log(self) -> bool:
        """Whether there is a log with any entry."""
        return self._log is not None and len(self._log) > 0

    @cached_property
    def _log_rows(self) -> Ints:
        """Node of each entry of the log, or NONE."""
        assert self._log is not None
        names = self._log.name.strings()
        if names == self._graph_names:  # as in logs that tfprof's own logger wrote
            return np.arange(len(names))
        rows = list(map(self._row.get, names))
        return np.array([NONE if row is None else row for row in rows], dtype=np.int64)

    @cached_property
    def types(self) -> list[tuple[str, ...]]:
        """Types that the log adds to each node."""
        found: list[tuple[str, ...]] = [()] * len(self._row)
        if self._log is not None:
            rows = self._log_rows
            texts = self._log.type_name.strings()
            for entry, text in zip(self._log.type_entry.tolist(), texts, strict=True):
                node = rows[entry]
                if node != NONE and text not in found[node]:
                    found[node] = (*found[node], text)
        return found

    @cached_property
    def float_ops(self) -> Ints:
        """Float operations of one run of each node, 0 if the log has none."""
        found = np.zeros(len(self._row), dtype=np.int64)
        if self._log is not None:
            known = (self._log_rows != NONE) & (self._log.float_ops != 0)
            found[self._log_rows[known]] = self._log.float_ops[known]
        return found

    @property
    def has_stack(self) -> Mask:
        """Whether the log has a call stack for each node, possibly without frames."""
        found = np.zeros(len(self._row), dtype=bool)
        found[[node for node, _ in self.stack_entries()]] = True
        return found

    def stack_entries(self) -> list[tuple[int, int]]:
        """Return each node that has a stack, with the first log entry that has it."""
        if self._log is None:
            return []
        entries = np.flatnonzero(self._log.has_code & (self._log_rows != NONE))
        nodes, first = np.unique(self._log_rows[entries], return_index=True)
        return list(zip(nodes.tolist(), entries[first].tolist(), strict=True))

    @property
    def traces(self) -> Traces | None:
        """Call stacks of the log, if there is one."""
        return None if self._log is None else self._log.traces

    def texts(self) -> dict[int, str]:
        """Return the texts that the call stacks refer to by number."""
        return {} if self._log is None else self._log.id_to_string.lookup()


def joined(parts: Iterable[Ints]) -> Ints:
    """Concatenate columns; no columns make an empty one."""
    listed = [*parts]
    return np.concatenate(listed) if listed else np.zeros(0, dtype=np.int64)
