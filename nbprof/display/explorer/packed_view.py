"""One view as columns in a `BufferStore`, and a description of them for JSON."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from nbprof.columns import COLUMNS
from nbprof.display.text import heading, title
from nbprof.units import format_micros
from nbprof.view_kinds import VIEWS

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.columns import Column
    from nbprof.display.explorer.buffer_store import BufferStore
    from nbprof.display.explorer.run_kinds import RunKinds
    from nbprof.views.view import View

MAX_SHAPES = 8
"""Most lists of input shapes that a cell shows."""


def pack_view(
    view: "View",
    store: "BufferStore",
    rows: npt.NDArray[np.intp] | None = None,
    kinds: "RunKinds | None" = None,
) -> dict[str, Any]:
    """Store a view's columns, all rows or the given ones, and describe them.

    Given rows must ascend and include the parent of each. With `kinds`, the description says where
    each kind of op runs counts.
    """
    chosen = np.arange(len(view.frame)) if rows is None else rows
    described: dict[str, Any] = {
        "name": view.name,
        "doc": VIEWS[view.name].doc,
        "rows": len(chosen),
        "of": len(view.frame),
        "tree": view.is_tree,
        "short": view.is_tree and not VIEWS[view.name].full_names,
        "calls": VIEWS[view.name].rows_are_calls,
        "per_step": view.options.step == -1,
        "stated": not VIEWS[view.name].adds_up,  # totals are not sums, so parts overlap
        "names": store.texts(_texts(view.frame["name"].iloc[chosen])),
        "columns": [
            packed
            for column in view.columns
            if column.title
            for packed in _pack_column(view, column, store, chosen)
        ],
        "options": options_as_typed(view),
    }
    if view.is_tree:
        place = np.full(len(view.frame) + 1, -1)
        place[chosen] = np.arange(len(chosen))
        described["parent"] = store.numbers(place[view.frame["parent"].to_numpy()[chosen]])
    labels = (*VIEWS[view.name].texts, *(column.label for column in view.columns))
    described["beside"] = {
        label: store.texts(_texts(view.frame[label].iloc[chosen]))
        for label in labels
        if label in view.frame.columns
    }
    if view.row_lines is not None:
        lines = view.row_lines.of_rows(chosen)
        described["lines"] = {
            "file": store.texts(lines.file.tolist()),
            "line": store.numbers(lines.line),
        }
    if view.row_functions is not None:
        described["functions"] = store.numbers(view.row_functions[chosen])
    if kinds is not None:
        described["places"] = kinds.pack_places(view, chosen, store)
    if len(chosen) < len(view.frame):
        described["frame_rows"] = store.numbers(chosen)
    return {name: value for name, value in described.items() if value is not False}


def pack_cells(
    profile: "Profile", store: "BufferStore", files: Collection[str] | None = None
) -> dict[str, Any]:
    """Store the source of cells and files, line by line, and describe it; by default of all."""
    cells = profile.cells
    if files is not None:
        cells = cells[cells["file"].isin(files)]
    return {
        "files": store.texts(_texts(cells["file"])),
        "lines": store.numbers(cells["line"].to_numpy(np.int64)),
        "texts": store.texts(_texts(cells["text"])),
    }


def _texts(values: Any) -> list[str]:
    return ["" if value is None else str(value) for value in values]


def _pack_column(
    view: "View", column: "Column", store: "BufferStore", rows: npt.NDArray[np.intp]
) -> "list[dict[str, Any]]":
    """Store a selected column: its texts, or per metric the row's own and in trees the total."""
    common = {"column": column.name, "help": column.help, "brought": _is_brought(view, column)}
    if not column.metrics:
        texts = _label(view, column).iloc[rows].tolist()
        text = {"key": column.name, "title": heading(view, column), "role": "label"}
        return [{**common, **text, "unit": "", "data": store.texts(texts)}]
    packed = []
    for metric in column.measures:
        for role in ("total", "self") if view.is_tree else ("self",):
            key = f"total_{metric.name}" if role == "total" else metric.name
            values = view.frame[key].to_numpy(np.float64)
            packed.append(
                {
                    **common,
                    "key": key,
                    "metric": metric.name,
                    "title": _short_title(view, column, metric.name),
                    "role": role,
                    "unit": column.unit.name,
                    "lasting": metric.table == "nodes",
                    "at_one_moment": metric.at_one_moment,
                    "whole": _whole_of(view, metric.name) if column.has_shares else None,
                    "data": store.numbers(values[rows]),
                }
            )
    return packed


