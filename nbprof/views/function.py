"""The function view: every function that was called, and below it those that called it."""

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import NONE, Rows
from nbprof.views import tree
from nbprof.views.rows_without_ops import RULES, no_ops
from nbprof.views.sampled_functions import note_on_samples
from nbprof.views.tree_nesting import Nesting

if TYPE_CHECKING:
    import pandas as pd

    from nbprof._profile import Profile
    from nbprof.options import ViewOptions
    from nbprof.views.measure import Metrics
    from nbprof.views.view import View

CALLED_BY = "<- "
"""What the name of a row begins with that says who called the function above."""
COUNTED = ("calls", "primitive_calls")


def view(profile: "Profile", options: "ViewOptions") -> "View":
    """List the functions with their callers."""
    shown = tree.view("function", _function_tree(profile, options), profile, options)
    return replace(shown, notes=shown.notes + note_on_samples(profile, labels(profile.functions)))


def _function_tree(profile: "Profile", options: "ViewOptions") -> tree.Tree:
    functions = profile.functions
    calls = profile.calls.sort_values("function", kind="stable")
    names = labels(functions)
    # A function's callers come right after it.
    function = np.append(np.arange(len(functions)), calls["function"])
    order = np.argsort(function, kind="stable")
    level = np.append(np.zeros(len(functions)), np.ones(len(calls))).astype(np.intp)[order]
    callers = [f"{CALLED_BY}{names[row]}" for row in calls["caller"].tolist()]
    metrics, no_labels = no_ops(profile, options, len(order))
    own, totals = _numbers(functions, calls, order)
    return tree.Tree(
        names=np.array([*names, *callers], dtype=object)[order],
        nesting=Nesting.of_levels(level),
        metrics={**metrics, **own},
        accounted=np.ones(len(order), dtype=bool),
        labels=no_labels,
        rules=replace(RULES, orders_by_own=True),
        row_functions=np.append(np.where(level == 0, function[order], NONE), NONE),
        stated=_stated(profile, totals),
    )


def _numbers(
    functions: "pd.DataFrame", calls: "pd.DataFrame", order: Rows
) -> "tuple[Metrics, Metrics]":
    """Return what is each row's own, and its totals."""

    def of_rows(name: str) -> "np.ndarray":
        numbers = np.append(functions[name].to_numpy(), calls[name].to_numpy())
        return np.asarray(numbers[order], dtype=np.float64)

    counted = {name: of_rows(name) for name in COUNTED}
    own = {"wall_micros": of_rows("self_ns") / 1e3, **counted}
    return own, {"wall_micros": of_rows("total_ns") / 1e3, **counted}


def _stated(profile: "Profile", totals: "Metrics") -> tree.Stated:
    """State the totals, with the time outside of any function as the root's own."""
    functions, wall_ns = profile.functions, profile.recording.wall_ns
    outside = max(wall_ns - int(functions["self_ns"].sum()), 0)
    return tree.Stated(
        totals=totals,
        root_own={"wall_micros": outside / 1e3, **dict.fromkeys(COUNTED, 0.0)},
        root={
            "wall_micros": wall_ns / 1e3,
            **{name: float(functions[name].sum()) for name in COUNTED},
        },
    )


def labels(functions: "pd.DataFrame") -> list[str]:
    """Name the functions as pstats does without folders; with them where two are alike."""
    columns = (functions[name].tolist() for name in ("file", "line", "function"))
    places = list(zip(*columns, strict=True))
    short = [label(file.replace("\\", "/").rpartition("/")[2], *rest) for file, *rest in places]
    often = Counter(short)
    return [
        text if often[text] == 1 else label(*place)
        for text, place in zip(short, places, strict=True)
    ]


def label(file: str, line: int, function: str) -> str:
    """Name a function as pstats does: `train.py:9(fit)`, `{built-in method builtins.len}`."""
    if (file, line) != ("~", 0):
        return f"{file}:{line}({function})"
    is_bracketed = function.startswith("<") and function.endswith(">")
    return f"{{{function[1:-1]}}}" if is_bracketed else function
