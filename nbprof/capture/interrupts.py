"""Delay interrupts while something must not stop halfway."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Delay a KeyboardInterrupt until the block or the decorated function has ended.

    Switching TensorFlow's profiler on or off must not stop halfway.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    received: list[tuple[Any, ...]] = []
    try:
        signal.signal(signal.SIGINT, lambda *arguments: received.append(arguments))
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if received:
            handler(*received[0])
