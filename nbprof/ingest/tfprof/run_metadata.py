"""Read the step stats of a binary RunMetadata: what ran where and when, and its memory.

Memory is summed per record as in tfprof. Everything else in a RunMetadata (partition graphs,
costs) is skipped.

The field numbers are those of ``tensorflow/core/framework/step_stats.proto`` and its neighbours.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from nbprof.arrays import Ints, Mask, Words
from nbprof.ingest.protobuf.long_messages import Inner, scan_long
from nbprof.ingest.protobuf.repeated_fields import (
    field_texts,
    int32,
    owners,
    scan_merged,
    sums,
    tag,
)
from nbprof.ingest.protobuf.wire import VARINT, Buffer, Fields, Spans, scan
from nbprof.protos.texts import Texts

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
"""Part of the names of the accelerator's allocators."""


@dataclass(frozen=True, eq=False, slots=True)
class Outputs:
    """Outputs with a described allocation, by record and in file order."""

    record: Ints
    slot: Ints
    bytes: Ints
    """Bytes allocated or requested, whichever is more."""
    pointer: Words


@dataclass(frozen=True, eq=False, slots=True)
class Allocations:
    """Allocations and frees by the accelerator's allocators, by record and in file order."""

    record: Ints
    micros: Ints
    bytes: Ints
    """Negative for a free."""


@dataclass(frozen=True, eq=False, slots=True)
class Memory:
    """Memory of each record in bytes, 0 where unknown."""

    total: Ints
    """Allocated, summed over all allocators."""
    peak: Ints
    """Peak, summed over all allocators."""
    live: Ints
    """Still allocated at the end, summed over all allocators."""
    in_use: Ints
    """Most bytes in use by one of the accelerator's allocators."""
    has_stats: Mask
    """Whether the record has memory stats."""
    temp: Ints
    """Temporary memory, from the memory stats."""
    persistent: Ints
    """Persistent memory, from the memory stats."""


@dataclass(frozen=True, eq=False)
class RunMetadata:
    """The records of a step, by device and in file order.

    Memory is decoded on first use; damage in it is reported then.
    """

    has_step_stats: bool
    """Whether the message has step stats, even empty ones."""
    devices: Texts
    """Names of devices; one may occur more than once."""
    device: Ints
    """Index into `devices`; this column and those below have one entry per record."""
    node_name: Texts
    all_start_micros: Ints
    op_end_rel_micros: Ints
    _parts: "_Parts" = field(repr=False)

    def __len__(self) -> int:
        return len(self.device)

    @cached_property
    def memory(self) -> Memory:
        """Memory of each record, without its outputs."""
        return _read_memory(self._parts, len(self))

    @cached_property
    def allocations(self) -> Allocations:
        """Allocations and frees by the accelerator's allocators."""
        return _read_allocations(self._parts)

    @cached_property
    def outputs(self) -> Outputs:
        """Outputs with a described allocation."""
        return _read_outputs(self._parts.buffer, self._parts.outputs)

    @cached_property
    def output_bytes(self) -> Ints:
        """Bytes of those outputs, summed per record."""
        return sums(self.outputs.record, self.outputs.bytes, len(self))


def read_run_metadata(data: bytes, source: str = "run metadata") -> RunMetadata:
    """Read the bytes of a RunMetadata; `source` is the file's name, for errors."""
    buffer = Buffer(data, source, "binary RunMetadata")
    step_stats = scan(buffer, buffer.all()).messages(RUN_STEP_STATS)
    devices = scan(buffer, step_stats).messages(STEP_DEVICE)
    read = scan_long(buffer, devices, RECORDS)
    records, in_devices = read.inner, read.others
    count = len(records)
    fields = scan(buffer, records)
    return RunMetadata(
        has_step_stats=len(step_stats) > 0,
        devices=field_texts(in_devices, DEVICE_NAME, len(devices), data),
        device=owners(records),
        node_name=field_texts(fields, RECORD_NODE_NAME, count, data),
        all_start_micros=fields.numbers(RECORD_ALL_START, count),
        op_end_rel_micros=fields.numbers(RECORD_OP_END, count),
        _parts=_Parts(
            buffer,
            fields.messages(RECORD_MEMORY),
            fields.messages(RECORD_MEMORY_STATS),
            fields.messages(RECORD_OUTPUT),
        ),
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


@dataclass(frozen=True, eq=False)
class _Parts:
    """Spans of the records' inner messages."""

    buffer: Buffer
    memory: Spans
    memory_stats: Spans
    outputs: Spans

    @cached_property
    def in_memory(self) -> Fields:
        return scan(self.buffer, self.memory)

    @cached_property
    def is_accelerator(self) -> Mask:
        """Whether each allocator is the accelerator's."""
        count = len(self.memory)
        names = field_texts(self.in_memory, MEMORY_ALLOCATOR, count, self.buffer.data)
        return names.contain(ACCELERATOR_ALLOCATOR)


def _read_memory(parts: _Parts, records: int) -> Memory:
    record, count = owners(parts.memory), len(parts.memory)
    fields, mask = parts.in_memory, parts.is_accelerator
    in_use = np.zeros(records, np.int64)
    np.maximum.at(in_use, record[mask], fields.numbers(MEMORY_IN_USE, count)[mask])
    has_stats = np.zeros(records, np.bool_)
    has_stats[parts.memory_stats.row] = True
    stats = scan_merged(parts.buffer, parts.memory_stats)
    return Memory(
        total=sums(record, fields.numbers(MEMORY_TOTAL, count), records),
        peak=sums(record, fields.numbers(MEMORY_PEAK, count), records),
        live=sums(record, fields.numbers(MEMORY_LIVE, count), records),
        in_use=in_use,
        has_stats=has_stats,
        temp=stats.numbers(STATS_TEMP, records),
        persistent=stats.numbers(STATS_PERSISTENT, records),
    )


def _read_allocations(parts: _Parts) -> Allocations:
    found = parts.in_memory.messages(MEMORY_ALLOCATION)
    found = found[np.flatnonzero(parts.is_accelerator[found.row])]
    fields = scan(parts.buffer, found)
    return Allocations(
        record=owners(parts.memory)[found.row],
        micros=fields.numbers(ALLOCATION_MICROS, len(found)),
        bytes=fields.numbers(ALLOCATION_BYTES, len(found)),
    )
