"""Sample the Python stack of the cell's thread while the cell runs.

A thread of its own looks at the stack every few milliseconds and notes when it did. A sample stands
for the time since the one before, because the thread gets the interpreter only where the cell's
code lets go of it: a C function that holds it for a second is one sample that lasts a second, taken
where that function returns. The sample then says how long the interpreter was held.

The thread measures its own CPU time and waits as long as it takes to stay within its share.
"""

import _thread
import ctypes
import gc
import sys
import threading
import time
from array import array
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from nbprof.capture.capture import Frame, SampleLog, Stack
from nbprof.capture.python.lock_waits import LockWaits
from nbprof.capture.python.other_threads import OtherThreads
from nbprof.user_files import is_users, is_users_code

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SHORTEST_WAIT = 0.001
"""Seconds between samples where they are densest."""
FREE_CPU = 0.001
"""CPU time in seconds that short cells may take beyond that share."""
SWITCH_INTERVAL = 0.001
"""Seconds after which Python code lets the sampling thread have the interpreter."""
DEEPEST = 256
"""The most frames to keep of a stack, from the innermost outwards."""
HELD = 0.03
"""Shortest time in seconds without a sample that is put down to a C function."""


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How often samples are taken."""

    most_samples: int
    """In a long cell, the time between samples is the elapsed time divided by this."""
    cpu_share: float
    """The largest share of the elapsed time that sampling may take in CPU time; letting the thread
    have the interpreter costs the cell about as much again."""
    longest_wait: float
    """The most seconds to wait after an expensive sample, such as the first one of new code."""


SPARSE = Pace(most_samples=5000, cpu_share=0.005, longest_wait=0.03)
"""The pace in every cell."""
DENSE = Pace(most_samples=100_000, cpu_share=0.04, longest_wait=0.005)
"""The pace if the samples are what the user asked for."""

KEPT, SKIPPED, OURS, RUNNER = range(4)
"""Kinds of frames: to keep, to pass over, of nbprof, and of what runs the cell, where a stack
begins."""
CUT = 0
"""In place of a code's id in a stack: further frames outside of it are missing."""
DEEPER: Frame = ("", 0, f"calls around the innermost {DEEPEST} frames")
"""The frame that stands for those that are missing."""
BOOTSTRAP = ("_bootstrap", "_bootstrap_inner", "run")
"""Functions of `threading` in which every thread begins."""
OWN_PACKAGE = __name__.partition(".")[0]
RUNNERS = ("IPython.core.interactiveshell", f"{OWN_PACKAGE}.magics")
"""Modules that run the cell; its stack begins below them."""

# Not sys._current_frames: up to Python 3.12 it may collect garbage while it holds a lock of the
# interpreter's, and a destructor that needs that lock, such as that of TensorFlow's graphs, then
# waits forever. Only to see other threads there is no way around it, with the collector held back.
_state_of_this_thread = ctypes.pythonapi.PyThreadState_Get
_state_of_this_thread.restype = ctypes.c_void_p
_innermost_frame = ctypes.pythonapi.PyThreadState_GetFrame
_innermost_frame.argtypes = (ctypes.c_void_p,)
_innermost_frame.restype = ctypes.py_object

COLUMNS = 5
"""Numbers recorded for each sample."""
COLLECTS_WHILE_ALLOCATING = sys.version_info < (3, 12)
"""Whether making a frame object may collect garbage; newer Pythons wait for an instruction."""


