"""Kinds of op runs: runs that count in the same rows of every view, with the same numbers.

Runs are many, kinds are few. Given the row of each kind in a view, the number of runs and the time
of each kind add up to that view's numbers, for all runs or any part of them.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nbprof.arrays import Rows, count_distinct
from nbprof.call_places import call_places
from nbprof.columns import COLUMNS, Metric, summed_columns

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.display.explorer.buffer_store import BufferStore
    from nbprof.views.view import View

DISTINGUISHING = ("stack", "layer", "backward", "accelerator", "is_run")
"""Columns of events that tell kinds apart, besides the node and the columns that views sum."""
TIME = "self_ns"
"""The column of events that may differ between runs of a kind."""

Events = Any
"""The table of events; this room does not know pandas."""


@dataclass(frozen=True, eq=False)
class RunKinds:
    """The kinds of a profile's events."""

    profile: "Profile"
    of_event: Rows
    """The kind of each event; -1 for none."""
    example: Rows
    """The first event of each kind."""
    metrics: tuple[str, ...]
    """Columns of events that views add up and that are equal for all events of a kind."""
    complete: bool = True
    """Whether every event has a kind."""

    @property
    def count(self) -> int:
        """The number of kinds."""
        return len(self.example)

    def of_longest(self, most: int) -> "RunKinds":
        """Return only the kinds of the `most` longest events."""
        longest = np.argpartition(-self.profile.costs["duration_ns"].to_numpy(), most)[:most]
        used, kind = np.unique(self.of_event[longest], return_inverse=True)
        of_event = np.full(len(self.of_event), -1, dtype=np.intp)
        of_event[longest] = kind
        return RunKinds(self.profile, of_event, self.example[used], self.metrics, complete=False)

    def pack(self, store: "BufferStore") -> dict[str, Any]:
        """Store the name, runs and time of each kind, and its weight in each metric."""
        first = _events_with(self.profile, self.metrics).iloc[self.example]
        nodes, node = np.unique(first["node"].to_numpy(), return_inverse=True)
        texts = self.profile.nodes.iloc[nodes]
        kernels = texts["kernel"].tolist() if "kernel" in texts else [""] * len(texts)
        fused = texts["fused"].to_numpy(int) if "fused" in texts else np.zeros(len(texts), int)
        names, types, devices = (
            store.codes(texts[name].tolist()) for name in ("name", "op_type", "device")
        )
        counted = np.flatnonzero(self.of_event >= 0)
        kind = self.of_event[counted]
        ns = np.bincount(kind, weights=self.profile.costs["self_ns"].to_numpy()[counted])
        return {
            "names": store.numbers(names[node]),
            "types": store.numbers(types[node]),
            "kernels": store.numbers(store.codes(kernels)[node]),
            "fused": store.numbers(fused[node]),
            "devices": store.numbers(devices[node]),
            "events": store.numbers(np.bincount(kind)),
            "micros": store.times(ns.astype(np.int64)),
            "weights": {
                metric: {"of": amount, "each": store.numbers(each)}
                for metric, (amount, each) in self._weights(first).items()
            },
        }

    def _weights(self, first: Events) -> dict[str, tuple[str, npt.NDArray[Any]]]:
        """Map each metric to an amount, `events` or `micros`, and its factor for each kind."""
        declared = [metric for column in COLUMNS.values() for metric in column.measures]
        known = {TIME, *DISTINGUISHING, *self.metrics}
        weights = {
            metric.name: _weight(metric, first)
            for metric in declared
            if metric.table == "events" and metric.column in known
        }
        for metric in declared:
            parts = [weights[name] for name in metric.adds if name in weights]
            if parts:
                weights[metric.name] = parts[0][0], np.sum([each for _, each in parts], axis=0)
        return weights

    def pack_places(
        self, view: "View", chosen: Rows, store: "BufferStore"
    ) -> dict[str, Any] | None:
        """Store where the kinds count among the chosen rows of a view.

        A kind has row r if it is row r's own, -2 - r if it counts only in the total of row r, and
        -1 if it does not count. `steps` holds the number of steps in which the kind's node ran.
        """
        if view.places is None:
            return None
        places = view.places()
        member = places.of_event[self.example]
        known = member < len(places.row)  # an op log does not know every node
        member = np.where(known, member, -1)
        row, own = np.append(places.row, -1)[member], np.append(places.own, False)[member]
        packed = {"row": store.numbers(_places_among(view, chosen, row, own))}
        if view.options.step in (None, "all") and len(self.profile.steps) > 1:
            step = self.profile.costs["step"].to_numpy(np.int64)
            steps = count_distinct(places.of_event, step, len(places.row))
            packed["steps"] = store.numbers(steps[places.of_event[self.example]])
        return packed


