"""Record a stretch of code with TensorFlow's own profiler, and leave nothing switched on."""

import signal
import tempfile
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from threading import Lock, RLock
from typing import Any

from nbprof.capture import compat
from nbprof.capture.budget import Budget
from nbprof.capture.capture import Capture, Model
from nbprof.capture.compat import definitions, doors, hooks, profiler_session, switches
from nbprof.capture.compat.stacks import StackReader
from nbprof.capture.dispatch import DispatchWatch
from nbprof.capture.elsewhere import find_elsewhere
from nbprof.capture.model_objects import find_model
from nbprof.capture.sessions import SessionWatch
from nbprof.columns import allocator_columns
from nbprof.errors import NbprofError
from nbprof.note import Note
from nbprof.units import format_seconds

DEFAULT_LIMIT = 60.0
"""Seconds after which tracing ends while the cell runs on."""

NOTABLE_SHARE = 0.05
"""Lowest share of the wall time at which the cost of watching calls is noted."""
NOTABLE_NS = 5_000_000
"""Lowest cost of watching calls, in ns, that is noted."""

LIGHT = (
    "-light did not record memory, shapes (and with them float_ops), the lines of eager ops, or "
    "variables that only eager ops read; cheap ops are not counted once they are warm, so run "
    "counts and times are lower bounds"
)
"""Note on what `-light` leaves out."""
WATCHED = (
    "{took} of the cell's time went into watching {calls:,} calls into TensorFlow; -light does not "
    "watch them"
)
"""Note on what watching calls cost."""
CHEAP_OPS_LOST = (
    "this TensorFlow does not let nbprof record cheap ops once they are warm: run counts and "
    "times are lower bounds"
)
"""Note if TensorFlow ignored the trace level."""
NO_MODEL = (
    "layers, and variables with their params, are missing: the objects behind this cell's ops "
    "could not be read ({error})"
)
"""Note if finding the model failed."""
TOO_OLD = (
    "nbprof needs TensorFlow {oldest} or newer and this is {version}, so the cell ran unprofiled; "
    "pip install -U tensorflow installs a newer one"
)
"""Note if TensorFlow is too old."""
NOT_STARTED = (
    "nbprof could not start recording with this TensorFlow ({error}), so the cell ran unprofiled"
)
"""Note if setting up the recording failed."""


@contextmanager
def _interrupts_wait() -> Iterator[None]:
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


