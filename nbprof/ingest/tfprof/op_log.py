"""Read an OpLogProto (``tfprof_log``): what only Python knows about ops.

The field numbers are those of ``tensorflow/core/profiler/tfprof_log.proto``.
"""

from functools import cached_property

import numpy as np

from nbprof.arrays import Ints, Mask, each_position
from nbprof.ingest.protobuf.long_messages import Inner, scan_long
from nbprof.ingest.protobuf.repeated_fields import field_texts, int32, owners, span_texts, tag
from nbprof.ingest.protobuf.wire import VARINT, Buffer, Fields, Spans, scan
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

SAMPLED = 200
"""Sample size for detecting repeated stacks."""

MAP_KEY = tag(1, VARINT)
MAP_TEXT = tag(2)


class OpLog:
    """The entries of a log, in file order.

    Reading the log only locates them. They are decoded on first use, since the usual views do not
    need them; damage in them is reported then.
    """

    def __init__(self, buffer: Buffer, entries: Spans, strings: Spans) -> None:
        self._buffer = buffer
        self._entries = entries
        self._strings = strings

    def __len__(self) -> int:
        return len(self._entries)

    @cached_property
    def _fields(self) -> Fields:
        return scan(self._buffer, self._entries)

    @cached_property
    def _code(self) -> Spans:
        return self._fields.messages(ENTRY_CODE)

    @cached_property
    def _types(self) -> Spans:
        return self._fields.messages(ENTRY_TYPE)

    @cached_property
    def name(self) -> Texts:
        """Node name of each entry."""
        return field_texts(self._fields, ENTRY_NAME, len(self), self._buffer.data)

    @cached_property
    def float_ops(self) -> Ints:
        """Float operations of each entry, 0 if it has none."""
        return self._fields.numbers(ENTRY_FLOAT_OPS, len(self))

    @cached_property
    def has_code(self) -> Mask:
        """Whether each entry has a call stack, possibly without frames."""
        has_code = np.zeros(len(self), np.bool_)
        has_code[self._code.row] = True
        return has_code

    @property
    def type_entry(self) -> Ints:
        """Entry of each type; types are sorted by entry, then in file order."""
        return owners(self._types)

    @property
    def type_name(self) -> Texts:
        """Name of each type."""
        return span_texts(self._types, self._buffer.data)

    @cached_property
    def id_to_string(self) -> StringTable:
        """Texts that the call stacks refer to by number."""
        return read_string_table(self._buffer, self._strings)

    @cached_property
    def traces(self) -> Traces:
        """The call stacks of all entries."""
        return read_traces(self._buffer, self._code)


def read_op_log(data: bytes, source: str = "op log") -> OpLog:
    """Read the bytes of an OpLogProto; `source` is the file's name, for errors."""
    buffer = Buffer(data, source, "OpLogProto")
    log = scan_long(buffer, buffer.all(), ENTRIES)
    return OpLog(buffer, log.inner, log.others.messages(LOG_STRING))


def read_traces(buffer: Buffer, code: Spans) -> Traces:
    """Read the frames of CodeDefs; `code.row` is the owner of each."""
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
    """Return the distinct stacks, and the index of each stack among them.

    Ops made by one line in a loop share their stack, and comparing bytes is cheaper than reading.
    If few stacks in a sample repeat, all of them are returned.
    """
    stacks = span_texts(code, buffer.data)
    sample = stacks.take(np.arange(0, len(code), max(1, len(code) // SAMPLED))).raw()
    if len(set(sample)) > len(sample) / 2:
        return code, np.arange(len(code))
    rows: dict[bytes, int] = {}
    which = [rows.setdefault(stack, len(rows)) for stack in stacks.raw()]
    number = np.array(which, np.int64)
    first = np.empty(len(rows), np.int64)
    first[number[::-1]] = np.arange(len(number))[::-1]
    return code[first], number


def read_string_table(buffer: Buffer, entries: Spans) -> StringTable:
    """Read the entries of a map from number to text."""
    fields = scan(buffer, entries)
    return StringTable(
        fields.numbers(MAP_KEY, len(entries)),
        field_texts(fields, MAP_TEXT, len(entries), buffer.data),
    )
