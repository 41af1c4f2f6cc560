"""Write a ProfileProto, the file format in which tfprof saves profiles."""

import numpy as np

from nbprof.arrays import Ints
from nbprof.export.protobuf_writer import (
    MessageField,
    assemble,
    name_fields,
    number_fields,
    packed_fields,
    text_fields,
)
from nbprof.protos.profile_fields import (
    ALLOCATION_BYTES,
    ALLOCATION_MICROS,
    CODE_TRACES,
    EXEC_ACCELERATOR_TIMES,
    EXEC_ALL_START,
    EXEC_ALLOCATIONS,
    EXEC_CPU_TIMES,
    EXEC_DEVICES,
    EXEC_LATEST_END,
    EXEC_MEMORY,
    EXEC_RUN_COUNT,
    KEY,
    MEMORY_NUMBERS,
    MEMORY_OUTPUTS,
    NODE_ATTRIBUTES,
    NODE_CANONICAL_DEVICE,
    NODE_EXECS,
    NODE_FLOAT_OPS,
    NODE_HOST_DEVICE,
    NODE_ID,
    NODE_INPUTS,
    NODE_NAME,
    NODE_OP,
    NODE_OP_TYPES,
    NODE_OUTPUT_SHAPES,
    NODE_SHAPE,
    NODE_SRC_OUTPUT_INDEX,
    NODE_TRACE,
    OUTPUT_BYTES,
    OUTPUT_POINTER,
    PROFILE_HAS_TRACE,
    PROFILE_MISS_ACCELERATOR_STREAM,
    PROFILE_NODES,
    PROFILE_STEPS,
    PROFILE_STRINGS,
    TIME_TIMES,
    TRACE_FILE_ID,
    TRACE_FUNC_START_LINE,
    TRACE_FUNCTION_ID,
    TRACE_LINE_ID,
    TRACE_LINENO,
    TUPLE_VALUES,
    VALUE,
)
from nbprof.protos.saved_profile import (
    DeviceTimes,
    ExecAllocations,
    ExecMemory,
    Execs,
    NumberMap,
    SavedProfile,
    TupleMap,
)
from nbprof.protos.texts import Texts


def write_profile_proto(profile: SavedProfile) -> bytes:
    """Return the bytes of a ProfileProto, which tfprof reads."""
    count = len(profile)
    top = np.zeros(1, np.int64)
    entries = assemble(
        count,
        number_fields(KEY, np.arange(count), profile.key),
        text_fields(VALUE, np.arange(count), _write_nodes(profile)),
    )
    strings = assemble(
        len(profile.id_to_string.id),
        number_fields(KEY, np.arange(len(profile.id_to_string.id)), profile.id_to_string.id),
        name_fields(VALUE, profile.id_to_string.text),
    )
    written = assemble(
        1,
        text_fields(PROFILE_NODES, np.zeros(count, np.int64), entries),
        number_fields(PROFILE_HAS_TRACE, top, np.array([profile.has_trace])),
        packed_fields(PROFILE_STEPS, np.zeros(len(profile.steps), np.int64), profile.steps, 1),
        text_fields(PROFILE_STRINGS, np.zeros(len(strings), np.int64), strings),
        number_fields(
            PROFILE_MISS_ACCELERATOR_STREAM, top, np.array([profile.miss_accelerator_stream])
        ),
    )
    return written.data


def _write_nodes(profile: SavedProfile) -> Texts:
    count = len(profile)
    row = np.arange(count)
    return assemble(
        count,
        name_fields(NODE_NAME, profile.name),
        _number_map_field(NODE_INPUTS, profile.inputs),
        packed_fields(NODE_SHAPE, profile.shape_owner, profile.shape, count),
        text_fields(NODE_OP_TYPES, profile.op_types.owner, profile.op_types.text),
        name_fields(NODE_CANONICAL_DEVICE, profile.canonical_device),
        name_fields(NODE_HOST_DEVICE, profile.host_device),
        number_fields(NODE_FLOAT_OPS, row, profile.float_ops),
        name_fields(NODE_OP, profile.op),
        _code_field(NODE_TRACE, profile),
        text_fields(NODE_ATTRIBUTES, profile.attributes.owner, profile.attributes.text),
        text_fields(NODE_EXECS, profile.execs.owner, write_execs(profile.execs)),
        number_fields(NODE_ID, row, profile.id),
        _number_map_field(NODE_SRC_OUTPUT_INDEX, profile.src_output_index),
        _tuple_map_field(NODE_OUTPUT_SHAPES, profile.output_shapes),
    )