class Recorder:
    """Records from `start` to `stop`, which returns the Capture, whatever happened in between.

    `what` names the code, `cells` maps the files of notebook cells to names such as `In [3]`,
    `light` records less, and `limit` is the time in seconds after which tracing ends.
    """

    _lock = Lock()
    _active: "Recorder | None" = None

    def __init__(
        self,
        what: str,
        *,
        cells: Mapping[str, str] | None = None,
        light: bool = False,
        limit: float = DEFAULT_LIMIT,
    ) -> None:
        self.what = what
        self._cells = cells or {}
        self._light = light
        self._limit = limit
        self._ending = RLock()
        """Held while the trace is written, so that another thread waits for it."""
        self._notes: list[str] = []
        self._trace: bytes | None = None
        self._session: Any = None
        self._functions: list[Any] = []
        """The functions made during the recording, kept alive so that their nodes can be read."""
        self._watch = DispatchWatch()
        self._sessions = SessionWatch()
        self._marks: tuple[tuple[int, int], ...] = ()
        self._keeps_threads = True
        self._paused_ns = 0
        self._traced_ns = 0
        self._has_memory = False
        self._only_large = False
        self._cleanup = ExitStack()

    @_interrupts_wait()
    def start(self) -> None:
        """Start recording; if another profiler is running, raise an NbprofError that names it."""
        began = time.perf_counter_ns()
        try:
            self._claim()
            if self._import_tensorflow():
                self._start_session_or_note()
            self._cost_ns = time.perf_counter_ns() - began
            self._clock = time.perf_counter_ns()
            self._start_ns = time.time_ns()  # last, so that no event ends after the wall time
        except BaseException:
            self._release()
            raise

    @property
    def active(self) -> bool:
        """Whether this recorder is recording."""
        return Recorder._active is self

    def _claim(self) -> None:
        with Recorder._lock:
            if Recorder._active is not None:
                raise NbprofError(
                    f"nbprof is already profiling {Recorder._active.what}, and profiles cannot be "
                    "nested; this code was not run."
                )
            Recorder._active = self

    @_interrupts_wait()
    def stop(self) -> Capture:
        """End the recording, restore all switches and return what was recorded."""
        try:
            wall_ns = time.perf_counter_ns() - self._clock - self._paused_ns
            self._end_session()
        finally:
            self._release()
        self._cost_ns += time.perf_counter_ns() - self._clock - wall_ns
        self._note_cost(wall_ns)
        return Capture(
            trace=self._trace,
            what=self.what,
            how=self._describe(),
            start_ns=self._start_ns,
            wall_ns=wall_ns,
            cost_ns=self._cost_ns,
            traced_ns=min(self._traced_ns, wall_ns) if self._trace is not None else 0,
            notes=self._notes,
            has_memory=self._has_memory,
            only_large=self._only_large,
            cells=self._cells,
            dispatches=self._watch.log(),
            sessions=self._sessions.log(),
            marks=self._marks,
            keeps_threads=self._keeps_threads,
            function_def=self._function_def,
            function_stacks=self._function_stacks,
            captured_functions=definitions.dataset_functions,
            known_functions=definitions.all_functions,
            model=self._model,
            elsewhere=find_elsewhere(self._watch.backends, watched=not self._light),
        )

    def _note_cost(self, wall_ns: int) -> None:
        """Note how long watching eager calls took, if that is a notable part of the wall time."""
        watched_ns = self._watch.cost_ns
        if watched_ns > max(NOTABLE_SHARE * wall_ns, NOTABLE_NS):
            calls = sum(self._watch.counts.values())
            self._notes.append(WATCHED.format(calls=calls, took=format_seconds(watched_ns)))

    def _import_tensorflow(self) -> bool:
        """Import TensorFlow before the clock starts, and return whether that worked."""
        if not compat.installed():
            self._notes.append(
                "TensorFlow is not installed, so the cell ran unprofiled; "
                "pip install 'nbprof[tensorflow]' installs it"
            )
            return False
        if not compat.imported():
            began = time.perf_counter_ns()
            try:
                compat.version()
            except Exception as error:  # noqa: BLE001 a broken installation raises anything
                self._notes.append(
                    f"TensorFlow cannot be imported ({error}), so the cell ran unprofiled"
                )
                return False
            took = format_seconds(time.perf_counter_ns() - began)
            self._notes.append(f"nbprof imported TensorFlow before the clock started ({took})")
        if compat.too_old():
            oldest = ".".join(map(str, compat.OLDEST))
            self._notes.append(TOO_OLD.format(oldest=oldest, version=compat.version()))
        return not compat.too_old()

    def _start_session_or_note(self) -> None:
        """Start the session; if that fails unexpectedly, let the cell run unprofiled."""
        try:
            self._start_session()
        except NbprofError:
            raise
        except Exception as error:  # noqa: BLE001 our failure must not become the user's
            self._switch_off()
            self._notes = [NOT_STARTED.format(error=f"{type(error).__name__}: {error}")]

    def _start_session(self) -> None:
        running = profiler_session.running_profiler()
        if running:
            raise NbprofError(_refusal(running))
        try:
            temporary = tempfile.TemporaryDirectory(prefix="nbprof-", ignore_cleanup_errors=True)
        except OSError as error:
            self._notes.append(
                f"no temporary folder could be made ({error}), so the cell ran unprofiled"
            )
            return
        folder = self._cleanup.enter_context(temporary)
        if not self._light:
            self._has_memory = self._cleanup.enter_context(switches.allocations_recorded())
        try:
            self._session = profiler_session.start_session(folder, every_run=not self._light)
        except profiler_session.AlreadyProfilingError as error:
            raise NbprofError(_refusal("another TensorFlow profiler session")) from error
        except profiler_session.NoProfilerError as error:
            self._cleanup.close()
            self._notes.append(str(error))
            return
        self._folder = Path(folder)
        self._note_shortcomings()
        self._cleanup.enter_context(
            hooks.watch_sessions(self._give_way, self._sessions.about_to_run)
        )
        self._functions = self._cleanup.enter_context(hooks.keep_functions())
        if not self._light:
            self._cleanup.enter_context(self._watch.watched())
        self._marks = profiler_session.mark_thread()
        self._keeps_threads = profiler_session.keeps_ended_threads()
        self._cleanup.enter_context(Budget(self._limit, self._watch.counts, self._stop_early))

    def _note_shortcomings(self) -> None:
        """Note what will not be recorded."""
        users = (doors.TRACE,) if self._light else (doors.TRACE, doors.FULL_TRACE)
        for sentence in doors.missing(*users):
            about_memory = sentence == doors.NO_MEMORY
            self._notes.append(Note(sentence, allocator_columns()) if about_memory else sentence)
        self._only_large = self._has_memory and switches.hides_small_allocations()
        if self._light:
            self._notes.append(LIGHT)

    def _describe(self) -> str:
        """Describe how the code was recorded, for the headline."""
        if self._trace is None:
            return "nothing recorded"
        if self._light:
            detail = "light"
        elif profiler_session.records_every_run(self._trace):
            detail = "every op run"
        else:
            detail = "cheap ops not counted"
            self._notes.append(CHEAP_OPS_LOST)
        return f"TensorFlow {compat.version()} trace, {detail}"

    @_interrupts_wait()
    def _give_way(self, name: str) -> None:
        """End the trace because the user's code starts a profiler of its own."""
        now = time.perf_counter_ns()
        why = (
            f"the cell started a profiler of its own ({name}) after "
            f"{format_seconds(now - self._clock)}; nbprof gave way to it and recorded nothing "
            "from then on"
        )
        if self._end_session(why):
            self._paused_ns = time.perf_counter_ns() - now

    def _stop_early(self, why: str) -> None:
        """End the trace because its budget is used up; the cell runs on."""
        self._end_session(f"tracing ended {why}")

    def _end_session(self, why: str | None = None) -> bool:
        """Write the trace and read it back; return False if it had ended before.

        A second caller waits until the trace is written: only then can another profiler start.
        """
        with self._ending:
            session, self._session = self._session, None
            if session is None:
                return False
            self._traced_ns = time.perf_counter_ns() - self._clock
            if why:
                self._notes.append(why)
            try:
                self._trace = profiler_session.export_session(session, self._folder)
            except profiler_session.NoProfilerError as error:
                self._notes.append(str(error))
            return True

    @_interrupts_wait()
    def abandon(self) -> None:
        """Switch everything off, at whatever stage, and drop what was recorded."""
        self._release()

    def _release(self) -> None:
        try:
            self._switch_off()
        finally:
            with Recorder._lock:
                if Recorder._active is self:
                    Recorder._active = None

    def _switch_off(self) -> None:
        session, self._session = self._session, None
        try:
            if session is not None:
                profiler_session.drop_session(session)
        finally:
            self._cleanup.close()

    # Bound methods, so that the Capture, which holds them, keeps self._functions alive.

    def _function_def(self, name: str) -> Any:
        return self._sessions.function_def(name) or definitions.function_def(name)

    def _function_stacks(self, name: str) -> Any:
        graph = self._sessions.graph(name)
        return self._stacks.of_function(name) if graph is None else self._stacks.of_graph(graph)

    @cached_property
    def _stacks(self) -> StackReader:
        seen = (file for site in self._watch.log().sites for file, _, _ in site)
        return StackReader((*self._cells, *seen), self._note)

    def _note(self, text: str) -> None:
        if text not in self._notes:
            self._notes.append(text)

    def _model(self, functions: Collection[str]) -> Model:
        model = Model()
        watch = self._watch
        if watch.used or watch.layers or any(name.startswith("__") for name in functions):
            try:
                model = find_model(functions, watch.used, watch.layers)
            except Exception as error:  # noqa: BLE001 the rest of the report is still right
                self._note(NO_MODEL.format(error=f"{type(error).__name__}: {error}"))
        return self._sessions.add_variables(model)


def _refusal(running: str) -> str:
    return (
        f"{running} is already profiling, and TensorFlow runs one profiler at a time; stop it and "
        "run the cell again. This code was not run."
    )
