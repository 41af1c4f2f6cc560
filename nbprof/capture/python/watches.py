"""Which watch records what a view of Python needs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from nbprof.capture.python.stack_sampler import DENSE, SPARSE, StackSampler
from nbprof.view_kinds import VIEWS


@dataclass(frozen=True, kw_only=True)
class PythonExtent:
    """What to watch of Python besides the sparse samples of every cell."""

    view: str = ""
    """The view to record everything for; empty: none."""
    threads: bool = False
    """Whether to sample the stacks of the cell's other threads, too."""


class Watch(Protocol):
    """Records something about Python between `start` and `stop`."""

    def start(self) -> None:
        """Begin to record what the calling thread does."""

    def stop(self) -> None:
        """Switch off what `start` switched on; does nothing if that has been done."""

    def log(self) -> Any:
        """Return what was recorded."""


WATCHES: Mapping[str, Callable[[PythonExtent], Watch]] = {}
"""How to make the watch for what a view needs, besides samples."""


def sampler_for(extent: PythonExtent) -> StackSampler:
    """Return the sampler of the cell's stacks: dense if a view is made of them alone."""
    dense = bool(extent.view) and VIEWS[extent.view].needs == "samples"
    return StackSampler(DENSE if dense else SPARSE, threads=extent.threads)


def watch_for(extent: PythonExtent) -> Watch | None:
    """Return the watch that records what the view needs besides samples, if there is one."""
    make = WATCHES.get(VIEWS[extent.view].needs) if extent.view else None
    return make(extent) if make else None
