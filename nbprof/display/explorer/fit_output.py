"""Fit a report into an output of limited size: the view asked for first, then everything else.

Sizes are those of the page: deflated and in base64.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from nbprof.display.call_tables import find_calls
from nbprof.display.explorer.buffer_store import BufferStore, to_json
from nbprof.display.explorer.packed_calls import MOST_CALLS, pack_calls
from nbprof.display.explorer.packed_timeline import Timeline, has_timeline
from nbprof.display.explorer.packed_view import heaviest, pack_cells, pack_view
from nbprof.display.explorer.payload import (
    PackedParts,
    Payload,
    make_payload,
    metrics_of,
    timeline_of,
    whole_payload,
)
from nbprof.display.explorer.run_kinds import RunKinds, find_kinds
from nbprof.display.explorer.stretches import FINEST

if TYPE_CHECKING:
    from nbprof.views.report import Report
    from nbprof.views.view import View

BYTES_PER_ROW = 10
"""Fewest bytes that a row of a view takes."""
BYTES_PER_EVENT = 3
"""Fewest bytes that an event of the timeline takes."""
LEAST_ROWS = 20
"""Drop a view if fewer than this many of its rows fit."""
LEAST_EVENTS = 200
"""Drop single events from the timeline, or the kinds of op runs, if fewer than this many fit."""
STRETCH_COUNTS = (FINEST, 600, 300, 150)
"""Numbers of stretches to try if not all events of a timeline fit."""
BIN_COUNTS = (96, 48, 24, 16, 12, 8)
"""Numbers of bins to try if not all events of a timeline fit."""
KINDS_SHARE = 0.25
"""Largest share of the room for the kinds of op runs."""
TIMELINE_SHARE = 0.2
"""Share of the room that is kept free for the timeline, which then gets all that is left."""
FIRST_SHARE = 0.5
"""Largest share of the room left for the view that was asked for, if it has siblings."""
CALLS_SHARE = 0.3
"""Largest share of the room that the views leave for callers and callees."""
LEAST_CALLS = 50
"""Drop callers and callees if fewer pairs of them fit."""
CELLS_SHARE = 0.2
"""Largest share of the room that the views leave for the source of the cells."""
BINS_SHARE = 0.5
"""Largest share of the timeline's room for its bins."""
RETRY_FACTOR = 0.85
"""Share of the proportional count to try next, because fewer rows deflate less well."""
SPARE = 64
"""Bytes kept free, because parts that are deflated together do not add up exactly."""


def payload_within(report: "Report", room: int) -> Payload | None:
    """Pack as much of a report as fits; None if not even the view asked for does."""
    if _may_fit_whole(report, room):
        payload = whole_payload(report, panels=())
        if len(payload.page_data) <= room:
            return payload
    fitting = Fitting(report, room - SPARE)
    kinds = fitting.fit_kinds() if report.siblings else None
    timeline = timeline_of(kinds)
    fitting.reserved = int(TIMELINE_SHARE * room) if timeline else 0
    fitting.fit_views([report.view], FIRST_SHARE if report.siblings else 1.0, kinds)
    fitting.fit_views(report.siblings, 1.0, kinds)
    if report.view.name not in fitting.packed_views:
        return None
    fitting.fit_calls()
    fitting.fit_cells()
    fitting.reserved = 0
    if timeline and len(fitting.packed_views) > 1:
        fitting.fit_timeline(timeline)
    return fitting.payload()


def _may_fit_whole(report: "Report", room: int) -> bool:
    """Return whether packing everything is worth a try."""
    rows = sum(len(view.frame) for view in report.views)
    events = 0 if report.profile is None else len(report.profile.costs)
    return not report.lacks_siblings and rows * BYTES_PER_ROW + events * BYTES_PER_EVENT <= room


