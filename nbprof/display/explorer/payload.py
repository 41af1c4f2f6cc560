"""What goes into one explorer: which views, and how many of their rows where room is short."""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from nbprof.columns import COLUMNS
from nbprof.display.explorer.packing import Store, heaviest, pack, to_json
from nbprof.display.explorer.timeline import has_timeline, memory_curve, pack_timeline
from nbprof.display.text import DOC
from nbprof.errors import NbprofError

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.options import ViewOptions
    from nbprof.views.view import View

NAMES = ("op", "scope", "graph", "code", "layer")
"""The views in the order of the switch."""
MOST_EVENTS = 300_000
"""A profile of more has its other views made only where they are asked for."""
BYTES_A_ROW = 30
"""A row takes more than this."""
MOST_TIMED = 200_000
"""A timeline has at most so many events, the longest."""
BYTES_AN_EVENT = 16
LEAST_EVENTS = 200
"""A timeline with room for fewer is left out."""
LEAST_ROWS = 20
"""A view of which fewer rows have room is left out."""
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
    yield from _views(view.profile, [name for name in NAMES if name != view.name], options)


def average_of(view: "View") -> "Iterator[View]":
    """Make the same view as the average over steps, where it is the sum of several."""
    profile = view.profile
    if profile is None or profile.recording.tfprof or len(profile.steps) < 2:
        return
    if view.options.step in (None, "all"):
        options = replace(view.options, step=-1, output=type(view.options)().output)
        yield from _views(profile, [view.name], options)


def _views(profile: "Profile", names: Sequence[str], options: "ViewOptions") -> "Iterator[View]":
    for name in names:
        try:
            yield profile.view(name, options)
        except NbprofError:
            continue  # such as the code view of a trace, which has no lines


def all_views(view: "View") -> "list[View]":
    """Give the view and the others of its profile, in the order of the switch; averages last."""
    sums = sorted((view, *views_beside(view)), key=_place)
    return [*sums, *(average for one in sums for average in average_of(one))]


def whole(
    view: "View", views: "Sequence[View]", panels: Sequence[str] = ("flame", "timeline")
) -> Payload:
    """Take all rows of all views; begin with the first."""
    store = Store()
    packed = [pack(one, store) for one in views]
    timeline = None
    if view.profile is not None and has_timeline(view.profile):
        curve = memory_curve(view.profile)
        timeline = pack_timeline(view.profile, store, _metrics(view), MOST_TIMED, curve)
    return _payload(view, packed, store, panels, (), timeline)


def _metrics(view: "View") -> tuple[str, ...]:
    return tuple(metric for column in view.columns for metric in column.metrics)


def within(view: "View", room: int) -> Payload | None:
    """Take as many rows of the view, then of the others, as `room` bytes hold; None: too few."""
    beside = _others(view)
    averages = [average for one in (view, *beside) for average in average_of(one)]
    store = Store()
    packed: dict[int, dict[str, Any]] = {}
    everything = [view, *beside, *averages]

    def left() -> int:
        # What is left out must be said, too; all names are as much as can be said.
        said = [one["name"] for one in packed.values()] + list(NAMES) * 2
        there = _payload(view, list(packed.values()), Store(), (), said, timeline)
        return room - len(there.to_json()) - store.size

    share = FIRST_SHARE if beside else 1.0
    timeline = None
    for group in ([0], range(1, 1 + len(beside)), range(1 + len(beside), len(everything))):
        # The small ones first: what they do not need is for the others.
        waiting = sorted(group, key=lambda place: len(everything[place].frame))
        for done, place in enumerate(waiting):
            one = everything[place]
            made = _view_within(one, store, int(left() * share / (len(waiting) - done)))
            if made is not None:
                packed[place] = made
        share = 1.0
        if timeline is None and len(packed) > 1:
            timeline = _timeline_within(view, store, left())
    if 0 not in packed:
        return None
    left_out = [_title(one) for place, one in enumerate(everything) if place not in packed]
    if view.profile is not None and not beside:
        left_out = ["the other views"]
    order = sorted(packed, key=lambda place: (place > len(beside), _place(everything[place])))
    if timeline is None and has_timeline(view.profile):
        left_out.append("the timeline")
    return _payload(view, [packed[place] for place in order], store, (), left_out, timeline)


