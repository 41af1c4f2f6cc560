"""Which code is watched line by line, and where the numbers of its lines are kept."""

import linecache
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import CodeType

import numpy as np

from nbprof.arrays import Ints
from nbprof.capture.capture import Frame
from nbprof.capture.python.line_log import LineLog
from nbprof.python_code import TOP_LEVEL, UNNAMED, with_inner

NOWHERE = 0
"""The slot of time outside of watched lines."""


@dataclass(eq=False, slots=True)
class Call:
    """The calls of a function that a line led to."""

    calls: int = 0
    seconds: float = 0.0
    """How long they took; those inside of each other count once."""
    open: int = 0
    """How many have not returned."""


@dataclass(eq=False, slots=True)
class WatchedCode:
    """One code object; the slot of a line is its number plus `offset`."""

    code: CodeType
    offset: int
    lines: tuple[int, ...]
    callers: dict[int, Call] = field(default_factory=dict)
    """The calls by the slot of the line that led to them."""


class LineBook:
    """Keeps the hits and times of lines; the numbers of a code object's lines lie side by side."""

    def __init__(self, files: Iterable[str], codes: Iterable[CodeType]) -> None:
        self._files = frozenset(files)
        self.hits = [0]
        self.spent = [0.0]
        """Seconds."""
        self._known: dict[int, WatchedCode | None] = {}
        """By id, since hashing a code object is slow."""
        self._kept: list[CodeType] = []
        """All codes in `_known`, so that ids stay unique."""
        for code in with_inner(codes):
            self._watch(code)

    def find(self, code: CodeType) -> WatchedCode | None:
        """Return what is kept for code; None if it is not watched."""
        try:
            return self._known[id(code)]
        except KeyError:
            return self._learn(code)

    def watched(self) -> list[CodeType]:
        """Return all code that is watched so far."""
        return [found.code for found in self._known.values() if found is not None]

    def _learn(self, code: CodeType) -> WatchedCode | None:
        if code.co_filename in self._files and code.co_name not in UNNAMED:
            for inner in with_inner([code]):
                if id(inner) not in self._known:
                    self._watch(inner)
        else:
            self._known[id(code)] = None
            self._kept.append(code)
        return self._known[id(code)]

    def _watch(self, code: CodeType) -> None:
        lines = sorted({line for _, _, line in code.co_lines() if line})
        first, last = (lines[0], lines[-1]) if lines else (1, 1)
        self._known[id(code)] = WatchedCode(code, len(self.hits) - first, tuple(lines))
        self._kept.append(code)
        count = last - first + 1
        self.hits += [0] * count
        self.spent += [0.0] * count

    def log(self, notes: tuple[str, ...]) -> LineLog:
        """Return what was counted."""
        watched = [found for found in self._known.values() if found is not None]
        places = [(one, line) for one in watched for line in one.lines]
        slots = [line + one.offset for one, line in places]
        row = {slot: number for number, slot in enumerate(slots)}
        for slot in _continued(watched, self.hits):
            self.hits[slot] -= 1
        pairs = [
            (row[slot], one, call)
            for one in watched
            for slot, call in one.callers.items()
            if slot in row and call.calls
        ]
        return LineLog(
            lines=tuple((one.code.co_filename, line, one.code.co_name) for one, line in places),
            sources=tuple(_source(one.code.co_filename, line) for one, line in places),
            hits=np.array([self.hits[slot] for slot in slots], dtype=np.int64),
            self_ns=_ns([self.spent[slot] for slot in slots]),
            caller=np.array([number for number, _, _ in pairs], dtype=np.int64),
            called=tuple(_place(one.code) for _, one, _ in pairs),
            calls=np.array([call.calls for _, _, call in pairs], dtype=np.int64),
            called_ns=_ns([call.seconds for _, _, call in pairs]),
            notes=notes,
        )


def _ns(seconds: list[float]) -> Ints:
    return np.rint(np.array(seconds, dtype=np.float64) * 1e9).astype(np.int64)


def _continued(watched: list[WatchedCode], hits: list[int]) -> Iterator[int]:
    """Yield the slots of statements that follow another one on their line, which it has counted."""
    before: tuple[str, int] | None = None
    for one in watched:
        if one.code.co_name.startswith(TOP_LEVEL) and one.lines:
            begins = one.code.co_filename, one.lines[0]
            slot = one.lines[0] + one.offset
            if begins == before and hits[slot]:
                yield slot
            before = begins


def _place(code: CodeType) -> Frame:
    return code.co_filename, code.co_firstlineno, code.co_name


def _source(file: str, line: int) -> str:
    return linecache.getline(file, line).rstrip("\r\n")
