"""The instructions of HLO modules, each read on first use: most of them do not matter.

The field numbers are those of ``xla/service/hlo.proto`` and ``xla/xla_data.proto``.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

from nbprof.ingest.protobuf.wire import HEAD, LENGTH, Buffer
from nbprof.ingest.trace.shapes.flops import Dims

MODULE = 1
COMPUTATION, COMPUTATION_ID, ENTRY_ID = 3, 5, 6
INSTRUCTION = 2
NAME, OPCODE, SHAPE, TARGET = 1, 2, 3, 28
WINDOW, CONVOLUTION, DOT = 15, 16, 30
ID, OPERANDS, CALLS = 35, 36, 38
DIMENSIONS, ELEMENTS = 3, 4
WINDOW_DIMENSION = 1
SIZE, STRIDE, PADDING_LOW, WINDOW_DILATION, BASE_DILATION = 1, 2, 3, 5, 6
SUMMED_OVER = 1
KERNEL_INPUTS, IN_SPACE, OUT_BATCH, OUT_FEATURE, OUT_SPACE = 3, 11, 9, 10, 12
MOST_PAIRS = 1 << 24
"""Number of pairs along one dimension that are counted one by one."""
LOCAL = 0xFFFF_FFFF
"""Mask for the part of an instruction's id that is unique within its computation."""


class Message:
    """The fields of one protobuf message, by number."""

    def __init__(self, buffer: Buffer, begin: int, end: int) -> None:
        self._buffer = buffer
        self._fields = _fields(buffer, begin, end)

    def messages(self, number: int) -> "list[Message]":
        """Return the messages of a field."""
        return [
            Message(self._buffer, begin, begin + size)
            for size, begin, long in self._fields[number]
            if long
        ]

    def numbers(self, number: int) -> Dims:
        """Return the numbers of a field, packed or not."""
        found: list[int] = []
        for value, begin, long in self._fields[number]:
            position, end = begin, begin + value
            if not long:
                found.append(value)
            while long and position < end:
                one, position = self._buffer.varint(position, end)
                found.append(one)
        return tuple(found)

    def number(self, number: int) -> int:
        """Return the number of a field, 0 if it is not there."""
        return next(iter(self.numbers(number)[-1:]), 0)

    def text(self, number: int) -> str:
        """Return the text of a field, empty if it is not there."""
        size, begin, _ = next(iter(self._fields[number][-1:]), (0, 0, True))
        return bytes(self._buffer.data[begin : begin + size]).decode(errors="replace")


def _fields(buffer: Buffer, position: int, end: int) -> dict[int, list[tuple[int, int, bool]]]:
    """Return the value, the begin and the kind of each field, by number."""
    data = buffer.data
    fields: defaultdict[int, list[tuple[int, int, bool]]] = defaultdict(list)
    while position < end:
        tag, size, begin = data[position], 0x80, position + 2
        if tag > 0x7F and position + HEAD < end and data[position + 1] < 0x80:
            tag += data[position + 1] - 1 << 7
            begin += 1
        is_read = tag <= 0x7F or begin > position + 2
        if is_read and tag & 7 == LENGTH and tag > LENGTH and begin <= end:
            size = data[begin - 1]  # usually less than 128
        if size < 0x80 and begin + size <= end:
            position = begin + size
        else:
            tag, size, begin, position = buffer.field(position, end)
        fields[tag >> 3].append((size, begin, tag & 7 == LENGTH))
    return fields


@dataclass(frozen=True)
class Taps:
    """How a window slides along one dimension."""

    size: int
    stride: int = 1
    padding: int = 0
    """Places before the first element that the window begins at."""
    apart: int = 1
    """Distance between the elements of the window."""
    gaps: int = 1
    """Distance between the elements that it slides over; what is between them is zero."""

    def pairs(self, image: int, outputs: int) -> int:
        """Count the products along this dimension of an image; padding counts, gaps do not.

        A gradient slides over a small image and writes a large one: each element of the small one
        has a product with each element of the window. XLA also turns groups into a dimension, with
        gaps as long as the stride, so that each output has one product.
        """
        if self.gaps == 1:
            return self.size * min(image, outputs)
        if self.stride == 1:
            return self.size * image
        if outputs * self.size > MOST_PAIRS:
            raise OverflowError
        places = (
            output * self.stride + tap * self.apart - self.padding
            for output in range(outputs)
            for tap in range(self.size)
        )
        return sum(place % self.gaps == 0 for place in places)


