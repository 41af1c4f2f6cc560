"""MemoryResult: what `%memit` measured, able to show itself."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nbprof.memory.devices import DeviceRun
from nbprof.memory.sampler import Curve

if TYPE_CHECKING:
    import os

    import pandas as pd

MIB = 2**20


@dataclass(frozen=True, eq=False)
class Mark:
    """A moment of a run that is worth a line in the curve."""

    seconds: float
    label: str


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
    children: float = math.nan
    """The most that child processes were seen to hold together; NaN without any."""
    devices: tuple[DeviceRun, ...] = ()
    curve: Curve = field(default_factory=Curve)
    marks: tuple[Mark, ...] = ()


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
class MemoryResult:
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
    def text(self) -> str:
        """The report: memory_profiler's line, then what else is known."""
        from nbprof.display.memory import text

        return text.report(self)

    @property
    def told(self) -> str:
        """Say it in a few words, for the headline of a profile."""
        bound = "" if self.exact else "at least "
        return f"peak memory {bound}{self.peak:.0f} MiB, {bound}{self.increment:+.0f} MiB"

    @property
    def in_a_line(self) -> str:
        """What `%memit -o` prints of a result that it returns: memory_profiler's line."""
        return f"{self.text.partition(chr(10))[0]}\n"

    def to_csv(self, path: "str | os.PathLike[str]") -> None:
        """Write the frame as CSV, one header line, bytes."""
        self.frame.to_csv(path, index=False)

    def plot(self, ax: Any = None) -> Any:
        """Draw the curve with matplotlib; give the Axes."""
        from nbprof.display.memory import plot

        return plot.plot_curve(self, ax)

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from nbprof.display.memory import html

        return html.report(self)
