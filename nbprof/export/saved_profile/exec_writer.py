"""Write the execs of a saved profile: the runs of a node in a step."""

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
)
from nbprof.protos.texts import (
    Texts,
)


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
