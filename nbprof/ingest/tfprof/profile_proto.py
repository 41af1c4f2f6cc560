"""Read and write a ProfileProto, the file in which tfprof saves a profile.

Everything is kept that tfprof itself writes. The fields `input_shapes` and `outputs` of a node
exist in the format, but tfprof never fills them; they are not read.

The field numbers are those of ``tensorflow/core/profiler/tfprof_log.proto``.
"""

import numpy as np

from nbprof.ingest.lanes import Inner, scan_long
from nbprof.ingest.tfprof.exec_profile import (
    KEY,
    TUPLE_VALUES,
    VALUE,
    read_execs,
    read_labels,
    value_messages,
    write_execs,
)
from nbprof.ingest.tfprof.op_log import read_string_table, read_traces
from nbprof.ingest.tfprof.repeated import numbers, owners, tag
from nbprof.ingest.tfprof.saved_profile import NumberMap, SavedProfile, TupleMap
from nbprof.ingest.tfprof.texts import Texts
from nbprof.ingest.tfprof.writing import (
    Written,
    assemble,
    name_field,
    number_field,
    packed_field,
    text_field,
)
from nbprof.ingest.wire import VARINT, Buffer, Spans, scan

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

NODES = Inner(tag(PROFILE_NODES), first=tag(KEY, VARINT), second=(tag(VALUE),))


def read_profile_proto(data: bytes, source: str = "profile") -> SavedProfile:
    """Read the bytes of a ProfileProto; `source` is the file's name, for errors."""
    buffer = Buffer(data, source, "ProfileProto")
    entries, top = scan_long(buffer, buffer.all(), NODES)
    count = len(entries)
    in_entries = scan(buffer, entries)
    fields = scan(buffer, value_messages(in_entries, count))
    code = fields.messages(tag(NODE_TRACE))
    has_code = np.zeros(count, np.bool_)
    has_code[code.row] = True
    shape_owner, shape = numbers(buffer, fields, NODE_SHAPE)
    return SavedProfile(
        key=in_entries.numbers(tag(KEY, VARINT), count),
        id=fields.numbers(tag(NODE_ID, VARINT), count),
        name=Texts.of_field(fields, tag(NODE_NAME), count, data),
        op=Texts.of_field(fields, tag(NODE_OP), count, data),
        canonical_device=Texts.of_field(fields, tag(NODE_CANONICAL_DEVICE), count, data),
        host_device=Texts.of_field(fields, tag(NODE_HOST_DEVICE), count, data),
        float_ops=fields.numbers(tag(NODE_FLOAT_OPS, VARINT), count),
        inputs=_read_number_map(buffer, fields.messages(tag(NODE_INPUTS))),
        src_output_index=_read_number_map(buffer, fields.messages(tag(NODE_SRC_OUTPUT_INDEX))),
        shape=shape,
        shape_owner=shape_owner,
        output_shapes=_read_tuple_map(buffer, fields.messages(tag(NODE_OUTPUT_SHAPES))),
        op_types=read_labels(buffer, fields, NODE_OP_TYPES),
        attributes=read_labels(buffer, fields, NODE_ATTRIBUTES),
        has_code=has_code,
        traces=read_traces(buffer, code),
        execs=read_execs(buffer, fields.messages(tag(NODE_EXECS))),
        steps=numbers(buffer, top, PROFILE_STEPS)[1],
        id_to_string=read_string_table(buffer, top.messages(tag(PROFILE_STRINGS))),
        has_trace=bool(top.numbers(tag(PROFILE_HAS_TRACE, VARINT), 1)[0]),
        miss_accelerator_stream=bool(
            top.numbers(tag(PROFILE_MISS_ACCELERATOR_STREAM, VARINT), 1)[0]
        ),
    )


def _read_number_map(buffer: Buffer, entries: Spans) -> NumberMap:
    fields = scan(buffer, entries)
    return NumberMap(
        owners(entries),
        fields.numbers(tag(KEY, VARINT), len(entries)),
        fields.numbers(tag(VALUE, VARINT), len(entries)),
    )


