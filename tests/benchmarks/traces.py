"""Record the traces to read: warm Keras fits under nbprof's switches.

`cnn359k` has allocations but only the op runs that TensorFlow records by default, so its share of
allocations is larger. The long traces repeat the 100k one as a longer fit would continue it: later,
and with new addresses, steps and call ids, so that every allocation meets its own release.

`python traces.py FOLDER 100k 5m` writes those traces into a folder.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from tensorflow_cells import small_cnn, tensorflow_trace

sys.path.append(str(Path(__file__).parents[1]))


class Recipe(NamedTuple):
    """How to record a trace: steps of the fit, repetitions, and whether to record every run."""

    steps: int
    times: int = 1
    every_run: bool = True


TRACES = {
    "10k": Recipe(8),
    "100k": Recipe(82),
    "cnn359k": Recipe(658, every_run=False),
    "1m": Recipe(82, times=10),
    "5m": Recipe(82, times=50),
}
"""A step has about 1,195 events with every run recorded, else 545; 800 precede the first step."""

MAX_TIMES = 63
"""Maximum number of repetitions: each adds 1 to all addresses, which are multiples of 64."""

FIRST_RANDOM_ID = 2**32
"""Ids below this come from a counter; ids above it are random."""

IDS = frozenset(("id", "parent_id", "step_id", "_p", "_c"))
"""Stats that link events to each other."""


def record(steps, every_run):
    """Return the bytes of a trace of a warm fit."""
    with tempfile.TemporaryDirectory() as folder:
        tensorflow_trace(small_cnn(steps), folder, every_run=every_run)
        (path,) = Path(folder).glob("**/*.xplane.pb")
        return path.read_bytes()


def repeat(trace, times):
    """Return the trace of a fit that does the work of this one `times` times."""
    from support.xspace_bytes import payload
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    if times > MAX_TIMES:
        raise ValueError(f"addresses can be shifted at most {MAX_TIMES} times, not {times}")
    space = xplane_pb2.XSpace.FromString(trace)
    span = 1_000_000 + max(
        event.offset_ps + event.duration_ps
        for plane in space.planes
        for line in plane.lines
        for event in line.events
    )
    return b"".join(payload(1, _plane(plane, times, span)) for plane in space.planes)


def _plane(plane, times, span):
    from support.xspace_bytes import payload

    names = {key: entry.name for key, entry in plane.stat_metadata.items()}
    for stat in plane.stats:
        if names[stat.metadata_id] == "profile_stop_time":
            stat.uint64_value += (times - 1) * span // 1000
    events = [list(line.events) for line in plane.lines]
    written = [bytearray() for _ in events]
    numbers = [number for line in events for event in line for number in _numbers(event, names)]
    for _ in range(times):
        for line, events_written in zip(plane.lines, written, strict=True):
            events_written += type(line)(events=line.events).SerializeToString()
        for line in events:
            for event in line:
                event.offset_ps += span
        for stat, kind, further in numbers:
            setattr(stat, kind, getattr(stat, kind) + further)
    lines = [
        payload(3, _around(line, ("id", "name", "timestamp_ns"), "events", events_written))
        for line, events_written in zip(plane.lines, written, strict=True)
    ]
    return _around(plane, ("id", "name"), "lines", b"".join(lines))


def _numbers(event, names):
    """Yield the stats of an event that change with each repetition, and by how much."""
    for stat in event.stats:
        name = names[stat.metadata_id]
        kind = stat.WhichOneof("value")
        if name == "addr":
            yield stat, kind, 1
        elif name in IDS:
            value = getattr(stat, kind)
            if FIRST_RANDOM_ID < abs(value) < 2**63 - MAX_TIMES:
                yield stat, kind, 1
            elif name in ("_p", "_c") and 0 < value < FIRST_RANDOM_ID:
                yield stat, kind, 1 << 20


def _around(message, before, many, written):
    """Serialize a message in field order, with `written` in place of its field `many`."""
    first = type(message)(**{field: getattr(message, field) for field in before})
    rest = type(message)()
    rest.CopyFrom(message)
    for field in (*before, many):
        rest.ClearField(field)
    return first.SerializeToString() + bytes(written) + rest.SerializeToString()


def count_events(trace):
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space = xplane_pb2.XSpace.FromString(trace)
    return sum(len(line.events) for plane in space.planes for line in plane.lines)


def make(folder, names):
    """Write the traces that the folder lacks, and the number of events of each."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    recorded = {}
    for name in names:
        path = folder / f"{name}.xplane.pb"
        if path.with_suffix(".json").exists():
            continue
        steps, times, every_run = TRACES[name]
        if steps not in recorded:
            recorded[steps] = record(steps, every_run)
        trace = recorded[steps] if times == 1 else repeat(recorded[steps], times)
        path.write_bytes(trace)
        events = {"events": times * count_events(recorded[steps])}
        path.with_suffix(".json").write_text(json.dumps(events))


if __name__ == "__main__":
    make(sys.argv[1], sys.argv[2:] or TRACES)