def _code_field(number: int, profile: SavedProfile) -> MessageField:
    traces = profile.traces
    row = np.arange(len(traces))
    frames = assemble(
        len(traces),
        number_fields(TRACE_LINENO, row, traces.lineno),
        number_fields(TRACE_FUNC_START_LINE, row, traces.func_start_line),
        number_fields(TRACE_FILE_ID, row, traces.file_id),
        number_fields(TRACE_FUNCTION_ID, row, traces.function_id),
        number_fields(TRACE_LINE_ID, row, traces.line_id),
    )
    stacks = assemble(len(profile), text_fields(CODE_TRACES, traces.owner, frames))
    has_code = np.flatnonzero(profile.has_code)
    return text_fields(number, has_code, stacks.take(has_code))


def _number_map_field(number: int, table: NumberMap) -> MessageField:
    row = np.arange(len(table.owner))
    entries = assemble(
        len(row), number_fields(KEY, row, table.key), number_fields(VALUE, row, table.value)
    )
    return text_fields(number, table.owner, entries)


def _tuple_map_field(number: int, table: TupleMap) -> MessageField:
    count = len(table.owner)
    row = np.repeat(np.arange(count), table.length)
    tuples = assemble(count, packed_fields(TUPLE_VALUES, row, table.values, count))
    entries = assemble(
        count,
        number_fields(KEY, np.arange(count), table.key),
        text_fields(VALUE, np.arange(count), tuples),
    )
    return text_fields(number, table.owner, entries)


def write_execs(execs: Execs) -> Texts:
    """Return the encoded entries of maps from step to ExecProfile."""
    count = len(execs)
    row = np.arange(count)
    values = assemble(
        count,
        number_fields(EXEC_RUN_COUNT, row, execs.run_count),
        number_fields(EXEC_ALL_START, row, execs.all_start_micros),
        number_fields(EXEC_LATEST_END, row, execs.latest_end_micros),
        *_time_fields(execs.times),
        text_fields(EXEC_DEVICES, execs.devices.owner, execs.devices.text),
        text_fields(EXEC_MEMORY, execs.memory.owner, _write_memory(execs.memory)),
        text_fields(
            EXEC_ALLOCATIONS, execs.allocations.owner, _write_allocations(execs.allocations)
        ),
    )
    return assemble(count, number_fields(KEY, row, execs.step), text_fields(VALUE, row, values))


def _time_fields(table: DeviceTimes) -> tuple[MessageField, MessageField]:
    count, times = len(table.owner), table.times
    pairs = np.column_stack([times.start_micros, times.micros]).ravel()
    pair = np.arange(len(times.owner))
    tuples = assemble(len(pair), packed_fields(TUPLE_VALUES, np.repeat(pair, 2), pairs, len(pair)))
    entries = assemble(
        count,
        name_fields(KEY, table.device),
        text_fields(
            VALUE, np.arange(count), assemble(count, text_fields(TIME_TIMES, times.owner, tuples))
        ),
    )
    accelerator, cpu = np.flatnonzero(table.is_accelerator), np.flatnonzero(~table.is_accelerator)
    return (
        text_fields(EXEC_ACCELERATOR_TIMES, table.owner[accelerator], entries.take(accelerator)),
        text_fields(EXEC_CPU_TIMES, table.owner[cpu], entries.take(cpu)),
    )


def _write_memory(memory: ExecMemory) -> Texts:
    count, outputs = len(memory.owner), memory.output_memory
    row, output = np.arange(count), np.arange(len(outputs.owner))
    held = assemble(
        len(output),
        number_fields(OUTPUT_BYTES, output, outputs.bytes),
        number_fields(OUTPUT_POINTER, output, outputs.pointer),
    )
    entries = assemble(
        len(output), number_fields(KEY, output, outputs.slot), text_fields(VALUE, output, held)
    )
    return assemble(
        count,
        *(
            number_fields(number, row, _column(memory, name))
            for name, number in MEMORY_NUMBERS.items()
        ),
        text_fields(MEMORY_OUTPUTS, outputs.owner, entries),
    )


def _column(memory: ExecMemory, name: str) -> Ints:
    column: Ints = getattr(memory, name)
    return column


def _write_allocations(allocations: ExecAllocations) -> Texts:
    row = np.arange(len(allocations.owner))
    return assemble(
        len(row),
        number_fields(ALLOCATION_MICROS, row, allocations.alloc_micros),
        number_fields(ALLOCATION_BYTES, row, allocations.alloc_bytes),
    )
