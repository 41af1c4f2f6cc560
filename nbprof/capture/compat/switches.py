"""Set switches in TensorFlow's shared library; each may be missing."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

from nbprof.capture.compat import doors


@contextmanager
def allocations_recorded() -> Iterator[bool]:
    """Trace CPU allocations in the block; yield whether that is possible."""
    before = allocator_statistics_on()
    begin, end = doors.WATCH_ALLOCATOR.open(), doors.UNWATCH_ALLOCATOR.open()
    if before is None or begin is None or end is None:
        yield False
        return
    try:
        begin()
        yield True
    finally:
        if not before:
            end()


def allocator_statistics_on() -> bool | None:
    """Return whether the CPU allocator keeps statistics, or None if unknown."""
    is_on = doors.ALLOCATOR_IS_WATCHED.open()
    if is_on is None:
        return None
    is_on.restype = ctypes.c_bool
    return bool(is_on())


def tensor_bytes() -> int:
    """Return how many bytes of the CPU's memory tensors hold, 0 if TensorFlow does not say.

    Ask only once TensorFlow has run something: asking initializes its devices.
    """
    import tensorflow as tf

    try:
        return int(tf.config.experimental.get_memory_info("CPU:0")["current"])
    except Exception:  # noqa: BLE001 other builds and allocators keep no statistics
        return 0


def hides_small_allocations() -> bool:
    """Return whether oneDNN's allocator is in use, which traces only 256 KiB and more."""
    is_onednn = doors.IS_ONEDNN.open()
    return is_onednn is not None and bool(is_onednn())
