"""Keep the log lines of TensorFlow's profiler out of the notebook.

The profiler reports on itself on the process's standard error, and ipykernel shows that in the
cell. Which logging library writes it, and how its level could be set, changes with the release; so
standard error leads through a pipe while the profiler starts or stops. All else that any thread
writes there passes on.
"""

import os
import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

STDERR = 2
"""File descriptor of standard error."""

LOG_LINE = re.compile(
    rb"""(?: \d{4}-\d\d-\d\d[ ]\d\d:\d\d:\d\d\.\d+:[ ]I[ ]\S*/   # until TensorFlow 2.20 or so
           | I\d{4}[ ]\d\d:\d\d:[\d.]+[ ]+\d+[ ]                 # absl
         )
         (?: profiler_session | save_profile | cupti_\w+ | rocm_\w+ )\.cc:\d+\][^\n]*\n
       | WARNING:[ ]All[ ]log[ ]messages[ ]before[ ]absl::InitializeLog\(\)[^\n]*\n
    """,
    re.VERBOSE,
)
"""Matches informational lines of the profiler, and what absl says before its first line."""

GRACE = 1.0
"""Seconds to wait for the pipe's end, which a process started meanwhile may hold open."""

_one_at_a_time = threading.RLock()


@contextmanager
def without_profiler_log() -> Iterator[None]:
    """Drop the profiler's informational log lines that are written during the block."""
    with _one_at_a_time:
        filtered = _filtered_stderr()
        try:
            yield
        finally:
            if filtered is not None:
                filtered.close()


def _filtered_stderr() -> "_Filter | None":
    """Put a filter before standard error, or return None if that is impossible."""
    try:
        return _Filter()
    except (OSError, RuntimeError):  # no standard error, no descriptor or no thread left
        return None


class _Filter:
    """A pipe in the place of standard error, and a thread that empties it into the real one."""

    def __init__(self) -> None:
        with ExitStack() as undo:
            self._real = os.dup(STDERR)
            undo.callback(os.close, self._real)
            self._read_end, self._write_end = os.pipe()
            undo.callback(os.close, self._read_end)
            undo.callback(os.close, self._write_end)
            self._thread = threading.Thread(target=self._pass_on, name="nbprof log", daemon=True)
            self._thread.start()
            undo.pop_all()
        os.dup2(self._write_end, STDERR)

    def close(self) -> None:
        """Put standard error back; what was written before comes through."""
        os.dup2(self._real, STDERR)
        os.close(self._write_end)
        self._thread.join(GRACE)

    def _pass_on(self) -> None:
        """Pass on what is written, until nobody can write any more."""
        # TensorFlow writes each line at once, and does not hold the interpreter's lock meanwhile.
        while written := os.read(self._read_end, 1 << 16):
            with suppress(OSError):
                os.write(self._real, LOG_LINE.sub(b"", written))
        os.close(self._read_end)
        os.close(self._real)