def _timeline_within(view: "View", store: Store, room: int) -> dict[str, Any] | None:
    """Pack the timeline, with the longest events where there is no room for all."""
    profile = view.profile
    if profile is None or not has_timeline(profile):
        return None
    curve = memory_curve(profile)
    least = min(LEAST_EVENTS, len(profile.events))
    most = min(len(profile.events), room // BYTES_AN_EVENT)
    while most >= least:
        grown = store.copy()
        made = pack_timeline(profile, grown, _metrics(view), most, curve)
        size = grown.size - store.size + len(to_json(made))
        if size <= room:
            store.become(grown)
            return made
        most = min(most - 1, int(0.98 * most * room / size))
    return None


def _place(view: "View") -> int:
    return NAMES.index(view.name)


def _title(view: "View") -> str:
    return f"{view.name} per step" if view.options.step == -1 else view.name


def _others(view: "View") -> "list[View]":
    profile = view.profile
    if profile is None or len(profile.events) > MOST_EVENTS:
        return []
    return list(views_beside(view))


def _view_within(view: "View", store: Store, room: int) -> dict[str, Any] | None:
    """Pack as many of the heaviest rows as fit; None: too few of them do."""
    count = min(len(view.frame), room // BYTES_A_ROW)
    while count >= min(LEAST_ROWS, len(view.frame)):
        grown = store.copy()
        packed = pack(view, grown, heaviest(view, count))
        size = grown.size - store.size + len(to_json(packed))
        if size <= room:
            store.become(grown)
            return packed
        count = min(count - 1, int(0.95 * count * room / size))
    return None


def _payload(
    view: "View",
    packed: list[dict[str, Any]],
    store: Store,
    panels: Sequence[str],
    left_out: Sequence[str],
    timeline: dict[str, Any] | None = None,
) -> Payload:
    described = {
        "headline": view.headline,
        "notes": list(view.notes),
        "left_out": list(left_out),
        "complete": _complete(packed, left_out, timeline),
        "open": list(panels),
        "first": _first(view, packed),
        "help": _help(packed),
        "views": packed,
        "strings": store.strings,
        "timeline": timeline,
    }
    return Payload(described, store.buffers)


def _help(packed: list[dict[str, Any]]) -> dict[str, str]:
    """Say what the views and their columns are."""
    names = {column["column"] for one in packed for column in one["columns"]}
    views = {one["name"]: DOC[one["name"]] for one in packed}
    return {**views, **{name: COLUMNS[name].help for name in COLUMNS if name in names}}


def _first(view: "View", packed: list[dict[str, Any]]) -> int:
    wanted = (view.name, view.options.step == -1)
    found = [(one["name"], one["per_step"]) for one in packed]
    return found.index(wanted) if wanted in found else 0


def _complete(
    packed: list[dict[str, Any]], left_out: Sequence[str], timeline: dict[str, Any] | None
) -> str:
    """Say what is not there and where it is."""
    cut = [
        f"{one['name']}{' per step' if one['per_step'] else ''} {one['rows']:,} of {one['of']:,}"
        for one in packed
        if one["rows"] < one["of"]
    ]
    said = []
    if timeline and timeline["events"] < timeline["of"]:
        runs = f"{timeline['events']:,} of {timeline['of']:,} op runs"
        if timeline["events"] == MOST_TIMED and not cut and not left_out:
            return f"the timeline has the longest {runs}."
        cut.append(f"timeline {runs}")
    if cut:
        said.append(f"the heaviest rows are here ({', '.join(cut)})")
    if left_out:
        said.append(f"left out: {', '.join(left_out)}")
    if not said:
        return ""
    return f"{'; '.join(said)}. All of it: view.explore(), or view.to_html(path)."
