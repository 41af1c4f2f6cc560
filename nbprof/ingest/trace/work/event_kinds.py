"""The kinds of events in a trace, recognised by their names.

Only distinct names are examined, never single events. Strings stay bytes until they become names of
nodes.
"""

import re
from enum import IntEnum
from functools import lru_cache

from nbprof.capture.capture import CALLING_THREAD, OTHER_THREAD
from nbprof.ingest.xspace.selection import NEVER, PERHAPS, Wanted


class Kind(IntEnum):
    """The kinds of events that show what ran, why, and for how long."""

    OTHER = PERHAPS
    OP = 1
    """The run of a graph node on an executor thread."""
    EAGER = 2
    """The dispatch of an eager op or of a function call."""
    KERNEL = 3
    """Inside EAGER: the kernel itself, or the wait for the called function."""
    PROCESS = 4
    """An executor at work; its `id` identifies the function or session run."""
    FUNCTION_RUN = 5
    SESSION_RUN = 6
    BUILDING = 7
    """Python building the graph of a tf.function."""
    WAIT = 8
    """Waiting for input or for a function that other threads run."""
    CALL = 9
    """A call of a tf.function from Python."""
    BLOCK = 10
    """A `tf.profiler.experimental.Trace` block with a step number."""
    THUNK = 11
    """The run of one HLO op of a function compiled by XLA."""
    COMPILED = 12
    """A call of a function compiled by XLA, including its compilation the first time."""
    EXECUTABLE = 13
    """Inside COMPILED or an OP: the execution only; `compiled_calls.py` adds missing ones."""
    ALLOCATION = 14
    DEALLOCATION = 15
    CAPTURED = 16
    """An input pipeline running a function of the user's."""
    ITERATOR = 17
    """A stage of an input pipeline producing an element, including the stages below it."""
    HANDOVER = 18
    """Python handing something other than an op to TensorFlow."""
    CELL = 19
    """The mark on the cell's thread."""
    MARK = 23
    """A mark on another thread, which began the trace."""
    DEVICE = 20
    """Anything on an accelerator's plane."""
    COMPILING = 21
    """XLA compiling a function."""
    AWAITING = 22
    """JAX waiting for a result."""


NAMES = {
    b"EagerExecute": Kind.EAGER,
    b"KernelAndDeviceFunc::Run": Kind.KERNEL,
    b"ExecutorState::Process": Kind.PROCESS,
    b"FunctionRun": Kind.FUNCTION_RUN,
    b"SessionRun": Kind.SESSION_RUN,
    b"tf.function-graph_building": Kind.BUILDING,
    b"IteratorGetNextOp::DoCompute": Kind.WAIT,
    b"IteratorGetNextAsOptionalOp::DoCompute": Kind.WAIT,
    b"ReduceDatasetOp::DoCompute": Kind.WAIT,
    b"ToSingleElementOp::DoCompute": Kind.WAIT,
    b"InstantiatedCapturedFunction::Run": Kind.CAPTURED,
    b"InstantiatedCapturedFunction::RunAsync": Kind.CAPTURED,
    b"InstantiatedCapturedFunction::RunInstantiated": Kind.CAPTURED,
    b"InstantiatedCapturedFunction::RunWithBorrowedArgs": Kind.CAPTURED,
    b"MemoryAllocation": Kind.ALLOCATION,
    b"MemoryDeallocation": Kind.DEALLOCATION,
    b"CpuExecutable::ExecuteAsyncOnStream": Kind.EXECUTABLE,
    b"GpuExecutable::ExecuteAsyncOnStream": Kind.EXECUTABLE,
    CALLING_THREAD.encode(): Kind.CELL,
    OTHER_THREAD.encode(): Kind.MARK,
}

KIND_BY_STAT = {b"tf_function_call": Kind.CALL, b"step_num": Kind.BLOCK, b"hlo_op": Kind.THUNK}
"""Stats that decide the kind of an event whatever its name; the last one wins."""

