"""Read the step stats of a binary RunMetadata: what ran where and when, and what it held.

Memory is summed up per record as tfprof does it. Everything else a RunMetadata may hold (partition
graphs, costs) is skipped unread.

The field numbers are those of ``tensorflow/core/framework/step_stats.proto`` and its neighbours.
"""

from dataclasses import dataclass

import numpy as np

from nbprof.ingest.lanes import Inner, scan_long
from nbprof.ingest.tfprof.repeated import int32, owners, scan_merged, sums, tag
from nbprof.ingest.tfprof.texts import Texts
from nbprof.ingest.wire import VARINT, Buffer, Fields, Ints, Mask, Spans, Words, scan

RUN_STEP_STATS = tag(1)

STEP_DEVICE = tag(1)

DEVICE_NAME = tag(1)
DEVICE_RECORD = tag(2)

RECORD_NODE_NAME = tag(1)
RECORD_ALL_START = tag(2, VARINT)
RECORD_OP_END = tag(4, VARINT)
RECORD_MEMORY = tag(6)
RECORD_OUTPUT = tag(7)
RECORD_MEMORY_STATS = tag(12)

RECORDS = Inner(DEVICE_RECORD, first=RECORD_NODE_NAME, second=(RECORD_ALL_START,))

MEMORY_ALLOCATOR = tag(1)
MEMORY_TOTAL = tag(2, VARINT)
MEMORY_PEAK = tag(3, VARINT)
MEMORY_LIVE = tag(4, VARINT)
MEMORY_IN_USE = tag(5, VARINT)
MEMORY_ALLOCATION = tag(6)

ALLOCATION_MICROS = tag(1, VARINT)
ALLOCATION_BYTES = tag(2, VARINT)

STATS_TEMP = tag(1, VARINT)
STATS_PERSISTENT = tag(3, VARINT)

OUTPUT_SLOT = tag(1, VARINT)
OUTPUT_TENSOR = tag(3)

TENSOR_ALLOCATION = tag(4)

TENSOR_REQUESTED = tag(1, VARINT)
TENSOR_ALLOCATED = tag(2, VARINT)
TENSOR_POINTER = tag(6, VARINT)

ACCELERATOR_ALLOCATOR = b"GPU"


@dataclass(frozen=True, eq=False, slots=True)
class Outputs:
    """The outputs whose allocation is described, by record and in file order."""

    record: Ints
    slot: Ints
    bytes: Ints
    """Allocated or requested, whichever is more."""
    pointer: Words


@dataclass(frozen=True, eq=False, slots=True)
class Allocations:
    """What the accelerator's allocators allocated and freed, by record and in file order."""

    record: Ints
    micros: Ints
    bytes: Ints
    """Negative where freed."""


@dataclass(frozen=True, eq=False, slots=True)
class Memory:
    """What each record says of memory, in bytes, 0 where it says nothing."""

    total: Ints
    """Over all its allocators, as the next two."""
    peak: Ints
    live: Ints
    in_use: Ints
    """The most that one of the accelerator's allocators had in use."""
    has_stats: Mask
    """Whether there are memory stats, which the next two are from."""
    temp: Ints
    persistent: Ints
    output: Ints
    """Over all outputs whose allocation is described."""


@dataclass(frozen=True, eq=False, slots=True)
class RunMetadata:
    """The records of a step, by device and in file order."""

    has_step_stats: bool
    """False where the message has no such field, not even an empty one."""
    devices: Texts
    """A name may occur more than once."""
    device: Ints
    """Index into `devices`. This column and those below have one entry for each record."""
    node_name: Texts
    all_start_micros: Ints
    op_end_rel_micros: Ints
    memory: Memory
    outputs: Outputs
    allocations: Allocations

    def __len__(self) -> int:
        return len(self.device)


def read_run_metadata(data: bytes, source: str = "run metadata") -> RunMetadata:
    """Read the bytes of a RunMetadata; `source` is the file's name, for errors."""
    buffer = Buffer(data, source, "binary RunMetadata")
    step_stats = scan(buffer, buffer.all()).messages(RUN_STEP_STATS)
    devices = scan(buffer, step_stats).messages(STEP_DEVICE)
    records, in_devices = scan_long(buffer, devices, RECORDS)
    count = len(records)
    fields = scan(buffer, records)
    outputs = _read_outputs(buffer, fields.messages(RECORD_OUTPUT))
    memory, allocations = _read_memory(buffer, fields, count, outputs)
    return RunMetadata(
        has_step_stats=len(step_stats) > 0,
        devices=Texts.of_field(in_devices, DEVICE_NAME, len(devices), data),
        device=owners(records),
        node_name=Texts.of_field(fields, RECORD_NODE_NAME, count, data),
        all_start_micros=fields.numbers(RECORD_ALL_START, count),
        op_end_rel_micros=fields.numbers(RECORD_OP_END, count),
        memory=memory,
        outputs=outputs,
        allocations=allocations,
    )


def _read_outputs(buffer: Buffer, outputs: Spans) -> Outputs:
    count = len(outputs)
    fields = scan(buffer, outputs)
    tensors = scan_merged(buffer, fields.messages(OUTPUT_TENSOR))
    descriptions = tensors.messages(TENSOR_ALLOCATION)
    described = np.unique(descriptions.row)
    inner = scan_merged(buffer, descriptions)
    size = np.maximum(
        inner.numbers(TENSOR_ALLOCATED, count), inner.numbers(TENSOR_REQUESTED, count)
    )
    return Outputs(
        record=owners(outputs)[described],
        slot=int32(fields.numbers(OUTPUT_SLOT, count)[described]),
        bytes=size[described],
        pointer=inner.numbers(TENSOR_POINTER, count)[described].view(np.uint64),
    )


def _read_memory(
    buffer: Buffer, fields: Fields, records: int, outputs: Outputs
) -> tuple[Memory, Allocations]:
    used = fields.messages(RECORD_MEMORY)
    count, record = len(used), owners(used)
    inner = scan(buffer, used)
    name = Texts.of_field(inner, MEMORY_ALLOCATOR, count, buffer.data)
    is_accelerator = name.contain(ACCELERATOR_ALLOCATOR)
    in_use = np.zeros(records, np.int64)
    np.maximum.at(
        in_use, record[is_accelerator], inner.numbers(MEMORY_IN_USE, count)[is_accelerator]
    )
    pieces = fields.messages(RECORD_MEMORY_STATS)
    has_stats = np.zeros(records, np.bool_)
    has_stats[pieces.row] = True
    stats = scan_merged(buffer, pieces)
    memory = Memory(
        total=sums(record, inner.numbers(MEMORY_TOTAL, count), records),
        peak=sums(record, inner.numbers(MEMORY_PEAK, count), records),
        live=sums(record, inner.numbers(MEMORY_LIVE, count), records),
        in_use=in_use,
        has_stats=has_stats,
        temp=stats.numbers(STATS_TEMP, records),
        persistent=stats.numbers(STATS_PERSISTENT, records),
        output=sums(outputs.record, outputs.bytes, records),
    )
    allocations = inner.messages(MEMORY_ALLOCATION)
    kept = allocations[np.flatnonzero(is_accelerator[allocations.row])]
    return memory, _read_allocations(buffer, kept, record)


def _read_allocations(buffer: Buffer, allocations: Spans, record: Ints) -> Allocations:
    fields = scan(buffer, allocations)
    return Allocations(
        record=record[allocations.row],
        micros=fields.numbers(ALLOCATION_MICROS, len(allocations)),
        bytes=fields.numbers(ALLOCATION_BYTES, len(allocations)),
    )
