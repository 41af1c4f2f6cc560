"""Profile a stretch of code: capture it, then ingest the capture."""

import math
import sys
import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nbprof.errors import NbprofError
from nbprof.flag_values import parse_choice, parse_seconds, parse_steps
from nbprof.python_code import function_behind
from nbprof.view_kinds import python_views

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType, TracebackType

    from nbprof._profile import Profile
    from nbprof.capture.capture import Capture
    from nbprof.capture.recorder import Recorder
    from nbprof.flag_values import StepRange
    from nbprof.memory.meter import Measurement

NOTABLE_BYTES = 2**20
"""Lowest estimate of what tracing took that the headline names."""

_last: "Profile | None" = None
"""What `last` returns."""


class ProfiledRun(AbstractContextManager["ProfiledRun"]):
    """`with nbprof.profile() as run:`; afterwards `run.profile` holds what the block did.

    `steps` are the steps to trace in detail: a number of warm ones, or "A:B" for those from A up
    to B; the default is the first ones, cold and warm, as many as a budget allows. `limit` is the
    time in seconds after which tracing ends while the block runs on; the default is 60. `light`
    records less, at less cost.

    `python` names a view of Python, such as "call", to record all it can show; with `threads=True`,
    the call view also has the block's other threads. With `tensorflow=False`, only Python is
    watched, and TensorFlow is not imported. For "line", `functions` and `modules` are watched
    besides the functions of the notebook's cells, or of the file that the block is in.

    Exceptions propagate as usual; the profile then shows what ran before them.
    """

    def __init__(
        self,
        what: str = "a with block",
        *,
        tensorflow: bool = True,
        python: str | None = None,
        threads: bool = False,
        light: bool = False,
        limit: float | None = None,
        steps: "int | str | StepRange | None" = None,
        functions: "Iterable[Any]" = (),
        modules: "Iterable[ModuleType]" = (),
    ) -> None:
        self._what = what
        self._tensorflow = tensorflow
        self._python = "" if python is None else parse_choice("python", python, python_views())
        self._threads = threads
        self._light = light
        self._limit = None if limit is None else parse_seconds("limit", limit)
        self._steps = None if steps is None else parse_steps("steps", steps)
        self._functions, self._modules = tuple(functions), tuple(modules)
        self._profile: Profile | None = None
        self._recorder: Recorder | None = None
        self._memory: Measurement | None = None

    def __enter__(self) -> "ProfiledRun":
        try:
            self.begin()
            self.begin_statement()
        except BaseException:
            self.abandon()
            raise
        return self

    def begin(self) -> None:
        """Start everything that does not wait for a statement to begin."""
        from nbprof.capture.python.watches import PythonExtent, runs_alone
        from nbprof.capture.recorder import Recorder
        from nbprof.capture.tracing import Extent, ProcessMemory
        from nbprof.memory.malloc_stats import trim
        from nbprof.memory.meter import Measurement
        from nbprof.memory.watermark import resident_bytes

        measuring: list[Measurement] = []

        def left_out() -> AbstractContextManager[None]:
            return measuring[0].left_out() if measuring else nullcontext()

        extent = Extent(
            tensorflow=self._tensorflow, light=self._light, limit=self._limit, steps=self._steps
        )
        cells = _cell_names()
        python = PythonExtent(
            view=self._python,
            threads=self._threads,
            files=(*cells, *(str(module.__file__) for module in self._modules)),
            codes=tuple(function_behind(function, "it").__code__ for function in self._functions),
        )
        recorder = Recorder(
            self._what,
            cells=cells,
            extent=extent,
            python=python,
            memory=ProcessMemory(held=resident_bytes, release=trim, left_out=left_out),
        )
        try:
            recorder.start()
            self._recorder = recorder
            if not runs_alone(python):
                self._memory = Measurement(on_turn=recorder.look).__enter__()
                measuring.append(self._memory)
        except BaseException:
            recorder.abandon()
            raise

    @property
    def started(self) -> bool:
        """Whether recording has begun and not ended."""
        return self._recorder is not None and self._recorder.active

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: "TracebackType | None",
    ) -> None:
        try:
            self.end_statement()  # first, so that nothing of ours counts as the block's
            self.finish(error)
        except Exception as fault:
            if error is None:
                raise
            warnings.warn(f"nbprof could not profile this block: {fault}", stacklevel=2)
        finally:
            self.abandon()  # an interrupt may have prevented the end

    def finish(self, error: BaseException | None) -> None:
        """Make the profile of the block, which this exception ended, if any did.

        Call `abandon` afterwards, whatever happens.
        """
        if self._recorder is not None:
            self._finish(self._recorder, error)

    def abandon(self) -> None:
        """Switch off what is still on."""
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            recorder.abandon()

    def _finish(self, recorder: "Recorder", error: BaseException | None) -> None:
        global _last
        _last = None  # if this fails, the profile of an earlier block would be taken for this one's
        memory = self._memory
        if memory is not None:
            memory.__exit__(None, None, None)
        capture = recorder.stop()  # before the import, which must not count as the block's time
        from nbprof import ingest

        profile = ingest.with_error(ingest.read(capture), error, capture.cells)
        if memory is not None:
            profile = _with_memory(profile, memory, capture)
        self._profile = _last = profile
        give_back_memory()

    def begin_statement(self, line: int = 0) -> None:
        """Note that the statement on this line of the cell begins; 0: a block."""
        if line and self._memory is not None:
            self._memory.mark(line)
        if self._recorder is not None:
            self._recorder.resume(line)

    def end_statement(self) -> None:
        """Note that a statement has ended."""
        if self._recorder is not None:
            self._recorder.pause()

    @property
    def profile(self) -> "Profile":
        """The profile of the block, once it has ended."""
        if self._profile is None:
            raise NbprofError("there is no profile yet: the profiled block has not ended.")
        return self._profile


