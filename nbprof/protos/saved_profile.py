"""What tfprof saves, as columns: the value which `ingest` reads and `export` writes.

Tables belong together by row numbers: `owner` is the row of the node, exec, device or memory
record above, and ascends. Of a map, each table has all entries in file order; should a key be there
twice, the last counts.
"""

from dataclasses import dataclass

from nbprof.arrays import Ints, Mask, Words
from nbprof.protos.texts import Texts


@dataclass(frozen=True, eq=False, slots=True)
class Traces:
    """The frames of call stacks: by owner, outermost first. Texts are ids of a string table."""

    owner: Ints
    """The entry or node whose stack it is."""
    file_id: Ints
    lineno: Ints
    function_id: Ints
    line_id: Ints
    func_start_line: Ints

    def __len__(self) -> int:
        return len(self.owner)


@dataclass(frozen=True, eq=False, slots=True)
class StringTable:
    """Texts by id, in file order; of an id that is there twice the last counts."""

    id: Ints
    text: Texts

    def lookup(self) -> dict[int, str]:
        """Make a dictionary of the table."""
        return dict(zip(self.id.tolist(), self.text.strings(), strict=True))


@dataclass(frozen=True, eq=False, slots=True)
class NumberMap:
    """Maps from number to number."""

    owner: Ints
    key: Ints
    value: Ints


@dataclass(frozen=True, eq=False, slots=True)
class TupleMap:
    """Maps from number to a list of numbers."""

    owner: Ints
    key: Ints
    start: Ints
    """Where in `values` each list begins."""
    length: Ints
    values: Ints


@dataclass(frozen=True, eq=False, slots=True)
class Labels:
    """Lists of texts."""

    owner: Ints
    text: Texts


@dataclass(frozen=True, eq=False, slots=True)
class Times:
    """When an exec ran on a device."""

    owner: Ints
    """The row in `DeviceTimes`."""
    start_micros: Ints
    micros: Ints


@dataclass(frozen=True, eq=False, slots=True)
class DeviceTimes:
    """The devices for which an exec has times, those of the cpu first."""

    owner: Ints
    """The exec."""
    is_accelerator: Mask
    device: Texts
    times: Times


@dataclass(frozen=True, eq=False, slots=True)
class OutputMemory:
    """What the outputs hold."""

    owner: Ints
    """The row in `ExecMemory`."""
    slot: Ints
    bytes: Ints
    pointer: Words


@dataclass(frozen=True, eq=False, slots=True)
class ExecMemory:
    """What an exec held, one row for each time it ran."""

    owner: Ints
    """The exec."""
    memory_micros: Ints
    host_temp_bytes: Ints
    host_persistent_bytes: Ints
    accelerator_temp_bytes: Ints
    accelerator_persistent_bytes: Ints
    requested_bytes: Ints
    peak_bytes: Ints
    residual_bytes: Ints
    output_bytes: Ints
    allocator_bytes_in_use: Ints
    output_memory: OutputMemory


@dataclass(frozen=True, eq=False, slots=True)
class ExecAllocations:
    """What was allocated and freed while an exec ran."""

    owner: Ints
    """The exec."""
    alloc_micros: Ints
    alloc_bytes: Ints


@dataclass(frozen=True, eq=False, slots=True)
class Execs:
    """What is known of a node in a step."""

    owner: Ints
    """The node."""
    step: Ints
    run_count: Ints
    all_start_micros: Ints
    latest_end_micros: Ints
    times: DeviceTimes
    memory: ExecMemory
    allocations: ExecAllocations
    devices: Labels

    def __len__(self) -> int:
        return len(self.owner)


@dataclass(frozen=True, eq=False, slots=True)
class SavedProfile:
    """The nodes of a saved profile, in file order."""

    key: Ints
    """The number under which the node is saved, by which `inputs` mean it: its id, too."""
    id: Ints
    name: Texts
    op: Texts
    canonical_device: Texts
    host_device: Texts
    float_ops: Ints
    inputs: NumberMap
    """From position to the number of the node there."""
    src_output_index: NumberMap
    """From the number of a node to which of its outputs is taken."""
    shape: Ints
    """The dimensions of the own shapes of all nodes."""
    shape_owner: Ints
    output_shapes: TupleMap
    op_types: Labels
    attributes: Labels
    """Map entries as bytes, each with name and AttrValue."""
    has_code: Mask
    """Whether the node has a call stack, be it of no frames."""
    traces: Traces
    execs: Execs
    steps: Ints
    id_to_string: StringTable
    has_trace: bool
    miss_accelerator_stream: bool

    def __len__(self) -> int:
        return len(self.key)
