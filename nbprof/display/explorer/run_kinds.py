"""The kinds of op runs: runs that count in the same rows of every view, with the same numbers.

Runs are many and kinds are few. With the row of each kind in each view, the sums of any set of runs
are known from how often each kind ran in it and how long that took.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nbprof.arrays import Rows
from nbprof.columns import summed_columns

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.display.explorer.packing import Store
    from nbprof.views.view import View

PARTS = ("stack", "layer", "backward", "accelerator", "is_run")
"""What tells the runs of one node apart, besides those."""

Events = Any
"""The table of events; this room does not know pandas."""


@dataclass(frozen=True, eq=False)
class Kinds:
    """The kinds of a profile's events."""

    profile: "Profile"
    of_event: Rows
    """The kind of each event."""
    example: Rows
    """The first event of each kind."""
    metrics: tuple[str, ...]
    """Those of `summed_columns()` in which the events of a kind are alike."""
    complete: bool = True
    """Whether every event is of one; else some have the kind -1."""

    @property
    def count(self) -> int:
        """How many kinds there are."""
        return len(self.example)

    def of_longest(self, most: int) -> "Kinds":
        """Give the kinds of the longest `most` events only."""
        longest = np.argpartition(-self.profile.costs["duration_ns"].to_numpy(), most)[:most]
        used, kind = np.unique(self.of_event[longest], return_inverse=True)
        of_event = np.full(len(self.of_event), -1, dtype=np.intp)
        of_event[longest] = kind
        return Kinds(self.profile, of_event, self.example[used], self.metrics, complete=False)

    def pack(self, store: "Store") -> dict[str, Any]:
        """Describe the kinds: what they are called and what one run of each has."""
        first = _with(self.profile, self.metrics).iloc[self.example]
        nodes, node = np.unique(first["node"].to_numpy(), return_inverse=True)
        texts = self.profile.nodes.iloc[nodes]
        names, types, devices = (
            store.codes(texts[name].tolist()) for name in ("name", "op_type", "device")
        )
        there = np.flatnonzero(self.of_event >= 0)
        kind = self.of_event[there]
        ns = np.bincount(kind, weights=self.profile.costs["self_ns"].to_numpy()[there])
        return {
            "events": store.numbers(np.bincount(kind)),
            "names": store.numbers(names[node]),
            "types": store.numbers(types[node]),
            "devices": store.numbers(devices[node]),
            "runs": store.numbers(first["is_run"].to_numpy(np.int64)),
            "accelerator": store.numbers(first["accelerator"].to_numpy(np.int64)),
            "ns": store.numbers(ns),
            "metrics": {
                name: store.numbers(first[name].to_numpy(np.float64)) for name in self.metrics
            },
        }

    def pack_places(self, view: "View", chosen: Rows, store: "Store") -> dict[str, Any] | None:
        """Describe where the kinds count among the chosen rows of a view.

        A kind that counts only in the total of row r has the row -2 - r, one that does not count
        has -1. `steps` says in how many of them its node ran, as far as it is one of the view's.
        """
        if view.places is None:
            return None
        places = view.places()
        member = places.of_event[self.example]
        known = member < len(places.row)  # an op log does not know every node
        member = np.where(known, member, -1)
        row, own = np.append(places.row, -1)[member], np.append(places.own, False)[member]
        packed = {"row": store.numbers(_among(view, chosen, row, own))}
        if view.options.step in (None, "all") and len(self.profile.steps) > 1:
            steps = _steps_of_each(self.profile.costs["step"].to_numpy(), places.of_event)
            packed["steps"] = store.numbers(steps[places.of_event[self.example]])
        return packed


def _among(view: "View", chosen: Rows, row: Rows, own: npt.NDArray[np.bool_]) -> Rows:
    """Turn rows of the frame into places among the chosen ones, as `pack_places` says."""
    place = np.full(len(view.frame) + 1, -1, dtype=np.intp)
    place[chosen] = np.arange(len(chosen))
    kept = place >= 0
    if view.is_tree:
        parent = view.frame["parent"].to_numpy()
        for hidden in np.flatnonzero(~kept[:-1]).tolist():
            place[hidden] = place[parent[hidden]]
    found = place[row]
    return np.where(own & kept[row], found, np.where(found < 0, -1, -2 - found))


def _steps_of_each(step: Rows, member: Rows) -> Rows:
    """Count the steps in which each member ran."""
    first = int(step.min())
    width = int(step.max()) - first + 1
    ran = np.zeros((int(member.max()) + 1) * width, dtype=bool)
    ran[member * width + (step - first)] = True
    counts: Rows = ran.reshape(-1, width).sum(axis=1)
    return counts


def _with(profile: "Profile", metrics: Collection[str]) -> Events:
    """Give the events, with what their shapes tell only where these metrics ask for it."""
    wanted = {name for name in summed_columns() if name in metrics}
    return profile.costs if wanted <= set(profile.costs.columns) else profile.events


def kinds_of(profile: "Profile | None", metrics: Collection[str]) -> Kinds | None:
    """Find the kinds of the events, as far as these metrics go; None: there are no events."""
    if profile is None or not len(profile.costs):
        return None
    events = _with(profile, metrics)
    key = events["node"].astype(np.int64)
    for name in PARTS:
        if name in events:
            values = events[name].to_numpy(np.int64)
            low = int(values.min())
            if (width := int(values.max()) - low + 1) > 1:
                key = key * width + (values - low)
    of_event, example = _distinct(key)
    wanted = tuple(name for name in summed_columns() if name in metrics and name in events)
    for name in wanted:
        values = events[name].to_numpy(np.float64)
        usual = values[example][of_event]
        if not ((values == usual) | (np.isnan(values) & np.isnan(usual))).all():
            codes, texts = events[name].factorize(use_na_sentinel=False)
            of_event, example = _distinct(key * 0 + of_event * len(texts) + codes)
    return Kinds(profile, of_event, example, wanted)


def _distinct(key: Events) -> tuple[Rows, Rows]:
    """Number the distinct keys; give each one's number, and where each first is."""
    codes, found = key.factorize()
    example = np.empty(len(found), dtype=np.intp)
    example[codes[::-1]] = np.arange(len(codes))[::-1]
    return codes, example
