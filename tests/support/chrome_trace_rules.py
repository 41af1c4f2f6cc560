"""The rules of the Chrome trace event format, as the importers of Perfetto and Chrome apply them.

Times are compared in whole ns, so that float rounding hides nothing.
"""

import json
from collections import defaultdict
from decimal import Decimal

REQUIRED = {
    "M": {"ph", "name", "pid", "tid", "args"},
    "X": {"ph", "name", "cat", "ts", "dur", "pid", "tid", "args"},
    "C": {"ph", "name", "ts", "pid", "tid", "args"},
    "s": {"ph", "name", "cat", "id", "ts", "pid", "tid"},
    "f": {"ph", "name", "cat", "id", "ts", "pid", "tid", "bp"},
}
METADATA = {
    "process_name": {"name": str},
    "thread_name": {"name": str},
    "process_sort_index": {"sort_index": int},
    "thread_sort_index": {"sort_index": int},
}
TYPES = {
    **{"name": str, "cat": str, "ph": str, "bp": str, "args": dict},
    **{"pid": int, "tid": int, "id": int, "ts": Decimal, "dur": Decimal},
}


def refuse(constant):
    raise AssertionError(f"JSON has no {constant}")


def parse(content):
    """Parse the trace strictly, keeping decimals exact."""
    return json.loads(content, parse_float=Decimal, parse_constant=refuse)


def ns(micros):
    whole = micros * 1000
    assert whole == int(whole), f"{micros} is finer than a ns"
    return int(whole)


def of_phase(trace, phase):
    return [event for event in trace["traceEvents"] if event["ph"] == phase]


def lane(event):
    return event["pid"], event["tid"]


def slices(trace):
    """Return the slices of each lane as (start, end, event), in ns."""
    found = defaultdict(list)
    for event in of_phase(trace, "X"):
        start = ns(event["ts"])
        found[lane(event)].append((start, start + ns(event["dur"]), event))
    return found


def lane_names(trace):
    """Return the process and thread name of each lane."""
    named = [event for event in of_phase(trace, "M") if event["name"].endswith("_name")]
    processes = {e["pid"]: e["args"]["name"] for e in named if e["name"] == "process_name"}
    return {
        lane(e): (processes[e["pid"]], e["args"]["name"])
        for e in named
        if e["name"] == "thread_name"
    }


def check(content):
    """Check every rule; return the trace."""
    trace = parse(content)
    assert list(trace) == ["traceEvents", "otherData"]
    for event in trace["traceEvents"]:
        check_fields(event)
    check_lanes(trace)
    for found in slices(trace).values():
        check_nesting(found)
    check_flows(trace)
    return trace


def check_fields(event):
    assert set(event) == REQUIRED[event["ph"]]
    for name, value in event.items():
        assert type(value) is TYPES[name], f"{name} of {event}"
    assert event["pid"] > 0  # Perfetto treats thread 0 as the idle one
    assert event["tid"] > 0
    assert event.get("ts", 0) >= 0
    assert event.get("dur", 0) >= 0
    if event["ph"] == "M":
        assert {name: type(value) for name, value in event["args"].items()} == METADATA[
            event["name"]
        ]
    if event["ph"] == "C":
        (kind,) = (type(value) for value in event["args"].values())
        assert kind in (int, Decimal)
    if event["ph"] == "f":
        assert event["bp"] == "e"


def check_lanes(trace):
    names = lane_names(trace)
    tids = [tid for _, tid in names]
    assert len(tids) == len(set(tids))  # Perfetto identifies a thread by its tid alone
    assert set(slices(trace)) == set(names)
    assert {event["pid"] for event in of_phase(trace, "C")} <= {pid for pid, _ in names}
    for kind in ("process", "thread"):
        sort = [e for e in of_phase(trace, "M") if e["name"] == f"{kind}_sort_index"]
        indices = [e["args"]["sort_index"] for e in sort]
        assert indices == sorted(set(indices))


def check_nesting(found):
    open_ends = []
    for start, end, event in sorted(found, key=lambda slice_: (slice_[0], -slice_[1])):
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        assert not open_ends or end <= open_ends[-1], f"{event} outlasts what it is in"
        open_ends.append(end)


def check_flows(trace):
    starts, ends = of_phase(trace, "s"), of_phase(trace, "f")
    assert len({event["id"] for event in starts}) == len(starts)
    assert [event["id"] for event in starts] == [event["id"] for event in ends]
    for start, end in zip(starts, ends, strict=True):
        assert start["ts"] <= end["ts"]
        assert (start["name"], start["cat"]) == (end["name"], end["cat"])
    assert len(arrows(trace)) == len(starts)


def arrows(trace):
    """Return the two slices of each flow."""
    drawn = slices(trace)
    starts, ends = of_phase(trace, "s"), of_phase(trace, "f")
    return [
        (enclosing(drawn[lane(start)], start), enclosing(drawn[lane(end)], end))
        for start, end in zip(starts, ends, strict=True)
    ]


def enclosing(drawn, event):
    """Return the slice that an end of a flow is bound to, the innermost one open at that time."""
    moment = ns(event["ts"])
    holding = [(start, -end, found) for start, end, found in drawn if start <= moment <= end]
    assert holding, f"{event} is in no slice"
    return max(holding, key=lambda slice_: slice_[:2])[2]
