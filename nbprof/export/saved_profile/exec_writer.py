"""Write the execs of a saved profile: what a node did in a step."""

import numpy as np

from nbprof.arrays import Ints
from nbprof.export.messages import (
    Written,
    assemble,
    name_field,
    number_field,
    packed_field,
    text_field,
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