class StackSampler:
    """Samples the thread that calls `start` until `stop`; `log` returns what it saw."""

    def __init__(self, pace: Pace = SPARSE, *, threads: bool = False) -> None:
        self._pace = pace
        self._others = OtherThreads() if threads else None
        # For each sample: time, thread, stack, how long the interpreter was held before, and
        # whether the thread only waited for another one since.
        self._samples = array("q")
        self._number: dict[bytes, int] = {}
        """Numbers of the distinct stacks: pairs of code and instruction, innermost first."""
        # Keyed by id, because hashing a code object is slow; kept alive, so that ids stay unique.
        self._codes: dict[int, tuple[CodeType, int]] = {}
        self._thread = 0
        self._is_alive: Callable[[], bool] = bool
        """Returns whether the thread has not ended."""
        self._state: int | None = None
        """Address of the thread's state, valid until the thread ends."""
        self._lock_waits: LockWaits | None = None
        self._cpu_clock: int | None = None
        """The clock of the thread's CPU time, where there is one."""
        self._due = 0.0
        """When the next sample is due, on the clock of `perf_counter`."""
        self._cpu = 0.0
        """What it read at the sample before."""
        self._running = False
        self._lock = _thread.allocate_lock()
        """Held while a sample is taken, so that none is taken after `stop`."""
        self._stop_signal = _thread.allocate_lock()
        """Released when the thread is to end."""
        self._switch_intervals = (0.0, 0.0)

    def start(self) -> None:
        """Start the thread; `threading` does not list it, so the cell cannot see it there."""
        self._thread = threading.get_ident()
        if self._others is not None:
            self._others.leave_out(self._thread)
        self._is_alive, self._state = threading.current_thread().is_alive, _state_of_this_thread()
        self._lock_waits = LockWaits(threading.get_native_id())
        if hasattr(time, "pthread_getcpuclockid"):
            self._cpu_clock = time.pthread_getcpuclockid(self._thread)
        if self._others is not None:
            with collector_held_back():
                self._note_others(self._others, time.time_ns())
            self._others.end_of_earlier()
        is_users("")  # what it looks up the first time must not be part of the first sample
        self._stop_signal.acquire()
        self._running = True
        before = sys.getswitchinterval()
        sys.setswitchinterval(min(before, SWITCH_INTERVAL))
        self._switch_intervals = (before, sys.getswitchinterval())
        try:
            _thread.start_new_thread(self._run, ())
        except BaseException:  # the system may be out of threads
            self.stop()
            raise

    def stop(self) -> None:
        """Take no more samples and restore the switch interval, unless the cell has set it."""
        with self._lock:
            if not self._running:
                return
            self._running = False
        if self._lock_waits:
            self._lock_waits.close()
        before, ours = self._switch_intervals
        if sys.getswitchinterval() == ours:
            sys.setswitchinterval(before)
        self._stop_signal.release()

    def log(self) -> SampleLog:
        """Return the samples."""
        samples = np.array(self._samples, dtype=np.int64).reshape(-1, COLUMNS)
        stacks = tuple(map(self._stack, self._number))
        names = [""]
        if self._others is not None:
            names, chosen = self._others.chosen(samples[:, 1], samples[:, 2], stacks)
            samples = samples[chosen]
        time_ns, thread, stack, held_ns, waited = samples.T
        return SampleLog(
            stacks=stacks,
            time_ns=time_ns,
            thread=thread,
            stack=stack,
            held_ns=held_ns,
            waited=waited.astype(bool),
            names=tuple(names),
        )

    def _run(self) -> None:
        began, began_cpu = time.perf_counter(), time.thread_time()
        jitter = Random().random  # even samples could be in step with a loop
        delay = SHORTEST_WAIT
        self._due = began + delay
        if self._others is not None:
            self._others.leave_out(threading.get_ident())
        while not self._stop_signal.acquire(timeout=delay):
            with self._lock:
                if not self._running:
                    return
                self._sample()
            now, cpu = time.perf_counter(), time.thread_time() - began_cpu
            # While it took the sample, the cell may have got the interpreter and held it for long;
            # it then is where that ended, which only a sample at once can see.
            interrupted = now - self._due > SHORTEST_WAIT
            delay = next_wait(self._pace, now - began, cpu) * (0.5 + jitter())
            delay = 0.0 if interrupted else delay
            self._due = now + delay

    def look(self) -> None:
        """Take a sample if one is due; another thread of ours has got the interpreter first."""
        if time.perf_counter() < self._due or not self._lock.acquire(blocking=False):
            return
        try:
            if self._running:
                self._sample()
        finally:
            self._lock.release()

    def _sample(self) -> None:
        began = time.perf_counter()
        late, self._due = began - self._due, began
        with collector_held_back():
            now = time.time_ns()
            self._note(now, 0, self._frame(), self._held_ns(late))
            if self._others is not None:
                self._note_others(self._others, now)

    def _note_others(self, others: OtherThreads, now: int) -> None:
        for thread, frame in others.frames():
            self._note(now, thread, frame, 0)

    def _held_ns(self, late: float) -> int:
        """Return how long the cell's thread has just held the interpreter in a C function.

        A sample that comes late has waited for the interpreter if that thread was busy meanwhile.
        """
        if self._cpu_clock is None or not self._is_alive():
            return 0
        cpu = time.clock_gettime(self._cpu_clock)
        busy, self._cpu = cpu - self._cpu, cpu
        return int(late * 1e9) if late >= HELD and busy >= late / 2 else 0

    def _note(self, now: int, thread: int, frame: FrameType | None, held_ns: int) -> None:
        """Note a sample: the stack that ends in this frame, unless only nbprof runs in it."""
        stack = array("q")
        codes = self._codes
        kind, called_by_us = KEPT, 0
        while frame is not None:
            code = frame.f_code
            key = id(code)
            kind = codes[key][1] if key in codes else self._learn(frame)
            if kind == KEPT:
                if len(stack) == 2 * DEEPEST:
                    stack.extend((CUT, 0))
                    break
                stack.append(key)
                stack.append(frame.f_lasti)
            elif kind == RUNNER:
                break
            elif kind == OURS:
                called_by_us = len(stack)
            frame = frame.f_back
        if thread and kind == OURS:
            return
        if called_by_us == len(stack):
            del stack[:]  # nothing of the cell's led there
        number = self._number.setdefault(stack.tobytes(), len(self._number))
        waits = self._lock_waits
        waited = not thread and waits is not None and waits.look()
        self._samples.extend((now, thread, number, held_ns, waited))

    def _frame(self) -> FrameType | None:
        """Return the innermost frame of the thread, None if it runs no Python."""
        if not self._is_alive():
            return None
        try:
            frame: FrameType = _innermost_frame(self._state)
        except ValueError:  # ctypes was handed no object
            return None
        return frame

    def _learn(self, frame: FrameType) -> int:
        """Find out what a frame's code is and remember it."""
        code = frame.f_code
        kind = _kind_of(code, frame.f_globals)
        self._codes[id(code)] = (code, kind)
        return kind

    def _stack(self, pairs: bytes) -> Stack:
        numbers = array("q", pairs)
        frames = map(self._place, numbers[::2], numbers[1::2])
        return tuple(frames)[::-1]

    def _place(self, key: int, instruction: int) -> Frame:
        if key == CUT:
            return DEEPER
        code = self._codes[key][0]
        return code.co_filename, line_of(code, instruction), code.co_name


