"""tfprof's inputs put together: a graph, what ran of it step by step, and what Python logged.

The rules are tfprof's: the first definition of a node counts, a node that only the runtime knows is
added with its name for an op, a node runs on the first device on which it was seen, and the log
decorates nodes that are known by then.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from nbprof.arrays import NONE, Ints, Mask
from nbprof.ingest.tfprof.graph_def import GraphDef, Shapes
from nbprof.ingest.tfprof.op_log import OpLog
from nbprof.ingest.tfprof.profile_source import Dims, Records, check_times
from nbprof.ingest.tfprof.run_metadata import RunMetadata
from nbprof.protos.saved_profile import Traces

CANONICAL = re.compile(r".*/(device:gpu|gpu|device:cpu|cpu):\d+", re.DOTALL)
STREAMS = "stream:all"
NOT_NODES = frozenset(("RecvTensor", "_SOURCE"))
NO_NODE = "MEMCPY"


class TfprofInputs:
    """The nodes and records of a graph and its runs."""

    def __init__(
        self, graph: GraphDef, runs: Sequence[tuple[int, RunMetadata]], log: OpLog | None
    ) -> None:
        self.graph = graph
        self.steps = [step for step, run in runs if run.has_step_stats]
        self._runs = [(step, run) for step, run in runs if run.has_step_stats]
        self._log = log
        self._row: dict[str, int] = {}
        self._graph_names: list[str] = []
        self._first = self._read_names()
        self.ops: list[str] = self._graph_ops()
        self._record_nodes = [self._nodes_of(run) for _, run in self._runs]

    def _read_names(self) -> Ints:
        """Number the names of the graph; give the rows of the graph that define them."""
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

    def _graph_ops(self) -> list[str]:
        return self.graph.op.take(self._first).strings()

    def _nodes_of(self, run: RunMetadata) -> Ints:
        """Find the node of each record, NONE for those that are none; new ones are added."""
        names = run.node_name.strings()
        if any(":" in name for name in names):
            names = [name.partition(":")[0] for name in names]
        row = self._row
        found = list(map(row.get, names))
        for place in [
            place for place, node in enumerate(found) if node is None or ":" in names[place]
        ]:
            name = names[place]
            node = row.get(name)
            if node is None:
                if name in NOT_NODES or NO_NODE in name:
                    node = NONE
                else:
                    node = row[name] = len(row)
                    self.ops.append(name)
            found[place] = node
        return np.array(found, dtype=np.int64)

    @property
    def names(self) -> list[str]:
        """The names of all nodes."""
        return list(self._row)

    @cached_property
    def devices(self) -> list[str]:
        """The distinct devices of all runs, in lower case."""
        seen: dict[str, None] = {}
        for _, run in self._runs:
            seen.update(dict.fromkeys(name.lower() for name in run.devices.strings()))
        return list(seen)

    @cached_property
    def records(self) -> Records:
        """The records of all runs, in the order of adding."""
        device, node, kept = self._device_of_record, joined(self._record_nodes), self._kept
        canonical, accelerator = self._device_kinds
        own = self.device_of_node
        start = joined(run.all_start_micros for _, run in self._runs)
        timed = start > 0
        check_times(start)
        end = joined(run.op_end_rel_micros for _, run in self._runs)
        on_accelerator = accelerator[device] & timed
        is_run = canonical[device] & ~accelerator[device] & timed
        duration = np.where(timed, np.where(end == 0, 1, end), 0)
        micros = np.where(is_run | on_accelerator, duration, 0)
        # A node without a device counts what was held on a device without a name.
        nameless = np.array([not name for name in self.devices], dtype=bool)
        holds = is_run | (nameless[device] & timed & (np.append(own, NONE)[node] == NONE))
        memory = {name: np.where(holds, held, 0)[kept] for name, held in self._memory().items()}
        step = joined(np.full(len(run), step) for step, run in self._runs)
        return Records(
            node=node[kept],
            step=step[kept],
            device=device[kept],
            start=np.where(timed, start, 0)[kept],
            micros=micros[kept],
            duration=duration[kept],
            is_run=is_run[kept],
            accelerator=on_accelerator[kept],
            **memory,
        )

    @cached_property
    def _device_of_record(self) -> Ints:
        place = {device: number for number, device in enumerate(self.devices)}
        return joined(
            np.array([place[name.lower()] for name in run.devices.strings()], dtype=np.int64)[
                run.device
            ]
            for _, run in self._runs
        )

    @cached_property
    def _kept(self) -> Mask:
        """Which records tfprof keeps: those of nodes, and of canonical devices only their own."""
        node, device = joined(self._record_nodes), self._device_of_record
        canonical, _ = self._device_kinds
        foreign = canonical[device] & (device != np.append(self.device_of_node, NONE)[node])
        kept: Mask = (node != NONE) & ~foreign
        return kept

    @property
    def event_of_record(self) -> Ints:
        """The place in `records` of each record of all runs, NONE for those that are dropped."""
        return np.where(self._kept, np.cumsum(self._kept) - 1, NONE)

    @property
    def runs(self) -> list[RunMetadata]:
        """The runs, in the order of adding."""
        return [run for _, run in self._runs]

    def _memory(self) -> dict[str, Ints]:
        """Add up what each record asked for, held, left and gave, as tfprof does."""
        parts = [run.memory for _, run in self._runs]
        kept = joined(part.persistent for part in parts)
        used = kept + joined(part.temp for part in parts)
        return {
            "bytes": joined(part.total for part in parts) + used,
            "peak_bytes": joined(part.peak for part in parts) + used,
            "residual_bytes": joined(part.live for part in parts) + kept,
            "output_bytes": joined(run.output_bytes for _, run in self._runs),
        }

    @cached_property
    def _device_kinds(self) -> tuple[Mask, Mask]:
        """Tell which devices are nodes' own, and which count as time of an accelerator."""
        accelerator = np.array([STREAMS in name for name in self.devices], dtype=bool)
        canonical = np.array([bool(CANONICAL.fullmatch(name)) for name in self.devices], dtype=bool)
        return canonical & ~accelerator, accelerator

    @cached_property
    def device_of_node(self) -> Ints:
        """The device of each node: the first of its own kind on which it was seen, or NONE."""
        found = np.full(len(self._row), NONE)
        place = {device: number for number, device in enumerate(self.devices)}
        canonical, _ = self._device_kinds
        for nodes, (_, run) in zip(self._record_nodes, self._runs, strict=True):
            names = run.devices.strings()
            numbers = np.array([place[name.lower()] for name in names], dtype=np.int64)
            device = numbers[run.device]
            fits = np.flatnonzero((nodes != NONE) & canonical[device])
            seen, first = np.unique(nodes[fits], return_index=True)
            new = found[seen] == NONE
            found[seen[new]] = device[fits[first[new]]]
        return found

    @cached_property
    def types(self) -> list[tuple[str, ...]]:
        """The types that the log gives to each node."""
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
        """The float operations of one run of each node, 0 where the log knows none."""
        found = np.zeros(len(self._row), dtype=np.int64)
        if self._log is not None:
            known = (self._log_rows != NONE) & (self._log.float_ops != 0)
            found[self._log_rows[known]] = self._log.float_ops[known]
        return found

    @cached_property
    def _log_rows(self) -> Ints:
        assert self._log is not None
        names = self._log.name.strings()
        if names == self._graph_names:  # as tfprof's own logger writes it
            return np.arange(len(names))
        rows = list(map(self._row.get, names))
        return np.array([NONE if row is None else row for row in rows], dtype=np.int64)

    @property
    def has_stack(self) -> Mask:
        """Tell whose call stack the log has, be it empty."""
        found = np.zeros(len(self._row), dtype=bool)
        found[[node for node, _ in self.stack_entries()]] = True
        return found

    @property
    def has_log(self) -> bool:
        """Tell whether there is a log that says anything."""
        return self._log is not None and len(self._log) > 0

    def stack_entries(self) -> list[tuple[int, int]]:
        """Pair each node that has a stack with the entry of the log that brings it, the first."""
        if self._log is None:
            return []
        entries = np.flatnonzero(self._log.has_code & (self._log_rows != NONE))
        nodes, first = np.unique(self._log_rows[entries], return_index=True)
        return list(zip(nodes.tolist(), entries[first].tolist(), strict=True))

    @property
    def traces(self) -> Traces | None:
        """The call stacks of the log, if there is one."""
        return None if self._log is None else self._log.traces

    def texts(self) -> dict[int, str]:
        """The texts that the call stacks mean by number."""
        return {} if self._log is None else self._log.id_to_string.lookup()

    def shapes(self) -> list[Dims]:
        """The own shape of each node, as tfprof has it: empty where there is none."""
        return self._by_node(self.graph.shape)

    def _first_outputs(self) -> list[Dims]:
        """Give the shape of the first output of each node, empty where it is not known."""
        outputs = self.graph.output_shapes
        first = np.flatnonzero(outputs.output == 0)
        return self._by_node(outputs, first)

    def _by_node(self, shapes: Shapes, rows: Ints | None = None) -> list[Dims]:
        row_of_place = np.full(len(self.graph), NONE)
        row_of_place[self._first] = np.arange(len(self._first))
        found: list[Dims] = [()] * len(self._row)
        chosen = np.arange(len(shapes)) if rows is None else rows
        dims = shapes.dims.tolist()
        columns = (shapes.node, shapes.start, shapes.rank, shapes.unknown_rank)
        for place, start, rank, unknown in zip(*(c[chosen].tolist() for c in columns), strict=True):
            row = row_of_place[place]
            if row != NONE and not unknown:
                found[row] = tuple(dims[start : start + rank]) or (1,)
        return found

    def data_formats(self) -> list[str]:
        """The attribute `data_format` of each node, empty where there is none."""
        of_place = self.graph.data_format
        found = [""] * len(self._row)
        if of_place:
            for row, place in enumerate(self._first.tolist()):
                found[row] = of_place.get(place, b"").decode(errors="replace")
        return found

    @property
    def misses_streams(self) -> bool:
        """Tell whether a GPU was used whose streams are not in the records."""
        gpus = [name for name in self.devices if "gpu" in name]
        return bool(gpus) and not any(STREAMS in name for name in gpus)

    def edges(self) -> tuple[Ints, Ints, Ints, list[Dims]]:
        """Give consumer, place, producer (NONE: unknown) and shape of each input."""
        inputs = self.graph.inputs
        row_of_place = np.full(len(self.graph), NONE)
        row_of_place[self._first] = np.arange(len(self._first))
        node = row_of_place[inputs.node]
        texts = inputs.text.strings()
        known = {
            text: self._row.get(text.removeprefix("^").partition(":")[0], NONE)
            for text in set(texts)
        }
        source = np.fromiter(map(known.__getitem__, texts), np.int64, len(texts))
        kept = node != NONE
        first = [*self._first_outputs(), ()]  # the last for those from nowhere
        shapes = [first[row] for row in source[kept].tolist()]
        return node[kept], inputs.position[kept], source[kept], shapes


def joined(parts: Iterable[Ints]) -> Ints:
    """Put columns one behind the other."""
    listed = [*parts]
    return np.concatenate(listed) if listed else np.zeros(0, dtype=np.int64)
