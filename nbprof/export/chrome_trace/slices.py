"""Slices: an event of the trace for every step and every op run.

Most of an op run's text is that of many others: it is made once for each distinct one.
"""

import json
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from nbprof.columns import summed_columns
from nbprof.export.chrome_trace.times import format_micros, split_micros

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from nbprof._profile import Profile
    from nbprof.arrays import Rows
    from nbprof.export.chrome_trace.trace_lanes import Layout

ROWS_AT_ONCE = 50_000

WORDS = ["node", "input_shapes", "layer", "backward", "stack", "is_run"]
"""What an op run has in common with many others."""

OP = '%s,"ts":%d.%s,"dur":%d.%s,%s,"args":{"step":%d,"self_micros":%d.%s%s%s}}'


def step_lines(profile: "Profile", layout: "Layout") -> "Iterator[str]":
    """Describe the steps."""
    steps, slices = profile.steps, layout.steps
    columns = (steps["step"], steps["function"], steps["traced"])
    times = zip(slices.start.tolist(), slices.duration.tolist(), slices.lane.tolist(), strict=True)
    for step, function, traced, (start, duration, lane) in zip(*columns, times, strict=True):
        yield (
            f'{{"ph":"X","name":{json.dumps(function)},"cat":"step",'
            f'"ts":{format_micros(start)},"dur":{format_micros(duration)},{layout.lanes[lane].fields},'
            f'"args":{{"step":{step},"traced":{json.dumps(bool(traced))}}}}}'
        )


def op_lines(profile: "Profile", layout: "Layout") -> "Iterator[str]":
    """Describe the op runs."""
    events, ops = profile.events, layout.ops
    heads = _objects(_heads(profile))
    places = _objects([lane.fields for lane in layout.lanes])
    node, step = events["node"].to_numpy(), events["step"].to_numpy()
    words, distinct = _distinct(events, WORDS)
    word_texts = _objects(_word_texts(profile, distinct))
    names = [name for name in summed_columns() if name in events and name != "output_bytes"]
    numbers, distinct = _distinct(events, names)
    number_texts = _objects(_number_texts(names, distinct))
    duration, self_ns = ops.duration, events["self_ns"].to_numpy(np.int64)
    for begin in range(0, len(events), ROWS_AT_ONCE):
        some = slice(begin, begin + ROWS_AT_ONCE)
        columns = (
            heads[node[some]],
            *split_micros(ops.start[some]),
            *split_micros(duration[some]),
            places[ops.lane[some]],
            step[some],
            *split_micros(self_ns[some]),
            number_texts[numbers[some]],
            word_texts[words[some]],
        )
        yield from map(OP.__mod__, zip(*(column.tolist() for column in columns), strict=True))


def _objects(texts: list[str]) -> "npt.NDArray[np.object_]":
    return np.array(texts, dtype=object)


def _distinct(events: Any, names: list[str]) -> tuple["Rows", list[tuple[Any, ...]]]:
    """Number the distinct rows of these columns; give the number of each row, and the rows."""
    groups = events.groupby(names, dropna=False, sort=False)
    first = groups.head(1)
    rows = list(zip(*(first[name].tolist() for name in names), strict=True))
    return groups.ngroup().to_numpy(np.intp), rows


def _heads(profile: "Profile") -> list[str]:
    """Begin the events of each node."""
    nodes = profile.nodes
    return [
        f'{{"ph":"X","name":{json.dumps(name)},"cat":{json.dumps(op_type)}'
        for name, op_type in zip(nodes["name"], nodes["op_type"], strict=True)
    ]


def _number_texts(names: list[str], distinct: list[tuple[float, ...]]) -> list[str]:
    """Spell the numbers that are known."""
    return [
        "".join(
            f',"{name}":{number:.0f}'
            for name, number in zip(names, numbers, strict=True)
            if isfinite(number)
        )
        for numbers in distinct
    ]


def _word_texts(profile: "Profile", distinct: list[tuple[Any, ...]]) -> list[str]:
    """Spell what is known besides numbers."""
    op_types = _texts(profile.nodes["op_type"], "op_type")
    shapes = _texts(map(", ".join, profile.shapes["shapes"]), "input_shapes")
    layers = [*_texts(profile.layers["name"], "layer"), ""]  # row -1: none
    sources = _sources(profile)
    texts = []
    for node, shape, layer, backward, stack, is_run in distinct:
        texts.append(
            op_types[node]
            + ("" if is_run else ',"is_run":false')
            + shapes[shape]
            + layers[layer]
            + (',"backward":true' if backward else "")
            + sources.get(stack, "")
        )
    return texts


def _texts(values: Any, name: str) -> list[str]:
    """Spell an argument for each value; an empty text is no argument."""
    return [f',"{name}":{json.dumps(value)}' if value else "" for value in values]


def _sources(profile: "Profile") -> dict[int, str]:
    """Spell the innermost line of each stack that is the user's own."""
    users = profile.frames[~profile.frames["framework"].astype(bool)]
    columns = (users[name] for name in ("stack", "file", "line", "source"))
    return {
        stack: "".join((*_texts([f"{file}:{line}"], "line"), *_texts([source], "source")))
        for stack, file, line, source in zip(*columns, strict=True)
    }
