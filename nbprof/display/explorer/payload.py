"""What goes into one explorer: which views, and how many of their rows where room is short."""

import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nbprof.columns import COLUMNS
from nbprof.display.explorer.packing import Store, heaviest, pack, pack_cells, to_json
from nbprof.display.explorer.run_kinds import Kinds, kinds_of
from nbprof.display.explorer.timeline_payload import BINS, Timeline, has_timeline
from nbprof.errors import NbprofError
from nbprof.view_kinds import VIEWS

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.options import ViewOptions
    from nbprof.views.view import View

MOST_EVENTS = 3_000_000
"""A profile of more has its other views made only where they are asked for."""
BYTES_A_ROW = 30
"""A row takes more than this."""
MOST_ROWS = 200_000
"""Of a view with more, an explorer has the heaviest: a browser would stand still over a million."""
MOST_KINDS = 200_000
"""Of more kinds of op runs, an explorer has those of the longest runs."""
MOST_TIMED = 200_000
"""A timeline has at most so many events, the longest."""
BYTES_AN_EVENT = 11
LEAST_EVENTS = 200
"""A timeline with room for fewer is left out."""
FEWER_BINS = (96, 48, 24, 16, 12, 8)
"""A timeline without all events has the sums of so many parts of the time,"""
BINS_SHARE = 0.5
"""whichever fit into so much of its room."""
LEAST_ROWS = 20
"""A view of which fewer rows have room is left out."""
KINDS_SHARE = 0.25
"""The kinds of op runs may take so much of the room."""
CELLS_SHARE = 0.2
"""The source of the cells may take so much of what the views leave."""
SEPARATORS = "\n|\t~"
FIRST_SHARE = 0.5
"""The first view may take so much of the room before the others have been asked."""


@dataclass(frozen=True)
class Payload:
    """The description of an explorer, as JSON can hold it, and the buffers it points into."""

    described: dict[str, Any]
    buffers: list[bytes]

    def to_json(self, buffers: bool = True) -> str:
        """Write it so that it may stand in a script; the buffers in base64, or without them."""
        texts = [b64encode(buffer).decode() for buffer in self.buffers] if buffers else []
        return to_json({**self.described, "buffers": texts})


def views_beside(view: "View") -> "Iterator[View]":
    """Make the other views of the same profile, with the same columns, order and step."""
    if view.profile is None:
        return
    usual = type(view.options)()
    names = ("order_by", "select", "step", "frames", "account_type_regexes")
    options = replace(usual, **{name: getattr(view.options, name) for name in names})
    yield from _views(view.profile, [name for name in VIEWS if name != view.name], options)


def average_of(view: "View") -> "View":
    """Make the same view as the average over steps, which the page makes of the sums."""
    if view.profile is None:
        return view
    options = replace(view.options, step=-1, output=type(view.options)().output)
    return view.profile.view(view.name, options)


def same_rows(view: "View", rows: Sequence[int], other: "View") -> list[int]:
    """Find rows of a view in another of the same names; what is not in that is left out."""
    place = {path: row for row, path in enumerate(_paths(other))}
    paths = _paths(view)
    return [place[paths[row]] for row in rows if paths[row] in place]


def _paths(view: "View") -> list[tuple[str, ...]]:
    """Name each row with those above it."""
    paths: list[tuple[str, ...]] = []
    parents = view.frame["parent"] if view.is_tree else [-1] * len(view.frame)
    for name, parent in zip(view.frame["name"], parents, strict=True):
        paths.append((*(paths[parent] if parent >= 0 else ()), name))
    return paths


def timeline_of(view: "View") -> Timeline | None:
    """Give what knows when the ops ran, with the kinds that an explorer of this view has."""
    return _timeline(_most_kinds(view))


def _most_kinds(view: "View") -> Kinds | None:
    kinds = kinds_of(view.profile, _metrics(view))
    return kinds.of_longest(MOST_KINDS) if kinds and kinds.count > MOST_KINDS else kinds


def _views(profile: "Profile", names: Sequence[str], options: "ViewOptions") -> "Iterator[View]":
    for name in names:
        try:
            yield profile.view(name, options)
        except NbprofError:
            continue  # such as the code view of a trace, which has no lines


def all_views(view: "View") -> "list[View]":
    """Give the view and the others of its profile, in the order of the switch."""
    return sorted((view, *views_beside(view)), key=_place)


