"""Read and write the execs of a saved profile: what a node did in a step."""

import numpy as np

from nbprof.ingest.tfprof.repeated import int32, numbers, owners, tag
from nbprof.ingest.tfprof.saved_profile import (
    DeviceTimes,
    ExecAllocations,
    ExecMemory,
    Execs,
    Labels,
    OutputMemory,
    Times,
)
from nbprof.ingest.tfprof.texts import Texts
from nbprof.ingest.tfprof.writing import (
    Written,
    assemble,
    name_field,
    number_field,
    packed_field,
    text_field,
)
from nbprof.ingest.wire import VARINT, Buffer, Fields, Ints, Spans, scan

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
    """Give the value of each of `count` map entries."""
    values = in_entries.last(count, tag(VALUE))
    return Spans(values.row, values.begin, values.value)


def read_labels(buffer: Buffer, fields: Fields, number: int) -> Labels:
    """Read a field of repeated texts or, undecoded, messages."""
    found = fields.messages(tag(number))
    return Labels(owners(found), Texts.of_spans(found, buffer.data))


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
        device=Texts.of_field(in_entries, tag(KEY), len(entries), buffer.data),
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


def write_execs(execs: Execs) -> Texts:
    """Write the entries of maps from step to ExecProfile."""
    count = len(execs)
    row = np.arange(count)
    values = assemble(
        count,
        number_field(EXEC_RUN_COUNT, row, execs.run_count),
        number_field(EXEC_ALL_START, row, execs.all_start_micros),
        number_field(EXEC_LATEST_END, row, execs.latest_end_micros),
        *_time_fields(execs.times),
        text_field(EXEC_DEVICES, execs.devices.owner, execs.devices.text),
        text_field(EXEC_MEMORY, execs.memory.owner, _write_memory(execs.memory)),
        text_field(
            EXEC_ALLOCATIONS, execs.allocations.owner, _write_allocations(execs.allocations)
        ),
    )
    return assemble(count, number_field(KEY, row, execs.step), text_field(VALUE, row, values))


def _time_fields(table: DeviceTimes) -> tuple[Written, Written]:
    count, times = len(table.owner), table.times
    pairs = np.column_stack([times.start_micros, times.micros]).ravel()
    pair = np.arange(len(times.owner))
    tuples = assemble(len(pair), packed_field(TUPLE_VALUES, np.repeat(pair, 2), pairs, len(pair)))
    entries = assemble(
        count,
        name_field(KEY, table.device),
        text_field(
            VALUE, np.arange(count), assemble(count, text_field(TIME_TIMES, times.owner, tuples))
        ),
    )
    accelerator, cpu = np.flatnonzero(table.is_accelerator), np.flatnonzero(~table.is_accelerator)
    return (
        text_field(EXEC_ACCELERATOR_TIMES, table.owner[accelerator], entries.take(accelerator)),
        text_field(EXEC_CPU_TIMES, table.owner[cpu], entries.take(cpu)),
    )


def _write_memory(memory: ExecMemory) -> Texts:
    count, outputs = len(memory.owner), memory.output_memory
    row, output = np.arange(count), np.arange(len(outputs.owner))
    held = assemble(
        len(output),
        number_field(OUTPUT_BYTES, output, outputs.bytes),
        number_field(OUTPUT_POINTER, output, outputs.pointer),
    )
    entries = assemble(
        len(output), number_field(KEY, output, outputs.slot), text_field(VALUE, output, held)
    )
    return assemble(
        count,
        *(
            number_field(number, row, _column(memory, name))
            for name, number in MEMORY_NUMBERS.items()
        ),
        text_field(MEMORY_OUTPUTS, outputs.owner, entries),
    )


def _column(memory: ExecMemory, name: str) -> Ints:
    column: Ints = getattr(memory, name)
    return column


def _write_allocations(allocations: ExecAllocations) -> Texts:
    row = np.arange(len(allocations.owner))
    return assemble(
        len(row),
        number_field(ALLOCATION_MICROS, row, allocations.alloc_micros),
        number_field(ALLOCATION_BYTES, row, allocations.alloc_bytes),
    )
