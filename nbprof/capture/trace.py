"""Record a stretch of code with TensorFlow's own profiler, and leave nothing switched on."""

import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import Any

from nbprof.capture import compat
from nbprof.capture.capture import Capture
from nbprof.capture.dispatch import DispatchWatch
from nbprof.errors import NbprofError
from nbprof.units import format_seconds

MEMORY_LOST = (
    "memory was not recorded: this TensorFlow does not let nbprof trace the CPU's allocator"
)
CHEAP_OPS_LOST = (
    "this TensorFlow does not let nbprof record cheap ops once they are warm: run counts and "
    "times are lower bounds"
)


class Recorder:
    """Records from `start` to `stop`; `stop` gives the Capture, whatever happened between."""

    _lock = Lock()
    _active: "Recorder | None" = None

    def __init__(self, what: str, cells: Mapping[str, str] | None = None) -> None:
        self.what = what
        self._cells = cells or {}
        self._notes: list[str] = []
        self._trace: bytes | None = None
        self._session: Any = None
        self._kept: list[Any] = []
        self._watch = DispatchWatch()
        self._paused_ns = 0
        self._has_memory = False
        self._how = "nothing recorded"
        self._cleanup = ExitStack()

    def start(self) -> None:
        """Begin to record; refuse, by name, when a profiler runs already."""
        began = time.perf_counter_ns()
        with Recorder._lock:
            if Recorder._active is not None:
                raise NbprofError(
                    f"nbprof is already profiling {Recorder._active.what}, and profiles do not "
                    "nest; this code was not run."
                )
            Recorder._active = self
        try:
            if self._import_tensorflow():
                self._start_session()
        except BaseException:
            self._release()
            raise
        self._cost_ns = time.perf_counter_ns() - began
        self._start_ns = time.time_ns()
        self._clock = time.perf_counter_ns()

    def stop(self) -> Capture:
        """End the recording and give what it holds; all switches are back afterwards."""
        wall_ns = time.perf_counter_ns() - self._clock - self._paused_ns
        try:
            self._end_session()
        finally:
            self._release()
        self._cost_ns += time.perf_counter_ns() - self._clock - wall_ns
        return Capture(
            self._trace,
            self.what,
            self._how,
            self._start_ns,
            wall_ns,
            self._cost_ns,
            self._function_def,
            tuple(self._notes),
            self._has_memory,
            self._function_stacks,
            self._watch.log(),
            self._cells,
        )

    def _import_tensorflow(self) -> bool:
        if not compat.installed():
            self._notes.append(
                "TensorFlow is not installed, so the cell ran unprofiled; "
                "pip install 'nbprof[tensorflow]' brings it"
            )
            return False
        if not compat.imported():
            began = time.perf_counter_ns()
            try:
                compat.version()
            except ImportError as error:
                self._notes.append(
                    f"TensorFlow cannot be imported ({error}), so the cell ran unprofiled"
                )
                return False
            took = format_seconds(time.perf_counter_ns() - began)
            self._notes.append(f"nbprof imported TensorFlow before the clock started ({took})")
        return True

    def _start_session(self) -> None:
        running = compat.running_profiler()
        if running:
            raise NbprofError(_refusal(running))
        self._has_memory = self._cleanup.enter_context(compat.allocations_recorded())
        if not self._has_memory:
            self._notes.append(MEMORY_LOST)
        folder = self._cleanup.enter_context(
            tempfile.TemporaryDirectory(prefix="nbprof-", ignore_cleanup_errors=True)
        )
        try:
            self._session = compat.start_session(folder)
        except compat.AlreadyProfilingError as error:
            raise NbprofError(_refusal("another TensorFlow profiler session")) from error
        self._folder = Path(folder)
        every_run = compat.record_every_run()
        if not every_run:
            self._notes.append(CHEAP_OPS_LOST)
        self._how = f"TensorFlow {compat.version()} trace" + (", every op run" if every_run else "")
        self._cleanup.enter_context(compat.watch_profilers(self._give_way))
        self._kept = self._cleanup.enter_context(compat.keep_functions())
        self._cleanup.enter_context(self._watch.watched())

    def _give_way(self, name: str) -> None:
        """End the trace because the user's code starts a profiler of its own."""
        now = time.perf_counter_ns()
        if self._end_session():
            self._paused_ns = time.perf_counter_ns() - now
            self._notes.append(
                f"after {format_seconds(now - self._clock)} the cell started a profiler of its own "
                f"({name}); nbprof gave way to it and saw nothing from then on"
            )

    def _end_session(self) -> bool:
        """Write the trace and read it back; False when it had ended before."""
        with Recorder._lock:
            session, self._session = self._session, None
        if session is None:
            return False
        compat.export_session(session)
        files = sorted(self._folder.glob("**/*.xplane.pb"))
        if files:
            self._trace = files[0].read_bytes()
        else:
            self._notes.append("TensorFlow wrote no trace for this cell")
        return True

    def _release(self) -> None:
        self._session = None
        self._cleanup.close()
        with Recorder._lock:
            if Recorder._active is self:
                Recorder._active = None

    # These are methods, so that whoever may still ask keeps self._kept, the functions, alive.

    def _function_def(self, name: str) -> Any:
        return compat.function_def(name)

    def _function_stacks(self, name: str) -> bytes | None:
        return compat.function_stacks(name)


def _refusal(running: str) -> str:
    return (
        f"{running} is already profiling, and TensorFlow has room for one profiler at a time; "
        "stop it and run the cell again. This code was not run."
    )