def whole(
    view: "View", views: "Sequence[View]", panels: Sequence[str] = ("flame", "timeline")
) -> Payload:
    """Take all rows of all views, but for those of huge ones; begin with the one given."""
    store = Store()
    kinds = _most_kinds(view)
    packed = [pack(one, store, heaviest(one, MOST_ROWS), kinds) for one in views]
    timeline = _timeline(kinds)
    parts = Parts(packed)
    if view.profile is not None and len(view.profile.cells):
        parts.cells = pack_cells(view.profile, store)
    if kinds is not None:
        parts.kinds = kinds.pack(store)
    if timeline is not None:
        parts.timeline = timeline.pack(store, MOST_TIMED, BINS if timeline.kinds.complete else 0)
    return _payload(view, parts, store, panels)


def _metrics(view: "View") -> tuple[str, ...]:
    return tuple(metric for column in view.columns for metric in column.metrics)


def _timeline(kinds: Kinds | None) -> Timeline | None:
    return Timeline(kinds) if kinds is not None and has_timeline(kinds.profile) else None


@dataclass
class Parts:
    """What was packed."""

    views: list[dict[str, Any]]
    kinds: dict[str, Any] | None = None
    cells: dict[str, Any] | None = None
    timeline: dict[str, Any] | None = None


def within(view: "View", room: int) -> Payload | None:
    """Take as many rows of the view, then of the others, as `room` bytes hold; None: too few."""
    beside = _others(view)
    store = Store()
    packed: dict[int, dict[str, Any]] = {}
    everything = [view, *beside]
    parts = Parts([])
    kinds = _kinds_within(view, parts, store, int(KINDS_SHARE * room)) if beside else None

    def left() -> int:
        # What is left out must be said, too; all names are as much as can be said.
        parts.views = list(packed.values())
        return room - len(_payload(view, parts, Store(), (), [*VIEWS] * 2).to_json()) - store.size

    share = FIRST_SHARE if beside else 1.0
    for group in ([0], range(1, len(everything))):
        # The small ones first: what they do not need is for the others.
        waiting = sorted(group, key=lambda place: len(everything[place].frame))
        for done, place in enumerate(waiting):
            space = int(left() * share / (len(waiting) - done))
            made = _view_within(everything[place], store, space, kinds)
            if made is not None:
                packed[place] = made
        share = 1.0
    if 0 not in packed:
        return None
    parts.cells = _cells_within(view, store, int(CELLS_SHARE * left()))
    timeline = _timeline(kinds)
    if timeline and len(packed) > 1:
        parts.timeline = _timeline_within(timeline, store, left())
    left_out = [one.name for place, one in enumerate(everything) if place not in packed]
    if view.profile is not None and not beside:
        left_out = ["the other views"]
    if parts.timeline is None and has_timeline(view.profile):
        left_out.append("the timeline")
    order = sorted(packed, key=lambda place: _place(everything[place]))
    parts.views = [packed[place] for place in order]
    return _payload(view, parts, store, (), left_out)


def _cells_within(view: "View", store: Store, room: int) -> dict[str, Any] | None:
    """Pack the source of the cells, where it is short; else only lines of the code view show."""
    if view.profile is None or not len(view.profile.cells):
        return None
    grown = store.copy()
    cells = pack_cells(view.profile, grown)
    if grown.size - store.size > room:
        return None
    store.become(grown)
    return cells


def _kinds_within(view: "View", parts: Parts, store: Store, room: int) -> Kinds | None:
    """Pack the kinds of op runs; where there are too many, those of the longest runs."""
    kinds = kinds_of(view.profile, _metrics(view))
    while kinds is not None:
        grown = store.copy()
        packed = kinds.pack(grown)
        size = grown.size - store.size
        if size <= room:
            parts.kinds = packed
            store.become(grown)
            return kinds
        runs = int(np.count_nonzero(kinds.of_event >= 0))
        most = int(0.9 * min(runs, kinds.count) * room / size)
        kinds = kinds.of_longest(most) if most >= LEAST_EVENTS else None
    return None


