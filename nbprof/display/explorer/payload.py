"""What one explorer receives: a description as JSON, and the buffers it points into."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from nbprof.display.call_tables import find_calls
from nbprof.display.explorer.buffer_store import BufferStore, new_deflater, to_json
from nbprof.display.explorer.packed_calls import pack_calls
from nbprof.display.explorer.packed_timeline import BINS, Timeline, has_timeline
from nbprof.display.explorer.packed_view import heaviest, pack_cells, pack_view
from nbprof.display.explorer.run_kinds import RunKinds, find_kinds
from nbprof.units import format_seconds

if TYPE_CHECKING:
    from nbprof.views.report import Report
    from nbprof.views.view import View

MOST_ROWS = 200_000
"""Most rows of a view in an explorer; a million would freeze a browser."""
MOST_KINDS = 200_000
"""Most kinds of op runs in an explorer; beyond that, only those of the longest runs."""
MOST_TIMED = 200_000
"""Most events in a timeline; beyond that, only the longest."""
JSON_LENGTH_BYTES = 4
"""Bytes at the end of a page's data that hold the length of the JSON before them."""


@dataclass(frozen=True)
class Payload:
    """The description of an explorer, and the buffers it points into."""

    described: dict[str, Any]
    buffers: list[bytes]

    @cached_property
    def page_data(self) -> str:
        """Buffers and description as a page holds them: deflated, in base64."""
        deflater = new_deflater()
        parts = [deflater.compress(data) for data in (*self.buffers, self.ending())]
        return b64encode(b"".join((*parts, deflater.flush()))).decode()

    def ending(self) -> bytes:
        """Return what follows the buffers in a page: the description and its length."""
        described = to_json({**self.described, "sizes": list(map(len, self.buffers))})
        return described + len(described).to_bytes(JSON_LENGTH_BYTES, "little")


@dataclass
class PackedParts:
    """Descriptions of what has been packed so far."""

    views: list[dict[str, Any]] = field(default_factory=list)
    kinds: dict[str, Any] | None = None
    cells: dict[str, Any] | None = None
    calls: dict[str, Any] | None = None
    timeline: dict[str, Any] | None = None


def whole_payload(report: "Report", panels: Sequence[str] = ("flame", "timeline")) -> Payload:
    """Pack everything, up to the most that an explorer can hold."""
    store = BufferStore()
    kinds = all_kinds(report)
    parts = PackedParts(
        views=[pack_view(view, store, heaviest(view, MOST_ROWS), kinds) for view in report.views]
    )
    if report.profile is not None and len(report.profile.cells):
        parts.cells = pack_cells(report.profile, store)
    calls = find_calls(report.views)
    if calls is not None:
        parts.calls = pack_calls(calls, store)
    if kinds is not None:
        parts.kinds = kinds.pack(store)
        timeline = timeline_of(kinds)
        if timeline is not None:
            parts.timeline = timeline.pack(store, MOST_TIMED, BINS if kinds.complete else 0)
    return make_payload(report, parts, store, panels)


def all_kinds(report: "Report") -> RunKinds | None:
    """Return the kinds of op runs, up to the most that an explorer can hold."""
    kinds = find_kinds(report.profile, metrics_of(report.view))
    return kinds.of_longest(MOST_KINDS) if kinds and kinds.count > MOST_KINDS else kinds


def metrics_of(view: "View") -> tuple[str, ...]:
    """List the metrics of a view's columns."""
    return tuple(metric for column in view.columns for metric in column.metrics)


def timeline_of(kinds: RunKinds | None) -> Timeline | None:
    """Return the timeline of these kinds, if the start of each op run is known."""
    return Timeline(kinds) if kinds is not None and has_timeline(kinds.profile) else None


def make_payload(
    report: "Report",
    parts: PackedParts,
    store: BufferStore,
    panels: Sequence[str] = (),
    left_out: Sequence[str] = (),
) -> Payload:
    """Describe packed parts; `panels` start open, `left_out` names what did not fit."""
    names = [view["name"] for view in parts.views]
    described = {
        "headline": report.headline,
        "lead": report.lead and asdict(report.lead),
        "notes": list(report.notes),
        "missing": _note_on_missing(parts, left_out),
        "open": list(panels),
        "first": names.index(report.view.name) if report.view.name in names else 0,
        "strings": store.string_buffers,
        "views": parts.views,
        "kinds": parts.kinds,
        "cells": parts.cells,
        "calls": parts.calls,
        "timeline": parts.timeline,
    }
    return Payload(described, store.buffers)


def without_headline(payload: Payload) -> Payload:
    """Return the payload for a page whose own heading is the headline."""
    return replace(payload, described={**payload.described, "headline": ""})


def _note_on_missing(parts: PackedParts, left_out: Sequence[str]) -> str:
    """Return a note on what an explorer lacks and where to find it; empty if it has everything."""
    cut_views = [view for view in parts.views if view["rows"] < view["of"]]
    timeline = parts.timeline or {"events": 0, "of": 0}
    missing = []
    if cut_views:
        counts = (f"{view['name']} {view['rows']:,} of {view['of']:,}" for view in cut_views)
        missing.append(f"the heaviest rows are here ({', '.join(counts)})")
    if timeline["events"] < timeline["of"]:
        runs = f"{timeline['events']:,} of {timeline['of']:,} op runs"
        length = format_seconds(1e3 * timeline["stretches"]["micros"])
        missing.append(
            f"the timeline has the longest {runs} one by one, and all in stretches of {length}"
        )
    if left_out:
        missing.append(f"left out: {', '.join(left_out)}")
    if not missing:
        return ""
    fits_nowhere = any(view["rows"] >= MOST_ROWS for view in cut_views)
    if fits_nowhere:
        where = " All rows: view.frame, or view.to_csv(path)."
    elif cut_views or left_out or timeline["events"] != MOST_TIMED:
        more = "All of it" if timeline["of"] <= MOST_TIMED else "More"
        where = f" {more}: view.explore(), or view.to_html(path)."
    else:
        where = ""
    return f"{'; '.join(missing)}.{where}"
