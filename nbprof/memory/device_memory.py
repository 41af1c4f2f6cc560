"""Memory of accelerators, as TensorFlow counts it, if the notebook has TensorFlow at work on any.

Nothing is imported or switched on for this, and nobody's counter is set back.
"""

import sys
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class DeviceMemory:
    """Bytes on one device: at some moment, and the most so far."""

    device: str
    current: int
    peak: int


@dataclass(frozen=True)
class DeviceRun:
    """Bytes on one device over a stretch of time."""

    device: str
    before: int
    peak: int
    after: int
    exact: bool
    """Whether the device's own peak rose, so that it is of this stretch."""


def devices() -> tuple[DeviceMemory, ...]:
    """Read the counters of all accelerators; none before TensorFlow has set them up."""
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
        found = tensorflow.config.experimental.get_memory_info(device)
    except ValueError:  # a device without such a counter
        return None
    return DeviceMemory(device, found["current"], found["peak"])


def over(
    before: tuple[DeviceMemory, ...], after: tuple[DeviceMemory, ...]
) -> tuple[DeviceRun, ...]:
    """Say what each device did between two moments."""
    earlier = {each.device: each for each in before}
    runs = []
    for now in after:
        was = earlier.get(now.device, DeviceMemory(now.device, 0, 0))
        exact = now.peak > was.peak
        peak = now.peak if exact else max(was.current, now.current)
        runs.append(DeviceRun(now.device, was.current, peak, now.current, exact))
    return tuple(runs)