def find_kinds(profile: "Profile | None", metrics: Collection[str]) -> RunKinds | None:
    """Return the kinds that these metrics tell apart; None if the profile has no events."""
    if profile is None or not len(profile.costs):
        return None
    events = _events_with(profile, metrics)
    key = events["node"].astype(np.int64)
    for name in DISTINGUISHING:
        if name in events:
            values = events[name].to_numpy(np.int64)
            low = int(values.min())
            if (width := int(values.max()) - low + 1) > 1:
                key = key * width + (values - low)
    if "call" in events:
        places = call_places(profile.dispatches, events["call"].to_numpy(np.intp))
        key = key * (int(places.max()) + 2) + places + 1
    of_event, example = _distinct(key)
    wanted = tuple(name for name in summed_columns() if name in metrics and name in events)
    for name in wanted:
        values = events[name].to_numpy(np.float64)
        usual = values[example][of_event]
        if not ((values == usual) | (np.isnan(values) & np.isnan(usual))).all():
            codes, distinct = events[name].factorize(use_na_sentinel=False)
            # `key * 0 +` makes a pandas Series, which this room does not import.
            of_event, example = _distinct(key * 0 + of_event * len(distinct) + codes)
    return RunKinds(profile, of_event, example, wanted)


def _weight(metric: Metric, first: Events) -> tuple[str, npt.NDArray[Any]]:
    """Return the amount that a metric of events adds up, and its factor for each kind."""
    on_accelerator = first["accelerator"].to_numpy(bool)
    devices = {"all": 1, "accelerator": on_accelerator, "cpu": ~on_accelerator}[metric.devices]
    if metric.column == TIME:
        return "micros", np.ones(len(first)) * devices * (1e3 / metric.divisor)
    return "events", first[metric.column].to_numpy(np.float64) * devices / metric.divisor


def _events_with(profile: "Profile", metrics: Collection[str]) -> Events:
    """Return the events, with the columns that depend on shapes only if these metrics need them."""
    wanted = {name for name in summed_columns() if name in metrics}
    return profile.costs if wanted <= set(profile.costs.columns) else profile.events


def _distinct(key: Events) -> tuple[Rows, Rows]:
    """Number the distinct keys; return the number of each key and where each first occurs."""
    codes, found = key.factorize()
    example = np.empty(len(found), dtype=np.intp)
    example[codes[::-1]] = np.arange(len(codes))[::-1]
    return codes, example


def _places_among(view: "View", chosen: Rows, row: Rows, own: npt.NDArray[np.bool_]) -> Rows:
    """Turn rows of the frame into places among the chosen ones, as `pack_places` stores them."""
    place = np.full(len(view.frame) + 1, -1, dtype=np.intp)
    place[chosen] = np.arange(len(chosen))
    kept = place >= 0
    if view.is_tree:
        parent = view.frame["parent"].to_numpy()
        for hidden in np.flatnonzero(~kept[:-1]).tolist():
            place[hidden] = place[parent[hidden]]
    found = place[row]
    return np.where(own & kept[row], found, np.where(found < 0, -1, -2 - found))
