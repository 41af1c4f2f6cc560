"""Turn the moments at which frames were opened and closed into samples of stacks."""

from array import array
from typing import Any

import numpy as np

from nbprof.arrays import NONE, Floats, Ints
from nbprof.ingest.python.damage import DamageError
from nbprof.ingest.python.stack_numbers import StackNumbers
from nbprof.ingest.python.stack_profile import TOO_LONG, nanoseconds

OPEN, CLOSE = "O", "C"


def read_events(
    events: list[Any], stacks: StackNumbers, count: int, unit_ns: float
) -> tuple[Ints, Ints, Ints]:
    """Return start, duration and stack of each time between two events that frames were open.

    `count` is the number of frames in the file.
    """
    kinds, moments, frames = _columns(events, count)
    at = nanoseconds(_from_the_first(moments), unit_ns)
    lasts = np.diff(at)
    if (lasts < 0).any():
        raise DamageError("an event is earlier than the one before")
    tree = _CallTree(count)
    calls = np.array(tree.calls_after(kinds, frames)[:-1], dtype=np.int64)
    shown = np.flatnonzero((calls != NONE) & (lasts > 0))
    number = {call: stacks.of_frames(tree.path(call)) for call in np.unique(calls[shown]).tolist()}
    stack = np.array([*map(number.__getitem__, calls[shown].tolist())], dtype=np.int64)
    return at[:-1][shown], lasts[shown], stack


def _from_the_first(moments: list[float]) -> Floats:
    """Count moments from the first one, because seconds since 1970 leave no room for ns."""
    try:
        at = np.array(moments, dtype=np.float64)
    except OverflowError:
        raise DamageError(TOO_LONG) from None
    with np.errstate(invalid="ignore"):
        return at - at[:1]


def _columns(events: list[Any], count: int) -> tuple[list[Any], list[Any], list[int]]:
    try:
        kinds = [event["type"] for event in events]
        moments = [event["at"] for event in events]
        frames = [event["frame"] for event in events]
    except (TypeError, KeyError, IndexError):
        raise DamageError('an event should have "type", "at" and "frame"') from None
    if not set(map(type, frames)) <= {int} or not set(map(type, moments)) <= {int, float}:
        raise DamageError("the frame and the moment of an event should be numbers")
    if frames and not 0 <= min(frames) <= max(frames) < count:
        raise DamageError("an event has a frame that is not in the file")
    return kinds, moments, frames


class _CallTree:
    """The calls seen so far, each below the one that made it; equal calls are one."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._frame: list[int] = []
        self._parent: list[int] = []
        self._inside: dict[int, int] = {}

    def calls_after(self, kinds: list[Any], frames: list[int]) -> list[int]:
        """Return the innermost call that is open after each event, NONE if none is."""
        after, current = [], NONE
        for kind, frame in zip(kinds, frames, strict=True):
            if kind == OPEN:
                current = self._opened(current, frame)
            elif kind == CLOSE and current != NONE and self._frame[current] == frame:
                current = self._parent[current]
            else:
                raise DamageError("an event closes a frame other than the one opened last")
            after.append(current)
        return after

    def _opened(self, parent: int, frame: int) -> int:
        call = self._inside.setdefault((parent + 1) * self._count + frame, len(self._frame))
        if call == len(self._frame):
            self._frame.append(frame)
            self._parent.append(parent)
        return call

    def path(self, call: int) -> "array[int]":
        """Return the frames that lead to a call, outermost first."""
        frames = array("i")
        while call != NONE:
            frames.append(self._frame[call])
            call = self._parent[call]
        frames.reverse()
        return frames
