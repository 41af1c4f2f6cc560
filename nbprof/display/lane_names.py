"""The lanes of a timeline: which threads and streams, in which order, under which names."""

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbprof._profile import Profile
    from nbprof.arrays import Floats

NUMBER = re.compile(r"/-?\d{6,}$")
"""The number that TensorFlow appends to the names of its threads."""
STREAM = re.compile(r"Stream #(\d+)(?:\((.*)\))?")
"""A stream of a GPU, with what it did: `Stream #7(Compute,MemcpyD2D)`."""
PLACE = re.compile(r"^.*/(?:device:|host:|task:\d+/(?=\w))|^/")
"""The part of a device's name that identifies its job and task."""
CELL = "the cell's thread"
"""The name of the lane that ran the cell itself."""


def order(profile: "Profile", busy: "Floats", most: int) -> list[int]:
    """Return the `most` busiest threads, grouped by device.

    The cell's device comes first, and on it the cell's own thread.
    """
    ran = [row for row in np.argsort(-busy, kind="stable").tolist() if busy[row] > 0]
    own = _is_cell(profile)
    chosen = sorted(ran[:most])
    devices = _devices(profile)
    cell_devices = {device for device, is_cell in zip(devices, own, strict=True) if is_cell}
    first = {device: row for row, device in reversed([*enumerate(devices)])}

    def place(row: int) -> tuple[bool, int, bool]:
        return devices[row] not in cell_devices, first[devices[row]], not own[row]

    return sorted(chosen, key=place)


def names(profile: "Profile", threads: list[int]) -> list[str]:
    """Name lanes by thread, with the device and the host only where they differ."""
    table, own, devices = profile.threads, _is_cell(profile), _devices(profile)
    shown = [CELL if own[row] else _short(table["name"].iloc[row]) for row in threads]
    places = [PLACE.sub("", devices[row]) for row in threads]
    if len(set(places)) > 1:
        shown = [
            name if name == place else f"{place} {name}"
            for place, name in zip(places, shown, strict=True)
        ]
    if len(profile.machines) > 1:
        hosts = (table["host"].iloc[row] for row in threads)
        shown = [f"{host} {name}" for host, name in zip(hosts, shown, strict=True)]
    return list(_numbered(shown))


def _short(name: str) -> str:
    """Return a thread's name without its long number, and a stream's as `#7 Compute`."""
    stream = STREAM.fullmatch(name)
    if stream:
        return f"#{stream[1]} {(stream[2] or '').replace(',', ', ')}".rstrip()
    return PLACE.sub("", NUMBER.sub("", name))


def _numbered(texts: list[str]) -> "Iterable[str]":
    """Number equal names."""
    times, seen = Counter(texts), Counter[str]()
    for text in texts:
        seen[text] += 1
        yield f"{text} {seen[text]}" if times[text] > 1 else text


def _devices(profile: "Profile") -> list[str]:
    """Return the device of each thread, with its host if there are several."""
    devices: list[str] = profile.threads["device"].tolist()
    if len(profile.machines) < 2:
        return devices
    hosts = profile.threads["host"]
    return [f"{host} {device}" for host, device in zip(hosts, devices, strict=True)]


def _is_cell(profile: "Profile") -> list[bool]:
    """Return whether each thread ran the cell; for tfprof's inputs that is unknown."""
    table = profile.threads
    own: list[bool] = table["is_cell"].tolist() if "is_cell" in table else [False] * len(table)
    return own
