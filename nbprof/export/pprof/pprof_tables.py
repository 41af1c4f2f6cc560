"""The tables of a pprof profile, numbered as they fill: texts, functions, locations, samples.

The field numbers are those of pprof's `profile.proto`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from nbprof.export.protobuf_writer import bytes_field, number_field, packed_field
from nbprof.protos.texts import to_utf8
from nbprof.protos.varint_writer import WORD

Key = tuple[str, str, int]


@dataclass(frozen=True)
class Line:
    """A line of Python."""

    file: str
    line: int
    function: str
    function_line: int = 0


@dataclass
class Tables:
    """A pprof profile under construction."""

    texts: dict[str, int] = field(default_factory=lambda: {"": 0})
    sample_types: list[bytes] = field(default_factory=list)
    comments: list[int] = field(default_factory=list)
    header: bytes = b""
    """Further fields of the profile message, encoded."""
    _samples: list[bytes] = field(default_factory=list)
    _functions: dict[Key, tuple[int, bytes]] = field(default_factory=dict)
    _locations: dict[Key, tuple[int, bytes]] = field(default_factory=dict)

    def text(self, text: str) -> int:
        """Return the number of a text, adding it if it is new."""
        return self.texts.setdefault(text, len(self.texts))

    def add_sample_type(self, name: str, unit: str) -> None:
        """Declare the next value of every sample."""
        numbers = (number_field(1, self.text(name)), number_field(2, self.text(unit)))
        self.sample_types.append(b"".join(numbers))

    def add_sample(self, locations: Sequence[int], values: Sequence[int], label: bytes) -> None:
        """Add a sample; `locations` start at the innermost line."""
        packed = packed_field(1, locations) + packed_field(2, values)
        self._samples.append(packed + bytes_field(3, label))

    def label(self, key: str, text: str) -> bytes:
        """Return an encoded label for a sample."""
        return number_field(1, self.text(key)) + number_field(2, self.text(text))

    def location(self, at: Line, called: Line, name: str) -> int:
        """Return the number of the location where line `at` calls a function, adding it if new.

        `called` is a line of that function, and `name` the name to show for it.
        """
        key = (at.file, called.function, at.line & WORD)  # tfprof sorts negative lines last
        if key not in self._locations:
            # Numbered before its function, because tfprof numbers the function's texts first.
            number = len(self._locations) + 1
            inner = number_field(1, self._function(called, name)) + number_field(2, at.line)
            self._locations[key] = number, number_field(1, number) + bytes_field(4, inner)
        return self._locations[key][0]

    def _function(self, line: Line, name: str) -> int:
        key = (line.file, line.function, line.function_line & WORD)
        if key not in self._functions:
            number = len(self._functions) + 1
            numbers = {1: number, 2: self.text(name), 4: self.text(line.file)}
            numbers[5] = line.function_line
            content = b"".join(number_field(place, value) for place, value in numbers.items())
            self._functions[key] = number, content
        return self._functions[key][0]

    def message(self) -> bytes:
        """Return the encoded profile."""
        locations = (content for _, (_, content) in sorted(self._locations.items()))
        functions = (content for _, (_, content) in sorted(self._functions.items()))
        texts = map(to_utf8, self.texts)
        repeated = {1: self.sample_types, 2: self._samples, 4: locations, 5: functions, 6: texts}
        fields = [
            bytes_field(number, content)
            for number, contents in repeated.items()
            for content in contents
        ]
        return b"".join((*fields, packed_field(13, self.comments), self.header))
