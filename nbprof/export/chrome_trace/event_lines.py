"""Events of a Chrome trace, one line of JSON each: slices of steps and ops, counters of memory.

Op runs share most of their text with many others, so each distinct text is made once.
"""

import json
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from nbprof.columns import summed_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd

    from nbprof._profile import Profile
    from nbprof.arrays import Ints, Names
    from nbprof.export.chrome_trace.trace_lanes import Layout

    Objects = Names

ROWS_AT_ONCE = 50_000
"""Op runs formatted at once."""

WORDS = ["node", "input_shapes", "layer", "backward", "stack", "is_run"]
"""Event columns that determine an op run's arguments other than numbers."""

OP = '%s,"ts":%d.%s,"dur":%d.%s,%s,"args":{"step":%d,"self_micros":%d.%s%s%s}}'
COUNTER = '%s,"ts":%d.%s,"args":{"bytes":%d}}'

DECIMALS = np.array([f"{number:03d}" for number in range(1000)], dtype=object)
"""The decimals of each number of ns below one µs."""


def format_micros(ns: int) -> str:
    """Format a time in ns as µs with three decimals."""
    return f"{ns // 1000}.{ns % 1000:03d}"


def split_micros(ns: "Ints") -> "tuple[Ints, Objects]":
    """Split times in ns into whole µs and their three decimals."""
    whole, rest = np.divmod(ns, 1000)
    return whole, DECIMALS[rest]


def step_lines(profile: "Profile", layout: "Layout") -> "Iterator[str]":
    """Yield a slice for each step."""
    steps, slices = profile.steps, layout.steps
    columns = (steps["step"], steps["function"], steps["traced"])
    times = zip(slices.start.tolist(), slices.duration.tolist(), slices.lane.tolist(), strict=True)
    for step, function, traced, (start, duration, lane) in zip(*columns, times, strict=True):
        yield (
            f'{{"ph":"X","name":{json.dumps(function)},"cat":"step",'
            f'"ts":{format_micros(start)},"dur":{format_micros(duration)},{layout.lanes[lane].fields},'
            f'"args":{{"step":{step},"traced":{json.dumps(bool(traced))}}}}}'
        )


def span_lines(profile: "Profile", layout: "Layout") -> "Iterator[str]":
    """Yield a slice for each of the user's spans."""
    slices = layout.spans
    times = zip(slices.start.tolist(), slices.duration.tolist(), slices.lane.tolist(), strict=True)
    for name, (start, duration, lane) in zip(profile.spans["name"], times, strict=True):
        yield (
            f'{{"ph":"X","name":{json.dumps(name)},"cat":"span",'
            f'"ts":{format_micros(start)},"dur":{format_micros(duration)},'
            f'{layout.lanes[lane].fields},"args":{{}}}}'
        )


def count_lines(profile: "Profile", layout: "Layout") -> "Iterator[str]":
    """Yield the values of the user's counters, those that JSON can hold."""
    pid = layout.lanes[0].pid if layout.lanes else 1
    counts = profile.counts
    columns = (counts["name"], counts["start_ns"].tolist(), counts["value"].tolist())
    for name, ns, value in zip(*columns, strict=True):
        if isfinite(value):
            yield (
                f'{{"ph":"C","name":{json.dumps(name)},"pid":{pid},"tid":{pid},'
                f'"ts":{format_micros(ns - layout.zero_ns)},'
                f'"args":{{"value":{json.dumps(value)}}}}}'
            )


def op_lines(profile: "Profile", layout: "Layout") -> "Iterator[str]":
    """Yield a slice for each op run."""
    events, ops = profile.events, layout.ops
    heads = _objects(_heads(profile))[events["node"].to_numpy()]
    places = _objects([lane.fields for lane in layout.lanes])[ops.lane]
    metrics = [name for name in summed_columns() if name in events and name != "output_bytes"]
    numbers = _per_run(events, metrics, lambda distinct: _number_texts(metrics, distinct))
    words = _per_run(events, WORDS, lambda distinct: _word_texts(profile, distinct))
    times = (ops.start, ops.duration, events["self_ns"].to_numpy(np.int64))
    step = events["step"].to_numpy()
    for begin in range(0, len(events), ROWS_AT_ONCE):
        some = slice(begin, begin + ROWS_AT_ONCE)
        start, duration, own = (split_micros(time[some]) for time in times)
        columns = (
            *(heads[some], *start, *duration, places[some]),
            *(step[some], *own, numbers[some], words[some]),
        )
        yield from map(OP.__mod__, zip(*(column.tolist() for column in columns), strict=True))


