"""Memory of accelerators, as TensorFlow counts it.

Reading it imports and initializes nothing, and resets no counter.
"""

import sys
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class DeviceMemory:
    """A device's counters at one moment, in bytes."""

    device: str
    current: int
    peak: int
    """The most held since the process began or the counter was reset."""


@dataclass(frozen=True)
class DeviceRun:
    """A device's memory over a run, in bytes."""

    device: str
    before: int
    peak: int
    after: int
    exact: bool
    """Whether the device's own peak rose during the run; otherwise `peak` is a lower bound."""


def devices() -> tuple[DeviceMemory, ...]:
    """Read the counters of all accelerators; empty until TensorFlow has initialized them."""
    tensorflow = sys.modules.get("tensorflow")
    context = getattr(sys.modules.get("tensorflow.python.eager.context"), "_context", None)
    if tensorflow is None or not getattr(context, "_initialized", False):
        return ()
    found = [_read(tensorflow, device.name) for device in tensorflow.config.list_logical_devices()]
    return tuple(each for each in found if each is not None)


def _read(tensorflow: Any, name: str) -> DeviceMemory | None:
    device = name.removeprefix("/device:")
    if device.startswith("CPU"):
        return None
    try:
        counters = tensorflow.config.experimental.get_memory_info(device)
    except ValueError:  # this device has no such counters
        return None
    return DeviceMemory(device, counters["current"], counters["peak"])


def device_runs(
    before: tuple[DeviceMemory, ...], after: tuple[DeviceMemory, ...]
) -> tuple[DeviceRun, ...]:
    """Compare the counters before and after a run, device by device."""
    earlier = {each.device: each for each in before}
    runs = []
    for now in after:
        was = earlier.get(now.device, DeviceMemory(now.device, 0, 0))
        exact = now.peak > was.peak
        peak = now.peak if exact else max(was.current, now.current)
        runs.append(DeviceRun(now.device, was.current, peak, now.current, exact))
    return tuple(runs)