def give_back_memory() -> None:
    """Return to the system what profiling has freed."""
    from nbprof.memory.malloc_stats import trim

    trim()


def _with_memory(profile: "Profile", memory: "Measurement", capture: "Capture") -> "Profile":
    """Add the process's memory, on the clock of the Capture and without what tracing took."""
    from nbprof.memory.result import MemoryResult

    run = memory.run
    samples, statements = run.tables(
        lambda since_ns: capture.pauses.cut(since_ns + memory.began_ns) - capture.start_ns
    )
    taken = capture.held_by_tracing(samples["start_ns"].to_numpy() + capture.start_ns)
    taken = taken.astype("int64")
    samples["resident_bytes"] -= taken
    samples["peak_bytes"] -= taken
    highest = int(samples["peak_bytes"].to_numpy().argmax())
    left_out = float(taken[highest])
    own = replace(
        run,
        before=float(samples["resident_bytes"].iloc[0]),
        peak=float(samples["peak_bytes"].iloc[highest]),
    )
    in_words = MemoryResult((own,)).summary
    if left_out >= NOTABLE_BYTES:
        in_words += f" (excluding about {left_out / NOTABLE_BYTES:.0f} MiB of trace)"
    recording = replace(
        profile.recording,
        memory=in_words,
        left_out_bytes=left_out,
        peak_is_exact=run.exact,
        kept_bytes=-1.0 if math.isnan(run.kept) else float(run.kept),
        children_bytes=-1.0 if math.isnan(run.children) else float(run.children),
    )
    return profile.with_values(recording=recording, samples=samples, statements=statements)


def _cell_names() -> dict[str, str]:
    """Return the names of the notebook's cells by file name; empty outside IPython."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None:
        return {}
    from nbprof.magics.host_shell import cell_names

    return cell_names(shell)


def last() -> "Profile | None":
    """Return the Profile of the last profiled cell or block.

    None if nothing has been profiled, or if the last profile could not be made.
    """
    return _last
