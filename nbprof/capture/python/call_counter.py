"""Count the calls of the cell's thread with cProfile, the profiler in C that comes with Python."""

import sys
from collections.abc import Callable, Iterable
from cProfile import Profile
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from nbprof.arrays import Ints
from nbprof.capture.capture import Frame
from nbprof.capture.python.call_log import CallLog, counts_of
from nbprof.capture.python.watch import CannotWatchError, where
from nbprof.python_code import TOP_LEVEL

OWN_FILES = f"{Path(__file__).parents[2]}/"
"""Where our own code is, whose calls are not the cell's."""
SWITCH = "<method 'disable' of '_lsprof.Profiler' objects>"
"""What cProfile calls the function that ends it."""
MIXES_THREADS = sys.version_info >= (3, 12)
"""Whether cProfile counts the calls of all threads, as if one thread had made them."""

BUSY = (
    "{name} is already profiling Python, and only one profiler can count calls, so this cell ran "
    "without; stop it and run the cell again."
)
"""Why the cell runs without its calls being counted."""
GAVE_WAY = (
    "{name}, which was started {place}, counts calls itself: nbprof gave way to it and counted no "
    "call from then on"
)
"""Note on a profiler that the cell started itself."""
ALL_THREADS = (
    "since Python 3.12, cProfile counts the calls of all threads as if one had made them; so that "
    "its own are not among them, nbprof samples neither stacks nor memory beside it"
)
"""Note where other threads may be in the numbers."""


class CallCounter:
    """Counts calls between `resume` and `pause`."""

    def __init__(self) -> None:
        self._profiler = Profile()
        self._notes: list[str] = [ALL_THREADS] if MIXES_THREADS else []
        self._on = self._gave_way = False
        self._place = ""
        self._leave: Callable[[], object] = bool

    def start(self) -> None:
        """Refuse to count while somebody else does."""
        other = running_profiler()
        if other:
            raise CannotWatchError(BUSY.format(name=other))

    def resume(self, line: int) -> None:
        """Count from here on, unless the cell has started a profiler of its own."""
        if self._gave_way or self._on:
            return
        self._place = where(line)
        other = running_profiler()
        if other:
            self._give_way(other)
            return
        self._leave = listen_for_profilers(self._give_way)
        self._on = True
        self._profiler.enable()  # last, since it counts what follows

    def pause(self) -> None:
        """Count no more until the next `resume`."""
        if not self._on:
            return
        other: Any = None if MIXES_THREADS else sys.getprofile()
        self._switch_off()
        if not MIXES_THREADS and other is not self._profiler:
            self._note(_name_of(other))
            _switch_on(other)

    def stop(self) -> None:
        """Switch everything off."""
        self.pause()

    def log(self) -> CallLog:
        """Return what was counted."""
        return read_stats(self._profiler.getstats(), tuple(self._notes))

    def _give_way(self, name: str) -> None:
        """Leave the place of a profiler to one of the cell's own."""
        if self._on:
            self._switch_off()
        self._note(name)

    def _switch_off(self) -> None:
        self._on = False
        self._profiler.disable()
        self._leave()

    def _note(self, name: str) -> None:
        self._gave_way = True
        self._notes.append(GAVE_WAY.format(name=name, place=self._place))


def running_profiler() -> str:
    """Name what is counting calls already; empty if nothing is."""
    other = sys.getprofile()
    if other is not None:
        return _name_of(other)
    monitoring: Any = getattr(sys, "monitoring", None)
    return "" if monitoring is None else monitoring.get_tool(monitoring.PROFILER_ID) or ""


def _name_of(profiler: Any) -> str:
    """Name a profile function, as far as it tells who it is."""
    if profiler is None:
        return "another profiler"
    if isinstance(profiler, Profile):
        return "cProfile"
    owner = getattr(profiler, "__module__", None) or type(profiler).__module__
    name = getattr(profiler, "__qualname__", type(profiler).__qualname__)
    return f"a profile function ({owner}.{name})"


def _switch_on(profiler: Any) -> None:
    """Let a profiler go on that ended with ours, since Python 3.11 has one place for all."""
    if isinstance(profiler, Profile):
        profiler.enable()
    elif profiler is not None:
        sys.setprofile(profiler)


def listen_for_profilers(give_way: Callable[[str], None]) -> Callable[[], object]:
    """Call `give_way` before somebody takes the place of a profiler; return what ends this.

    Python 3.12 and newer refuse a second profiler, so the cell's own would fail. They ask for the
    place by the name of a function, cProfile included.
    """
    monitoring: Any = getattr(sys, "monitoring", None)
    if monitoring is None:
        return bool
    take = monitoring.use_tool_id

    def use_tool_id(tool_id: int, name: str, /) -> None:
        if tool_id == monitoring.PROFILER_ID and monitoring.get_tool(tool_id) is not None:
            give_way(name)
        take(tool_id, name)

    def leave() -> None:
        if monitoring.use_tool_id is use_tool_id:
            monitoring.use_tool_id = take

    monitoring.use_tool_id = use_tool_id
    return leave


Numbers = list[float]
"""Calls, primitive calls, own and total seconds."""
Function = tuple[Frame, int]
"""File, first line and name; and for the top level of a file or cell the id of its code, since the
statements of a cell, which begin on the same line, are one function that is called once."""


def read_stats(entries: Iterable[Any], notes: tuple[str, ...] = ()) -> CallLog:
    """Add up what cProfile counted by function, without our own calls and what they called."""
    functions: dict[Function, Numbers] = {}
    pairs: dict[tuple[Function, Function], Numbers] = {}
    ours: list[Any] = []
    for entry in entries:
        if _is_ours(entry.code):
            ours.append(entry)
            continue
        function = _function(entry.code)
        _add(functions.setdefault(function, [0, 0, 0.0, 0.0]), entry)
        for called in entry.calls or ():
            if not _is_ours(called.code):
                pair = function, _function(called.code)
                _add(pairs.setdefault(pair, [0, 0, 0.0, 0.0]), called)
    for entry in ours:
        for called in entry.calls or ():
            if not _is_ours(called.code):
                _add(functions.setdefault(_function(called.code), [0, 0, 0.0, 0.0]), called, -1)
    functions = {function: counted for function, counted in functions.items() if counted[0] > 0}
    row = {function: number for number, function in enumerate(functions)}
    kept = {pair: counted for pair, counted in pairs.items() if row.keys() >= {*pair}}
    return CallLog(
        functions=tuple(label for label, _ in functions),
        counts=counts_of([*functions.values()]),
        caller=_rows(row[caller] for caller, _ in kept),
        callee=_rows(row[callee] for _, callee in kept),
        by_caller=counts_of([*kept.values()]),
        notes=notes,
    )


def _is_ours(code: CodeType | str) -> bool:
    return code == SWITCH if isinstance(code, str) else code.co_filename.startswith(OWN_FILES)


def _function(code: CodeType | str) -> Function:
    """Return what code is counted under; C functions have the file and line of pstats."""
    if isinstance(code, str):
        return ("~", 0, code), 0
    label = code.co_filename, code.co_firstlineno, code.co_name
    return label, id(code) if code.co_name.startswith(TOP_LEVEL) else 0


def _add(counted: Numbers, entry: Any, sign: int = 1) -> None:
    counted[0] += sign * entry.callcount
    counted[1] += sign * (entry.callcount - entry.reccallcount)
    counted[2] += sign * entry.inlinetime
    counted[3] += sign * entry.totaltime


def _rows(numbers: Iterable[int]) -> Ints:
    return np.fromiter(numbers, dtype=np.int64)
