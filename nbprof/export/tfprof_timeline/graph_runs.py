"""When the nodes of a graph view ran, by device, in lanes with one op at a time."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from nbprof._profile import Profile
    from nbprof.views.view import View

Key = tuple[int, int]
"""Key of a region on its device: its start in ns and, in a recorded cell, its event, else 0.

tfprof draws only the first of two ops that start at once.
"""


@dataclass
class Region:
    """One execution of an op; times are in ns."""

    node: int
    start: int
    duration: int
    pid: int
    lane: int = -1

    @property
    def place(self) -> tuple[int, int]:
        """Process and lane of the region."""
        return self.pid, self.lane


@dataclass
class Device:
    """A device and the regions on it."""

    name: str
    pid: int
    schedules: bool
    """Whether ops are started on it; the streams of an accelerator only execute them."""
    regions: dict[Key, Region] = field(default_factory=dict)

    def allot_lanes(self) -> None:
        """Put each region into the first lane that is free when it starts."""
        free_from: list[int] = []
        for _, region in sorted(self.regions.items()):
            free = (lane for lane, moment in enumerate(free_from) if moment <= region.start)
            region.lane = next(free, len(free_from))
            free_from[region.lane : region.lane + 1] = [region.start + region.duration]

    def in_lanes(self) -> list[Region]:
        """Return the regions by lane and start."""
        return sorted(self.regions.values(), key=lambda region: (region.lane, region.start))


@dataclass(frozen=True)
class Run:
    """One execution of a node; `duration` is in ns."""

    device: str
    schedules: bool
    key: Key
    duration: int


class Runs:
    """The executions of a graph view's nodes in the view's step."""

    def __init__(self, profile: "Profile", view: "View") -> None:
        origin = view.origin
        assert origin is not None
        self.exact = view.exact
        self.events = _events_of_step(profile, view)
        self._counts = origin.row >= 0
        self._trackable = self._find_trackable(profile)
        node_of_row = np.zeros(len(origin.end), dtype=np.intp)
        node_of_row[origin.row[self._counts]] = np.flatnonzero(self._counts)
        shown = node_of_row[origin.rows[1:]]
        self.nodes: list[int] = shown[self._trackable[shown]].tolist()
        """The shown nodes that ran, in the order of the view."""
        self._by_node = self._collect(profile)

    def _find_trackable(self, profile: "Profile") -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """Return which nodes ran; in tfprof's inputs, those with a start and a device."""
        found = np.zeros(len(self._counts), dtype=bool)
        if not self.exact:
            found[self.events["node"].to_numpy()] = True
            return found
        found[self.events["node"][self.events["start_ns"] != 0].to_numpy()] = True
        return found & (profile.nodes["device"] != "").to_numpy()

    def _collect(self, profile: "Profile") -> dict[int, list[Run]]:
        """Return the executions of each node, sorted by device."""
        events = self.events
        if self.exact:
            events = events[events["is_run"] | events["accelerator"]]
        devices = profile.threads["device"].tolist()
        found: dict[int, list[Run]] = {}
        names = ("node", "thread", "accelerator", "start_ns", "duration_ns")
        columns = [events.index.tolist(), *(events[name].tolist() for name in names)]
        for event, node, thread, accelerator, start, duration in zip(*columns, strict=True):
            device = devices[thread]
            if accelerator and not self.exact:
                device += "/stream:all"  # as tfprof's inputs name it
            key = (start, 0 if self.exact else event)
            found.setdefault(node, []).append(Run(device, not accelerator, key, duration))
        for runs in found.values():
            runs.sort(key=lambda run: run.device)
        return found

    def is_tracked(self, node: int) -> bool:
        """Return whether a node counts and ran, shown or not."""
        return bool(self._counts[node] and self._trackable[node])

    def devices(self) -> dict[str, Device]:
        """Return the devices with their regions, numbered in order of first use."""
        found: dict[str, Device] = {}
        for node in self.nodes:
            for run in self._by_node.get(node, ()):
                new = Device(run.device, len(found), run.schedules)
                device = found.setdefault(run.device, new)
                region = Region(node, run.key[0], run.duration, device.pid)
                device.regions.setdefault(run.key, region)
        for device in found.values():
            device.allot_lanes()
        return found

    def scheduled(self, node: int, devices: dict[str, Device]) -> list[Region]:
        """Return the regions where a node starts, even if drawn for another that starts with it."""
        drawn = (
            devices[run.device].regions.get(run.key)
            for run in self._by_node.get(node, ())
            if run.schedules and run.device in devices
        )
        return [region for region in drawn if region is not None]


def _events_of_step(profile: "Profile", view: "View") -> "pd.DataFrame":
    step = view.options.step
    if not isinstance(step, int):
        return profile.events
    return profile.events[profile.events["step"] == step]
