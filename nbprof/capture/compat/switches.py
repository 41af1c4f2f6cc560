"""Set switches in TensorFlow's shared library, found by symbol; each may be missing."""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

IDLE = -1
"""TensorFlow's trace level while no session records."""
DEFAULT_LEVEL = 2
"""TensorFlow's trace level in a session."""
EVERY_RUN_LEVEL = 3
"""The trace level at which a session records every op run."""

WARNING = 1
"""absl's log level that hides informational messages."""

ABSL_RELEASES = ("20260107", "20250814", "20250512", "20250127", "20240722", "20240116")
"""Releases of absl whose symbols are tried, newest first."""


@cache
def _library() -> ctypes.CDLL | None:
    import tensorflow as tf

    found = sorted(Path(tf.__file__).parent.glob("libtensorflow_framework*"))
    try:
        return ctypes.CDLL(str(found[0])) if found else None
    except OSError:
        return None


@cache
def _trace_level() -> ctypes.c_int | None:
    """Return the variable with the level that decides what every TraceMe records."""
    library = _library()
    if library is None:
        return None
    try:
        return ctypes.c_int.in_dll(library, "_ZN3tsl8profiler8internal13g_trace_levelE")
    except ValueError:
        return None


def is_profiling() -> bool:
    """Return whether any profiler session of this process is recording; False if unknown."""
    level = _trace_level()
    return level is not None and level.value != IDLE


def record_every_run() -> bool:
    """Make the running session record cheap ops, too; return whether that worked.

    At its default level TensorFlow drops an op from the trace once it has proved cheap (about nine
    of ten runs in a warm Keras fit), and it ignores the level in ProfilerOptions.
    """
    level = _trace_level()
    if level is None or level.value != DEFAULT_LEVEL:
        return False
    level.value = EVERY_RUN_LEVEL
    return True


@contextmanager
def quiet_logs() -> Iterator[None]:
    """Silence the profiler's C++ log lines, which ipykernel would show in the notebook."""
    switch = _log_level()
    if switch is None:
        yield
        return
    get, put = switch
    before = get()
    try:
        put(max(before, WARNING))
        yield
    finally:
        put(before)


@cache
def _log_level() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """Return absl's MinLogLevel and SetMinLogLevel, whose symbols contain the absl release."""
    library = _library()
    if library is None:
        return None
    for release in ABSL_RELEASES:
        prefix = f"_ZN4absl12lts_{release}"
        try:
            return (
                library[f"{prefix}11MinLogLevelEv"],
                library[f"{prefix}14SetMinLogLevelENS0_18LogSeverityAtLeastE"],
            )
        except AttributeError:
            continue
    return None


@contextmanager
def allocations_recorded() -> Iterator[bool]:
    """Trace CPU allocations in the block; yield whether that is possible."""
    library = _library()
    before = allocator_statistics_on()
    if library is None or before is None:
        yield False
        return
    try:
        library["_ZN3tsl23EnableCPUAllocatorStatsEv"]()
        yield True
    finally:
        if not before:
            library["_ZN3tsl24DisableCPUAllocatorStatsEv"]()


def allocator_statistics_on() -> bool | None:
    """Return whether the CPU allocator keeps statistics, or None if unknown."""
    library = _library()
    if library is None:
        return None
    try:
        is_on = library["_ZN3tsl24CPUAllocatorStatsEnabledEv"]
    except AttributeError:
        return None
    is_on.restype = ctypes.c_bool
    return bool(is_on())


def hides_small_allocations() -> bool:
    """Return whether oneDNN's allocator is in use, which traces only 256 KiB and more."""
    try:
        from tensorflow.python.util import _pywrap_util_port
    except ImportError:
        return False
    return bool(_pywrap_util_port.IsMklEnabled())
