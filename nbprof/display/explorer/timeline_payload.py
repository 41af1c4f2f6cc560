"""The op runs of a profile over time, with steps and live memory, for the explorer's timeline."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nbprof.display import lane_names
from nbprof.errors import NbprofError

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.display.explorer.packing import Store
    from nbprof.display.explorer.run_kinds import Kinds

CURVE_POINTS = 1200
"""A curve of memory has so many pieces, each with the most that was live in it."""
MOST_STEPS = 1200
BINS = 240
"""Sums over time are kept for so many parts of it, or fewer."""
SPARSE = 0.7
"""With fewer sums than this part of all, it is said of which kind and part of the time each is."""
LEAST_STEPS = 8
"""With so many steps, parts begin where steps do."""

Times = npt.NDArray[np.int64]


def has_timeline(profile: "Profile | None") -> bool:
    """Tell whether it is known when each op ran."""
    if profile is None or profile.recording.tfprof or not profile.recording.single_runs:
        return False
    return len(profile.costs) > 0 and bool(profile.costs["start_ns"].any())


@dataclass(frozen=True, eq=False)
class Timeline:
    """The events of a profile, to be packed as a whole or the longest of them."""

    kinds: "Kinds"

    @property
    def profile(self) -> "Profile":
        """What it is the timeline of."""
        return self.kinds.profile

    @cached_property
    def _start(self) -> Times:
        return self.profile.costs["start_ns"].to_numpy(np.int64)

    @cached_property
    def _curve(self) -> "Curve | None":
        return memory_curve(self.profile)

    def pack(self, store: "Store", most: int, bins: int) -> dict[str, Any]:
        """Put the longest `most` events into the store and describe them.

        With all of them goes the time that is their own, so that views can be added up for any
        stretch of time; else sums for `bins` parts of the time, for stretches made of those.
        """
        events = self.profile.costs
        whole = self.kinds.complete and len(events) <= most
        chosen = np.arange(len(events)) if whole else self._longest(most)
        chosen = chosen[np.argsort(self._start[chosen], kind="stable")]
        used, lane = np.unique(events["thread"].to_numpy()[chosen], return_inverse=True)
        own = events["self_ns"].to_numpy(np.int64)
        return {
            "of": len(events),
            "events": len(chosen),
            "lanes": lane_names.names(self.profile, used.tolist()),
            "start": store.times(self._start[chosen], ordered=True),
            "micros": store.times(events["duration_ns"].to_numpy(np.int64)[chosen]),
            "lane": store.numbers(lane),
            "kind": store.numbers(self.kinds.of_event[chosen]),
            "own_ns": store.numbers(own[chosen]) if whole else None,
            "bins": self.pack_bins(store, bins) if bins and not whole else None,
            "steps": _steps(self.profile, store),
            "memory": self._curve and self._curve.pack(store),
        }

    def _longest(self, most: int) -> npt.NDArray[np.intp]:
        known = np.flatnonzero(self.kinds.of_event >= 0)
        if most >= len(known):
            return known
        duration = self.profile.costs["duration_ns"].to_numpy()[known]
        return known[np.argpartition(-duration, most)[:most]]

    def pack_bins(self, store: "Store", most: int) -> dict[str, Any]:
        """Add up the events that began in each part of the time, by kind."""
        edges, runs, ns = self._finest
        joined = np.arange(0, len(edges), -(-len(edges) // most))
        runs, ns = (np.add.reduceat(sums, joined, axis=1) for sums in (runs, ns))
        there = np.nonzero(runs)
        packed = {"edges": store.times(edges[joined], ordered=True)}
        if len(there[0]) < SPARSE * runs.size:
            packed["kind"] = store.numbers(np.bincount(there[0], minlength=self.kinds.count))
            packed["part"] = store.numbers(there[1])
            runs, ns = runs[there], ns[there]
        packed["runs"] = store.numbers(runs.ravel())
        packed["ns"] = store.numbers(ns.ravel().astype(np.int64))
        return packed

    @cached_property
    def _finest(self) -> tuple[Times, npt.NDArray[Any], npt.NDArray[Any]]:
        """Give the parts of the time, and how often and how long each kind ran in each."""
        edges = self._edges(BINS)
        part = np.searchsorted(edges, self._start, side="right") - 1
        key = self.kinds.of_event * len(edges) + part
        shape = self.kinds.count, len(edges)
        runs = np.bincount(key, minlength=shape[0] * shape[1])
        ns = np.bincount(key, self.profile.costs["self_ns"].to_numpy(), shape[0] * shape[1])
        return edges, runs.reshape(shape), ns.reshape(shape)

    def _edges(self, most: int) -> Times:
        """Part the time where steps begin, if there are enough of them, else evenly."""
        begin, end = int(self._start.min()), int(self._start.max())
        steps = np.rint(self.profile.steps["start_micros"].to_numpy(np.float64) * 1e3)
        steps = np.unique(steps[(steps > begin) & (steps <= end)].astype(np.int64))
        if len(steps) >= LEAST_STEPS:
            steps = steps[:: -(-(len(steps) + 1) // most)]
        else:
            steps = np.unique(np.linspace(begin, end, most, endpoint=False).astype(np.int64))[1:]
        return np.append(begin, steps)

    def runs_between(self, begin: float, end: float) -> tuple[Times, Times]:
        """Count the events of each kind that began in a stretch of µs, and their own ns."""
        first, last = (np.ceil(micros * 1e3) for micros in (begin, end))
        there = (self._start >= first) & (self._start < last)
        kind = self.kinds.of_event[there]
        own = self.profile.costs["self_ns"].to_numpy(np.int64)[there]
        return (
            np.bincount(kind, minlength=self.kinds.count),
            np.bincount(kind, own, self.kinds.count).astype(np.int64),
        )


def _steps(profile: "Profile", store: "Store") -> dict[str, Any]:
    steps = profile.steps.head(MOST_STEPS)
    return {
        "start": store.numbers(steps["start_micros"].round(1)),
        "micros": store.numbers(steps["micros"].round(1)),
        "names": store.texts(map(str, steps["function"])),
    }


@dataclass(frozen=True)
class Curve:
    """The live bytes of the device that held the most, thinned out, and their peak."""

    device: str
    micros: npt.NDArray[np.float64]
    live_bytes: npt.NDArray[np.float64]
    peak: dict[str, float]

    def pack(self, store: "Store") -> dict[str, Any]:
        """Put it into the store and describe it."""
        return {
            "device": self.device,
            "micros": store.numbers(self.micros),
            "bytes": store.numbers(self.live_bytes),
            "peak": self.peak,
        }


def memory_curve(profile: "Profile") -> Curve | None:
    """Give the curve of the device that held the most; None: memory was not recorded."""
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
