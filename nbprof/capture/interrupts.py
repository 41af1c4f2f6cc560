"""Interrupts that wait: switching TensorFlow's profiler on or off must not end half-way."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def held_back() -> Iterator[None]:
    """Let a KeyboardInterrupt wait until the block has ended."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    came: list[tuple[Any, ...]] = []
    try:
        signal.signal(signal.SIGINT, lambda *arguments: came.append(arguments))
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            handler(*came[0])
