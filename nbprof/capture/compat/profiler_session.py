"""Run a profiler session of our own, and find out whether another one is running."""

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from nbprof.capture import compat
from nbprof.capture.capture import CALLING_THREAD, OTHER_THREAD
from nbprof.capture.compat import doors
from nbprof.capture.compat.profiler_log import without_profiler_log

EVERY_RUN = 3
"""Trace level that records every op run; at TensorFlow's default of 2, an op is dropped from the
trace once it has proved cheap: about nine of ten runs in a warm Keras fit."""

EXECUTOR = b"ExecutorState::Process"
"""Name of an event that every graph leaves in a trace."""
COMPILED_PROGRAMS = b"/host:metadata"
"""Name of the plane of a trace that holds the programs of XLA."""
EVERY_RUN_EVENTS = (b"ExecutorPropagateOutputs", b"ExecutorState::ScheduleReady")
"""Names of events that every graph leaves in a trace of level EVERY_RUN, and only there."""

NOTHING_RECORDED = (
    "TensorFlow's profiler recorded nothing at all, so there is nothing to report; pip install "
    "tensorflow installs a build whose profiler works"
)
"""Note if a trace lacks even the event that `mark_thread` made."""

FIRST_TO_KEEP_THREADS = (2, 18)
"""The first TensorFlow whose traces keep the events of threads that ended."""
MARKS = 8
"""How many marks `mark_thread` leaves; the first ones are slow."""


class AlreadyProfilingError(Exception):
    """Another profiler session is active."""


class NoProfilerError(Exception):
    """TensorFlow's profiler does not start."""


class _Level:
    """A trace level for TensorFlow's options: an int would arrive as a bool and be ignored."""

    def __init__(self, level: int) -> None:
        self._level = level

    def __int__(self) -> int:
        return self._level

    __index__ = __int__


def running_profiler() -> str | None:
    """Return the name of the user's TensorFlow profiler if it is running, else None."""
    return "tf.profiler.experimental" if doors.RUNNING_PROFILER.open() is not None else None


def start_session(folder: str, *, every_run: bool) -> Any:
    """Start a profiler session; `export_session` ends it and writes its trace into `folder`.

    Raise AlreadyProfilingError, or NoProfilerError with the reason.
    """
    import tensorflow as tf

    # Not tf.profiler.experimental.start, because the user's own start and stop must find that API
    # as idle as in a bare cell.
    new_session = doors.PROFILER_SESSION.open()
    if new_session is None:
        raise NoProfilerError(doors.NO_PROFILER)
    options = {"host_tracer_level": _Level(EVERY_RUN)} if every_run else {}
    with without_profiler_log():
        try:
            return _started(new_session, folder, options)
        except tf.errors.AlreadyExistsError as error:
            raise AlreadyProfilingError from error
        except Exception as error:
            raise NoProfilerError(
                f"TensorFlow's profiler did not start ({type(error).__name__}: {error}), so the "
                "cell ran unprofiled"
            ) from error


def _started(new_session: Any, folder: str, options: dict[str, Any]) -> Any:
    session = new_session()
    try:
        try:
            session.start(folder, options)
        except TypeError:  # raised by the binding before anything has started
            session.start(folder, {})
    except Exception:
        session = None  # the traceback must not keep it: its end is logged, too
        raise
    return session


def records_every_run(trace: bytes) -> bool:
    """Return whether no op run is missing from a trace."""
    return EXECUTOR not in trace or any(name in trace for name in EVERY_RUN_EVENTS)


def event_bytes(trace: bytes) -> int:
    """Return the size of a trace without the programs that XLA has ever compiled in this process.

    They are added when the trace is written, so nothing holds them before, and they are no work of
    the cell's.
    """
    size, position = len(trace), 0
    while position < len(trace):
        begin = position
        length, position = _read_varint(trace, position + 1)  # all fields of an XSpace have one
        if COMPILED_PROGRAMS in trace[position : position + 2 * len(COMPILED_PROGRAMS)]:
            size -= position + length - begin
        position += length
    return size


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    """Return a number and the position after it."""
    number = shift = 0
    while data[position] & 0x80:
        number |= (data[position] & 0x7F) << shift
        position, shift = position + 1, shift + 7
    return number | data[position] << shift, position + 1


def drop_session(session: Any) -> None:
    """End a session without writing a trace; dropping the reference might not end it."""
    with without_profiler_log():
        session.stop()


def export_session(session: Any, folder: Path) -> bytes:
    """End a session that wrote into `folder`, and return its trace.

    Raise NoProfilerError with the reason if there is none.
    """
    try:
        with without_profiler_log():
            session.export_to_tb()
        files = sorted(folder.glob("**/*.xplane.pb"))
        trace = files[0].read_bytes() if files else None
    except Exception as error:
        with suppress(Exception):
            drop_session(session)
        raise NoProfilerError(
            f"TensorFlow could not write its trace ({type(error).__name__}: {error})"
        ) from error
    if trace is None:
        raise NoProfilerError("TensorFlow wrote no trace for this cell")
    if not any(name.encode() in trace for name in (CALLING_THREAD, OTHER_THREAD)):
        raise NoProfilerError(NOTHING_RECORDED)
    return trace


def keeps_ended_threads() -> bool:
    """Return whether a trace keeps the events of a thread whose place a new thread has taken.

    Python and tf.data start threads all the time; before 2.18, a new one may cost an old one's
    events. Nothing in TensorFlow or in the trace tells, hence the version.
    """
    return compat.release() >= FIRST_TO_KEEP_THREADS


def mark_thread(is_cell: bool = True) -> tuple[tuple[int, int], ...]:
    """Leave some events in the trace, on the calling thread: CALLING_THREAD if it is the cell's.

    Return what `time.time_ns` reads just before and just after each of them: before 2.17, traces
    do not say when they began. The quickest of several marks tells that to a fraction of a µs.
    """
    import tensorflow as tf

    mark, clock = tf.profiler.experimental.Trace, time.time_ns
    name = CALLING_THREAD if is_cell else OTHER_THREAD
    readings = []
    for _ in range(MARKS):
        before = clock()
        with mark(name):
            pass
        readings.append((before, clock()))
    return tuple(readings)
