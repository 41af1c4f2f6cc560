"""Profile a stretch of code: capture it, then ingest the capture."""

import math
import sys
import warnings
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING

from nbprof.errors import NbprofError

if TYPE_CHECKING:
    from types import TracebackType

    from nbprof._profile import Profile
    from nbprof.capture.recorder import Recorder
    from nbprof.memory.meter import Measurement

_last: "Profile | None" = None
"""What `last` returns."""


class ProfiledRun(AbstractContextManager["ProfiledRun"]):
    """`with nbprof.profile() as run:`; afterwards `run.profile` holds what the block did.

    `light` records less, at less cost. `limit` is the time in seconds after which tracing ends
    while the block runs on; the default is 60.

    Exceptions propagate as usual; the profile then shows what ran before them.
    """

    def __init__(
        self, what: str = "a with block", *, light: bool = False, limit: float | None = None
    ) -> None:
        self._what = what
        self._light = light
        self._limit = limit
        self._profile: Profile | None = None
        self._recorder: Recorder | None = None
        self._memory: Measurement | None = None

    def __enter__(self) -> "ProfiledRun":
        from nbprof.capture.recorder import DEFAULT_LIMIT, Recorder

        limit = DEFAULT_LIMIT if self._limit is None else self._limit
        recorder = Recorder(self._what, cells=_cell_names(), light=self._light, limit=limit)
        try:
            recorder.start()
            self._recorder = recorder
            from nbprof.memory.meter import Measurement

            self._memory = Measurement().__enter__()
        except BaseException:
            recorder.abandon()
            raise
        return self

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
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            return
        try:
            self._finish(recorder)
        except Exception as fault:
            if error is None:
                raise
            warnings.warn(f"nbprof could not profile this block: {fault}", stacklevel=2)
        finally:
            recorder.abandon()  # an interrupt may have prevented stop()

    def _finish(self, recorder: "Recorder") -> None:
        global _last
        _last = None  # if this fails, the profile of an earlier block would be taken for this one's
        memory = self._memory
        if memory is not None:
            memory.__exit__(None, None, None)
        capture = recorder.stop()  # before the import, which must not count as the block's time
        from nbprof import ingest

        profile = ingest.read(capture)
        if memory is not None:
            profile = _with_memory(profile, memory, memory.began_ns - capture.start_ns)
        self._profile = _last = profile

    def mark_line(self, number: int) -> None:
        """Note that the statement on this line of the cell begins."""
        if self._memory is not None:
            self._memory.mark(number)

    @property
    def profile(self) -> "Profile":
        """The profile of the block, once it has ended."""
        if self._profile is None:
            raise NbprofError("there is no profile yet: the profiled block has not ended.")
        return self._profile


def _with_memory(profile: "Profile", memory: "Measurement", later_ns: int) -> "Profile":
    """Add the process's memory, measured on a clock that started `later_ns` later."""
    run = memory.run
    recording = replace(
        profile.recording,
        memory=memory.result.summary,
        peak_is_exact=run.exact,
        kept_bytes=-1.0 if math.isnan(run.kept) else float(run.kept),
        children_bytes=-1.0 if math.isnan(run.children) else float(run.children),
    )
    samples, statements = run.tables(later_ns)
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
