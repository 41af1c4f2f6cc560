"""MemoryResult: what `%memit` measured, able to show itself."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nbprof.memory.device_memory import DeviceRun
from nbprof.memory.result_base import Result
from nbprof.memory.sampler import Curve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pandas as pd

    from nbprof.arrays import Ints

    Ints = Ints

MIB = 2**20
"""Bytes in a mebibyte."""
LINE = "line"
"""The kind of mark where a statement of the cell begins."""
STEP = "step"
"""The kind of mark for a step of TensorFlow."""
OP = "op"
"""The kind of mark for one run of an op."""


@dataclass(frozen=True, eq=False)
class Mark:
    """Something that began during a run and is marked on the curve."""

    seconds: float
    """When it began."""
    kind: str
    number: int | None = None
    """The line of a statement or the index of a step; None for an op."""
    name: str = ""
    end: float = math.nan
    """When it ended, in seconds; NaN if unknown."""
    bytes: float = math.nan
    """The most an op held, from TensorFlow's trace; NaN for other kinds."""
    op_type: str = ""

    @property
    def label(self) -> str:
        """The mark in words: `line 3`, `step 0: train`, `MatMul (MatMul)`."""
        if self.number is None:
            return f"{self.name} ({self.op_type})"
        numbered = f"{self.kind} {self.number}"
        return f"{numbered}: {self.name}" if self.name else numbered

    @property
    def short(self) -> str:
        """The mark where the label does not fit: `3`, `0`, `MatMul`."""
        return self.name if self.number is None else str(self.number)


@dataclass(frozen=True, eq=False)
class MemoryRun:
    """One run of the measured code; amounts are bytes in RAM."""

    before: float
    peak: float
    after: float
    exact: bool
    """Whether `peak` is exact; otherwise it is a lower bound."""
    seconds: float
    kept: float = math.nan
    """Freed by the code but kept by the C library's allocator; NaN if unknown."""
    perhaps_kept: float = math.nan
    """Growth that the allocator has not handed out; includes `kept`; NaN if unknown."""
    reusable: float = math.nan
    """The most of `before` that could be reused without adding to the increment."""
    children: float = math.nan
    """The most that all child processes held in a sample; NaN without children."""
    devices: tuple[DeviceRun, ...] = ()
    curve: Curve = field(default_factory=Curve)
    marks: tuple[Mark, ...] = ()

    def tables(self, on_clock: "Callable[[Ints], Ints]") -> "tuple[pd.DataFrame, pd.DataFrame]":
        """Return samples and statements as tables of a Profile.

        `on_clock` puts times since the start of this run, in ns, on the Profile's clock.
        """
        import numpy as np
        import pandas as pd

        def on_profile_clock(seconds: "Iterable[float]") -> "Ints":
            return on_clock(np.rint(np.fromiter(seconds, float) * 1e9).astype(np.int64))

        curve = self.curve
        lines = [mark for mark in self.marks if mark.kind == LINE]
        samples = {
            "start_ns": on_profile_clock(curve.seconds),
            "resident_bytes": np.asarray(curve.resident, dtype=np.int64),
            "peak_bytes": np.asarray(curve.most, dtype=np.int64),
            "gap": np.asarray(curve.gap, dtype=bool),
        }
        statements = {
            "start_ns": on_profile_clock(mark.seconds for mark in lines),
            "line": np.array([mark.number for mark in lines], dtype=np.int64),
        }
        return pd.DataFrame(samples), pd.DataFrame(statements)


@dataclass(frozen=True, eq=False)
class Held:
    """What `-v` finds after the measured run; amounts are bytes."""

    after_collection: float
    """Held in RAM after a garbage collection."""
    python_objects: float
    """Sizes of all objects the garbage collector reaches, as the objects report them."""
    tensors: float
    """Held by TensorFlow's tensors and variables; NaN without TensorFlow."""
    returned: float
    """What the allocator then returned to the system; NaN if it cannot be made to."""


