"""Translate protobuf's text format into the binary format that the readers know.

    node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }

The text is read statement by statement, in time linear in its length. Anything that is not a
statement, or names a field that the message does not have, raises an `NbprofError` with the line.

protobuf's own parser takes twice as long (1.7 s instead of 0.7 s for 10,000 nodes) and needs
protobuf, which nbprof does not depend on, and TensorFlow's message classes, 5 s to import.
"""

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from nbprof.errors import NbprofError
from nbprof.ingest.protobuf.wire import FIXED32, FIXED64, LENGTH, VARINT
from nbprof.ingest.tfprof.text_schema import Field, enums, messages
from nbprof.protos.varint_writer import write_varint

DEEPEST = 100
"""Maximum nesting depth of messages, the same as protobuf's own."""

# Possessive quantifiers throughout, so that a mismatch never backtracks.
BLANK = rb"(?:\s++|\#[^\n]*+)*+"
BETWEEN = rb"(?:[\s,;]++|\#[^\n]*+)*+"
STRING = rb"""(?:"(?:[^"\\\n]++|\\.)*+"|'(?:[^'\\\n]++|\\.)*+')"""
VALUE = rb"(?P<text>(?:" + STRING + BLANK + rb")++)|(?P<word>(?:-\s*+)?+[\w.][\w.+-]*+)"

STATEMENT = re.compile(
    BETWEEN
    + rb"(?:(?P<close>[}>])|(?P<name>[A-Za-z_]\w*+)"
    + BLANK
    + rb"(?:(?P<colon>:)"
    + BLANK
    + rb")?+(?:(?P<open>[{<])|(?P<list>\[)|"
    + VALUE
    + rb"))"
)
ITEM = re.compile(BETWEEN + rb"(?:(?P<end>\])|(?P<open>[{<])|" + VALUE + rb")")
REST = re.compile(BETWEEN)
PIECE = re.compile(STRING)
ESCAPE = re.compile(
    rb"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))"
)
LETTERS = dict(zip(b"abfnrtv\\'\"?", b"\a\b\f\n\r\t\v\\'\"?", strict=True))

START = re.compile(BETWEEN + rb"[A-Za-z_]\w*+" + BLANK + rb"[:{<]")
CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]")
ENOUGH = 1 << 16
"""Number of bytes searched for control characters, which only binary messages have."""


def looks_like_text(data: bytes) -> bool:
    """Return whether a message is in the text format, judging by its beginning."""
    return START.match(data) is not None and CONTROLS.search(data, 0, ENOUGH) is None


def to_binary(text: bytes, message: str, source: str = "file") -> bytes:
    """Translate the text of a message of this type; `source` is the file's name, for errors."""
    return _Translation(text, message, source).run()


@dataclass
class _Open:
    """A message that has begun but not ended."""

    kind: str
    number: int
    bracket: bytes
    content: bytearray = field(default_factory=bytearray)
    list_of: Field | None = None
    """Field whose items come next, inside the brackets of a list."""


class _Translation:
    def __init__(self, text: bytes, message: str, source: str) -> None:
        self.text = text
        self.message = message
        self.source = source
        self.position = 0
        self.opened = [_Open(message, 0, b"")]

    def run(self) -> bytes:
        while self.position < len(self.text):
            if self.opened[-1].list_of:
                self.item(self.opened[-1], self.opened[-1].list_of)
            elif not self.statement(self.opened[-1]):
                break
        if len(self.opened) > 1 or self.opened[-1].list_of:
            raise self.damage("the text ends inside a message")
        return bytes(self.opened[0].content)

    def statement(self, message: _Open) -> bool:
        """Read one statement; return False at the end of the text."""
        match = STATEMENT.match(self.text, self.position)
        if match is None:
            self.position = self.skipped()
            if self.position < len(self.text):
                raise self.damage("a field and its value were expected")
            return False
        start, self.position = self.position, match.end()
        if match["close"]:
            self.close(match["close"])
            return True
        found = messages()[message.kind].get(match["name"])
        if found is None:
            self.position = match.start("name")
            name = match["name"].decode()
            raise self.damage(f"{message.kind} has no field {_short(name)}")
        if match["open"]:
            self.open(found, match["open"])
        elif not match["colon"] and not (match["list"] and found.kind in messages()):
            self.position = start
            raise self.damage("the colon between a field and its value is missing")
        elif match["list"]:
            message.list_of = found
        else:
            self.add(message, found, match)
        return True

    def item(self, message: _Open, listed: Field) -> None:
        match = ITEM.match(self.text, self.position)
        if match is None:
            raise self.damage("an item or the end of a list was expected")
        self.position = match.end()
        if match["end"]:
            message.list_of = None
        elif match["open"]:
            self.open(listed, match["open"])
        else:
            self.add(message, listed, match)

    def open(self, found: Field, bracket: bytes) -> None:
        if found.kind not in messages():
            raise self.damage(f"a value of the type {found.kind} was expected, not a message")
        if len(self.opened) > DEEPEST:
            raise self.damage(f"messages are nested more than {DEEPEST} deep")
        self.opened.append(_Open(found.kind, found.number, bracket))

    def close(self, bracket: bytes) -> None:
        ended = self.opened[-1]
        if ended.bracket + bracket not in (b"{}", b"<>"):
            raise self.damage(f"{bracket.decode()} closes nothing")
        self.opened.pop()
        _write_bytes(self.opened[-1].content, ended.number, ended.content)

    def add(self, message: _Open, found: Field, match: re.Match[bytes]) -> None:
        try:
            if match["text"]:
                _TEXTS[found.kind](message.content, found.number, _joined(match["text"]))
            else:
                _write_word(message.content, found, match["word"])
        except (KeyError, ValueError, struct.error):
            self.position = match.start("text" if match["text"] else "word")
            shown = (match["text"] or match["word"]).decode(errors="replace").strip()
            raise self.damage(
                f"a value of the type {found.kind} was expected, not {_short(shown)}"
            ) from None

    def skipped(self) -> int:
        match = REST.match(self.text, self.position)
        return match.end() if match else self.position

    def damage(self, problem: str) -> NbprofError:
        line = self.text.count(b"\n", 0, self.position) + 1
        return NbprofError(
            f"{self.source} is not a readable {self.message} in text: in line {line}, {problem}."
        )


