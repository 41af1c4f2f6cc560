"""Traces of tf.functions: which call made TensorFlow build a graph anew, how long, and why."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from nbprof.arrays import NONE, Rows
from nbprof.distinct_values import distinct
from nbprof.ingest.trace.event_kinds import Kind
from nbprof.ingest.trace.node_names import short_name
from nbprof.lazy_tables import empty
from nbprof.units import format_seconds

if TYPE_CHECKING:
    from nbprof.ingest.trace.host_events import HostEvents
    from nbprof.ingest.trace.steps import Steps

Signatures = Mapping[str, Mapping[str, str]]

_NUMBER = re.compile(r".*_(\d+)")
MOST_NOTES = 3
NO_TRACES = empty(
    **{"function": "object", "count": "int64", "step": "int64"},
    **{"start_micros": "float64", "micros": "float64", "changed": "object"},
)


def find_traces(
    host: "HostEvents", steps: "Steps", signatures: Signatures, origin_ns: int
) -> tuple[Any, tuple[str, ...]]:
    """Make the table of the calls that built a graph, and say which did so again."""
    call = _traced_calls(host)
    if not len(call):
        return NO_TRACES, ()
    table = _trace_table(host, steps, call, signatures, origin_ns)
    return table, _notes(table)


def _traced_calls(host: "HostEvents") -> Rows:
    call = np.flatnonzero(host.of(Kind.CALL))
    strings = host.space.strings
    told, which = distinct(host.text("tf_function_call")[call], len(strings))
    traced = np.array([strings[text].startswith(b"traced") for text in told.tolist()], dtype=bool)
    found: Rows = call[traced[which]]
    return found[np.argsort(host.start[found], kind="stable")]


def _trace_table(
    host: "HostEvents", steps: "Steps", call: Rows, signatures: Signatures, origin_ns: int
) -> pd.DataFrame:
    """List the calls that built a graph, in order of time."""
    strings = host.space.strings
    count = host.number("tracing_count", 1)[call]
    made = _functions_of(host, call)
    name = host.space.name[host.row[call]]
    return pd.DataFrame(
        {
            "function": [strings[text].decode("utf-8", "replace") for text in name],
            "count": count,
            "step": steps.step_of_event[call].astype(np.int64),
            "start_micros": host.start[call] / 1e6 + origin_ns / 1e3,
            "micros": _building(host, call) / 1e6,
            "changed": [
                _what_changed(signatures, function) if number > 1 else ""
                for number, function in zip(count.tolist(), made, strict=True)
            ],
        }
    )


def _building(host: "HostEvents", call: Rows) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """Add up the time that each of these calls spent on its own graph, those inside included."""
    building = np.flatnonzero(host.of(Kind.BUILDING))
    own_call = host.inside_of(Kind.CALL, event=building)
    building, own_call = building[own_call != NONE], own_call[own_call != NONE]
    spent = np.zeros(len(host.row) + 1, dtype=np.int64)
    np.add.at(spent, own_call, host.duration[building])
    return spent[call]


def _functions_of(host: "HostEvents", call: Rows) -> list[str]:
    """Name the function that each call ran in the end, an empty text where it ran none itself."""
    ran = np.flatnonzero(host.of(Kind.EAGER) & (host.number("is_func", 0) == 1))
    own_call = host.inside_of(Kind.CALL, event=ran)
    names = dict(zip(own_call.tolist(), host.text("eager_op")[ran].tolist(), strict=True))
    strings = host.space.strings
    return [strings[names.get(event, 0)].decode("utf-8", "replace") for event in call.tolist()]


def _what_changed(signatures: Signatures, function: str) -> str:
    """Compare a trace with the one of the same function before it."""
    new = signatures.get(function)
    earlier = [
        (_number(name), name)
        for name in signatures
        if short_name(name) == short_name(function) and _number(name) < _number(function)
    ]
    if new is None or not earlier:
        return ""
    old = signatures[max(earlier)[1]]
    changes = [
        f"{name}: {old.get(name, 'not given')} → {kind}"
        for name, kind in new.items()
        if old.get(name) != kind
    ]
    return "; ".join(changes)


def _number(function: str) -> int:
    found = _NUMBER.fullmatch(function)
    return int(found[1]) if found else 0


def _notes(traces: pd.DataFrame) -> tuple[str, ...]:
    """Say which functions were traced again, the longest first.

    A second trace for no new arguments is no news: TensorFlow traces a function that makes
    variables twice, and every first fit of a Keras model does.
    """
    again = traces[traces["count"] > 1]
    notes = []
    for function, rows in again.groupby("function", sort=False):
        if len(rows) == 1 and not rows["changed"].any():
            continue
        times = f"{len(rows)} times" if len(rows) > 1 else "once"
        took = format_seconds(int(rows["micros"].sum() * 1000))
        why = next((f", the last time for {text}" for text in rows["changed"][::-1] if text), "")
        notes.append((-rows["micros"].sum(), f"{function} was traced anew {times} ({took}){why}"))
    return tuple(note for _, note in sorted(notes)[:MOST_NOTES])
