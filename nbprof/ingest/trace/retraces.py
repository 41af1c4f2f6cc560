"""Traces of tf.functions: which calls built a graph, how long it took, and why they retraced."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from nbprof.arrays import NONE, Ints, Rows, distinct
from nbprof.ingest.trace.function_names import short_name, trace_number
from nbprof.ingest.trace.work.event_kinds import Kind
from nbprof.lazy_tables import empty
from nbprof.units import format_seconds

if TYPE_CHECKING:
    from nbprof.ingest.trace.work.host_events import HostEvents
    from nbprof.ingest.trace.work.steps import Steps

Signatures = Mapping[str, Mapping[str, str]]

MOST_NOTES = 3
"""Maximum number of retraced functions to note."""
COLUMNS = {
    **{"function": "object", "count": "int64", "step": "int64"},
    **{"start_micros": "float64", "micros": "float64", "changed": "object"},
}
NO_TRACES = empty(**COLUMNS)


def find_traces(
    host: "HostEvents", steps: "Steps", signatures: Signatures, origin_ns: int
) -> tuple[Any, tuple[str, ...]]:
    """Return the table of calls that built a graph, and notes on the functions they retraced."""
    call = _traced_calls(host)
    if not len(call):
        return NO_TRACES, ()
    table = _trace_table(host, call, signatures).assign(
        step=steps.step_of_event[call].astype(np.int64),
        start_micros=host.start[call] / 1e6 + origin_ns / 1e3,
    )[list(COLUMNS)]
    return table, _notes(table)


def _traced_calls(host: "HostEvents") -> Rows:
    call = np.flatnonzero(host.of(Kind.CALL))
    strings = host.space.strings
    texts, which = distinct(host.text("tf_function_call")[call], len(strings))
    traced = np.array([strings[text].startswith(b"traced") for text in texts.tolist()], dtype=bool)
    found: Rows = call[traced[which]]
    return found[np.argsort(host.start[found], kind="stable")]


def _trace_table(host: "HostEvents", call: Rows, signatures: Signatures) -> pd.DataFrame:
    """List the function that each call traced, the time, and what changed since the last trace."""
    strings = host.space.strings
    count = host.number("tracing_count", 1)[call]
    functions = _functions_of(host, call)
    name = host.space.name[host.row[call]]
    return pd.DataFrame(
        {
            "function": [strings[text].decode("utf-8", "replace") for text in name],
            "count": count,
            "micros": _building_ps(host, call) / 1e6,
            "changed": [
                _what_changed(signatures, function) if number > 1 else ""
                for number, function in zip(count.tolist(), functions, strict=True)
            ],
        }
    )


def _building_ps(host: "HostEvents", call: Rows) -> Ints:
    """Return the time in ps that each call spent building its graph, nested graphs included."""
    building = np.flatnonzero(host.of(Kind.BUILDING))
    own_call = host.inside_of(Kind.CALL, event=building)
    building, own_call = building[own_call != NONE], own_call[own_call != NONE]
    spent = np.zeros(len(host.row) + 1, dtype=np.int64)
    np.add.at(spent, own_call, host.duration[building])
    return spent[call]


def _functions_of(host: "HostEvents", call: Rows) -> list[str]:
    """Return the function that each call finally ran, empty if it ran none itself."""
    ran = np.flatnonzero(host.of(Kind.EAGER) & (host.number("is_func", 0) == 1))
    own_call = host.inside_of(Kind.CALL, event=ran)
    names = dict(zip(own_call.tolist(), host.text("eager_op")[ran].tolist(), strict=True))
    strings = host.space.strings
    return [strings[names.get(event, 0)].decode("utf-8", "replace") for event in call.tolist()]


def _what_changed(signatures: Signatures, function: str) -> str:
    """Describe how a trace's signature differs from the previous trace of the same function."""
    new = signatures.get(function)
    earlier = [
        (trace_number(name), name)
        for name in signatures
        if short_name(name) == short_name(function) and trace_number(name) < trace_number(function)
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


def _notes(traces: pd.DataFrame) -> tuple[str, ...]:
    """Note the functions that were traced again, the longest first.

    A single second trace for the same arguments is normal: TensorFlow traces a function that
    creates variables twice, as in every first fit of a Keras model.
    """
    again = traces[traces["count"] > 1]
    notes = []
    for function, rows in again.groupby("function", sort=False):
        if len(rows) == 1 and not rows["changed"].any():
            continue
        times = f"{len(rows)} times" if len(rows) > 1 else "once"
        took = format_seconds(int(rows["micros"].sum() * 1000))
        why = next((f", most recently for {text}" for text in rows["changed"][::-1] if text), "")
        notes.append((-rows["micros"].sum(), f"{function} was retraced {times} ({took}){why}"))
    return tuple(note for _, note in sorted(notes)[:MOST_NOTES])