def _short(shown: str) -> str:
    return shown if len(shown) <= 40 else f"{shown[:40]}…"


def _joined(literals: bytes) -> bytes:
    """Return the bytes that adjacent literals stand for."""
    return b"".join(_unescaped(literal[1:-1]) for literal in PIECE.findall(literals))


def _unescaped(literal: bytes) -> bytes:
    return ESCAPE.sub(_escaped, literal) if b"\\" in literal else literal


def _escaped(match: re.Match[bytes]) -> bytes:
    octal, hexadecimal, short, long, letter = match.groups()
    if octal:
        return bytes([int(octal, 8)])
    if hexadecimal:
        return bytes([int(hexadecimal, 16)])
    if letter:
        return bytes([LETTERS[letter[0]]])
    return chr(int(short or long, 16)).encode()


def _write_bytes(content: bytearray, number: int, payload: bytes | bytearray) -> None:
    content += write_varint(number << 3 | LENGTH)
    content += write_varint(len(payload))
    content += payload


def _write_string(content: bytearray, number: int, payload: bytes) -> None:
    payload.decode()  # like protobuf, refuse what is not UTF-8
    _write_bytes(content, number, payload)


_TEXTS: dict[str, Callable[[bytearray, int, bytes], None]] = {
    "string": _write_string,
    "bytes": _write_bytes,
}

INTEGERS = {
    "int32": range(-(2**31), 2**31),
    "int64": range(-(2**63), 2**63),
    "uint32": range(2**32),
    "uint64": range(2**64),
    "fixed64": range(2**64),
}
FLOATS = {"float": ("<f", FIXED32), "double": ("<d", FIXED64)}
BOOLS = {b"true": 1, b"True": 1, b"t": 1, b"1": 1, b"false": 0, b"False": 0, b"f": 0, b"0": 0}


def _write_word(content: bytearray, found: Field, word: bytes) -> None:
    """Write a number or the name of an enum's value."""
    kind = found.kind
    if kind in FLOATS:
        form, wire_type = FLOATS[kind]
        content += write_varint(found.number << 3 | wire_type)
        content += _packed(form, word)
        return
    number = BOOLS[word] if kind == "bool" else _integer(kind, word)
    if kind == "fixed64":
        content += write_varint(found.number << 3 | FIXED64)
        content += struct.pack("<Q", number)
        return
    content += write_varint(found.number << 3 | VARINT)
    content += write_varint(number)


def _integer(kind: str, word: bytes) -> int:
    if kind not in INTEGERS:
        names = enums()[kind]
        return names[word] if word in names else _integer("int32", word)
    sign, digits = (-1, word[1:].lstrip()) if word.startswith(b"-") else (1, word)
    if b"_" in digits:
        raise ValueError(word)
    is_octal = digits.startswith(b"0") and digits.isdigit()
    number = sign * int(digits, 8 if is_octal else 0)
    if number not in INTEGERS[kind]:
        raise ValueError(number)
    return number


def _packed(form: str, word: bytes) -> bytes:
    plain = b"".join(word.replace(b"_", b"?").split())
    number = float(plain if plain[-3:] == b"inf" else plain.rstrip(b"fF"))
    try:
        return struct.pack(form, number)
    except OverflowError:
        return struct.pack(form, number * float("inf"))
