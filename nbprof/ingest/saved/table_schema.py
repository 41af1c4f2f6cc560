"""What the columns of a Profile's tables hold."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from nbprof.columns import summed_columns


class Pointer(NamedTuple):
    """What the numbers in a column refer to: rows of a table, counted from 0."""

    table: str
    column: str = ""
    """If given, the numbers are values of this column, not row numbers."""
    optional: bool = True
    """Whether -1 is allowed and means none."""
    earlier: bool = False
    """Whether a row may refer to earlier rows only, so that nothing contains itself."""


POINTERS = {
    "nodes": {"layer": Pointer("layers")},
    "events": {
        "node": Pointer("nodes", optional=False),
        "step": Pointer("steps", "step"),
        "thread": Pointer("threads", optional=False),
        "layer": Pointer("layers", optional=False),
        "call": Pointer("dispatches"),
        "input_shapes": Pointer("shapes", optional=False),
        "output_shapes": Pointer("shapes", optional=False),
    },
    "layers": {"parent": Pointer("layers", earlier=True)},
    "spans": {"parent": Pointer("spans", earlier=True)},
    "inputs": {"node": Pointer("nodes", optional=False), "source": Pointer("nodes")},
    "allocations": {"event": Pointer("events"), "node": Pointer("nodes")},
    "values": {"node": Pointer("nodes", optional=False)},
    "allocator": {"event": Pointer("events", optional=False)},
    "calls": {
        "caller": Pointer("functions", optional=False),
        "function": Pointer("functions", optional=False),
    },
    "dispatches": {"thread": Pointer("threads_of_python", optional=False)},
}
"""Columns that refer to tables, by table; not `stack`, since a stack may have no frames."""

# What a column may hold, in the words of errors.
WHOLE, NUMBERS, TRUTH = "whole numbers", "numbers", "truth values"
COUNTS = "truth values or counts of them"
TEXT, TEXTS = "texts", "tuples of texts"

_HELD = {
    "nodes": {
        TEXT: "name op_type kernel device data_format shape", NUMBERS: "params float_ops",
        TRUTH: "trainable has_stack fused", TEXTS: "types",
    },
    "events": {
        WHOLE: "start_ns duration_ns self_ns stack", TRUTH: "accelerator backward",
        COUNTS: "is_run",  # added-up events have counts
        NUMBERS: " ".join(summed_columns()),
    },
    "layers": {TEXT: "name kind"},
    "inputs": {WHOLE: "position", TEXT: "shape"},
    "shapes": {TEXTS: "shapes"},
    "allocations": {
        WHOLE: "start_ns bytes", NUMBERS: "end_ns", TEXT: "device region shape dtype host",
    },
    "logged": {TEXTS: "types", NUMBERS: "float_ops", TRUTH: "has_stack"},
    "values": {TEXT: "text"},
    "allocator": {TEXT: "kind", WHOLE: "micros bytes"},
    "frames": {
        WHOLE: "stack line", TEXT: "file function source", TRUTH: "framework",
        NUMBERS: "function_line",
    },
    "cells": {WHOLE: "line", TEXT: "file text"},
    "threads": {TEXT: "name device host", TRUTH: "is_cell"},
    "steps": {
        WHOLE: "step", NUMBERS: "start_micros micros", TEXT: "function",
        TRUTH: "traced in_detail",
    },
    "traces": {WHOLE: "count step", NUMBERS: "start_micros micros", TEXT: "function changed host"},
    "spent": {TEXT: "category host", WHOLE: "ns"},
    "samples": {WHOLE: "start_ns resident_bytes peak_bytes", TRUTH: "gap"},
    "samples_of_python": {WHOLE: "start_ns duration_ns thread stack held_ns"},
    "threads_of_python": {TEXT: "name"},
    "dispatches": {WHOLE: "start_ns end_ns watch_ns stack", TEXT: "what"},
    "functions": {
        TEXT: "file function", WHOLE: "line", TRUTH: "framework",
        NUMBERS: "calls primitive_calls self_ns total_ns",
    },
    "calls": {NUMBERS: "calls primitive_calls self_ns total_ns"},
    "lines": {
        TEXT: "file function called source", WHOLE: "line hits calls", NUMBERS: "self_ns",
    },
    "sites": {
        TEXT: "file function source", WHOLE: "line", TRUTH: "framework", TEXTS: "inner",
        NUMBERS: "left_bytes left_count peak_bytes before_bytes",
    },
    "spans": {TEXT: "name thread_name", WHOLE: "start_ns duration_ns thread"},
    "counts": {TEXT: "name", WHOLE: "start_ns", NUMBERS: "value"},
    "statements": {WHOLE: "start_ns line"},
    "machines": {
        TEXT: "host", WHOLE: "start_ns wall_ns slowest_step", NUMBERS: "slowest_step_micros",
    },
}  # fmt: skip
KINDS = {
    table: {column: kind for kind, columns in held.items() for column in columns.split()}
    for table, held in _HELD.items()
}
"""What all other columns hold, by table and column."""


def kinds_of(table: str) -> dict[str, str]:
    """Return what the columns of a table hold, including declared ones that files may lack."""
    declared = dict.fromkeys(summed_columns(), NUMBERS) if table == "events" else {}
    return declared | KINDS[table]


_OPTIONAL = {
    "events": {*summed_columns(), "call"},
    "samples_of_python": {"held_ns"},
    "nodes": {"data_format", "float_ops", "fused", "has_stack", "kernel", "trainable", "types"},
    "allocations": {"host"},
    "frames": {"function_line"},
    "threads": {"is_cell", "host"},
    "steps": {"in_detail"},
    "traces": {"host"},
    "spent": {"host"},
}
"""Columns that only some profiles have; all others are required."""
_REQUIRED_UNLESS_TFPROF = {"nodes": {"types"}, "threads": {"is_cell"}}
"""Optional columns that are required in every profile but tfprof's."""
_REQUIRED_WITH_HOSTS = {"threads": {"host"}, "allocations": {"host"}}
"""Optional columns that are required in profiles of hosts."""


def missing_column(tables: Mapping[str, Collection[str]], is_tfprof: bool, has_hosts: bool) -> str:
    """Return the first required column that these tables lack, empty if none is missing."""
    for table, columns in tables.items():
        required = {*KINDS[table], *POINTERS.get(table, ())} - _OPTIONAL.get(table, set())
        required |= set() if is_tfprof else _REQUIRED_UNLESS_TFPROF.get(table, set())
        required |= _REQUIRED_WITH_HOSTS.get(table, set()) if has_hosts else set()
        for column in sorted(required.difference(columns)):
            return f"{table}.{column}"
    return ""
