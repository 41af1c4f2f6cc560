"""Memory results drawn with matplotlib: each function takes `ax=None` and gives the Axes."""

from typing import TYPE_CHECKING, Any

from nbprof.errors import NbprofError

if TYPE_CHECKING:
    from nbprof.memory.result import MemoryResult

MIB = 2**20


def plot_curve(result: "MemoryResult", ax: Any = None) -> Any:
    """Draw memory over time of the run with the largest peak; gaps between samples stay gaps."""
    run = result.largest
    if ax is None:
        ax = _new_axes()
    seconds, resident = [], []
    for now, size, gap in zip(run.curve.seconds, run.curve.resident, run.curve.gaps(), strict=True):
        if gap:
            seconds.append(now)
            resident.append(float("nan"))
        seconds.append(now)
        resident.append(size / MIB)
    most = [size / MIB for size in run.curve.most]
    least = min(run.curve.resident, default=run.before) / MIB
    ax.fill_between(
        run.curve.seconds,
        most,
        least,
        step="pre",
        alpha=0.25,
        label="most between samples",
    )
    ax.plot(seconds, resident, label="held")
    bound = "peak" if run.exact else "peak, at least"
    ax.axhline(run.peak / MIB, linestyle="--", linewidth=1, color="tab:red", label=bound)
    for mark in run.marks:
        ax.axvline(mark.seconds, linewidth=0.5, color="0.6", gid=mark.label)
    ax.set_xlabel("seconds")
    ax.set_ylabel("MiB in RAM")
    ax.legend(loc="best", frameon=False)
    return ax


def _new_axes() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise NbprofError("plot() needs matplotlib: pip install matplotlib.") from error
    return plt.subplots(figsize=(7, 2.5), layout="constrained")[1]
