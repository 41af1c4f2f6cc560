"""Turn a trace file into per-op figures with memory: nbprof, TensorFlow, xprof and a plain loop.

Ratios are to TensorFlow's time for the same figures, its table of ops plus its memory profile.
TensorFlow and xprof cache their result beside the trace, so every timed call gets a fresh copy in a
folder of its own.
"""

import json
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from ways import TOP, compare

TITLE = "Reading a trace"
OURS = "nbprof.load(…).op(…).frame"
COLUMNS = "bytes,peak_bytes,residual_bytes,micros,occurrence"
OP_STATS, MEMORY = "framework_op_stats", "memory_profile"
PEER = (f"TensorFlow {OP_STATS}", f"TensorFlow {MEMORY}")
MIN_FREE_BYTES = 8e9
"""Free memory in bytes required for the peers to read the largest trace; they took 4e9."""
LARGEST = "5m"
WARM_UP = TOP / "tests" / "data" / "traces" / "small.xplane.pb"
"""A trace short enough that reading it hardly changes the memory of the process."""


def measure(settings):
    rows = []
    for name in settings.sizes:
        path = settings.trace(name)
        events = json.loads(path.with_suffix(".json").read_text())["events"]
        size = path.stat().st_size / 1e6
        found = _compare(path, name == LARGEST, settings.rounds)
        peers = [found.get(way) for way in PEER]
        both = sum(peer["seconds"] for peer in peers) if all(peers) else None
        rows += [
            {
                "trace": name,
                "events": events,
                "file_megabytes": size,
                "way": way,
                "ratio": figures["seconds"] / both if both else None,
                "seconds": figures["seconds"],
                "events_per_second": events / figures["seconds"],
                "megabytes": figures["megabytes"],
                "of_file": figures["megabytes"] / size,
            }
            for way, figures in found.items()
            if figures
        ]
    return rows


def _compare(path, large, rounds):
    """Compare all ways; on the largest trace the slow peers run once."""
    if not large:
        return compare("reading_traces", list(WAYS), path, WARM_UP, rounds)
    peers = [way for way in WAYS if way != OURS] if _free_memory() > MIN_FREE_BYTES else []
    found = compare("reading_traces", peers, path, WARM_UP, 1)
    return found | compare("reading_traces", [OURS], path, WARM_UP, rounds)


def growth(rows):
    """Return the growth exponent of each way: 1 if twice the events take twice the time."""
    found = []
    for way in WAYS:
        of_way = [row for row in rows if row["way"] == way and row["events"] > 50_000]
        if len(of_way) > 1:
            events, seconds = (
                np.log([row[key] for row in of_way]) for key in ("events", "seconds")
            )
            found.append({"way": way, "exponent": float(np.polyfit(events, seconds, 1)[0])})
    return found


def _free_memory():
    """Return the bytes of memory available on Linux, infinity elsewhere."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return float("inf")
    (kilobytes,) = (line.split()[1] for line in lines if line.startswith("MemAvailable:"))
    return int(kilobytes) * 1024


@contextmanager
def fresh_copy(path):
    with tempfile.TemporaryDirectory() as folder:
        yield Path(shutil.copy(path, Path(folder) / "host.xplane.pb"))


def _tensorflow(tool):
    @contextmanager
    def way(path):
        from tensorflow.python.profiler.internal import _pywrap_profiler_plugin

        with fresh_copy(path) as copy:
            yield lambda: _pywrap_profiler_plugin.xspace_to_tools_data([str(copy)], tool, {})

    return way


def _xprof(tool):
    @contextmanager
    def way(path):
        from xprof.convert import raw_to_tool_data

        with fresh_copy(path) as copy:
            yield lambda: raw_to_tool_data.xspace_to_tool_data([str(copy)], tool, {})

    return way


@contextmanager
def _protobuf_loop(path):
    """Sum runs, time and bytes of each op in a loop over protobuf's message objects."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    def loop():
        space = xplane_pb2.XSpace.FromString(Path(path).read_bytes())
        runs, time, requested = {}, {}, {}
        for plane in space.planes:
            names = {key: entry.name for key, entry in plane.event_metadata.items()}
            stats = {key: entry.name for key, entry in plane.stat_metadata.items()}
            for line in plane.lines:
                for event in line.events:
                    name = names[event.metadata_id]
                    if name == "MemoryAllocation":
                        given = {stats[stat.metadata_id]: stat for stat in event.stats}
                        if "tf_op" in given:
                            op = given["tf_op"].ref_value
                            requested.setdefault(op, 0)
                            requested[op] += given["requested_bytes"].int64_value
                    elif ":" in name:
                        runs[name] = runs.get(name, 0) + 1
                        time[name] = time.get(name, 0) + event.duration_ps
        return runs, time, requested

    yield loop


@contextmanager
def _nbprof(path):
    import nbprof

    with fresh_copy(path) as copy:
        yield lambda: nbprof.load(copy).op(select=COLUMNS).frame


WAYS = {
    f"TensorFlow {OP_STATS}": _tensorflow(OP_STATS),
    f"TensorFlow {MEMORY}": _tensorflow(MEMORY),
    f"xprof {OP_STATS}": _xprof(OP_STATS),
    f"xprof {MEMORY}": _xprof(MEMORY),
    "protobuf, a Python loop": _protobuf_loop,
    OURS: _nbprof,
}
