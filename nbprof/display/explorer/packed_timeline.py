"""The op runs of a profile over time, with steps and live memory, for the explorer's timeline."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nbprof.arrays import Floats, Ints, Rows
from nbprof.display import lane_names
from nbprof.display.explorer.stretches import FINEST, Stretches
from nbprof.errors import NbprofError

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.display.explorer.buffer_store import BufferStore
    from nbprof.display.explorer.run_kinds import RunKinds

CURVE_POINTS = 1200
"""Most points of the memory curve; each is the most bytes live until the next."""
MOST_STEPS = 1200
"""Most steps that the timeline marks."""
BINS = 240
"""Most bins; a bin is a part of the time for which sums are stored."""
SPARSE_BELOW = 0.7
"""Share of filled bins below which only the filled ones are stored, by kind."""
SHARES = 8
"""Precision of stored shares of self time: one in this many."""
LEAST_STEPS = 8
"""Fewest steps for which bins begin where steps do."""


def has_timeline(profile: "Profile | None") -> bool:
    """Return whether the start of each op run is known."""
    if profile is None or profile.recording.tfprof or not profile.recording.single_runs:
        return False
    return len(profile.costs) > 0 and bool(profile.costs["start_ns"].any())


@dataclass(frozen=True, eq=False)
class Timeline:
    """The events of a profile, ready to be packed: all of them or the longest."""

    kinds: "RunKinds"

    @property
    def profile(self) -> "Profile":
        """The profile whose events these are."""
        return self.kinds.profile

    @cached_property
    def _start(self) -> Ints:
        return self.profile.costs["start_ns"].to_numpy(np.int64)

    @cached_property
    def _curve(self) -> "Curve | None":
        return memory_curve(self.profile)

    @cached_property
    def _stretches(self) -> Stretches:
        return Stretches(self.kinds)

    def pack(
        self, store: "BufferStore", most: int, bins: int, stretches: int = FINEST
    ) -> dict[str, Any]:
        """Store the `most` longest events and describe them.

        If that is all of them, their self times are stored, too, so that the page can add up views
        for any time range. Otherwise sums for up to `bins` bins are, for ranges that begin and end
        with a bin, and up to `stretches` stretches, which are drawn in place of all events.
        """
        events = self.profile.costs
        whole = self.kinds.complete and len(events) <= most
        chosen = np.arange(len(events)) if whole else self._longest(most)
        chosen = chosen[np.argsort(self._start[chosen], kind="stable")]
        threads, duration, own = (
            events[name].to_numpy(np.int64) for name in ("thread", "duration_ns", "self_ns")
        )
        used = self._stretches.threads
        share = own[chosen] * SHARES // np.maximum(duration[chosen], 1)
        return {
            "of": len(events),
            "events": len(chosen),
            "lanes": lane_names.names(self.profile, used.tolist()),
            "start": store.times(self._start[chosen], ordered=True),
            "micros": store.times(duration[chosen]),
            "lane": store.numbers(np.searchsorted(used, threads[chosen])),
            "kind": store.numbers(self.kinds.of_event[chosen]),
            "own_ns": store.numbers(own[chosen]) if whole else None,
            "own_shares": None if whole else store.numbers(np.minimum(share, SHARES)),
            "bins": self.pack_bins(store, bins) if bins and not whole else None,
            "stretches": None if whole else self._stretches.pack(store, stretches),
            "steps": _steps(self.profile, store),
            "memory": self._curve and self._curve.pack(store),
        }

    def _longest(self, most: int) -> Rows:
        known = np.flatnonzero(self.kinds.of_event >= 0)
        if most >= len(known):
            return known
        duration = self.profile.costs["duration_ns"].to_numpy()[known]
        return known[np.argpartition(-duration, most)[:most]]

    def pack_bins(self, store: "BufferStore", most: int) -> dict[str, Any]:
        """Store how often and how long each kind ran in each bin; a run counts where it starts."""
        edges, runs, ns = self._finest
        joined = np.arange(0, len(edges), -(-len(edges) // most))
        runs, ns = (np.add.reduceat(sums, joined, axis=1) for sums in (runs, ns))
        filled = np.nonzero(runs)
        packed = {"edges": store.times(edges[joined], ordered=True)}
        if len(filled[0]) < SPARSE_BELOW * runs.size:
            packed["kind"] = store.numbers(np.bincount(filled[0], minlength=self.kinds.count))
            packed["part"] = store.numbers(filled[1])
            runs, ns = runs[filled], ns[filled]
        packed["runs"] = store.numbers(runs.ravel())
        packed["ns"] = store.numbers(ns.ravel().astype(np.int64))
        return packed

    @cached_property
    def _finest(self) -> tuple[Ints, npt.NDArray[Any], npt.NDArray[Any]]:
        """The starts of the finest bins, and per kind and bin the runs and their ns."""
        edges = self._edges(BINS)
        part = np.searchsorted(edges, self._start, side="right") - 1
        key = self.kinds.of_event * len(edges) + part
        shape = self.kinds.count, len(edges)
        runs = np.bincount(key, minlength=shape[0] * shape[1])
        ns = np.bincount(key, self.profile.costs["self_ns"].to_numpy(), shape[0] * shape[1])
        return edges, runs.reshape(shape), ns.reshape(shape)

    def _edges(self, most: int) -> Ints:
        """Return where bins start: with steps if there are enough of them, otherwise evenly."""
        begin, end = int(self._start.min()), int(self._start.max())
        steps = np.rint(self.profile.steps["start_micros"].to_numpy(np.float64) * 1e3)
        steps = np.unique(steps[(steps > begin) & (steps <= end)].astype(np.int64))
        if len(steps) >= LEAST_STEPS:
            steps = steps[:: -(-(len(steps) + 1) // most)]
        else:
            steps = np.unique(np.linspace(begin, end, most, endpoint=False).astype(np.int64))[1:]
        return np.append(begin, steps)

    def runs_between(self, begin: float, end: float) -> tuple[Ints, Ints]:
        """Return per kind the events that began between two times in µs, and their own ns."""
        first, last = (np.ceil(micros * 1e3) for micros in (begin, end))
        inside = (self._start >= first) & (self._start < last)
        kind = self.kinds.of_event[inside]
        own = self.profile.costs["self_ns"].to_numpy(np.int64)[inside]
        return (
            np.bincount(kind, minlength=self.kinds.count),
            np.bincount(kind, own, self.kinds.count).astype(np.int64),
        )


def _steps(profile: "Profile", store: "BufferStore") -> dict[str, Any]:
    last = profile.detailed_steps["step"].max()  # what follows ran bare
    steps = profile.steps[profile.steps["step"] <= last].tail(MOST_STEPS).fillna({"micros": 0.0})
    return {
        "first": int(steps["step"].iloc[0]) if len(steps) else 0,
        "start": store.numbers(steps["start_micros"].round(1)),
        "micros": store.numbers(steps["micros"].round(1)),
        "names": store.texts(map(str, steps["function"])),
    }


@dataclass(frozen=True)
class Curve:
    """The live bytes of the device that held the most, thinned out, and their peak."""

    device: str
    micros: Floats
    live_bytes: Floats
    peak: dict[str, float]

    def pack(self, store: "BufferStore") -> dict[str, Any]:
        """Store the curve and describe it."""
        return {
            "device": self.device,
            "micros": store.numbers(self.micros),
            "bytes": store.numbers(self.live_bytes),
            "peak": self.peak,
        }


def memory_curve(profile: "Profile") -> Curve | None:
    """Return the curve of the device that held the most; None if memory was not recorded."""
    try:
        curve = profile.memory()
    except NbprofError:
        return None
    peaks = curve.attrs["peak"]
    if not peaks:
        return None
    device = max(peaks, key=lambda name: float(peaks[name]["live_bytes"]))
    if len(peaks) > 1:
        curve = curve[curve["device"] == device]
    micros, live = curve["micros"].to_numpy(np.float64), curve["live_bytes"].to_numpy(np.float64)
    if len(live) > CURVE_POINTS:
        starts = np.unique(np.linspace(0, len(live) - 1, CURVE_POINTS).astype(np.intp))
        micros, live = micros[starts], np.maximum.reduceat(live, starts)
    peak = {name: float(value) for name, value in peaks[device].items()}
    return Curve(str(device), np.rint(micros), live, peak)
