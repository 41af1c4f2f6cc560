"""Which watch records what a view of Python needs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import CodeType

from nbprof.capture.python.allocation_watch import AllocationWatch
from nbprof.capture.python.call_counter import MIXES_THREADS, CallCounter
from nbprof.capture.python.line_counter import LineCounter
from nbprof.capture.python.stack_sampler import DENSE, SPARSE, StackSampler
from nbprof.capture.python.watch import Watch
from nbprof.view_kinds import VIEWS


@dataclass(frozen=True, kw_only=True)
class PythonExtent:
    """What to watch of Python besides the sparse samples of every cell."""

    view: str = ""
    """The view to record everything for; empty: none."""
    files: tuple[str, ...] = ()
    """The files whose lines are counted for the line view, and those of all cells."""
    codes: tuple[CodeType, ...] = ()
    """The functions whose lines are counted besides."""
    threads: bool = False
    """Whether to sample the stacks of the cell's other threads, too."""


WATCHES: Mapping[str, Callable[[PythonExtent], Watch]] = {
    "calls": lambda _: CallCounter(),
    "lines": lambda extent: LineCounter(extent.files, extent.codes),
    "sites": lambda _: AllocationWatch(),
}
"""How to make the watch for what a view needs, besides samples."""


def runs_alone(extent: PythonExtent) -> bool:
    """Return whether no other thread of ours may run Python, because it would be recorded, too."""
    return MIXES_THREADS and bool(extent.view) and VIEWS[extent.view].needs == "calls"


def sampler_for(extent: PythonExtent) -> StackSampler:
    """Return the sampler of the cell's stacks: dense if a view is made of them alone."""
    dense = bool(extent.view) and VIEWS[extent.view].needs == "samples"
    return StackSampler(DENSE if dense else SPARSE, threads=extent.threads)


def watch_for(extent: PythonExtent) -> Watch | None:
    """Return the watch that records what the view needs besides samples, if there is one."""
    make = WATCHES.get(VIEWS[extent.view].needs) if extent.view else None
    return make(extent) if make else None