@contextmanager
def collector_held_back() -> "Iterator[None]":
    """Collect no garbage in the block where that would pull frames away.

    A destructor may let a thread go on and leave the frame that is being looked at; the interpreter
    would then read whatever has taken its place.
    """
    hold_back = COLLECTS_WHILE_ALLOCATING and gc.isenabled()
    if hold_back:
        gc.disable()
    try:
        yield
    finally:
        if hold_back:
            gc.enable()


def next_wait(pace: Pace, elapsed: float, cpu: float) -> float:
    """Return how long to wait for the next sample, in seconds.

    `elapsed` is the time since sampling began, `cpu` the CPU time it has taken since.
    """
    within_share = (cpu - FREE_CPU) / pace.cpu_share - elapsed
    return max(SHORTEST_WAIT, elapsed / pace.most_samples, min(within_share, pace.longest_wait))


def line_of(code: CodeType, instruction: int) -> int:
    """Return the line of an instruction; asking every sampled frame for it would be slow."""
    for start, end, line in code.co_lines():
        if start <= instruction < end and line is not None:
            return line
    return code.co_firstlineno


def _kind_of(code: CodeType, names: dict[str, Any]) -> int:
    module = str(names.get("__name__", ""))
    if _is_in(module, RUNNERS):
        return RUNNER
    if _is_in(module, (OWN_PACKAGE,)):
        return OURS
    # Code without a file, such as the methods of a dataclass, would pass for the user's.
    generated = is_users(code.co_filename) and not is_users_code(code, names)
    begins = module == "threading" and code.co_name in BOOTSTRAP
    return SKIPPED if generated or begins else KEPT


def _is_in(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)
