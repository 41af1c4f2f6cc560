"""The cell's thread as a row of stretches: whose Python, or which call into TensorFlow, ran when.

Calls into TensorFlow have exact times, samples of the stack fill what lies between them:

1. While a call is open, the innermost one has the time; recording it afterwards is kept apart.
2. What precedes a call and follows every sample since the call before is the Python that makes it:
   the thread gets to sample loops of small ops only inside TensorFlow.
3. All else belongs to the sample that ends it. At the end of the cell, what happened last goes on.
"""

from dataclasses import dataclass

import numpy as np

from nbprof.arrays import NONE, Ints, Mask, Rows


@dataclass(frozen=True, eq=False, kw_only=True)
class Windows:
    """When calls were open, or were being recorded; times in ns since the cell's start."""

    start: Ints
    end: Ints
    call: Rows
    """The row of `dispatches`."""
    is_watch: Mask
    """Whether it is not the call but the recording of it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Moments:
    """The samples of the thread in order: when each was taken, and the stack it showed."""

    time: Ints
    stack: Rows


@dataclass(frozen=True, eq=False, kw_only=True)
class Stretches:
    """The thread from the cell's start to its end, in order and without holes."""

    start: Ints
    end: Ints
    call: Rows
    """The call that was open or, where `kind` is BEFORE, that the Python led to; else NONE."""
    stack: Rows
    """The stack of the sample that tells; NONE where a call does, or nothing."""
    kind: Rows
    """IN_CALL, WATCHING, BEFORE or SAMPLED."""


KINDS = IN_CALL, WATCHING, BEFORE, SAMPLED = range(4)
"""What a stretch is: inside a call, the recording of it, the Python before it, or what a sample
shows."""


def cut_into_stretches(windows: Windows, samples: Moments, wall_ns: int) -> Stretches:
    """Cut the thread's time and find what each stretch belongs to."""
    windows = _in_order(windows, wall_ns)
    inside = _is_in_gap(windows, samples.time)
    time, stack = np.clip(samples.time[inside], 0, wall_ns), samples.stack[inside]
    cuts = np.unique(np.concatenate((windows.start, windows.end, time, [0, wall_ns])))
    start, end = cuts[:-1], cuts[1:]
    window = _innermost(windows, start)
    in_window = window != NONE
    sample = np.append(np.searchsorted(time, end, side="left"), 0)[: len(end)]
    ends_at_sample = np.append(time, -1)[sample] == end
    following = np.searchsorted(windows.start, end, side="left")
    leads_to_call = (following < len(windows.start)) & ~in_window & ~ends_at_sample
    call_of = np.append(windows.call, NONE)
    kind = np.select(
        [in_window & np.append(windows.is_watch, False)[window], in_window, leads_to_call],
        [WATCHING, IN_CALL, BEFORE],
        SAMPLED,
    )
    call = np.select(
        [in_window, leads_to_call],
        [call_of[window], call_of[np.minimum(following, len(windows.start))]],
        NONE,
    )
    of_sample = np.where(kind == SAMPLED, np.append(stack, NONE)[sample], NONE)
    found = Stretches(start=start, end=end, call=call, stack=of_sample, kind=kind)
    return _with_end(found, windows, Moments(time=time, stack=stack))


def _in_order(windows: Windows, wall_ns: int) -> Windows:
    """Sort windows by their start, the longest first, and cut them off where the cell ends."""
    order = np.lexsort((-windows.end, windows.start))
    start, end = np.clip(windows.start, 0, wall_ns), np.clip(windows.end, 0, wall_ns)
    order = order[end[order] > start[order]]
    return Windows(
        start=start[order],
        end=end[order],
        call=windows.call[order],
        is_watch=windows.is_watch[order],
    )


def _depth(windows: Windows, time: Ints) -> Rows:
    """Return how many windows are open right after each moment."""
    began = np.searchsorted(windows.start, time, side="right")
    return began - np.searchsorted(np.sort(windows.end), time, side="right")


def _is_in_gap(windows: Windows, time: Ints) -> Mask:
    """Mark the moments right before which no window is open."""
    in_gap: Mask = _depth(windows, time - 1) == 0
    return in_gap


def _innermost(windows: Windows, time: Ints) -> Rows:
    """Return the innermost window that is open right after each moment, or NONE."""
    count = len(windows.start)
    around = np.arange(count) - np.searchsorted(np.sort(windows.end), windows.start, side="right")
    depth = _depth(windows, time)
    found = np.full(len(time), NONE, dtype=np.intp)
    for level in range(int(depth.max(initial=0))):
        here = np.flatnonzero(around == level)  # windows of a level follow each other
        last = np.searchsorted(windows.start[here], time, side="right") - 1
        of_level = np.append(here, NONE)[last]
        found = np.where(depth == level + 1, of_level, found)
    return found


def _with_end(found: Stretches, windows: Windows, samples: Moments) -> Stretches:
    """Let what happened last go on until the cell's end, if nothing ends that stretch."""
    if not len(found.kind) or found.kind[-1] != SAMPLED:
        return found
    end = found.end[-1]
    if len(samples.time) and samples.time[-1] == end:
        return found
    last_call = int(windows.end.argmax()) if len(windows.end) else NONE
    if len(samples.time) and (last_call == NONE or samples.time[-1] >= windows.end[last_call]):
        found.stack[-1] = samples.stack[-1]
    elif last_call != NONE:
        found.call[-1], found.kind[-1] = windows.call[last_call], BEFORE
    return found
