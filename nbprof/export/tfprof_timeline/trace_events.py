"""The events that tfprof's timelines are made of."""

from typing import Any

Event = dict[str, Any]


def process(name: str, pid: int) -> Event:
    """Name a process."""
    return {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}


def region(name: str, pid: int, tid: int, ts: float, dur: float, **args: str) -> Event:
    """Draw an op."""
    return {
        **{"ph": "X", "cat": "Op", "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur},
        "args": {"name": name, **args},
    }


def flow(phase: str, name: str, pid: int, tid: int, ts: float, number: int) -> Event:
    """Draw an end of an arrow."""
    return {
        **{"ph": phase, "cat": "DataFlow", "name": name, "pid": pid, "tid": tid, "ts": ts},
        "id": number,
    }


def counter(name: str, pid: int, ts: int, args: dict[str, int] | dict[str, str]) -> Event:
    """Plot a point."""
    return {
        **{"ph": "C", "cat": "Memory", "name": name, "pid": pid, "tid": 0, "ts": ts},
        "args": args,
    }


def micros(value: float) -> float:
    """Make a time whole where it is, as tfprof's are; it is never finer than a ns."""
    rounded = round(float(value), 3)
    return int(rounded) if rounded.is_integer() else rounded


def micros_of_ns(ns: int) -> float:
    """Give a time in µs, whole where it is."""
    return ns / 1000 if ns % 1000 else ns // 1000
