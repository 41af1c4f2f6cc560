"""A profile saved by tfprof, as columns: `ingest` reads it and `export` writes it.

Tables are linked by row numbers: `owner` is the row of the node, exec, device or memory record
that a row belongs to, and ascends. The table of a map has all its entries in file order; the last
entry for a key wins.
"""

from dataclasses import dataclass

from nbprof.arrays import Ints, Mask, Words
from nbprof.protos.texts import Texts


@dataclass(frozen=True, eq=False, slots=True)
class Traces:
    """Frames of call stacks, by owner, outermost first; texts are ids of a string table."""

    owner: Ints
    """Log entry or node the stack belongs to."""
    file_id: Ints
    lineno: Ints
    function_id: Ints
    line_id: Ints
    func_start_line: Ints

    def __len__(self) -> int:
        return len(self.owner)


@dataclass(frozen=True, eq=False, slots=True)
class StringTable:
    """Texts by id, in file order; the last text for an id wins."""

    id: Ints
    text: Texts

    def lookup(self) -> dict[int, str]:
        """Return the table as a dictionary."""
        return dict(zip(self.id.tolist(), self.text.strings(), strict=True))


@dataclass(frozen=True, eq=False, slots=True)
class NumberMap:
    """Maps from number to number."""

    owner: Ints
    key: Ints
    value: Ints


@dataclass(frozen=True, eq=False, slots=True)
class TupleMap:
    """Maps from number to list of numbers."""

    owner: Ints
    key: Ints
    start: Ints
    """Start of each list in `values`."""
    length: Ints
    values: Ints


@dataclass(frozen=True, eq=False, slots=True)
class Labels:
    """Lists of texts."""

    owner: Ints
    text: Texts


@dataclass(frozen=True, eq=False, slots=True)
class Times:
    """Times of an exec on a device."""

    owner: Ints
    """Row of `DeviceTimes`."""
    start_micros: Ints
    micros: Ints


@dataclass(frozen=True, eq=False, slots=True)
class DeviceTimes:
    """Devices for which an exec has times, the CPUs first."""

    owner: Ints
    """Row of `Execs`."""
    is_accelerator: Mask
    device: Texts
    times: Times


@dataclass(frozen=True, eq=False, slots=True)
class OutputMemory:
    """Memory held by outputs."""

    owner: Ints
    """Row of `ExecMemory`."""
    slot: Ints
    bytes: Ints
    pointer: Words


@dataclass(frozen=True, eq=False, slots=True)
class ExecMemory:
    """Memory of an exec, one row per run."""

    owner: Ints
    """Row of `Execs`."""
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
    """Allocations and, as negative bytes, frees while an exec ran."""

    owner: Ints
    """Row of `Execs`."""
    alloc_micros: Ints
    alloc_bytes: Ints


@dataclass(frozen=True, eq=False, slots=True)
class Execs:
    """The runs of a node in a step."""

    owner: Ints
    """Row of the node."""
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
    """Map key of the node, which `inputs` refer to; tfprof uses the node's id."""
    id: Ints
    name: Texts
    op: Texts
    canonical_device: Texts
    host_device: Texts
    float_ops: Ints
    inputs: NumberMap
    """From input position to the key of the node there."""
    src_output_index: NumberMap
    """From the key of an input node to the index of the output taken from it."""
    shape: Ints
    """Dimensions of the nodes' own shapes, one after the other."""
    shape_owner: Ints
    """Node that each dimension belongs to."""
    output_shapes: TupleMap
    op_types: Labels
    attributes: Labels
    """Encoded map entries, each a name and an AttrValue."""
    has_code: Mask
    """Whether the node has a call stack, possibly without frames."""
    traces: Traces
    execs: Execs
    steps: Ints
    id_to_string: StringTable
    has_trace: bool
    miss_accelerator_stream: bool

    def __len__(self) -> int:
        return len(self.key)
