"""The timeline of the graph view: when its nodes ran on which device, and what flowed between.

A process is a device, a lane never has two ops at once, and an arrow leads from an op to one on
another device that takes its output.
"""

from typing import TYPE_CHECKING

from nbprof.export.tfprof_timeline.allocator_use import memory_events
from nbprof.export.tfprof_timeline.graph_runs import Device, Region, Runs
from nbprof.export.tfprof_timeline.trace_events import Event, flow, micros_of_ns, process, region

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
