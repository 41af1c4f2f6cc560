"""Write a ProfileProto, the file format in which tfprof saves profiles."""

import numpy as np

from nbprof.export.protobuf_writer import (
    MessageField,
    assemble,
    name_fields,
    number_fields,
    packed_fields,
    text_fields,
)
from nbprof.export.saved_profile.exec_writer import write_execs
from nbprof.protos.profile_fields import (
    CODE_TRACES,
    KEY,
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
    PROFILE_HAS_TRACE,
    PROFILE_MISS_ACCELERATOR_STREAM,
    PROFILE_NODES,
    PROFILE_STEPS,
    PROFILE_STRINGS,
    TRACE_FILE_ID,
    TRACE_FUNC_START_LINE,
    TRACE_FUNCTION_ID,
    TRACE_LINE_ID,
    TRACE_LINENO,
    TUPLE_VALUES,
    VALUE,
)
from nbprof.protos.saved_profile import (
    NumberMap,
    SavedProfile,
    TupleMap,
)
from nbprof.protos.texts import (
    Texts,
)


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