def counter_lines(profile: "Profile", layout: "Layout") -> "Iterator[str]":
    """Yield the points of each device's live memory."""
    if not len(profile.allocations):
        return
    curve = profile.memory()
    ns = np.rint(curve["micros"].to_numpy(float) * 1e3).astype(np.int64) - layout.zero_ns
    heads = {device: _counter_head(device, layout) for device in curve["device"].unique()}
    columns = (
        curve["device"].map(heads),
        *split_micros(ns),
        curve["live_bytes"].to_numpy(np.int64),
    )
    yield from map(COUNTER.__mod__, zip(*(column.tolist() for column in columns), strict=True))


def _counter_head(device: str, layout: "Layout") -> str:
    """Return the JSON with which a device's counters begin, shown with the cell's own threads."""
    pid = layout.lanes[layout.ops.lane.min()].pid if len(layout.ops.lane) else 1
    return f'{{"ph":"C","name":{json.dumps(f"live memory of {device}")},"pid":{pid},"tid":{pid}'


def _objects(texts: list[str]) -> "Objects":
    return np.array(texts, dtype=object)


def _per_run(
    events: "pd.DataFrame",
    names: list[str],
    format_rows: "Callable[[list[tuple[Any, ...]]], list[str]]",
) -> "Objects":
    """Return a text for each run; `format_rows` makes those of the distinct rows."""
    groups = events.groupby(names, dropna=False, sort=False)
    first = groups.head(1)
    distinct = list(zip(*(first[name].tolist() for name in names), strict=True))
    return _objects(format_rows(distinct))[groups.ngroup().to_numpy(np.intp)]


def _heads(profile: "Profile") -> list[str]:
    """Return the JSON with which the events of each node begin."""
    nodes = profile.nodes
    return [
        f'{{"ph":"X","name":{json.dumps(name)},"cat":{json.dumps(op_type)}'
        for name, op_type in zip(nodes["name"], nodes["op_type"], strict=True)
    ]


def _number_texts(names: list[str], distinct: list[tuple[float, ...]]) -> list[str]:
    """Format the known numbers as arguments."""
    return [
        "".join(
            f',"{name}":{number:.0f}'
            for name, number in zip(names, numbers, strict=True)
            if isfinite(number)
        )
        for numbers in distinct
    ]


def _word_texts(profile: "Profile", distinct: list[tuple[Any, ...]]) -> list[str]:
    """Format all arguments that are not numbers."""
    op_types = _arguments("op_type", profile.nodes["op_type"])
    shapes = _arguments("input_shapes", map(", ".join, profile.shapes["shapes"]))
    layers = [*_arguments("layer", profile.layers["name"]), ""]  # row -1: no layer
    sources = _sources(profile)
    return [
        op_types[node]
        + ("" if is_run else ',"is_run":false')
        + shapes[shape]
        + layers[layer]
        + (',"backward":true' if backward else "")
        + sources.get(stack, "")
        for node, shape, layer, backward, stack, is_run in distinct
    ]


def _arguments(name: str, values: Any) -> list[str]:
    """Format an argument for each value, an empty text for an empty value."""
    return [f',"{name}":{json.dumps(value)}' if value else "" for value in values]


def _sources(profile: "Profile") -> dict[int, str]:
    """Format the innermost line of the user's own code in each stack."""
    users = profile.frames[~profile.frames["framework"].astype(bool)]
    columns = (users[name] for name in ("stack", "file", "line", "source"))
    return {
        stack: "".join((*_arguments("line", [f"{file}:{line}"]), *_arguments("source", [source])))
        for stack, file, line, source in zip(*columns, strict=True)
    }
