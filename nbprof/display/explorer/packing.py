"""A View as columns of bytes and a description of them that JSON can hold.

Numbers become the smallest type that loses nothing; `js/data.js` reads what is written here.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
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
    from nbprof.display.explorer.run_kinds import Kinds
    from nbprof.views.view import View

WHOLE_TYPES = {"i8": 8, "i16": 16, "i32": 32}
"""Their bits; the least of a type stands for what is not known."""
NANOSECONDS = 1000
"""Times are whole in these parts of a microsecond."""
CLOSE = 1e-12
EXACT = 2.0**53
"""Up to here, floats are exact whole numbers."""
MAX_SHAPES = 8

Packed = list[Any]
"""A column: its buffer, its type, of what it counts parts, and perhaps `SUMS`."""
SUMS = "sums"
"""Each number is what is to be added to the one before."""


@dataclass
class Store:
    """The buffers and texts that views have in common; equal ones are kept once."""

    buffers: list[bytes] = field(default_factory=list)
    strings: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    """Of each string what differs from the one before."""
    alike: list[int] = field(default_factory=list)
    """And how many letters do not."""
    size: int = 0
    """So many letters all this takes in a page."""
    _places: dict[bytes, int] = field(default_factory=dict)
    _codes: dict[str, int] = field(default_factory=dict)

    def copy(self) -> "Store":
        """Give one that grows without this one."""
        return Store(
            list(self.buffers),
            list(self.strings),
            list(self.ends),
            list(self.alike),
            self.size,
            dict(self._places),
            dict(self._codes),
        )

    def become(self, other: "Store") -> None:
        """Take over what another has."""
        vars(self).update(vars(other))

    def numbers(self, values: npt.ArrayLike) -> Packed:
        """Keep a column of numbers; say where, in which type, and of what it counts parts."""
        given = np.asarray(values)
        if given.dtype.kind in "iu":
            return self._whole(given, 1)
        column = given.astype(np.float64, copy=False)
        known = ~np.isnan(column)
        for per in (1, NANOSECONDS):
            with np.errstate(over="ignore", invalid="ignore"):
                whole = np.rint(column * per)
                lost = np.abs(whole / per - column) > CLOSE * np.abs(column)
            if not lost.any() and np.abs(whole[known]).max(initial=0) < EXACT:
                return self._whole(whole, per, known)
        return self._keep(column.astype("<f8"), "f64", 1)

    def times(self, ns: npt.NDArray[np.int64], ordered: bool = False) -> Packed:
        """Keep times as µs; of those in order what each is more than the one before."""
        if ordered and len(ns) and ns[0] >= 0:
            return [*self._whole(np.diff(ns, prepend=0), NANOSECONDS), SUMS]
        return self._whole(ns, NANOSECONDS)

    def texts(self, values: Iterable[str]) -> Packed:
        """Keep a column of texts as numbers of entries in the dictionary."""
        return self.numbers(self.codes(values))

    def codes(self, values: Iterable[str]) -> npt.NDArray[np.int64]:
        """Give the numbers of these texts in the dictionary, into which they go."""
        texts = list(values)
        known = self._codes
        # Sorted, they begin like those before them.
        new = sorted(set(texts).difference(known))
        if new:
            known.update(zip(new, range(len(known), len(known) + len(new)), strict=True))
            before = self.strings[-1] if self.strings else ""
            alike = list(map(_alike, [before, *new], new))
            ends = [text[same:] for text, same in zip(new, alike, strict=True)]
            self.size += len(to_json(ends)) + 3 * len(new)
            self.strings += new
            self.alike += alike
            self.ends += ends
        return np.fromiter(map(known.__getitem__, texts), np.int64, len(texts))

    def _whole(
        self, whole: npt.NDArray[Any], per: int, known: npt.NDArray[np.bool_] | None = None
    ) -> Packed:
        """Keep whole numbers in the type that takes the least room."""
        there = whole if known is None else whole[known]
        largest = max(there.max(initial=0), -there.min(initial=0))
        fixed = [kind for kind, bits in WHOLE_TYPES.items() if largest < 2 ** (bits - 1)]
        if fixed[:1] != ["i8"] and there.min(initial=0) >= 0:
            shifted = (whole if known is None else np.where(known, whole, -1)).astype(np.int64) + 1
            data = _groups_of_7_bits(shifted)
            if not fixed or len(data) < WHOLE_TYPES[fixed[0]] // 8 * len(whole):
                return _packed(self._place(data), "var", per)
        if not fixed:
            floats = whole if known is None else np.where(known, whole, np.nan)
            return self._keep(floats.astype("<f8") / per, "f64", 1)
        missing = -(2 ** (WHOLE_TYPES[fixed[0]] - 1))
        filled = whole if known is None else np.where(known, whole, missing)
        return self._keep(filled.astype(f"<i{WHOLE_TYPES[fixed[0]] // 8}"), fixed[0], per)

    def _keep(self, column: npt.NDArray[Any], kind: str, per: int) -> Packed:
        return _packed(self._place(column.tobytes()), kind, per)

    def _place(self, data: bytes) -> int:
        place = self._places.setdefault(data, len(self.buffers))
        if place == len(self.buffers):
            self.buffers.append(data)
            self.size += 4 * ((len(data) + 2) // 3) + len('"",')
        return place


def _packed(buffer: int, kind: str, per: int) -> Packed:
    return [buffer, kind] if per == 1 else [buffer, kind, per]


def _groups_of_7_bits(values: npt.NDArray[np.int64]) -> bytes:
    """Write numbers from 0 with the lowest bits first; the highest bit says that more follow."""
    count = np.searchsorted(2 ** np.arange(7, 63, 7, dtype=np.int64), values, side="right") + 1
    place = np.cumsum(count) - count
    written = np.zeros(int(count.sum()), dtype=np.uint8)
    for group in range(int(count.max(initial=0))):
        more = count > group + 1
        here = more | (count == group + 1)
        bits = (values[here] >> (7 * group)) & 127
        written[place[here] + group] = bits | (more[here] * 128)
    return written.tobytes()


def _alike(one: str, other: str) -> int:
    """Count the letters at the beginning of two texts that are the same."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    # JavaScript counts some letters as two.
    return low if one[:low].isascii() else 0


