"""What the events of a TensorFlow trace are, told from their names.

Only distinct names are looked at, never single events; strings stay bytes until they are names of
nodes.
"""

import re
from enum import IntEnum
from functools import lru_cache

from nbprof.capture.capture import CALLING_THREAD
from nbprof.ingest.xspace.selection import NEVER, PERHAPS, Wanted


class Kind(IntEnum):
    """The kinds of events that say what ran, why, and for how long."""

    OTHER = PERHAPS
    OP = 1
    """The run of a graph node on an executor thread."""
    EAGER = 2
    """The dispatch of an eager op or of a function call."""
    KERNEL = 3
    """Inside EAGER: the kernel itself, or the wait for the called function."""
    PROCESS = 4
    """An executor at work; its `id` says for which function or session run."""
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
    """A call of a function compiled by XLA, with compiling it when that is due."""
    EXECUTABLE = 13
    """Inside COMPILED: the execution alone."""
    ALLOCATION = 14
    DEALLOCATION = 15
    CAPTURED = 16
    """An input pipeline running a function of the user's."""
    ITERATOR = 17
    """A stage of an input pipeline making an element, itself and by the stages below it."""
    HANDING = 18
    """Python handing something to TensorFlow, besides the dispatch of ops."""
    CELL = 19
    """Marks the thread of the cell."""
    DEVICE = 20
    """Anything on the planes of accelerators."""
    COMPILING = 21
    """JAX compiling a function."""
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
}

TOLD = {b"tf_function_call": Kind.CALL, b"step_num": Kind.BLOCK, b"hlo_op": Kind.THUNK}
"""The stats that tell the kind of an event, whatever its name; of several, the last."""

STATS = (
    *TOLD,
    *(b"id", b"step_id", b"eager_op", b"is_func", b"tracing_count", b"shape"),
    *(b"hlo_module", b"tf_op", b"correlation_id", b"group_id"),
    *(b"device_offset_ps", b"device_duration_ps"),
)
"""The stats that are asked for."""
OF_MEMORY = {
    **dict.fromkeys((b"addr", b"allocator_name"), (Kind.ALLOCATION, Kind.DEALLOCATION)),
    **dict.fromkeys(
        (b"requested_bytes", b"region_type", b"data_type", b"shape"), (Kind.ALLOCATION,)
    ),
}
"""Those of allocations and releases, which have many and are many."""

PREFIXES = {
    Kind.HANDING: (b"TFE_", b"tf.constant", b"convert_to_tensor", b"PjitFunction"),
    Kind.COMPILING: (b"lower_sharding_computation", b"backend_compile", b"PjRtCpuClient::Compile"),
    Kind.AWAITING: (b"CommonPjRtBuffer::Await", b"PjRtBuffer::Await", b"BlockUntilReady"),
}

ITERATOR = b"Iterator::"
_WAITING_ITERATOR = re.compile(rb"Iterator::(.*::)?(Prefetch|Parallel|MapAndBatch)\w*(#.*)?")
"""Stages whose work other threads do, and which wait for it."""

OP_TYPE = re.compile(rb"_?[A-Za-z]\w*(>\w+)?")
_COMPILED = re.compile(rb"(__.+):\1")


@lru_cache(4096)
def kind_of(plane: str, name: bytes, display_name: bytes) -> int:
    """Tell the kind of events by their plane, name and display name."""
    if plane.startswith("/device:"):
        return Kind.DEVICE
    known = NAMES.get(name)
    if known is not None:
        return known
    if name.startswith(b"end: "):  # the end of a THUNK, which is none
        return NEVER
    for kind, prefixes in PREFIXES.items():
        if name.startswith(prefixes):
            return kind
    if name.startswith(ITERATOR):
        return Kind.WAIT if _WAITING_ITERATOR.fullmatch(name) else Kind.ITERATOR
    if _COMPILED.fullmatch(name):
        return Kind.COMPILED
    node, op_type = split(name)
    # The runtime's own nodes (_Send, _Arg …) are ops too, but have no display name.
    named = display_name == op_type or (not display_name and node[:1] == b"_")
    return Kind.OP if node and op_type and named else Kind.OTHER


def _wanted_of() -> dict[bytes, tuple[int, ...]]:
    others = tuple(set(Kind) - {Kind.ALLOCATION, Kind.DEALLOCATION})
    names = (*STATS, *OF_MEMORY)
    return {
        name: (others if name in STATS else ()) + tuple(OF_MEMORY.get(name, ())) for name in names
    }


WANTED = Wanted(kind_of, TOLD.keys() | {b"correlation_id"}, _wanted_of())
"""What launches a kernel is told by its correlation id only."""


@lru_cache(4096)
def split(name: bytes) -> tuple[bytes, bytes]:
    """Split `node:Type`; two empty texts for anything that is not of that form."""
    node, _, op_type = name.rpartition(b":")
    if not node or b"::" in name or b" " in name or not OP_TYPE.fullmatch(op_type):
        return b"", b""
    return node, op_type