STATS = (
    *KIND_BY_STAT,
    *(b"id", b"step_id", b"eager_op", b"is_func", b"tracing_count", b"shape"),
    *(b"hlo_module", b"program_id", b"tf_op", b"correlation_id", b"group_id"),
    *(b"device_offset_ps", b"device_duration_ps"),
)
"""Stats to read from all events except allocations and releases."""
MEMORY_STATS = {
    **dict.fromkeys((b"addr", b"allocator_name"), (Kind.ALLOCATION, Kind.DEALLOCATION)),
    **dict.fromkeys(
        (b"requested_bytes", b"region_type", b"data_type", b"shape"), (Kind.ALLOCATION,)
    ),
}
"""Stats to read from allocations or releases, each with the kinds of events that have it."""

STREAM_STATS = (
    *(b"annotation", b"memcpy_details", b"memset_details"),
    *(b"level %d" % depth for depth in range(8)),
)
"""Stats to read from events on accelerators only."""

PREFIXES = {
    Kind.HANDOVER: (b"TFE_", b"tf.constant", b"convert_to_tensor", b"PjitFunction"),
    Kind.COMPILING: (
        *(b"lower_sharding_computation", b"backend_compile", b"PjRtCpuClient::Compile"),  # JAX
        *(b"CpuCompiler::", b"GpuCompiler::", b"XlaCompile"),
    ),
    Kind.AWAITING: (b"CommonPjRtBuffer::Await", b"PjRtBuffer::Await", b"BlockUntilReady"),
}

ITERATOR = b"Iterator::"
_WAITING_ITERATOR = re.compile(rb"Iterator::(.*::)?(Prefetch|Parallel|MapAndBatch)\w*(#.*)?")
"""Stages that wait for work on other threads."""

OP_TYPE = re.compile(rb"_?[A-Za-z]\w*(>\w+)?")
_COMPILED = re.compile(rb"(__.+):\1")


@lru_cache(4096)
def kind_of(plane: str, name: bytes, display_name: bytes) -> int:
    """Return the kind of events with this plane, name and display name."""
    if plane.startswith("/device:"):
        return Kind.DEVICE
    known = NAMES.get(name)
    if known is not None:
        return known
    if name.startswith(b"end: "):  # marks the end of a THUNK
        return NEVER
    for kind, prefixes in PREFIXES.items():
        if name.startswith(prefixes):
            return kind
    if name.startswith(ITERATOR):
        return Kind.WAIT if _WAITING_ITERATOR.fullmatch(name) else Kind.ITERATOR
    if _COMPILED.fullmatch(name):
        return Kind.COMPILED
    node, op_type = split(name)
    # The runtime's own nodes (_Send, _Arg …) are ops too, but lack a display name.
    named = display_name == op_type or (not display_name and node[:1] == b"_")
    return Kind.OP if node and op_type and named else Kind.OTHER


def _wanted_stats() -> dict[bytes, tuple[int, ...]]:
    others = tuple(set(Kind) - {Kind.ALLOCATION, Kind.DEALLOCATION})
    names = (*STATS, *MEMORY_STATS)
    wanted: dict[bytes, tuple[int, ...]] = {
        name: (others if name in STATS else ()) + tuple(MEMORY_STATS.get(name, ()))
        for name in names
    }
    return wanted | dict.fromkeys(STREAM_STATS, (Kind.DEVICE,))


# Only the correlation id identifies an event as a kernel launch.
WANTED = Wanted(kind_of, KIND_BY_STAT.keys() | {b"correlation_id"}, _wanted_stats())
"""The events and stats to read from a trace."""


@lru_cache(4096)
def split(name: bytes) -> tuple[bytes, bytes]:
    """Split `node:Type`; return two empty texts for anything else."""
    node, _, op_type = name.rpartition(b":")
    if not node or b"::" in name or b" " in name or not OP_TYPE.fullmatch(op_type):
        return b"", b""
    return node, op_type
