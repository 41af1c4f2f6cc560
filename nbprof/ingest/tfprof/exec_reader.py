"""Read the execs of a saved profile: the runs of a node in a step."""

import numpy as np

from nbprof.ingest.protobuf.repeated_fields import int32, numbers, owners, tag
from nbprof.ingest.protobuf.wire import VARINT, Buffer, Fields, Spans, scan
from nbprof.ingest.tfprof.text_columns import field_texts, span_texts
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
    OUTPUT_BYTES,
    OUTPUT_POINTER,
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
    OutputMemory,
    Times,
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
            f"a start and a duration were expected, not {length[wrong]} numbers",
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
