"""Record a stretch of code with TensorFlow's own profiler, and leave nothing switched on."""

import platform
import tempfile
import time
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from threading import Lock
from typing import Any

from nbprof.capture import compat
from nbprof.capture.capture import Capture, Model
from nbprof.capture.compat import definitions, doors, hooks, profiler_session, switches
from nbprof.capture.compat.stacks import StackReader
from nbprof.capture.dispatch import DispatchWatch
from nbprof.capture.elsewhere import find_elsewhere
from nbprof.capture.interrupts import interrupts_wait
from nbprof.capture.model_objects import find_model
from nbprof.capture.python.mark_log import read_marks
from nbprof.capture.python.marks import MarkRecording, start_marks, stop_marks
from nbprof.capture.python.watch import CannotWatchError, StatementWatch
from nbprof.capture.python.watches import PythonExtent, runs_alone, sampler_for, watch_for
from nbprof.capture.sessions import SessionWatch
from nbprof.capture.tracing import Extent, ProcessMemory, Tracing
from nbprof.columns import allocator_columns
from nbprof.errors import NbprofError
from nbprof.note import Note
from nbprof.units import format_seconds
from nbprof.view_kinds import VIEWS

NOTABLE_SHARE = 0.05
"""Lowest share of the wall time at which the cost of watching calls is noted."""
NOTABLE_NS = 5_000_000
"""Lowest cost of watching calls, in ns, that is noted."""

