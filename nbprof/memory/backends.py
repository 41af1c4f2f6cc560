"""Who measures for `%memit`: nbprof's own meter, or memory_profiler for comparison."""

import math
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, Protocol

from nbprof.errors import NbprofError
from nbprof.memory.meter import Measurement, together
from nbprof.memory.result import MIB, MemoryResult, MemoryRun

Code = Callable[[Callable[[int], None] | None], Any]
"""Code to run; it is given what is to be called with the line of each statement."""


Watch = Callable[[Callable[[str], Callable[[], None]]], AbstractContextManager[None]]
"""Given what is to be called with the name of each step that begins (and gives what is to be called
at its end), a block in which that happens."""


def unwatched(_begin: Callable[[str], Callable[[], None]]) -> AbstractContextManager[None]:
    """Watch for no steps."""
    return nullcontext()


class Backend(Protocol):
    """Runs code, as often as asked, and knows afterwards what memory it took."""

    def run(self, code: Code) -> Any:
        """Run the code under measurement; give its value, or let its exception out."""

    def result(self, thorough: bool) -> MemoryResult | None:
        """Give what was measured, also of a run that failed; None if there was none."""


class Meter:
    """nbprof's own."""

    def __init__(self, flags: Mapping[str, Any], watch: Watch) -> None:
        self._flags = flags
        self._watch = watch
        self._done: list[Measurement] = []

    def run(self, code: Code) -> Any:
        """Run the code under a Measurement."""
        __tracebackhide__ = True
        flags = self._flags
        measurement = Measurement(flags.get("i"), flags.get("t"), "c" in flags, "trim" in flags)
        with self._watch(measurement.step), measurement as run:
            self._done.append(measurement)
            return code(run.mark)

    def result(self, thorough: bool) -> MemoryResult | None:
        """Put the runs together; if asked, look closer at what is held now."""
        if not self._done:
            return None
        result = together(self._done)
        if thorough:
            from nbprof.memory.retained import held

            result = replace(result, held=held())
        return result


class MemoryProfiler:
    """memory_profiler's sampling from a process of its own; its magics are not touched."""

    INTERVAL = 0.1

    def __init__(self, flags: Mapping[str, Any], _watch: Watch) -> None:
        try:
            from memory_profiler import memory_usage
        except ImportError as error:
            raise NbprofError(
                f"-backend memory_profiler needs a memory_profiler that works: {error}."
            ) from error
        self._measure = memory_usage
        self._flags = flags
        self._runs: list[MemoryRun] = []

    def run(self, code: Code) -> Any:
        """Run the code under memory_profiler, which never sees an exception.

        It would end all child processes of the kernel if it saw one.
        """
        __tracebackhide__ = True
        outcome: list[Any] = [None, None]

        def guarded() -> None:
            __tracebackhide__ = True
            try:
                outcome[0] = code(None)
            except BaseException as error:  # noqa: BLE001 goes on below
                outcome[1] = error

        before = self._measure(-1, max_iterations=1)[0]
        began = time.perf_counter()
        peak = self._measure(
            (guarded, (), {}),
            interval=self._flags.get("i", self.INTERVAL),
            timeout=self._flags.get("t"),
            max_usage=True,
            max_iterations=1,
            include_children="c" in self._flags,
        )
        seconds = time.perf_counter() - began
        peak = max(peak) if isinstance(peak, list) else peak
        after = math.nan
        self._runs.append(MemoryRun(before * MIB, peak * MIB, after, False, seconds))
        if outcome[1] is not None:
            raise outcome[1]
        return outcome[0]

    def result(self, thorough: bool) -> MemoryResult | None:
        """Put the runs together."""
        if not self._runs:
            return None
        interval = self._flags.get("i", self.INTERVAL)
        note = f"memory_profiler looked every {interval:g} s; it does not see what lies between."
        if thorough:
            note += " -v is only for nbprof's own meter."
        return MemoryResult(
            tuple(self._runs),
            (note,),
            timeout=self._flags.get("t"),
            interval=interval,
            include_children="c" in self._flags,
        )


BACKENDS: dict[str, Callable[[Mapping[str, Any], Watch], Backend]] = {
    "nbprof": Meter,
    "memory_profiler": MemoryProfiler,
}


def backend(flags: Mapping[str, Any], watch: Watch = unwatched) -> Backend:
    """Give the backend that the flags of `%memit` ask for."""
    return BACKENDS[flags.get("backend", "nbprof")](flags, watch)
