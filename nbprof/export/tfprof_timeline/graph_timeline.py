"""The timeline of the graph view: when its nodes ran on which device, and what flows between.

A process is a device, a lane has no two ops at once, and an arrow goes from an op to one on another
device that takes what it made.
"""

from typing import TYPE_CHECKING

from nbprof.export.tfprof_timeline.allocator_use import memory_events
from nbprof.export.tfprof_timeline.graph_runs import Device, Region, Runs
from nbprof.export.tfprof_timeline.trace_events import Event, flow, micros_of_ns, process, region

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.views.view import View

STREAM = "stream"


def graph_events(profile: "Profile", view: "View") -> list[Event]:
    """Draw the shown nodes; what flows and what memory is plotted comes last, as in tfprof."""
    runs = Runs(profile, view)
    devices = runs.devices()
    names = profile.nodes["name"].tolist()
    next_regions = _next_regions(profile, runs, devices)
    events = [process(_title(device.name), device.pid) for device in devices.values()]
    flows: list[Event] = []
    for device in devices.values():
        for one in sorted(device.regions.values(), key=lambda found: (found.lane, found.start)):
            name = names[one.node]
            start, duration = micros_of_ns(one.start), micros_of_ns(one.duration)
            events.append(region(name, device.pid, one.lane, start, duration))
            for after in next_regions.get(id(one), ()):
                flows += _arrow(f"{name}_flow", one, after, len(flows) // 2 + 1)
    plotted, points = memory_events(profile, runs, len(devices))
    return [*events, *plotted, *flows, *points]


def _title(device: str) -> str:
    kind = "execution" if STREAM in device else "scheduling"
    return f"Op {kind} threads: {device}"


def _arrow(name: str, before: Region, after: Region, number: int) -> list[Event]:
    end = micros_of_ns(before.start + before.duration)
    return [
        flow("s", name, before.pid, before.lane, end, number),
        flow("t", name, after.pid, after.lane, micros_of_ns(after.start), number),
    ]


def _next_regions(
    profile: "Profile", runs: Runs, devices: dict[str, Device]
) -> dict[int, list[Region]]:
    """Find for each region, by its id, those on other devices that take what its node made."""
    inputs = profile.inputs
    known = inputs[inputs["source"] >= 0].sort_values(["node", "position"], kind="stable")
    taken: dict[int, list[int]] = {}
    for node, source in zip(known["node"].tolist(), known["source"].tolist(), strict=True):
        if runs.is_tracked(source):
            taken.setdefault(node, []).append(source)
    found: dict[int, list[Region]] = {}
    for device in sorted(devices.values(), key=lambda device: device.name):
        if not device.schedules:
            continue
        for _, after in sorted(device.regions.items()):
            for source in taken.get(after.node, ()):
                for before in runs.scheduled(source, devices):
                    if before.pid != after.pid:
                        found.setdefault(id(before), []).append(after)
    return found
