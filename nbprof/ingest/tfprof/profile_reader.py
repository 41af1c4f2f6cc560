"""Read a ProfileProto, the file format in which tfprof saves profiles.

Everything that tfprof writes is kept. The format also has the node fields `input_shapes` and
`outputs`; tfprof never fills them, so they are not read.
"""

import numpy as np

from nbprof.ingest.protobuf.long_messages import Inner, scan_long
from nbprof.ingest.protobuf.repeated_fields import (
    field_texts,
    int32,
    numbers,
    owners,
    span_texts,
    tag,
)
from nbprof.ingest.protobuf.wire import VARINT, Buffer, Fields, Spans, scan
from nbprof.ingest.tfprof.op_log import read_string_table, read_traces
from nbprof.protos.profile_fields import (
    ALLOCATION_BYTES,
    ALLOCATION_MICROS,
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
    TUPLE_VALUES,
    VALUE,
)
from nbprof.protos.saved_profile import (
    DeviceTimes,
    ExecAllocations,
    ExecMemory,
    Execs,
    Labels,
    NumberMap,
    OutputMemory,
    SavedProfile,
    Times,
    TupleMap,
)

NODES = Inner(tag(PROFILE_NODES), first=tag(KEY, VARINT), second=(tag(VALUE),))
"""What the map entries of nodes look like."""


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


def read_execs(buffer: Buffer, entries: Spans) -> Execs:
    """Read the entries of maps from step to ExecProfile."""
    count = len(entries)
    in_entries = scan(buffer, entries)
    fields = scan(buffer, value_messages(in_entries, count))
    return Execs(
        owner=owners(entries),
        step=in_entries.numbers(tag(KEY, VARINT), count),
        run_count=fields.numbers(tag(EXEC_RUN_COUNT, VARINT), count),
        all_start_micros=fields.numbers(tag(EXEC_ALL_START, VARINT), count),
        latest_end_micros=fields.numbers(tag(EXEC_LATEST_END, VARINT), count),
        times=_read_times(buffer, fields),
        memory=_read_memory(buffer, fields.messages(tag(EXEC_MEMORY))),
        allocations=_read_allocations(buffer, fields.messages(tag(EXEC_ALLOCATIONS))),
        devices=read_labels(buffer, fields, EXEC_DEVICES),
    )


def value_messages(in_entries: Fields, count: int) -> Spans:
    """Return the value of each of `count` map entries."""
    values = in_entries.last(count, tag(VALUE))
    return Spans(values.row, values.begin, values.value)


def read_labels(buffer: Buffer, fields: Fields, number: int) -> Labels:
    """Read a repeated field of texts or of messages, which stay encoded."""
    found = fields.messages(tag(number))
    return Labels(owners(found), span_texts(found, buffer.data))


def _read_times(buffer: Buffer, fields: Fields) -> DeviceTimes:
    cpu = fields.messages(tag(EXEC_CPU_TIMES))
    entries = Spans.join([cpu, fields.messages(tag(EXEC_ACCELERATOR_TIMES))])
    is_accelerator = np.arange(len(entries)) >= len(cpu)
    order = np.argsort(entries.row, kind="stable")
    entries, is_accelerator = entries[order], is_accelerator[order]
    in_entries = scan(buffer, entries)
    exec_times = value_messages(in_entries, len(entries))
    return DeviceTimes(
        owner=owners(entries),
        is_accelerator=is_accelerator,
        device=field_texts(in_entries, tag(KEY), len(entries), buffer.data),
        times=_read_pairs(buffer, scan(buffer, exec_times).messages(tag(TIME_TIMES))),
    )


def _read_pairs(buffer: Buffer, pairs: Spans) -> Times:
    row, values = numbers(buffer, scan(buffer, pairs), TUPLE_VALUES)
    length = np.bincount(row, minlength=len(pairs))
    if (length != 2).any():
        wrong = int(np.argmax(length != 2))
        raise buffer.damage(
            int(pairs.begin[wrong]),
            f"a time has {length[wrong]} numbers instead of a start and a duration",
        )
    return Times(owners(pairs), values[0::2], values[1::2])


def _read_memory(buffer: Buffer, memory: Spans) -> ExecMemory:
    count = len(memory)
    fields = scan(buffer, memory)
    return ExecMemory(
        owner=owners(memory),
        output_memory=_read_outputs(buffer, fields.messages(tag(MEMORY_OUTPUTS))),
        **{
            name: fields.numbers(tag(number, VARINT), count)
            for name, number in MEMORY_NUMBERS.items()
        },
    )


def _read_outputs(buffer: Buffer, entries: Spans) -> OutputMemory:
    count = len(entries)
    in_entries = scan(buffer, entries)
    fields = scan(buffer, value_messages(in_entries, count))
    return OutputMemory(
        owner=owners(entries),
        slot=int32(in_entries.numbers(tag(KEY, VARINT), count)),
        bytes=fields.numbers(tag(OUTPUT_BYTES, VARINT), count),
        pointer=fields.numbers(tag(OUTPUT_POINTER, VARINT), count).view(np.uint64),
    )


def _read_allocations(buffer: Buffer, allocations: Spans) -> ExecAllocations:
    fields = scan(buffer, allocations)
    return ExecAllocations(
        owner=owners(allocations),
        alloc_micros=fields.numbers(tag(ALLOCATION_MICROS, VARINT), len(allocations)),
        alloc_bytes=fields.numbers(tag(ALLOCATION_BYTES, VARINT), len(allocations)),
    )