class Fitting:
    """An output that is being filled."""

    def __init__(self, report: "Report", room: int) -> None:
        self.report = report
        self.room = room
        self.store = BufferStore()
        self.parts = PackedParts()
        self.packed_views: dict[str, dict[str, Any]] = {}
        self.reserved = 0
        """Bytes kept free for what is packed later."""

    def left(self) -> int:
        """Return the bytes left after reserving some for the note on what was left out."""
        longest = [*(view.name for view in self.report.views), "the other views", "the timeline"]
        ending = make_payload(self.report, self.parts, self.store, left_out=longest).ending()
        return self.room - self.reserved - self.store.page_size(ending)

    def attempt(
        self, room: float, pack: Callable[[BufferStore], dict[str, Any]]
    ) -> tuple[dict[str, Any] | None, int]:
        """Pack something if it fits; return its description, None if not, and its size."""
        size, described, grown = self.grown_by(pack)
        if size > room:
            return None, size
        self.store.adopt(grown)
        return described, size

    def grown_by(
        self, pack: Callable[[BufferStore], dict[str, Any]]
    ) -> tuple[int, dict[str, Any], BufferStore]:
        """Return the size of something, its description, and a store that has it."""
        grown = self.store.copy()
        described = pack(grown)
        return grown.page_size(to_json(described)) - self.store.page_size(), described, grown

    def fit_kinds(self) -> RunKinds | None:
        """Pack the kinds of op runs; if there are too many, those of the longest runs."""
        room = KINDS_SHARE * self.room
        kinds = find_kinds(self.report.profile, metrics_of(self.report.view))
        while kinds is not None:
            self.parts.kinds, size = self.attempt(room, kinds.pack)
            if self.parts.kinds is not None:
                return kinds
            runs = int(np.count_nonzero(kinds.of_event >= 0))
            most = int(RETRY_FACTOR * min(runs, kinds.count) * room / size)
            kinds = kinds.of_longest(most) if most >= LEAST_EVENTS else None
        return None

    def fit_views(self, views: "Sequence[View]", share: float, kinds: RunKinds | None) -> None:
        """Pack views into a share of the room left, small ones first because they leave room."""
        waiting = sorted(views, key=lambda view: len(view.frame))
        for done, view in enumerate(waiting):
            packed = self.fit_view(view, self.left() * share / (len(waiting) - done), kinds)
            if packed is not None:
                self.packed_views[view.name] = packed
                self.parts.views = list(self.packed_views.values())

    def fit_view(self, view: "View", room: float, kinds: RunKinds | None) -> dict[str, Any] | None:
        """Pack as many of the heaviest rows as fit; None if too few do."""
        count = min(len(view.frame), int(room / BYTES_PER_ROW))
        while count >= min(LEAST_ROWS, len(view.frame)):
            rows = heaviest(view, count)
            packed, size = self.attempt(room, partial(pack_view, view, rows=rows, kinds=kinds))
            if packed is not None:
                return packed
            count = min(count - 1, int(RETRY_FACTOR * count * room / size))
        return None

    def fit_calls(self) -> None:
        """Pack as many of the heaviest pairs of caller and callee as fit."""
        tables = find_calls(self.report.views)
        most = 0 if tables is None else min(len(tables.calls), MOST_CALLS)
        room = CALLS_SHARE * self.left()
        while tables is not None and most and self.parts.calls is None:
            self.parts.calls, _ = self.attempt(room, partial(pack_calls, tables, most=most))
            most = most // 2 if most // 2 >= LEAST_CALLS else 0

    def fit_cells(self) -> None:
        """Pack the source of the cells and of as many files as fit, the first ones first.

        The lines that cost something are in the views anyway.
        """
        profile = self.report.profile
        files = [] if profile is None else profile.cells["file"].unique().tolist()
        room = CELLS_SHARE * self.left()
        while profile is not None and files and self.parts.cells is None:
            self.parts.cells, _ = self.attempt(room, partial(pack_cells, profile, files=files))
            files = files[: len(files) // 2]

    def fit_timeline(self, timeline: Timeline) -> None:
        """Pack the timeline: all events, or else stretches, the longest events and sums in bins."""
        room = self.left()
        count = len(timeline.profile.costs)
        if count * BYTES_PER_EVENT <= room:
            self.parts.timeline, _ = self.attempt(room, partial(timeline.pack, most=count, bins=0))
        for stretches in STRETCH_COUNTS if self.parts.timeline is None else ():
            pack = partial(timeline.pack, stretches=stretches)
            size = self.grown_by(partial(pack, most=0, bins=0))[0]
            if size <= room:
                self.fit_events(timeline, pack, room, size)
                return

    def fit_events(
        self, timeline: Timeline, pack: Callable[..., dict[str, Any]], room: int, taken: int
    ) -> None:
        """Pack as many of the longest events as fit beside the stretches, which take `taken`."""
        bins = _bins_within(timeline, BINS_SHARE * (room - taken))
        most = min(len(timeline.profile.costs), (room - taken) // BYTES_PER_EVENT)
        while self.parts.timeline is None:
            if most < LEAST_EVENTS:
                most = bins = 0
            attempted = partial(pack, most=most, bins=bins)
            self.parts.timeline, size = self.attempt(room, attempted)
            share = (room - taken) / max(size - taken, 1)
            most = min(most - 1, int(RETRY_FACTOR * most * share))

    def payload(self) -> Payload:
        """Return what was packed, with a note on what was not."""
        report = self.report
        left_out = [view.name for view in report.views if view.name not in self.packed_views]
        if report.lacks_siblings:
            left_out = ["the other views"]
        if self.parts.timeline is None and has_timeline(report.profile):
            left_out.append("the timeline")
        order = [view.name for view in report.views if view.name in self.packed_views]
        self.parts.views = [self.packed_views[name] for name in order]
        return make_payload(report, self.parts, self.store, left_out=left_out)


def _bins_within(timeline: Timeline, room: float) -> int:
    """Return the largest number of bins that fits; 0 if none fits or sums would be incomplete."""
    if not timeline.kinds.complete:
        return 0
    for bins in BIN_COUNTS:
        store = BufferStore()
        timeline.pack_bins(store, bins)
        if store.page_size() <= room:
            return bins
    return 0
