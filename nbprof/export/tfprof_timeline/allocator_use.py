"""What an accelerator's allocator had in use over time, and the nodes that held most of it."""

from collections import defaultdict
from itertools import accumulate
from typing import TYPE_CHECKING

from nbprof.export.tfprof_timeline.trace_events import Event, counter, process

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.export.tfprof_timeline.graph_runs import Runs

MOST_NODES = 10
CLOSEST_MICROS = 100
"""A point that comes sooner after the last one is not plotted."""
MEGABYTE = 1e6

Changes = dict[int, int]
"""Bytes by the moment, in µs."""


class Node:
    """What one node held."""

    def __init__(self) -> None:
        self.changes: Changes = defaultdict(int)
        self.readings: Changes = {}
        self.persistent: Changes = defaultdict(int)
        """By step."""

    def held(self) -> list[tuple[int, int]]:
        """Give how much it held from each moment on; what it kept, from the beginning."""
        changes = {**self.changes, 0: self.changes.get(0, 0)}
        changes[0] += max(0, *self.persistent.values()) if self.persistent else 0
        moments = sorted(changes)
        return list(zip(moments, accumulate(changes[moment] for moment in moments), strict=True))


def memory_events(
    profile: "Profile", runs: "Runs", first_pid: int
) -> tuple[list[Event], list[Event]]:
    """Name two processes for each accelerator, and plot its memory in them."""
    names: list[Event] = []
    points: list[Event] = []
    if not runs.exact:  # a recorded cell's memory is in its own timeline
        return names, points
    nodes = _read(profile, runs)
    node_names = profile.nodes["name"].tolist()
    for device, members in _by_device(profile, runs).items():
        pid = first_pid + len(names)
        title = f"mem usage on:{device}"
        names += [process(title, pid), process(f"{title} allocations", pid + 1)]
        points += _plot({node_names[node]: nodes[node] for node in members}, pid)
    return names, points


def _by_device(profile: "Profile", runs: "Runs") -> dict[str, list[int]]:
    """List the shown nodes of each device that is no CPU."""
    devices = profile.nodes["device"].tolist()
    found: dict[str, list[int]] = {}
    for node in runs.nodes:
        if "cpu" not in devices[node]:
            found.setdefault(devices[node], []).append(node)
    return dict(sorted(found.items()))


def _read(profile: "Profile", runs: "Runs") -> dict[int, Node]:
    """Collect what the nodes held; what they kept, in any step."""
    table, events = profile.allocator, profile.events
    number = table["event"].to_numpy()
    node, step = (events[name].to_numpy()[number].tolist() for name in ("node", "step"))
    chosen = table["event"].isin(runs.events.index).tolist()
    found: dict[int, Node] = defaultdict(Node)
    columns = (table[name].tolist() for name in ("kind", "micros", "bytes"))
    for of, in_step, here, kind, micros, size in zip(node, step, chosen, *columns, strict=True):
        if kind == "persistent":
            found[of].persistent[in_step] += size
        elif here and kind == "change":
            found[of].changes[micros] += size
        elif here and micros > 0:
            found[of].readings[micros] = size
    return found


def _plot(nodes: dict[str, Node], pid: int) -> list[Event]:
    readings: Changes = {}
    for node in nodes.values():
        readings.update(node.readings)
    steps = sorted(
        (moment, name, held) for name, node in nodes.items() for moment, held in node.held()
    )
    live: dict[str, int] = {}
    done, last, events = 0, 0, []
    for moment, in_use in sorted(readings.items()):
        if moment - last < CLOSEST_MICROS:
            continue
        last = moment
        while done < len(steps) and steps[done][0] < moment:
            _, name, live[name] = steps[done]
            done += 1
        events.append(counter("Allocated Bytes", pid, moment, {"Allocator Bytes in Use": in_use}))
        events.append(counter("Top Allocations", pid + 1, moment, _largest(live, in_use)))
    return events


def _largest(live: dict[str, int], in_use: int) -> dict[str, str]:
    """Name the largest that fit into what is in use; the first entry is there only if it is one."""
    shown = {f"Top Allocation {place:02}": "N/A" for place in range(1, MOST_NODES)}
    rest, place = in_use, 0
    for size, name in sorted((-held, name) for name, held in live.items() if held > 0):
        if place < MOST_NODES and -size <= rest:
            shown[f"Top Allocation {place:02}"] = f"{-size / MEGABYTE:g} MB from {name}"
            rest += size
            place += 1
    return {**shown, "Not Displayed": f"{rest / MEGABYTE:.2f} MB"}