def _is_brought(view: "View", column: "Column") -> bool:
    """Return whether a column came along with another and was not selected itself."""
    return column.name not in view.options.columns and any(
        column.name in COLUMNS[name].brings for name in view.options.columns
    )


def _short_title(view: "View", column: "Column", metric: str) -> str:
    if len(column.metrics) > 1:
        return metric.replace("_", " ")
    return title(view, column).removeprefix("total ").removeprefix("# ")


def _whole_of(view: "View", metric: str) -> float | None:
    """Return the amount that is 100 % of a metric; None if it is unknown or nothing."""
    frame = view.frame
    if view.is_tree:
        whole = float(frame[f"total_{metric}"].iloc[0])
    else:
        share = frame[f"{metric}_percent"].to_numpy(np.float64)
        largest = int(np.argmax(np.nan_to_num(share))) if len(share) else 0
        if not len(share) or not share[largest] > 0:
            return None
        whole = float(100 * frame[metric].iloc[largest] / share[largest])
    return whole if np.isfinite(whole) and whole > 0 else None


def _label(view: "View", column: "Column") -> Any:
    texts = view.frame[column.name]
    if column.shows == "shapes":
        return texts.map(_shapes)
    return texts.map(lambda text: text or "")


def _shapes(entries: list[dict[str, Any]]) -> str:
    shown = [
        f"{', '.join(entry['shapes']) or 'no inputs'} "
        f"({entry['run_count']} runs, {format_micros(entry['micros'])})"
        for entry in entries[:MAX_SHAPES]
    ]
    return "; ".join(shown + ["…"] * (len(entries) > MAX_SHAPES))


def options_as_typed(view: "View") -> dict[str, str]:
    """Return the options that make this view, as typed on a line of `%tfprof`."""
    options = view.options
    typed: dict[str, Any] = {
        "order_by": options.order_by,
        "select": ",".join(options.columns),
        **{f"min_{name}": f"{least:.15g}" for name, least in options.minimum.items()},
    }
    defaults = type(options)()
    for name in ("max_depth", "step", "frames", "account_displayed_op_only"):
        value = getattr(options, name)
        if value != getattr(defaults, name):
            typed[name] = str(value).lower()
    for name in ("account_type", "start_name", "trim_name", "show_name", "hide_name"):
        patterns = getattr(options, f"{name}_regexes")
        if patterns != getattr(defaults, f"{name}_regexes"):
            typed[f"{name}_regexes"] = ",".join(patterns)
    return {name: text for name, text in typed.items() if text}


def heaviest(view: "View", count: int) -> npt.NDArray[np.intp]:
    """Return the `count` heaviest rows and the rows above them, in the frame's order."""
    frame = view.frame
    if count >= len(frame):
        return np.arange(len(frame))
    names = [f"total_{view.options.order_by}", view.options.order_by]
    names += [name for name in frame.columns if name.startswith("total_")]
    weighing = next((name for name in names if name in frame.columns and name != "name"), None)
    if weighing is None:
        return np.arange(count)
    weight = np.nan_to_num(frame[weighing].to_numpy(np.float64), nan=-1.0)
    kept = np.zeros(len(frame), dtype=bool)
    kept[np.argsort(-weight, kind="stable")[:count]] = True
    if view.is_tree:
        parent = frame["parent"].to_numpy()
        for row in np.flatnonzero(kept)[::-1].tolist():
            above = int(parent[row])
            while above >= 0 and not kept[above]:
                kept[above] = True
                above = int(parent[above])
    return np.flatnonzero(kept)
