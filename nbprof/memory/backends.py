"""The two ways `%memit` can measure: nbprof's own meter, or memory_profiler for comparison."""

import gc
import math
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from types import ModuleType
from typing import Any, Protocol

from nbprof.errors import NbprofError
from nbprof.memory.counted_once import shallow_size
from nbprof.memory.malloc_stats import trim
from nbprof.memory.meter import Measurement, combined_result
from nbprof.memory.result import MIB, Held, MemoryResult, MemoryRun
from nbprof.memory.watermark import watermark

Code = Callable[[Callable[[int], None] | None], Any]
"""The code to run; its argument is a callback for the line number of each statement."""

StepCallback = Callable[[str], Callable[[], None]]
"""Called with a step's name when it begins; returns the callback for its end."""

WatchSteps = Callable[[StepCallback], AbstractContextManager[Sequence[str]]]
"""Returns a context in which the callback is called for every step, and why if it cannot be."""


def watch_no_steps(_begin: StepCallback) -> AbstractContextManager[Sequence[str]]:
    """Return a context in which no step is reported."""
    return nullcontext(())


class Backend(Protocol):
    """Runs code, possibly several times, and then reports the memory it took."""

    def run(self, code: Code) -> Any:
        """Run the code under measurement and return its value; its exceptions propagate."""

    def result(self, thorough: bool) -> MemoryResult | None:
        """Return what was measured, including runs that failed; None if nothing ran."""


class Meter:
    """nbprof's own meter."""

    def __init__(self, flags: Mapping[str, Any], watch_steps: WatchSteps) -> None:
        self._flags = flags
        self._watch_steps = watch_steps
        self._measurements: list[Measurement] = []
        self._without_steps: Sequence[str] = ()

    def run(self, code: Code) -> Any:
        """Run the code under a Measurement."""
        __tracebackhide__ = True
        flags = self._flags
        measurement = Measurement(
            interval=flags.get("i"),
            timeout=flags.get("t"),
            include_children="c" in flags,
            trim="trim" in flags,
        )
        with self._watch_steps(measurement.step) as self._without_steps, measurement as run:
            self._measurements.append(measurement)
            return code(run.mark)

    def result(self, thorough: bool) -> MemoryResult | None:
        """Combine the runs; if `thorough`, also find out what the process holds now."""
        if not self._measurements:
            return None
        result = combined_result(self._measurements)
        result = replace(result, notes=(*result.notes, *self._without_steps))
        if thorough:
            result = replace(result, held=find_held())
        return result


class MemoryProfiler:
    """memory_profiler, which samples from a process of its own; its magics are left alone."""

    INTERVAL = 0.1
    """Default time between samples, in seconds."""

    def __init__(self, flags: Mapping[str, Any], _watch_steps: WatchSteps) -> None:
        try:
            from memory_profiler import memory_usage
        except ImportError as error:
            raise NbprofError(
                f"memory_profiler cannot be imported ({error}). Install it with pip install "
                "memory_profiler, or leave out -backend."
            ) from error
        self._memory_usage = memory_usage
        self._flags = flags
        self._runs: list[MemoryRun] = []

    def run(self, code: Code) -> Any:
        """Run the code under memory_profiler, but keep exceptions away from it.

        On an exception memory_profiler would kill every child process of the kernel.
        """
        __tracebackhide__ = True
        value: Any = None
        raised: BaseException | None = None

        def guarded() -> None:
            __tracebackhide__ = True
            nonlocal value, raised
            try:
                value = code(None)
            except BaseException as error:  # noqa: BLE001 raised again below
                raised = error

        before = self._memory_usage(-1, max_iterations=1)[0]
        began = time.perf_counter()
        peak = self._memory_usage(
            (guarded, (), {}),
            interval=self._flags.get("i", self.INTERVAL),
            timeout=self._flags.get("t"),
            max_usage=True,
            max_iterations=1,
            include_children="c" in self._flags,
        )
        seconds = time.perf_counter() - began
        self._runs.append(
            MemoryRun(
                before=before * MIB,
                peak=(max(peak) if isinstance(peak, list) else peak) * MIB,
                after=math.nan,
                exact=False,
                seconds=seconds,
            )
        )
        if raised is not None:
            raise raised
        return value

    def result(self, thorough: bool) -> MemoryResult | None:
        """Combine the runs."""
        if not self._runs:
            return None
        interval = self._flags.get("i", self.INTERVAL)
        note = f"memory_profiler sampled every {interval:g} s and misses peaks between samples."
        if thorough:
            note += " -v works with nbprof's own meter only."
        return MemoryResult(
            tuple(self._runs),
            (note,),
            timeout=self._flags.get("t"),
            interval=interval,
            include_children="c" in self._flags,
        )


BACKENDS: dict[str, Callable[[Mapping[str, Any], WatchSteps], Backend]] = {
    "nbprof": Meter,
    "memory_profiler": MemoryProfiler,
}
"""The backends by the name that `-backend` takes."""


def backend(flags: Mapping[str, Any], watch_steps: WatchSteps = watch_no_steps) -> Backend:
    """Return the backend that the flags of `%memit` ask for."""
    return BACKENDS[flags.get("backend", "nbprof")](flags, watch_steps)


def find_held() -> Held:
    """Collect garbage, size all objects, and have the allocator return what it can."""
    gc.collect()
    owner = watermark()
    stretch = owner.open()
    objects = all_objects()
    python_objects = float(sum(map(shallow_size, objects.values())))
    tensors = _tensor_bytes(objects.values())
    del objects
    before = owner.sample(stretch).resident
    trimmed = trim()
    after = owner.close(stretch).resident
    return Held(
        after_collection=stretch.before,
        python_objects=python_objects,
        tensors=tensors,
        returned=max(0.0, float(before - after)) if trimmed else math.nan,
    )


def all_objects() -> dict[int, Any]:
    """Return, by id, all objects the garbage collector tracks and those they refer to directly.

    Modules are not followed: in Python 3.12 those of asyncio also refer to iterators that wait to
    be reused, and releasing one of these crashes the process.
    """
    tracked = [value for value in gc.get_objects() if not isinstance(value, ModuleType)]
    objects = dict(zip(map(id, tracked), tracked, strict=True))
    referents = gc.get_referents(*tracked)
    objects.update(zip(map(id, referents), referents, strict=True))
    for own in (tracked, referents, objects):
        objects.pop(id(own), None)
    return objects


def _tensor_bytes(objects: Iterable[Any]) -> float:
    if "tensorflow" not in sys.modules:
        return math.nan
    from nbprof.memory.tensor_sizes import tensor_bytes

    return float(sum(tensor_bytes(value) or 0 for value in objects))
