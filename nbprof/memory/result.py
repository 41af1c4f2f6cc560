"""MemoryResult: what `%memit` measured, able to show itself."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nbprof.memory.device_memory import DeviceRun
from nbprof.memory.result_base import Shown
from nbprof.memory.sampler import Curve

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    Ints = npt.NDArray[np.int64]

MIB = 2**20
LINE, STEP, OP = KINDS = ("line", "step", "op")
"""What a mark is about: a statement of the cell, a step of TensorFlow's, an op run."""


@dataclass(frozen=True, eq=False)
class Mark:
    """Something that began during a run, and is worth a mark at the curve."""

    seconds: float
    label: str
    kind: str = LINE
    end: float = math.nan
    """When it ended, in seconds; NaN where that is not known."""
    bytes: float = math.nan
    """The most that it held, as TensorFlow's trace says of an op; NaN of anything else."""


@dataclass(frozen=True, eq=False)
class MemoryRun:
    """One run of the measured code; amounts are bytes in RAM."""

    before: float
    peak: float
    after: float
    exact: bool
    """Whether `peak` is the peak, and not only the most that was seen."""
    seconds: float
    kept: float = math.nan
    """Freed by the code, but kept by the C library's allocator; NaN where it does not tell."""
    perhaps_kept: float = math.nan
    """What grew and is in no use that the allocator knows of; `kept` is surely a part of it."""
    reusable: float = math.nan
    """At most so much of `before` was free for reuse, which does not show as an increment."""
    children: float = math.nan
    """The most that child processes were seen to hold together; NaN without any."""
    devices: tuple[DeviceRun, ...] = ()
    curve: Curve = field(default_factory=Curve)
    marks: tuple[Mark, ...] = ()

    def tables(self, later_ns: int) -> "tuple[pd.DataFrame, pd.DataFrame]":
        """Give samples and statements as a Profile has them, whose clock began so much earlier."""
        import numpy as np
        import pandas as pd

        def clock(seconds: "Iterable[float]") -> "Ints":
            return np.rint(np.fromiter(seconds, float) * 1e9).astype(np.int64) + later_ns

        curve = self.curve
        lines = [mark for mark in self.marks if mark.kind == LINE]
        samples = {
            "start_ns": clock(curve.seconds),
            "resident_bytes": np.asarray(curve.resident, dtype=np.int64),
            "peak_bytes": np.asarray(curve.most, dtype=np.int64),
            "gap": np.asarray(curve.gap, dtype=bool),
        }
        numbers = np.array([int(mark.label.split()[-1]) for mark in lines], dtype=np.int64)
        statements = {"start_ns": clock(mark.seconds for mark in lines), "line": numbers}
        return pd.DataFrame(samples), pd.DataFrame(statements)


@dataclass(frozen=True, eq=False)
class Held:
    """What `-v` finds out after the measured stretch; amounts are bytes."""

    after_collection: float
    """Held in RAM once Python's garbage was collected."""
    python_objects: float
    """Of what Python's collector knows, as objects say it themselves; arrays with their data."""
    tensors: float
    """Of TensorFlow's tensors and variables; NaN without TensorFlow."""
    returned: float
    """What the allocator then returned to the system; NaN where it cannot be asked."""


@dataclass(frozen=True, eq=False, repr=False)
class MemoryResult(Shown):
    """The memory of a stretch of code; `baseline`, `peak` and `increment` are MiB of 2**20 bytes.

    `peak` is that of the run with the largest; `increment` is how far it rises above `baseline`.
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
        """What was held before the first run, in MiB."""
        return self.runs[0].before / MIB

    @property
    def largest(self) -> MemoryRun:
        """The run with the largest peak."""
        return max(self.runs, key=lambda run: run.peak)

    @property
    def peak(self) -> float:
        """The most that was held, in MiB."""
        return self.largest.peak / MIB

    @property
    def increment(self) -> float:
        """How far the peak rises above the baseline, in MiB."""
        return self.peak - self.baseline

    @property
    def exact(self) -> bool:
        """Tell whether the peak is exact, and not only a lower bound."""
        return all(run.exact for run in self.runs)

    @property
    def mem_usage(self) -> list[float]:
        """The peak of each run, in MiB."""
        return [run.peak / MIB for run in self.runs]

    @property
    def repeat(self) -> int:
        """How often the code was run."""
        return len(self.runs)

    @property
    def frame(self) -> "pd.DataFrame":
        """One row a run, amounts in bytes; what is not known is NaN."""
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
        """The curve: one row a sample; `peak_bytes` is the most since the sample before.

        `gap` says that no sample was possible since the one before.
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
        """What began when: one row a mark of the curve, in the order of time.

        `kind` is line, step or op; `end_seconds` and `bytes` are NaN where they are not known.
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
        """The report: memory_profiler's line, then what else is known."""
        from nbprof.display.memory import result_text

        return result_text.report(self)

    @property
    def told(self) -> str:
        """Say it in a few words, for the headline of a profile."""
        bound = "" if self.exact else "at least "
        return f"peak memory {bound}{self.peak:.0f} MiB, {bound}{self.increment:+.0f} MiB"

    @property
    def in_a_line(self) -> str:
        """What `%memit -o` prints of a result that it returns: memory_profiler's line."""
        return f"{self.text.partition(chr(10))[0]}\n"

    def plot(self, ax: Any = None) -> Any:
        """Draw the curve with matplotlib; give the Axes."""
        from nbprof.display.memory import curve_plot

        return curve_plot.plot_curve(self, ax)

    def explore(self) -> Any:
        """Show the curve as a live widget: zoom, a cursor, and what ran at each moment."""
        from nbprof.display.memory import curve_widget

        return curve_widget.CurveExplorer(self)

    def _repr_html_(self) -> str:
        from nbprof.display.memory import result_html

        return result_html.report(self)