def to_json(described: Any) -> str:
    """Write JSON that may stand in a script."""
    text = json.dumps(described, separators=(",", ":"))
    # Inside a string of JSON these mean the same, and in HTML nothing.
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def pack(
    view: "View",
    store: Store,
    rows: npt.NDArray[np.intp] | None = None,
    kinds: "Kinds | None" = None,
) -> dict[str, Any]:
    """Put a view's columns into the store and describe them; `rows` are those to take, in order.

    Of a tree, the row above each taken one must be among them. With `kinds` go their places.
    """
    chosen = np.arange(len(view.frame)) if rows is None else rows
    described: dict[str, Any] = {
        "name": view.name,
        "rows": len(chosen),
        "of": len(view.frame),
        "tree": view.is_tree,
        "short": view.is_tree and not VIEWS[view.name].full_names,
        "per_step": view.options.step == -1,
        "names": store.texts(_texts(view.frame["name"].iloc[chosen])),
        "columns": [
            packed
            for column in view.columns
            if column.title
            for packed in _columns(view, column, store, chosen)
        ],
        "options": options_as_typed(view),
    }
    if view.is_tree:
        place = np.full(len(view.frame) + 1, -1)
        place[chosen] = np.arange(len(chosen))
        described["parent"] = store.numbers(place[view.frame["parent"].to_numpy()[chosen]])
    for label in (*VIEWS[view.name].texts, *filter(None, (c.label for c in view.columns))):
        if label in view.frame.columns:
            described[label] = store.texts(_texts(view.frame[label].iloc[chosen]))
    if kinds is not None:
        described["places"] = kinds.pack_places(view, chosen, store)
    if len(chosen) < len(view.frame):
        described["frame_rows"] = store.numbers(chosen)
    return {name: value for name, value in described.items() if value is not False}


def pack_cells(profile: "Profile", store: Store) -> dict[str, Any]:
    """Describe the source of the cells, line by line."""
    cells = profile.cells
    return {
        "files": store.texts(_texts(cells["file"])),
        "lines": store.numbers(cells["line"].to_numpy(np.int64)),
        "texts": store.texts(_texts(cells["text"])),
    }


def _texts(values: Any) -> list[str]:
    return ["" if value is None else str(value) for value in values]


def _columns(
    view: "View", column: "Column", store: Store, rows: npt.NDArray[np.intp]
) -> "list[dict[str, Any]]":
    """Describe what a selected column brings: per metric the row's own, and of a tree the total."""
    common = {"column": column.name, "brought": _is_brought(view, column)}
    if not column.metrics:
        texts = _label(view, column).iloc[rows].tolist()
        text = {"key": column.name, "title": heading(view, column), "role": "label"}
        return [{**common, **text, "unit": "", "data": store.texts(texts)}]
    packed = []
    for metric in column.metrics:
        for role in ("total", "self") if view.is_tree else ("self",):
            key = f"total_{metric}" if role == "total" else metric
            values = view.frame[key].to_numpy(np.float64)
            packed.append(
                {
                    **common,
                    "key": key,
                    "metric": metric,
                    "title": _short_title(view, column, metric),
                    "role": role,
                    "unit": column.unit.name,
                    "whole": _whole_of(view, metric) if column.has_shares else None,
                    "data": store.numbers(values[rows]),
                }
            )
    return packed


def _is_brought(view: "View", column: "Column") -> bool:
    """Tell whether a column came along with another and was not asked for itself."""
    return column.name not in view.options.select and any(
        column.name in COLUMNS[name].brings for name in view.options.select
    )


def _short_title(view: "View", column: "Column", metric: str) -> str:
    if len(column.metrics) > 1:
        return metric.replace("_", " ")
    return title(view, column).removeprefix("total ").removeprefix("# ")


def _whole_of(view: "View", metric: str) -> float | None:
    """Give what 100 % of a metric is; None: not known, or nothing."""
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
    """Give the options that make this view, as they are typed on a line of `%tfprof`."""
    options = view.options
    typed: dict[str, Any] = {
        "order_by": options.order_by,
        "select": ",".join(options.select),
        **{f"min_{name}": f"{least:.15g}" for name, least in options.minimum.items()},
    }
    usual = type(options)()
    for name in ("max_depth", "step", "frames", "account_displayed_op_only"):
        value = getattr(options, name)
        if value != getattr(usual, name):
            typed[name] = str(value).lower()
    for name in ("account_type", "start_name", "trim_name", "show_name", "hide_name"):
        patterns = getattr(options, f"{name}_regexes")
        if patterns != getattr(usual, f"{name}_regexes"):
            typed[f"{name}_regexes"] = ",".join(patterns)
    return {name: text for name, text in typed.items() if text}


def heaviest(view: "View", count: int) -> npt.NDArray[np.intp]:
    """Choose the rows that matter most, in the frame's order, and every row above one of them."""
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