def _timeline_within(timeline: Timeline, store: Store, room: int) -> dict[str, Any] | None:
    """Pack the timeline; where there is no room for all events, the longest and sums of parts."""
    count = len(timeline.profile.costs)
    least = min(LEAST_EVENTS, count)
    bins = 0
    most = min(count, room // BYTES_AN_EVENT)
    if most < count:
        bins = _bins_within(timeline, int(BINS_SHARE * room))
    while most >= least:
        grown = store.copy()
        made = timeline.pack(grown, most, bins)
        size = grown.size - store.size + len(to_json(made))
        if size <= room:
            store.become(grown)
            return made
        if not bins:
            bins = _bins_within(timeline, int(BINS_SHARE * room))
        most = min(most - 1, int(0.99 * (most - (size - room) / BYTES_AN_EVENT)))
    return None


def _bins_within(timeline: Timeline, room: int) -> int:
    if not timeline.kinds.complete:
        return 0
    for bins in FEWER_BINS:
        tried = Store()
        timeline.pack_bins(tried, bins)
        if tried.size <= room:
            return bins
    return 0


def _place(view: "View") -> int:
    return list(VIEWS).index(view.name)


def _others(view: "View") -> "list[View]":
    profile = view.profile
    if profile is None or len(profile.costs) > MOST_EVENTS:
        return []
    return list(views_beside(view))


def _view_within(
    view: "View", store: Store, room: int, kinds: Kinds | None
) -> dict[str, Any] | None:
    """Pack as many of the heaviest rows as fit; None: too few of them do."""
    count = min(len(view.frame), room // BYTES_A_ROW)
    while count >= min(LEAST_ROWS, len(view.frame)):
        grown = store.copy()
        packed = pack(view, grown, heaviest(view, count), kinds)
        size = grown.size - store.size + len(to_json(packed))
        if size <= room:
            store.become(grown)
            return packed
        count = min(count - 1, int(0.95 * count * room / size))
    return None


def _payload(
    view: "View", parts: Parts, store: Store, panels: Sequence[str], left_out: Sequence[str] = ()
) -> Payload:
    columns: dict[str, int] = {}
    last = Store()
    _, *kind = last.numbers(np.array(store.alike, dtype=np.int64))
    alike = [len(store.buffers), *kind]
    described = {
        "headline": view.headline,
        "notes": list(view.notes),
        "left_out": list(left_out),
        "complete": _complete(parts, left_out),
        "open": list(panels),
        "first": _first(view, parts.views),
        "help": _help(parts.views),
        "views": [_with_few_columns(one, columns) for one in parts.views],
        "columns": list(map(json.loads, columns)),
        "strings": _joined(store.ends),
        "alike": alike,
        "kinds": parts.kinds,
        "cells": parts.cells,
        "timeline": parts.timeline,
    }
    return Payload(described, store.buffers + last.buffers)


def _joined(texts: list[str]) -> list[str]:
    """Join texts with a letter that is in none of them, which comes first; browsers like that."""
    for letter in SEPARATORS:
        if not any(letter in text for text in texts):
            return [letter, letter.join(texts)]
    return ["", *texts]


def _with_few_columns(packed: dict[str, Any], columns: dict[str, int]) -> dict[str, Any]:
    """Describe a view's columns by the places of what they have in common with other views'."""
    own = [
        [
            columns.setdefault(json.dumps(_common(column)), len(columns)),
            column.get("whole"),
            column["data"],
        ]
        for column in packed["columns"]
    ]
    return {**packed, "columns": own}


def _common(column: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in column.items() if name not in ("whole", "data")}


def _help(packed: list[dict[str, Any]]) -> dict[str, str]:
    """Say what the views and their columns are."""
    names = {column["column"] for one in packed for column in one["columns"]}
    views = {one["name"]: VIEWS[one["name"]].doc for one in packed}
    return {**views, **{name: COLUMNS[name].help for name in COLUMNS if name in names}}


def _first(view: "View", packed: list[dict[str, Any]]) -> int:
    return next((place for place, one in enumerate(packed) if one["name"] == view.name), 0)


def _complete(parts: Parts, left_out: Sequence[str]) -> str:
    """Say what is not there and where it is."""
    cut = [
        f"{one['name']} {one['rows']:,} of {one['of']:,}"
        for one in parts.views
        if one["rows"] < one["of"]
    ]
    said = [f"the heaviest rows are here ({', '.join(cut)})"] if cut else []
    timeline = parts.timeline or {"events": 0, "of": 0}
    if timeline["events"] < timeline["of"]:
        runs = f"{timeline['events']:,} of {timeline['of']:,} op runs"
        said.append(f"the timeline has the longest {runs}")
    if left_out:
        said.append(f"left out: {', '.join(left_out)}")
    if not said:
        return ""
    where = ""
    # Only an explorer with room for everything has so many of something.
    if any(one["rows"] >= MOST_ROWS for one in parts.views if one["rows"] < one["of"]):
        where = " All rows: view.frame, or view.to_csv(path)."
    elif cut or left_out or timeline["events"] != MOST_TIMED:
        more = "All of it" if timeline["of"] <= MOST_TIMED else "More"
        where = f" {more}: view.explore(), or view.to_html(path)."
    return f"{'; '.join(said)}.{where}"