LIGHT = (
    "-light did not record memory, shapes (and with them float_ops), the lines that ran ops, or "
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
NOT_SAMPLED = (
    "Python stacks could not be sampled ({error}), so the summary cannot tell the cell's Python "
    "from that of libraries"
)
"""Note if the sampling thread could not be started."""


class Recorder:
    """Records from `start` to `stop`, which returns the Capture, whatever happened in between.

    `what` names the code, `cells` maps the files of notebook cells to names such as `In [3]`.
    """

    _lock = Lock()
    _active: "Recorder | None" = None

    def __init__(
        self,
        what: str,
        *,
        cells: Mapping[str, str] | None = None,
        extent: Extent | None = None,
        python: PythonExtent | None = None,
        memory: ProcessMemory | None = None,
    ) -> None:
        self.what = what
        self._cells = cells or {}
        extent, python = extent or Extent(), python or PythonExtent()
        self._with_tensorflow = extent.tensorflow
        self._light = extent.light
        self._notes: list[str] = []
        self._functions: list[Any] = []
        """The functions made during the recording, kept alive so that their nodes can be read."""
        self._watch = DispatchWatch()
        self._sessions = SessionWatch(None if extent.light else self._watch.site)
        self._sampler = sampler_for(python)
        self._samples = not runs_alone(python)
        self._python = watch_for(python)
        # Found out here, so that no call for it is counted.
        watch = self._python
        self._by_statement = watch if isinstance(watch, StatementWatch) else None
        self._marks = MarkRecording()
        self._threads: tuple[str, ...] = ("threads",) if python.threads else ()
        self._needs = VIEWS[python.view].needs if python.view else ""
        self._watched: tuple[str, ...] = ("ops",) if self._with_tensorflow else ()
        self._refused = ""
        self._tracing = Tracing(extent, memory or ProcessMemory(), self._watch)
        self._keeps_threads = True
        self._only_large = False
        self._cleanup = ExitStack()

    @interrupts_wait()
    def start(self) -> None:
        """Start recording; if another profiler is running, raise an NbprofError that names it."""
        began = time.perf_counter_ns()
        try:
            self._claim()
            if self._with_tensorflow and self._import_tensorflow():
                self._start_session_or_note()
            if self._samples:
                self._start_sampler()
            self._start_watch()
            self._cleanup.callback(stop_marks)
            self._marks = start_marks()
            self._cost_ns = time.perf_counter_ns() - began
            self._tracing.begin_clock()
            self._start_ns = time.time_ns()  # last, so that no event ends after the wall time
        except BaseException:
            self._release()
            raise

    def look(self) -> None:
        """Sample the cell's stacks if that is due; called by a thread that has the interpreter.

        Of several threads of ours that wait for it, any may be the first to see the cell where a
        long call has just let go of it.
        """
        self._sampler.look()

    @property
    def active(self) -> bool:
        """Whether this recorder is recording."""
        return Recorder._active is self

    def resume(self, line: int = 0) -> None:
        """Let the watch of Python record a statement on this line of a cell, or 0 for a block."""
        if self._by_statement is not None:
            self._by_statement.resume(line)

    def pause(self) -> None:
        """Keep the watch of Python from recording what is not the cell's."""
        if self._by_statement is not None:
            self._by_statement.pause()

    def _claim(self) -> None:
        with Recorder._lock:
            if Recorder._active is not None:
                raise NbprofError(
                    f"nbprof is already profiling {Recorder._active.what}, and profiles cannot be "
                    "nested; this code was not run."
                )
            Recorder._active = self

    @interrupts_wait()
    def stop(self) -> Capture:
        """End the recording, restore all switches and return what was recorded."""
        tracing = self._tracing
        began = time.perf_counter_ns()
        try:
            wall_ns = tracing.cell_ns()  # what the watch does at its end may take long
            if self._python is not None:
                self._python.stop()  # first, so that it does not watch what follows
            self._sampler.stop()
            tracing.end()
        finally:
            self._release()
        self._notes += tracing.notes
        self._note_cost(wall_ns)
        pauses = tracing.tracer.pauses
        self._cost_ns += time.perf_counter_ns() - began + pauses.total_ns
        calls, steps, sessions = self._watch.log(), tracing.clock.log(), self._sessions.log()
        samples, marks = self._sampler.log(), read_marks(self._marks)
        capture = Capture(
            windows=tuple(tracing.tracer.windows),
            what=self.what,
            how=self._describe(),
            start_ns=self._start_ns,
            wall_ns=wall_ns,
            cost_ns=self._cost_ns,
            watched_ns=self._watch.cost_ns,
            traced_ns=self._traced_ns(wall_ns),
            why_bare=tracing.why_bare,
            notes=self._notes,
            has_memory=tracing.tracer.has_memory,
            only_large=self._only_large,
            cells=self._cells,
            thread=tracing.clock.thread,
            steps=replace(
                steps, start_ns=pauses.cut(steps.start_ns), end_ns=pauses.cut(steps.end_ns)
            ),
            pauses=pauses,
            dispatches=replace(
                calls,
                start_ns=pauses.cut(calls.start_ns),
                end_ns=pauses.cut(calls.end_ns),
                recorded_ns=pauses.cut(calls.recorded_ns),
            ),
            sessions=replace(sessions, start_ns=pauses.cut(sessions.start_ns)),
            samples=replace(samples, time_ns=pauses.cut(samples.time_ns)),
            marks=marks.on_clock(pauses.cut),
            watched=self._watched,
            refused=self._refused,
            recorded={} if self._python is None else {self._needs: self._python.log()},
            keeps_threads=self._keeps_threads,
            function_def=self._function_def,
            function_stacks=self._function_stacks,
            captured_functions=definitions.dataset_functions,
            known_functions=definitions.all_functions,
            model=self._model,
            elsewhere=find_elsewhere(self._watch.backends, watched=not self._light),
        )
        tracing.tracer.windows = []  # they are large, and the Capture keeps this recorder alive
        return capture

    def _traced_ns(self, wall_ns: int) -> int:
        end_ns = self._start_ns + wall_ns
        return sum(
            max(0, min(window.ended_ns, end_ns) - max(window.began_ns, self._start_ns))
            for window in self._tracing.tracer.windows
        )

    def _note_cost(self, wall_ns: int) -> None:
        """Note how long watching eager calls took, if that is a notable part of the wall time."""
        watched_ns = self._watch.cost_ns
        if watched_ns > max(NOTABLE_SHARE * wall_ns, NOTABLE_NS):
            took = format_seconds(watched_ns)
            self._notes.append(WATCHED.format(calls=self._watch.calls, took=took))

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

    def _start_sampler(self) -> None:
        self._cleanup.callback(self._sampler.stop)
        try:
            self._sampler.start()
        except RuntimeError as error:  # the system is out of threads
            self._notes.append(NOT_SAMPLED.format(error=error))
        else:
            self._watched += ("samples", *self._threads)

    def _start_watch(self) -> None:
        if self._python is None:
            return
        self._cleanup.callback(self._python.stop)
        try:
            self._python.start()
        except CannotWatchError as refusal:
            self._refused = str(refusal)
            self._notes.append(self._refused)
            self._python = self._by_statement = None
        else:
            self._watched += (self._needs,)

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
        self._tracing.tracer.use(self._cleanup.enter_context(temporary))
        try:
            if self._tracing.budget.begins_at_once:
                self._tracing.open()
        except profiler_session.AlreadyProfilingError as error:
            raise NbprofError(_refusal("another TensorFlow profiler session")) from error
        except profiler_session.NoProfilerError as error:
            self._cleanup.close()
            self._notes.append(str(error))
            return
        self._note_shortcomings()
        self._functions = self._cleanup.enter_context(hooks.keep_functions())
        self._keeps_threads = profiler_session.keeps_ended_threads()
        self._cleanup.enter_context(self._tracing.running(self._sessions.about_to_run))
        # What watches the cell from another thread is entered here: it runs within the wall time,
        # and `_release` ends it outside of it.

    def _note_shortcomings(self) -> None:
        """Note what will not be recorded."""
        users = (doors.TRACE,) if self._light else (doors.TRACE, doors.FULL_TRACE)
        if not self._tracing.budget.begins_at_once:
            users = (*users, doors.STEPS)
        for sentence in doors.missing(*users):
            about_memory = sentence == doors.NO_MEMORY
            self._notes.append(Note(sentence, allocator_columns()) if about_memory else sentence)
        self._only_large = not self._light and switches.hides_small_allocations()
        if self._light:
            self._notes.append(LIGHT)

    def _describe(self) -> str:
        """Describe how the code was recorded, for the headline."""
        windows = self._tracing.tracer.windows
        if not self._with_tensorflow:
            return f"Python {platform.python_version()}"
        if not windows:
            return "nothing recorded"
        if self._light:
            detail = "light"
        elif all(profiler_session.records_every_run(window.trace) for window in windows):
            detail = "every op run"
        else:
            detail = "cheap ops not counted"
            self._notes.append(CHEAP_OPS_LOST)
        return f"TensorFlow {compat.version()} trace, {detail}"

    @interrupts_wait()
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
        try:
            self._tracing.abandon()
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
