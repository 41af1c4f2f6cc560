"""Write `.speedscope.json`: every sample of every thread in order, for speedscope.app.

A frame is a line of a function, as py-spy writes it. Weights are whole ns; if the profile counts
samples without knowing how long they last, they are counts.
"""

import json
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from nbprof.export.python.sampled_stacks import (
    COUNT_NS,
    SampledStacks,
    check_samples,
    sampled_stacks,
)
from nbprof.export.python.texts import readable
from nbprof.export.python.threads import thread_names

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt
    import pandas as pd

    from nbprof._profile import Profile

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
AT_ONCE = 50_000
"""Samples joined before each write."""


def write(profile: "Profile", file: BinaryIO) -> None:
    """Write the profile part by part, with the text of each distinct stack made once."""
    check_samples(profile, ".speedscope.json")
    stacks = sampled_stacks(profile)
    head = {
        "$schema": SCHEMA,
        "exporter": "nbprof",
        "name": readable(profile.headline),
        "activeProfileIndex": 0,
        "shared": {"frames": _frames(stacks.frames)},
    }
    file.write(f'{json.dumps(head)[:-1]}, "profiles": ['.encode("ascii"))
    texts = _texts(stacks)
    for place, (number, name) in enumerate(thread_names(profile).items()):
        file.write(b", " if place else b"")
        samples = stacks.samples[stacks.samples["thread"] == number]
        _write_thread(file, samples, texts, name, timed=profile.recording.timed)
    file.write(b"]}\n")


def _frames(frames: "pd.DataFrame") -> list[dict[str, str | int]]:
    listed = []
    for file, line, function in zip(
        frames["file"], frames["line"], frames["function"], strict=True
    ):
        frame: dict[str, str | int] = {"name": readable(function)}
        if file:
            frame["file"] = readable(file)
        if line > 0:
            frame["line"] = int(line)
        listed.append(frame)
    return listed


def _texts(stacks: SampledStacks) -> "npt.NDArray[np.object_]":
    """Return the JSON of each stack; the last one, at NONE, is that of no frames."""
    bounds = np.searchsorted(stacks.stack, np.arange(len(stacks.ns) + 1)).tolist()
    frames = [*map(str, stacks.frame.tolist())]
    texts = [
        f"[{','.join(frames[bounds[row] : bounds[row + 1]])}]" for row in range(len(stacks.ns))
    ]
    return np.array([*texts, "[]"], dtype=object)


def _write_thread(
    file: BinaryIO,
    samples: "pd.DataFrame",
    texts: "npt.NDArray[np.object_]",
    name: str,
    *,
    timed: bool,
) -> None:
    start, ns = (samples[column].to_numpy(np.int64) for column in ("start_ns", "duration_ns"))
    weights = ns if timed else ns / COUNT_NS
    begin = (int(start[0]) if timed else int(start[0]) / COUNT_NS) if len(start) else 0
    about = {
        "type": "sampled",
        "name": readable(name),
        "unit": "nanoseconds" if timed else "none",
        "startValue": begin,
        "endValue": begin + weights.sum().item(),
    }
    file.write(f'{json.dumps(about)[:-1]}, "samples": ['.encode("ascii"))
    _write_joined(file, texts[samples["stack"].to_numpy(np.intp)])
    file.write(b'], "weights": [')
    _write_joined(file, weights)
    file.write(b"]}")


def _write_joined(file: BinaryIO, values: "npt.NDArray[np.generic]") -> None:
    for begin in range(0, len(values), AT_ONCE):
        some: Iterable[object] = values[begin : begin + AT_ONCE].tolist()
        file.write((("," if begin else "") + ",".join(map(str, some))).encode("ascii"))
