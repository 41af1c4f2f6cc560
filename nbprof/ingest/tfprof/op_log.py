"""Read an OpLogProto (``tfprof_log``): what Python knows of ops and the engine does not.

The field numbers are those of ``tensorflow/core/profiler/tfprof_log.proto``.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from nbprof.ingest.lanes import Inner, scan_long
from nbprof.ingest.tfprof.repeated import int32, owners, tag
from nbprof.ingest.tfprof.texts import field_texts, span_texts
from nbprof.ingest.wire import VARINT, Buffer, Ints, Mask, Spans, scan
from nbprof.protos.arrays import each_position
from nbprof.protos.saved_profile import StringTable, Traces
from nbprof.protos.texts import Texts

LOG_ENTRY = tag(1)
LOG_STRING = tag(2)

ENTRY_NAME = tag(1)
ENTRY_FLOAT_OPS = tag(2, VARINT)
ENTRY_TYPE = tag(3)
ENTRY_CODE = tag(4)

ENTRIES = Inner(LOG_ENTRY, first=ENTRY_NAME, second=(ENTRY_FLOAT_OPS, ENTRY_TYPE, ENTRY_CODE))

CODE_TRACE = tag(1)

TRACE_LINE_NUMBER = tag(2, VARINT)
TRACE_FUNCTION_START = tag(5, VARINT)
TRACE_FILE = tag(6, VARINT)
TRACE_FUNCTION = tag(7, VARINT)
TRACE_LINE = tag(8, VARINT)

TRIED = 200
"""Of about so many stacks is seen whether many are the same."""

MAP_KEY = tag(1, VARINT)
MAP_TEXT = tag(2)


@dataclass(frozen=True, eq=False)
class OpLog:
    """The entries of a log, in file order.

    The call stacks are read when they are first asked for, and damage in them is reported then.
    """

    name: Texts
    float_ops: Ints
    has_code: Mask
    """Whether the entry has a call stack, be it of no frames."""
    type_entry: Ints
    """The entry of each type. The types are by entry and in file order."""
    type_name: Texts
    id_to_string: StringTable
    _buffer: Buffer = field(repr=False)
    _code: Spans = field(repr=False)

    def __len__(self) -> int:
        return len(self.name)

    @cached_property
    def traces(self) -> Traces:
        """The call stacks of all entries."""
        return read_traces(self._buffer, self._code)


def read_op_log(data: bytes, source: str = "op log") -> OpLog:
    """Read the bytes of an OpLogProto; `source` is the file's name, for errors."""
    buffer = Buffer(data, source, "OpLogProto")
    log = scan_long(buffer, buffer.all(), ENTRIES)
    entries, top = log.inner, log.others
    count = len(entries)
    fields = scan(buffer, entries)
    types = fields.messages(ENTRY_TYPE)
    code = fields.messages(ENTRY_CODE)
    has_code = np.zeros(count, np.bool_)
    has_code[code.row] = True
    return OpLog(
        name=field_texts(fields, ENTRY_NAME, count, data),
        float_ops=fields.numbers(ENTRY_FLOAT_OPS, count),
        has_code=has_code,
        type_entry=owners(types),
        type_name=span_texts(types, data),
        id_to_string=read_string_table(buffer, top.messages(LOG_STRING)),
        _buffer=buffer,
        _code=code,
    )


def read_traces(buffer: Buffer, code: Spans) -> Traces:
    """Read the frames of CodeDefs; `code.row` tells whose each is."""
    distinct, which = _distinct(buffer, code)
    traces = scan(buffer, distinct).messages(CODE_TRACE)
    count = len(traces)
    fields = scan(buffer, traces)
    length = np.bincount(traces.row, minlength=len(distinct))
    frame = each_position((np.cumsum(length) - length)[which], length[which])
    return Traces(
        owner=np.repeat(owners(code), length[which]),
        file_id=fields.numbers(TRACE_FILE, count)[frame],
        lineno=int32(fields.numbers(TRACE_LINE_NUMBER, count))[frame],
        function_id=fields.numbers(TRACE_FUNCTION, count)[frame],
        line_id=fields.numbers(TRACE_LINE, count)[frame],
        func_start_line=int32(fields.numbers(TRACE_FUNCTION_START, count))[frame],
    )


def _distinct(buffer: Buffer, code: Spans) -> tuple[Spans, Ints]:
    """Give each stack once, and which of these each is; or all, if few seem to be the same.

    Ops made by one line in a loop share their stack, and to compare bytes is cheaper than to read.
    """
    stacks = span_texts(code, buffer.data)
    tried = stacks.take(np.arange(0, len(code), max(1, len(code) // TRIED))).raw()
    if len(set(tried)) > len(tried) / 2:
        return code, np.arange(len(code))
    rows: dict[bytes, int] = {}
    which = [rows.setdefault(stack, len(rows)) for stack in stacks.raw()]
    number = np.array(which, np.int64)
    first = np.empty(len(rows), np.int64)
    first[number[::-1]] = np.arange(len(number))[::-1]
    return code[first], number


def read_string_table(buffer: Buffer, entries: Spans) -> StringTable:
    """Read the entries of a map from int64 to text."""
    fields = scan(buffer, entries)
    return StringTable(
        fields.numbers(MAP_KEY, len(entries)),
        field_texts(fields, MAP_TEXT, len(entries), buffer.data),
    )