@dataclass(frozen=True)
class Meaning:
    """Which dimension of a convolution's image, kernel and output is which."""

    inputs: int
    """The channels of the kernel's input."""
    space: Dims
    """The dimensions of the image that the kernel slides along."""
    batch: int
    feature: int
    made: Dims
    """The dimensions of the output that it slides along."""


class Instruction:
    """An HLO instruction."""

    def __init__(self, message: Message) -> None:
        self._message = message
        self.name = message.text(NAME)

    @cached_property
    def opcode(self) -> str:
        """What it does."""
        return self._message.text(OPCODE)

    @cached_property
    def shapes(self) -> tuple[Dims, ...]:
        """The shape of its output, or the shapes of the elements of a tuple."""
        return tuple(dims for outer in self._message.messages(SHAPE) for dims in _shapes(outer))

    @property
    def size(self) -> int:
        """The number of elements of the output, or of a tuple's first."""
        return prod(self.shapes[0]) if self.shapes else 0

    @property
    def operands(self) -> Iterable[int]:
        """The numbers of the instructions of its computation that it uses."""
        return (number & LOCAL for number in self._message.numbers(OPERANDS))

    @cached_property
    def calls(self) -> Dims:
        """The ids of the computations that it calls."""
        return self._message.numbers(CALLS)

    @property
    def target(self) -> str:
        """What a custom call runs."""
        return self._message.text(TARGET)

    @cached_property
    def window(self) -> tuple[Taps, ...]:
        """How its window slides along each dimension."""
        windows = (window.messages(WINDOW_DIMENSION) for window in self._message.messages(WINDOW))
        return tuple(_taps(each) for dims in windows for each in dims)

    @property
    def summed_over(self) -> Dims:
        """The dimensions of the left operand that a dot sums over."""
        return self._message.messages(DOT)[0].numbers(SUMMED_OVER)

    @property
    def convolution(self) -> Meaning:
        """The meaning of a convolution's dimensions."""
        dims = self._message.messages(CONVOLUTION)[0]
        return Meaning(
            inputs=dims.number(KERNEL_INPUTS),
            space=dims.numbers(IN_SPACE),
            batch=dims.number(OUT_BATCH),
            feature=dims.number(OUT_FEATURE),
            made=dims.numbers(OUT_SPACE),
        )


Computation = Mapping[int, Instruction]
"""The instructions of a computation by the part of their ids that is its own."""


def read_computations(proto: bytes) -> tuple[int, dict[int, Computation]]:
    """Return the id of the computation that a module begins with, and all its computations."""
    bodies: dict[int, Computation] = {}
    entry = 0
    for module in Message(Buffer(proto, "a module"), 0, len(proto)).messages(MODULE):
        entry = module.number(ENTRY_ID)
        for body in module.messages(COMPUTATION):
            bodies[body.number(COMPUTATION_ID)] = {
                message.number(ID) & LOCAL: Instruction(message)
                for message in body.messages(INSTRUCTION)
            }
    return entry, bodies


def _taps(message: Message) -> Taps:
    return Taps(
        size=message.number(SIZE),
        stride=message.number(STRIDE),
        padding=message.number(PADDING_LOW),
        apart=message.number(WINDOW_DILATION),
        gaps=max(message.number(BASE_DILATION), 1),
    )


def _shapes(message: Message) -> Iterable[Dims]:
    elements = message.messages(ELEMENTS)
    if not elements:
        yield message.numbers(DIMENSIONS)
    for element in elements:
        yield from _shapes(element)
