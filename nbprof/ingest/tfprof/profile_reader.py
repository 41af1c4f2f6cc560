"""Read a ProfileProto, the file format in which tfprof saves profiles.

Everything that tfprof writes is kept. The format also has the node fields `input_shapes` and
`outputs`; tfprof never fills them, so they are not read.
"""

import numpy as np

from nbprof.ingest.protobuf.long_messages import Inner, scan_long
from nbprof.ingest.protobuf.repeated_fields import numbers, owners, tag
from nbprof.ingest.protobuf.wire import VARINT, Buffer, Spans, scan
from nbprof.ingest.tfprof.exec_reader import read_execs, read_labels, value_messages
from nbprof.ingest.tfprof.op_log import read_string_table, read_traces
from nbprof.ingest.tfprof.text_columns import field_texts
from nbprof.protos.profile_fields import (
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
    TUPLE_VALUES,
    VALUE,
)
from nbprof.protos.saved_profile import (
    NumberMap,
    SavedProfile,
    TupleMap,
)

NODES = Inner(tag(PROFILE_NODES), first=tag(KEY, VARINT), second=(tag(VALUE),))


def read_profile_proto(data: bytes, source: str = "profile") -> SavedProfile:
    """Read the bytes of a ProfileProto; `source` is the file's name, for errors."""
    buffer = Buffer(data, source, "ProfileProto")
    profile = scan_long(buffer, buffer.all(), NODES)
    entries, top = profile.inner, profile.others
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
        name=field_texts(fields, tag(NODE_NAME), count, data),
        op=field_texts(fields, tag(NODE_OP), count, data),
        canonical_device=field_texts(fields, tag(NODE_CANONICAL_DEVICE), count, data),
        host_device=field_texts(fields, tag(NODE_HOST_DEVICE), count, data),
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
