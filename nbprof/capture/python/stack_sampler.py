"""Sample the Python stack of the cell's thread while the cell runs.

A thread of its own looks at the stack every few milliseconds and notes when it did. A sample stands
for the time since the one before, because the thread gets the interpreter only where the cell's
code lets go of it: a C function that holds it for a second is one sample that lasts a second, taken
where that function returns.

The thread measures its own CPU time and waits as long as it takes to stay within its share.
"""

import _thread
import ctypes
import gc
import sys
import threading
import time
from array import array
from dataclasses import dataclass
from random import Random
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from nbprof.capture.capture import Frame, SampleLog, Stack
from nbprof.capture.python.lock_waits import LockWaits
from nbprof.user_files import is_users, is_users_code

if TYPE_CHECKING:
    from collections.abc import Callable

SHORTEST_WAIT = 0.001
"""Seconds between samples where they are densest."""
FREE_CPU = 0.001
"""CPU time in seconds that short cells may take beyond that share."""
LONGEST_WAIT = 0.03
"""The most seconds to wait after an expensive sample, such as the first one of new code."""
SWITCH_INTERVAL = 0.001
"""Seconds after which Python code lets the sampling thread have the interpreter."""
DEEPEST = 256
"""The most frames to keep of a stack, from the innermost outwards."""


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How often samples are taken."""

    most_samples: int
    """In a long cell, the time between samples is the elapsed time divided by this."""
    cpu_share: float
    """The largest share of the elapsed time that sampling may take in CPU time; letting the thread
    have the interpreter costs the cell about as much again."""


SPARSE = Pace(most_samples=5000, cpu_share=0.005)
"""The pace in every cell."""
DENSE = Pace(most_samples=100_000, cpu_share=0.05)
"""The pace if the samples are what the user asked for."""

KEPT, SKIPPED, RUNNER = range(3)
"""Kinds of frames: to keep, to pass over, and of what runs the cell, where a stack begins."""
OWN_PACKAGE = __name__.partition(".")[0]
RUNNERS = ("IPython.core.interactiveshell", f"{OWN_PACKAGE}.magics")
"""Modules that run the cell; its stack begins below them."""

# Not sys._current_frames: up to Python 3.12 it may collect garbage while it holds a lock of the
# interpreter's, and a destructor that needs that lock, such as that of TensorFlow's graphs, then
# waits forever.
_state_of_this_thread = ctypes.pythonapi.PyThreadState_Get
_state_of_this_thread.restype = ctypes.c_void_p
_innermost_frame = ctypes.pythonapi.PyThreadState_GetFrame
_innermost_frame.argtypes = (ctypes.c_void_p,)
_innermost_frame.restype = ctypes.py_object

COLLECTS_WHILE_ALLOCATING = sys.version_info < (3, 12)
"""Whether making a frame object may collect garbage; newer Pythons wait for an instruction."""


class StackSampler:
    """Samples the thread that calls `start` until `stop`; `log` returns what it saw."""

    def __init__(self, pace: Pace = SPARSE) -> None:
        self._pace = pace
        self._times = array("q")
        self._stacks = array("q")
        self._waited = array("b")
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
        self._running = False
        self._lock = _thread.allocate_lock()
        """Held while a sample is taken, so that none is taken after `stop`."""
        self._stop_signal = _thread.allocate_lock()
        """Released when the thread is to end."""
        self._switch_intervals = (0.0, 0.0)

    def start(self) -> None:
        """Start the thread; `threading` does not list it, so the cell cannot see it there."""
        self._thread = threading.get_ident()
        self._is_alive, self._state = threading.current_thread().is_alive, _state_of_this_thread()
        self._lock_waits = LockWaits(threading.get_native_id())
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
        return SampleLog(
            stacks=tuple(map(self._stack, self._number)),
            time_ns=np.array(self._times, dtype=np.int64),
            thread=np.full(len(self._times), self._thread, dtype=np.int64),
            stack=np.array(self._stacks, dtype=np.int64),
            waited=np.array(self._waited, dtype=bool),
        )

    def _run(self) -> None:
        began, began_cpu = time.perf_counter(), time.thread_time()
        jitter = Random().random  # even samples could be in step with a loop
        wait = SHORTEST_WAIT
        while not self._stop_signal.acquire(timeout=wait * (0.5 + jitter())):
            with self._lock:
                if not self._running:
                    return
                self._sample()
            elapsed, cpu = time.perf_counter() - began, time.thread_time() - began_cpu
            wait = next_wait(self._pace, elapsed, cpu)

    def _sample(self) -> None:
        """Take a sample, with the collector held back where it would pull the frames away.

        A destructor it runs may let the thread go on and leave the frame that is being looked at;
        the interpreter would then read whatever has taken its place.
        """
        hold_back = COLLECTS_WHILE_ALLOCATING and gc.isenabled()
        if hold_back:
            gc.disable()
        try:
            self._walk()
        finally:
            if hold_back:
                gc.enable()

    def _walk(self) -> None:
        now = time.time_ns()
        frame = self._frame()
        stack = array("q")
        codes = self._codes
        while frame is not None and len(stack) < 2 * DEEPEST:
            code = frame.f_code
            key = id(code)
            kind = codes[key][1] if key in codes else self._learn(frame)
            if kind == KEPT:
                stack.append(key)
                stack.append(frame.f_lasti)
            elif kind == RUNNER:
                break
            frame = frame.f_back
        self._waited.append(self._lock_waits is not None and self._lock_waits.look())
        self._times.append(now)
        self._stacks.append(self._number.setdefault(stack.tobytes(), len(self._number)))

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
        code = self._codes[key][0]
        return code.co_filename, line_of(code, instruction), code.co_name


def next_wait(pace: Pace, elapsed: float, cpu: float) -> float:
    """Return how long to wait for the next sample, in seconds.

    `elapsed` is the time since sampling began, `cpu` the CPU time it has taken since.
    """
    within_share = (cpu - FREE_CPU) / pace.cpu_share - elapsed
    return max(SHORTEST_WAIT, elapsed / pace.most_samples, min(within_share, LONGEST_WAIT))


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
    # Code without a file, such as the methods of a dataclass, would pass for the user's.
    generated = is_users(code.co_filename) and not is_users_code(code, names)
    return SKIPPED if generated or _is_in(module, (OWN_PACKAGE,)) else KEPT


def _is_in(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)