def _read_tuple_map(buffer: Buffer, entries: Spans) -> TupleMap:
    fields = scan(buffer, entries)
    inner = scan(buffer, value_messages(fields, len(entries)))
    row, values = numbers(buffer, inner, TUPLE_VALUES)
    length = np.bincount(row, minlength=len(entries))
    return TupleMap(
        owner=owners(entries),
        key=fields.numbers(tag(KEY, VARINT), len(entries)),
        start=np.cumsum(length) - length,
        length=length,
        values=values,
    )


def write_profile_proto(profile: SavedProfile) -> bytes:
    """Write the bytes of a ProfileProto, which tfprof reads."""
    count = len(profile)
    top = np.zeros(1, np.int64)
    entries = assemble(
        count,
        number_field(KEY, np.arange(count), profile.key),
        text_field(VALUE, np.arange(count), _write_nodes(profile)),
    )
    strings = assemble(
        len(profile.id_to_string.id),
        number_field(KEY, np.arange(len(profile.id_to_string.id)), profile.id_to_string.id),
        name_field(VALUE, profile.id_to_string.text),
    )
    written = assemble(
        1,
        text_field(PROFILE_NODES, np.zeros(count, np.int64), entries),
        number_field(PROFILE_HAS_TRACE, top, np.array([profile.has_trace])),
        packed_field(PROFILE_STEPS, np.zeros(len(profile.steps), np.int64), profile.steps, 1),
        text_field(PROFILE_STRINGS, np.zeros(len(strings), np.int64), strings),
        number_field(
            PROFILE_MISS_ACCELERATOR_STREAM, top, np.array([profile.miss_accelerator_stream])
        ),
    )
    return written.data


def _write_nodes(profile: SavedProfile) -> Texts:
    count = len(profile)
    row = np.arange(count)
    return assemble(
        count,
        name_field(NODE_NAME, profile.name),
        _number_map_field(NODE_INPUTS, profile.inputs),
        packed_field(NODE_SHAPE, profile.shape_owner, profile.shape, count),
        text_field(NODE_OP_TYPES, profile.op_types.owner, profile.op_types.text),
        name_field(NODE_CANONICAL_DEVICE, profile.canonical_device),
        name_field(NODE_HOST_DEVICE, profile.host_device),
        number_field(NODE_FLOAT_OPS, row, profile.float_ops),
        name_field(NODE_OP, profile.op),
        _code_field(NODE_TRACE, profile),
        text_field(NODE_ATTRIBUTES, profile.attributes.owner, profile.attributes.text),
        text_field(NODE_EXECS, profile.execs.owner, write_execs(profile.execs)),
        number_field(NODE_ID, row, profile.id),
        _number_map_field(NODE_SRC_OUTPUT_INDEX, profile.src_output_index),
        _tuple_map_field(NODE_OUTPUT_SHAPES, profile.output_shapes),
    )


def _code_field(number: int, profile: SavedProfile) -> Written:
    traces = profile.traces
    row = np.arange(len(traces))
    frames = assemble(
        len(traces),
        number_field(TRACE_LINENO, row, traces.lineno),
        number_field(TRACE_FUNC_START_LINE, row, traces.func_start_line),
        number_field(TRACE_FILE_ID, row, traces.file_id),
        number_field(TRACE_FUNCTION_ID, row, traces.function_id),
        number_field(TRACE_LINE_ID, row, traces.line_id),
    )
    stacks = assemble(len(profile), text_field(CODE_TRACES, traces.owner, frames))
    has_code = np.flatnonzero(profile.has_code)
    return text_field(number, has_code, stacks.take(has_code))


def _number_map_field(number: int, table: NumberMap) -> Written:
    row = np.arange(len(table.owner))
    entries = assemble(
        len(row), number_field(KEY, row, table.key), number_field(VALUE, row, table.value)
    )
    return text_field(number, table.owner, entries)


def _tuple_map_field(number: int, table: TupleMap) -> Written:
    count = len(table.owner)
    row = np.repeat(np.arange(count), table.length)
    tuples = assemble(count, packed_field(TUPLE_VALUES, row, table.values, count))
    entries = assemble(
        count,
        number_field(KEY, np.arange(count), table.key),
        text_field(VALUE, np.arange(count), tuples),
    )
    return text_field(number, table.owner, entries)
