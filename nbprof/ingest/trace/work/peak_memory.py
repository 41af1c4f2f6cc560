"""What was alive when live memory was highest, and which runs had allocated it."""

from dataclasses import dataclass

import numpy as np

from nbprof.arrays import NONE, Floats, Ints, Mask, Rows, distinct
from nbprof.columns import allocator_columns
from nbprof.ingest.trace.work.allocations import Allocations, device_of_allocator
from nbprof.ingest.trace.work.host_events import NEVER
from nbprof.lifetimes import Lifetimes
from nbprof.note import Note

ONLY_LARGE = (
    "with oneDNN, memory leaves out tensors below 256 KiB; set TF_ENABLE_ONEDNN_OPTS=0 before "
    "importing TensorFlow to count them"
)
"""Note on memory with oneDNN."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PeakMemory:
    """What was alive when the live memory of its device was highest, in bytes."""

    run: Rows
    """The run that allocated each part, NONE if no known one did."""
    size: Ints
    is_known: bool
    """Whether it is what was alive; otherwise nothing was recorded, or nothing but small tensors
    was allocated, which are not."""
    only_large: bool = False
    """Whether small allocations were not recorded."""

    @classmethod
    def find(cls, strings: list[bytes], allocations: Allocations | None) -> "PeakMemory":
        """Find the peak of each device; None: memory was not recorded."""
        if allocations is None:
            return cls(run=np.zeros(0, np.intp), size=np.zeros(0, np.int64), is_known=False)
        alive = _lifetimes(strings, allocations).alive_at_peak()
        return cls(
            run=allocations.run[alive],
            size=allocations.size[alive],
            is_known=len(alive) > 0 or not allocations.only_large,
            only_large=allocations.only_large,
        )

    @property
    def outside_ops(self) -> float:
        """The bytes that no known run allocated."""
        return float(self.size[self.run == NONE].sum())

    def of_runs(self, unseen: Mask) -> Floats:
        """Return the bytes that each run allocated, NaN if that is not known.

        `unseen` masks the runs whose allocations were not recorded.
        """
        if not self.is_known:
            return np.full(len(unseen), np.nan)
        known = self.run != NONE
        made = np.zeros(len(unseen), dtype=np.int64)
        np.add.at(made, self.run[known], self.size[known])
        return np.where(unseen, np.nan, made.astype(np.float64))

    def notes(self) -> tuple[str, ...]:
        """Say what is missing, for the columns of memory."""
        return (Note(ONLY_LARGE, tuple(allocator_columns())),) if self.only_large else ()


def _lifetimes(strings: list[bytes], allocations: Allocations) -> Lifetimes:
    """Return the lifetimes of allocations in whole ns, as the tables have them."""
    _, device = devices_of(strings, allocations.allocator)
    end_ns = (allocations.end // 1000).astype(np.float64)
    return Lifetimes(
        device=device,
        start_ns=allocations.start // 1000,
        end_ns=np.where(allocations.end == NEVER, np.nan, end_ns),
        size=allocations.size,
    )


def devices_of(strings: list[bytes], allocator: Rows) -> tuple[list[str], Rows]:
    """Name the devices that allocators hand out the memory of, and number that of each."""
    found, which = distinct(allocator, len(strings))
    names = [device_of_allocator(strings[row].decode("utf-8", "replace")) for row in found.tolist()]
    number = {name: place for place, name in enumerate(dict.fromkeys(names))}
    return list(number), np.array([number[name] for name in names], dtype=np.intp)[which]
