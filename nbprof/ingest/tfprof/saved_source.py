"""A saved profile as the source of a Profile."""

from functools import cached_property

import numpy as np

from nbprof.arrays import NONE, Ints, Mask
from nbprof.ingest.protobuf.wire import Buffer, Spans
from nbprof.ingest.tfprof.graph_def import read_attributes, read_data_format
from nbprof.ingest.tfprof.profile_source import Dims, Records
from nbprof.ingest.tfprof.saved_records import read_records
from nbprof.protos.saved_profile import SavedProfile, Traces


class SavedInputs:
    """The nodes of a saved profile by their numbers; of a name that is there twice, the first."""

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
        """The names of all nodes."""
        return list(self._row_of_name)

    @cached_property
    def ops(self) -> list[str]:
        """The op type of each node."""
        return self._saved.op.take(self._place).strings()

    @property
    def steps(self) -> list[int]:
        """The steps that were added."""
        return [int(step) for step in self._saved.steps]

    @property
    def misses_streams(self) -> bool:
        """Tell whether a GPU was used whose streams are not in the records."""
        return self._saved.miss_accelerator_stream

    @cached_property
    def _own_devices(self) -> list[str]:
        return self._saved.canonical_device.take(self._place).strings()

    @cached_property
    def devices(self) -> list[str]:
        """The distinct devices of all nodes and execs; the last is for those without a name."""
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
        """The device of each node, or NONE."""
        numbers = [self._number[name] if name else NONE for name in self._own_devices]
        return np.array(numbers, dtype=np.int64)

    @cached_property
    def types(self) -> list[tuple[str, ...]]:
        """The types of each node besides its op and its device."""
        found: list[tuple[str, ...]] = [()] * len(self._place)
        labels = self._saved.op_types
        for place, text in zip(labels.owner.tolist(), labels.text.strings(), strict=True):
            row = self._row[place]
            if row != NONE and text not in (self.ops[row], self._own_devices[row], *found[row]):
                found[row] = (*found[row], text)
        return found

    @property
    def float_ops(self) -> Ints:
        """The float operations of one run of each node."""
        return self._saved.float_ops[self._place]

    @property
    def has_log(self) -> bool:
        """Tell whether anything is known that only an op log tells."""
        return self._saved.has_trace or bool(self.float_ops.any()) or any(self.types)

    @property
    def has_stack(self) -> Mask:
        """A saved profile says of all its nodes at once whether there are call stacks."""
        return np.full(len(self.names), self._saved.has_trace)

    @property
    def traces(self) -> Traces | None:
        """The frames of the call stacks; their owners are places in the file."""
        return self._saved.traces

    def stack_entries(self) -> list[tuple[int, int]]:
        """Pair each node that has a stack with its place in the file."""
        return [
            (row, place)
            for row, place in enumerate(self._place.tolist())
            if self._saved.has_code[place]
        ]

    def texts(self) -> dict[int, str]:
        """The texts that the frames mean by number."""
        return self._saved.id_to_string.lookup()

    def shapes(self) -> list[Dims]:
        """The own shape of each node, empty where there is none."""
        found: list[Dims] = [()] * len(self._place)
        owner, dims = self._saved.shape_owner, self._saved.shape
        places, starts = np.unique(owner, return_index=True)
        for place, some in zip(places.tolist(), np.split(dims, starts[1:]), strict=False):
            if self._row[place] != NONE:
                found[self._row[place]] = tuple(some.tolist())
        return found

    def data_formats(self) -> list[str]:
        """The attribute `data_format` of each node, empty where there is none."""
        labels = self._saved.attributes
        entries = Spans(labels.owner, labels.text.begin, labels.text.size)
        buffer = Buffer(labels.text.data, "the profile", "ProfileProto")
        formats = read_data_format(buffer, read_attributes(buffer, entries))
        return [formats.get(place, b"").decode(errors="replace") for place in self._place.tolist()]

    def edges(self) -> tuple[Ints, Ints, Ints, list[Dims]]:
        """Give consumer, place, producer (NONE: unknown) and shape of each input."""
        inputs = self._saved.inputs
        kept = {
            (self._row[owner], position): source
            for owner, position, source in zip(
                inputs.owner.tolist(), inputs.key.tolist(), inputs.value.tolist(), strict=True
            )
            if self._row[owner] != NONE
        }
        rows = sorted(kept)
        sources = [kept[row] for row in rows]
        shapes = [self._shape(node, key) for (node, _), key in zip(rows, sources, strict=True)]
        return (
            np.array([node for node, _ in rows], dtype=np.int64),
            np.array([position for _, position in rows], dtype=np.int64),
            np.array([self._row_of_key.get(key, NONE) for key in sources], dtype=np.int64),
            shapes,
        )

    def _shape(self, node: int, source: int) -> Dims:
        """Give the shape of that output of the source which the node takes."""
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
        return read_records(self._saved.execs, self._row, self._number)
