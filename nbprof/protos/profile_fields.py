"""Field numbers of a ProfileProto, from ``tensorflow/core/profiler/tfprof_log.proto``."""

PROFILE_NODES = 1
PROFILE_HAS_TRACE = 2
PROFILE_STEPS = 3
PROFILE_STRINGS = 4
PROFILE_MISS_ACCELERATOR_STREAM = 5

NODE_NAME = 1
NODE_INPUTS = 2
NODE_SHAPE = 4
NODE_OP_TYPES = 5
NODE_CANONICAL_DEVICE = 6
NODE_HOST_DEVICE = 7
NODE_FLOAT_OPS = 8
NODE_OP = 9
NODE_TRACE = 10
NODE_ATTRIBUTES = 11
NODE_EXECS = 12
NODE_ID = 13
NODE_SRC_OUTPUT_INDEX = 14
NODE_OUTPUT_SHAPES = 15

CODE_TRACES = 1
TRACE_LINENO = 2
TRACE_FUNC_START_LINE = 5
TRACE_FILE_ID = 6
TRACE_FUNCTION_ID = 7
TRACE_LINE_ID = 8

EXEC_RUN_COUNT = 1
EXEC_ALL_START = 2
EXEC_LATEST_END = 3
EXEC_ACCELERATOR_TIMES = 4
EXEC_CPU_TIMES = 5
EXEC_DEVICES = 6
EXEC_MEMORY = 7
EXEC_ALLOCATIONS = 11

TIME_TIMES = 1
TUPLE_VALUES = 1

MEMORY_NUMBERS = {
    "memory_micros": 1,
    "host_temp_bytes": 2,
    "host_persistent_bytes": 3,
    "accelerator_temp_bytes": 4,
    "accelerator_persistent_bytes": 5,
    "requested_bytes": 6,
    "peak_bytes": 7,
    "residual_bytes": 8,
    "output_bytes": 9,
    "allocator_bytes_in_use": 10,
}
MEMORY_OUTPUTS = 11

OUTPUT_BYTES, OUTPUT_POINTER = 1, 2

ALLOCATION_MICROS, ALLOCATION_BYTES = 1, 2

KEY, VALUE = 1, 2