@dataclass(frozen=True, eq=False, repr=False)
class MemoryResult(Result):
    """The memory of a piece of code; `baseline`, `peak` and `increment` are in MiB (2**20 bytes).

    `peak` is the largest of all runs; `increment` is how far it rises above `baseline`.
    """

    runs: tuple[MemoryRun, ...]
    notes: tuple[str, ...] = ()
    held: Held | None = None
    highest: float = math.nan
    """The most bytes the process was ever seen to hold."""
    timeout: float | None = None
    interval: float | None = None
    include_children: bool = False

    @property
    def baseline(self) -> float:
        """Memory held before the first run, in MiB."""
        return self.runs[0].before / MIB

    @property
    def largest(self) -> MemoryRun:
        """The run with the largest peak."""
        return max(self.runs, key=lambda run: run.peak)

    @property
    def peak(self) -> float:
        """The most memory held in any run, in MiB."""
        return self.largest.peak / MIB

    @property
    def increment(self) -> float:
        """How far the peak rises above the baseline, in MiB."""
        return self.peak - self.baseline

    @property
    def exact(self) -> bool:
        """Whether the peak is exact; otherwise it is a lower bound."""
        return all(run.exact for run in self.runs)

    @property
    def mem_usage(self) -> list[float]:
        """The peak of each run, in MiB."""
        return [run.peak / MIB for run in self.runs]

    @property
    def repeat(self) -> int:
        """How many times the code ran."""
        return len(self.runs)

    @property
    def frame(self) -> "pd.DataFrame":
        """One row per run, amounts in bytes; NaN where an amount is unknown."""
        import pandas as pd

        return pd.DataFrame(
            {
                "run": range(len(self.runs)),
                "seconds": [run.seconds for run in self.runs],
                "before_bytes": [run.before for run in self.runs],
                "peak_bytes": [run.peak for run in self.runs],
                "after_bytes": [run.after for run in self.runs],
                "increment_bytes": [run.peak - run.before for run in self.runs],
                "kept_bytes": [run.kept for run in self.runs],
                "children_bytes": [run.children for run in self.runs],
                "exact": [run.exact for run in self.runs],
            }
        )

    @property
    def samples(self) -> "pd.DataFrame":
        """The curve, one row per sample; `peak_bytes` is the most since the sample before.

        `gap` is true where sampling was not possible for a while before the sample.
        """
        import pandas as pd

        parts = [
            pd.DataFrame(
                {
                    "run": number,
                    "seconds": list(run.curve.seconds),
                    "resident_bytes": list(run.curve.resident),
                    "peak_bytes": list(run.curve.most),
                    "gap": run.curve.gaps(),
                }
            )
            for number, run in enumerate(self.runs)
        ]
        return pd.concat(parts, ignore_index=True)

    @property
    def marks(self) -> "pd.DataFrame":
        """What began when: one row per mark on the curve, in order of time.

        `kind` is line, step or op; `end_seconds` and `bytes` are NaN where they are unknown.
        """
        import pandas as pd

        rows = [(number, mark) for number, run in enumerate(self.runs) for mark in run.marks]
        return pd.DataFrame(
            {
                "run": [number for number, _ in rows],
                "kind": [mark.kind for _, mark in rows],
                "label": [mark.label for _, mark in rows],
                "seconds": [mark.seconds for _, mark in rows],
                "end_seconds": [mark.end for _, mark in rows],
                "bytes": [mark.bytes for _, mark in rows],
            }
        )

    @property
    def text(self) -> str:
        """The report: memory_profiler's line, then the details."""
        from nbprof.display.memory import result_report

        return result_report.text_report(self)

    @property
    def summary(self) -> str:
        """Peak and increment in a few words, for the headline of a profile."""
        from nbprof.display.memory import result_report

        return result_report.summary(self)

    @property
    def in_a_line(self) -> str:
        """What `%memit -o` prints: memory_profiler's line."""
        from nbprof.display.memory import result_report

        return f"{result_report.headline(self)}\n"

    def plot(self, ax: Any = None) -> Any:
        """Draw the curve with matplotlib and return the Axes."""
        from nbprof.display.memory import curve_plot

        return curve_plot.plot_curve(self, ax)

    def explore(self) -> Any:
        """Return the curve as a live widget: zoom, a cursor, and what ran at each moment."""
        from nbprof.display.memory import curve_widget

        return curve_widget.CurveExplorer(self)

    def _repr_html_(self) -> str:
        from nbprof.display.memory import result_report

        return result_report.html_report(self)
