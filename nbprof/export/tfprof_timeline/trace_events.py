"""The events of tfprof's timelines."""

from typing import Any

Event = dict[str, Any]
Place = tuple[int, int]
"""Process and lane (`pid`, `tid`)."""


def process(name: str, pid: int) -> Event:
    """Return the event that names a process."""
    return {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}


def region(name: str, place: Place, times: tuple[float, float], **args: str) -> Event:
    """Return the event that draws an op, given its start and duration in µs."""
    (pid, tid), (start, duration) = place, times
    return {
        **{"ph": "X", "cat": "Op", "name": name, "pid": pid, "tid": tid},
        **{"ts": start, "dur": duration, "args": {"name": name, **args}},
    }


def flow(
    name: str, number: int, begin: tuple[Place, float], end: tuple[Place, float]
) -> list[Event]:
    """Return the two ends of an arrow, given place and time in µs of each."""
    return [
        {
            **{"ph": phase, "cat": "DataFlow", "name": name, "pid": pid, "tid": tid, "ts": moment},
            "id": number,
        }
        for phase, ((pid, tid), moment) in (("s", begin), ("t", end))
    ]


def counter(name: str, pid: int, ts: int, args: dict[str, int] | dict[str, str]) -> Event:
    """Return the event that plots a point at `ts` µs."""
    return {
        **{"ph": "C", "cat": "Memory", "name": name, "pid": pid, "tid": 0, "ts": ts},
        "args": args,
    }


def whole_if_possible(micros: float) -> float:
    """Return a time as an int if it is whole, as tfprof's are; it is rounded to ns."""
    rounded = round(float(micros), 3)
    return int(rounded) if rounded.is_integer() else rounded


def micros_of_ns(ns: int) -> float:
    """Return a time in µs, as an int if it is whole."""
    return ns / 1000 if ns % 1000 else ns // 1000
