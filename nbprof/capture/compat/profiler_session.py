"""Run a profiler session of our own, and find out whether another one is running."""

import time
from typing import Any

from nbprof.capture.capture import CALLING_THREAD
from nbprof.capture.compat.switches import is_profiling, quiet_logs

MARKS = 8
"""How many marks `mark_thread` leaves; the first ones are slow."""


class AlreadyProfilingError(Exception):
    """Another profiler session is active."""


def running_profiler() -> str | None:
    """Return the name of the TensorFlow profiler that is running, or None."""
    from tensorflow.python.profiler import profiler_v2

    if profiler_v2._profiler is not None:
        return "tf.profiler.experimental"
    if is_profiling():
        return "another TensorFlow profiler session of this process"
    return None


def start_session(folder: str) -> Any:
    """Start a profiler session; `export_session` ends it and writes its trace into `folder`."""
    from tensorflow.python.framework import errors
    from tensorflow.python.profiler.internal import _pywrap_profiler

    # Not tf.profiler.experimental.start, because the user's own start and stop must find that API
    # as idle as in a bare cell.
    session = _pywrap_profiler.ProfilerSession()
    with quiet_logs():
        try:
            session.start(folder, {})
        except errors.AlreadyExistsError as error:
            raise AlreadyProfilingError from error
    return session


def drop_session(session: Any) -> None:
    """End a session without writing a trace; dropping the reference might not end it."""
    with quiet_logs():
        session.stop()


def export_session(session: Any) -> None:
    """End a session and write its trace."""
    with quiet_logs():
        session.export_to_tb()


def keeps_ended_threads() -> bool:
    """Return whether a trace keeps the events of a thread whose place a new thread has taken.

    Python and tf.data start threads all the time; before 2.18, a new one may cost an old one's
    events. Nothing in TensorFlow or in the trace tells, hence the version.
    """
    from tensorflow import __version__

    major, minor, *_ = __version__.split(".")
    return (int(major), int(minor)) >= (2, 18)


def mark_thread() -> tuple[tuple[int, int], ...]:
    """Leave some events CALLING_THREAD in the trace, on the calling thread.

    Return what `time.time_ns` reads just before and just after each of them: before 2.17, traces
    do not say when they began. The quickest of several marks tells that to a fraction of a µs.
    """
    import tensorflow as tf

    mark, clock = tf.profiler.experimental.Trace, time.time_ns
    readings = []
    for _ in range(MARKS):
        before = clock()
        with mark(CALLING_THREAD):
            pass
        readings.append((before, clock()))
    return tuple(readings)
