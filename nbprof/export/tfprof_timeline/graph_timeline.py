"""The timeline of the graph view: when its nodes ran on which device, and what flowed between.

A process is a device, a lane never has two ops at once, and an arrow leads from an op to one on
another device that takes its output.
"""

from collections import defaultdict
from itertools import accumulate
from typing import TYPE_CHECKING

from nbprof.export.tfprof_timeline.graph_runs import Device, Region, Runs
from nbprof.export.tfprof_timeline.trace_events import (
    Event,
    counter,
    flow,
    micros_of_ns,
    process,
    region,
)

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.views.view import View

STREAM = "stream"


def graph_events(view: "View") -> list[Event]:
    """Draw the shown nodes; flows and memory come last, as in tfprof."""
    profile = view.profile
    assert profile is not None
    runs = Runs(profile, view)
    devices = runs.devices()
    names = profile.nodes["name"].tolist()
    consumers = _consumers(profile, runs, devices)
    events = [process(_title(device.name), device.pid) for device in devices.values()]
    flows: list[Event] = []
    for drawn in (drawn for device in devices.values() for drawn in device.in_lanes()):
        name = names[drawn.node]
        times = (micros_of_ns(drawn.start), micros_of_ns(drawn.duration))
        events.append(region(name, drawn.place, times))
        end = micros_of_ns(drawn.start + drawn.duration)
        for after in consumers.get(id(drawn), ()):
            target = (after.place, micros_of_ns(after.start))
            flows += flow(f"{name}_flow", len(flows) // 2 + 1, (drawn.place, end), target)
    plotted, points = memory_events(profile, runs, len(devices))
    return [*events, *plotted, *flows, *points]


def _title(device: str) -> str:
    kind = "execution" if STREAM in device else "scheduling"
    return f"Op {kind} threads: {device}"


def _consumers(
    profile: "Profile", runs: Runs, devices: dict[str, Device]
) -> dict[int, list[Region]]:
    """Return by `id(region)` the regions on other devices that take the output of its node."""
    sources = _sources(profile, runs)
    found: dict[int, list[Region]] = {}
    scheduling = (device for device in devices.values() if device.schedules)
    for device in sorted(scheduling, key=lambda device: device.name):
        for _, after in sorted(device.regions.items()):
            for source in sources.get(after.node, ()):
                for before in runs.scheduled(source, devices):
                    if before.pid != after.pid:
                        found.setdefault(id(before), []).append(after)
    return found


def _sources(profile: "Profile", runs: Runs) -> dict[int, list[int]]:
    """Return the nodes that ran among the inputs of each node, in the order of the inputs."""
    inputs = profile.inputs
    known = inputs[inputs["source"] >= 0].sort_values(["node", "position"], kind="stable")
    found: dict[int, list[int]] = {}
    for node, source in zip(known["node"].tolist(), known["source"].tolist(), strict=True):
        if runs.is_tracked(source):
            found.setdefault(node, []).append(source)
    return found


MOST_NODES = 10
"""Number of nodes listed at each point."""

CLOSEST_MICROS = 100
"""Shortest time between plotted points in µs."""

MEGABYTE = 1e6

Bytes = dict[int, int]
"""Bytes by moment in µs."""


class NodeMemory:
    """The memory of one node."""

    def __init__(self) -> None:
        self.changes: Bytes = defaultdict(int)
        """Bytes allocated, or freed if negative."""
        self.readings: Bytes = {}
        """Bytes that the allocator had in use."""
        self.persistent: Bytes = defaultdict(int)
        """Bytes kept, by step instead of moment."""

    def held(self) -> list[tuple[int, int]]:
        """Return the bytes held from each moment on; persistent bytes count from the start."""
        changes = {**self.changes, 0: self.changes.get(0, 0)}
        changes[0] += max(0, *self.persistent.values()) if self.persistent else 0
        moments = sorted(changes)
        return list(zip(moments, accumulate(changes[moment] for moment in moments), strict=True))


def memory_events(
    profile: "Profile", runs: "Runs", first_pid: int
) -> tuple[list[Event], list[Event]]:
    """Return the events that name two processes for each accelerator, and those that plot it."""
    names: list[Event] = []
    points: list[Event] = []
    if not runs.exact:  # the Chrome trace of a recorded cell has its memory
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
    """Return the shown nodes of each device that is not a CPU."""
    devices = profile.nodes["device"].tolist()
    found: dict[str, list[int]] = {}
    for node in runs.nodes:
        if "cpu" not in devices[node]:
            found.setdefault(devices[node], []).append(node)
    return dict(sorted(found.items()))


def _read(profile: "Profile", runs: "Runs") -> dict[int, NodeMemory]:
    """Return the memory of each node: persistent bytes of all steps, the rest of the view's."""
    events = profile.events
    table = profile.allocator.assign(
        node=lambda table: events["node"].to_numpy()[table["event"]],
        step=lambda table: events["step"].to_numpy()[table["event"]],
        is_chosen=lambda table: table["event"].isin(runs.events.index),
    )
    found: dict[int, NodeMemory] = defaultdict(NodeMemory)
    names = ("node", "step", "is_chosen", "kind", "micros", "bytes")
    rows = zip(*(table[name].tolist() for name in names), strict=True)
    for node, step, is_chosen, kind, micros, size in rows:
        if kind == "persistent":
            found[node].persistent[step] += size
        elif is_chosen and kind == "change":
            found[node].changes[micros] += size
        elif is_chosen and micros > 0:
            found[node].readings[micros] = size
    return found


def _plot(nodes: dict[str, NodeMemory], pid: int) -> list[Event]:
    """Return the points of one accelerator; `pid` and the next number are its processes."""
    readings: Bytes = {}
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
    """Return the largest allocations that fit into the bytes in use, and the rest.

    As in tfprof, entry 00 is missing if there are none, and others are N/A.
    """
    shown = {f"Top Allocation {place:02}": "N/A" for place in range(1, MOST_NODES)}
    rest, place = in_use, 0
    for size, name in sorted((-held, name) for name, held in live.items() if held > 0):
        if place < MOST_NODES and -size <= rest:
            shown[f"Top Allocation {place:02}"] = f"{-size / MEGABYTE:g} MB from {name}"
            rest += size
            place += 1
    return {**shown, "Not Displayed": f"{rest / MEGABYTE:.2f} MB"}
