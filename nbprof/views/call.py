"""The call view: the tree of Python calls as they ran, and below them what they ran in TensorFlow.

Samples of the stack and the exact times of calls into TensorFlow say where the cell's thread spent
its time (`cell_thread.py`); op runs stand below the call that they belong to.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from nbprof.arrays import Floats, Rows, distinct_pairs
from nbprof.call_places import call_places
from nbprof.views import tree
from nbprof.views.accounting import weights
from nbprof.views.call_notes import call_notes
from nbprof.views.call_paths import call_paths
from nbprof.views.cell_thread import (
    IN_CALL,
    KINDS,
    WATCHING,
    Moments,
    Windows,
    cut_into_stretches,
)
from nbprof.views.measure import add_up, measure, members_by, weighted
from nbprof.views.row_labels import Labels
from nbprof.views.stack_rows import Path, labelled, row_lines, source_texts, stack_rows
from nbprof.views.step_times import within_steps
from nbprof.views.tree_filter import Rules

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.options import ViewOptions
    from nbprof.views.view import View

UNSEEN = ("no sample taken",)
"""The row of a cell that ended before its first sample."""
OUTSIDE = ("outside the cell's statements",)
"""The row of what runs before the first statement, between two, and after the last."""
WATCHED = ("nbprof: watching calls into TensorFlow",)
"""The row of what recording those calls took."""
NOT_KNOWN = ("no Python line known",)
"""The row of ops, and of memory, that no call into TensorFlow is known for."""
CALL = "» "
"""The prefix of the row of a call into TensorFlow."""
THREAD = "thread "
"""The prefix of the row of another thread."""

RULES = Rules(minimum_of_own=(), counts_runs=False, can_account_displayed=False, root_type="")


@dataclass(frozen=True, eq=False, kw_only=True)
class Amounts:
    """Time of threads, by the path of the row that has it."""

    paths: list[Path]
    wall_ns: Floats
    """On the cell's own thread."""
    thread_ns: Floats
    """On other threads."""


def view(profile: "Profile", options: "ViewOptions") -> "View":
    """Place the cell's time, and its op runs, under the calls that led to them."""
    shown = tree.view("call", _call_tree(profile, options), profile, options)
    return replace(shown, notes=shown.notes + call_notes(profile, options))


def _call_tree(profile: "Profile", options: "ViewOptions") -> tree.Tree:
    paths = call_paths(profile.frames, unfolded=options.frames == "all")
    calls = _Calls(profile, paths)
    times = _times(profile, options, paths, calls)
    members, place = members_by(profile, calls.place_of_runs(), _idle_nodes(profile))
    of_members = calls.op_paths(place, members.node)
    weight = weights(profile, options.account_type_regexes)[members.node]
    metrics = weighted(measure(profile, options.step, members, options.uses), weight)
    longest_first = np.argsort(-np.nan_to_num(metrics["micros"]), kind="stable").tolist()
    rows, nesting = stack_rows([*times.paths, *(of_members[member] for member in longest_first)])
    row_of = {path: row for row, path in enumerate(rows)}
    group = np.array([row_of[path] for path in of_members], dtype=np.intp)
    timed = np.array([row_of[path] for path in times.paths], dtype=np.intp)
    by_row = add_up(metrics, group, len(rows))
    by_row["wall_micros"] = _micros(timed, times.wall_ns, len(rows))
    by_row["thread_micros"] = _micros(timed, times.thread_ns, len(rows))
    if "threads" not in profile.recording.watched:
        by_row["thread_micros"] = np.full(len(rows), np.nan)
    counted = np.where(weight > 0, group, tree.NO_ROW)
    names, frames = [path[-1] for path in rows], labelled(profile.frames)
    return tree.Tree(
        names=np.array(names, dtype=object),
        nesting=nesting,
        metrics=by_row,
        accounted=np.ones(len(rows), dtype=bool),
        labels=Labels(profile, options.step, members, counted, are_nodes=False),
        texts={"source": source_texts(names, frames)},
        rules=RULES,
        row_lines=row_lines(names, frames),
    )


def _micros(row: Rows, ns: Floats, count: int) -> Floats:
    return np.bincount(row, weights=ns, minlength=count) / 1e3


def _idle_nodes(profile: "Profile") -> Rows:
    """Return the place of nodes that never run: that of ops whose call is not known."""
    return np.zeros(len(profile.nodes), dtype=np.intp)


class _ThreadRows:
    """The names of the rows of threads."""

    def __init__(self, profile: "Profile") -> None:
        self._names = profile.threads_of_python["name"].tolist()

    def of(self, thread: int) -> str:
        """Return the row of a thread; a file may not have its name."""
        known = 0 <= thread < len(self._names)
        return f"{THREAD}{self._names[thread] if known else thread}"


class _Calls:
    """The places from which the cell calls into TensorFlow, numbered from 1; 0 is not known."""

    def __init__(self, profile: "Profile", paths: dict[int, Path]) -> None:
        self._profile = profile
        dispatches = profile.dispatches
        self.place = call_places(dispatches, np.arange(len(dispatches))) + 1
        first = np.unique(self.place, return_index=True)[1]
        of_place = dispatches.iloc[first]
        names = _ThreadRows(profile)
        self._what = ["", *of_place["what"].tolist()]
        self.paths: list[Path] = [NOT_KNOWN]
        """The path of each place."""
        for thread, stack in zip(of_place["thread"], of_place["stack"], strict=True):
            path = paths.get(stack) or NOT_KNOWN
            self.paths.append((names.of(thread), *path) if thread else path)

    def place_of_runs(self) -> Rows:
        """Return the place of the call that each op run belongs to."""
        events = self._profile.costs
        if "call" not in events:
            return np.zeros(len(events), dtype=np.intp)
        place: Rows = np.append(self.place, 0)[events["call"].to_numpy(np.intp)]
        return place

    def row_of_call(self, place: int) -> Path:
        """Return the path of the row of a call itself."""
        return (*self.paths[place], f"{CALL}{self._what[place]}")

    def op_paths(self, place: Rows, node: Rows) -> list[Path]:
        """Return the row of each part of a node: an eager op's call, or below that of a graph."""
        op_type = self._profile.nodes["op_type"].to_numpy()
        found: list[Path] = []
        for number, name in zip(place.tolist(), op_type[node].tolist(), strict=True):
            if not number:
                found.append(NOT_KNOWN)
            elif name == self._what[number]:
                found.append(self.row_of_call(number))
            else:
                found.append((*self.row_of_call(number), name))
        return found


def _times(
    profile: "Profile", options: "ViewOptions", paths: dict[int, Path], calls: _Calls
) -> Amounts:
    """Return the time of the cell's thread, then that of other threads, by row."""
    own, wall_ns = _own_time(profile, options, paths, calls)
    others, thread_ns = _time_of_others(profile, options, paths)
    return Amounts(
        paths=own + others,
        wall_ns=np.append(wall_ns, np.zeros(len(others))),
        thread_ns=np.append(np.zeros(len(own)), thread_ns),
    )


def _time_of_others(
    profile: "Profile", options: "ViewOptions", paths: dict[int, Path]
) -> tuple[list[Path], Floats]:
    samples = profile.samples_of_python
    samples = samples[samples["thread"] != 0]
    names = _ThreadRows(profile)
    start = samples["start_ns"].to_numpy(np.int64)
    ns = within_steps(
        profile, options.step, start, start + samples["duration_ns"].to_numpy(np.int64)
    )
    threads, stacks, which = distinct_pairs(
        samples["thread"].to_numpy(np.int64),
        samples["stack"].to_numpy(np.int64),
        int(samples["stack"].max()) + 1 if len(samples) else 1,
    )
    rows = [
        (names.of(thread), *paths.get(stack, ()))
        for thread, stack in zip(threads.tolist(), stacks.tolist(), strict=True)
    ]
    return rows, np.bincount(which, weights=ns, minlength=len(rows)).astype(np.float64)


def _own_time(
    profile: "Profile", options: "ViewOptions", paths: dict[int, Path], calls: _Calls
) -> tuple[list[Path], Floats]:
    samples, wall_ns = profile.samples_of_python, profile.recording.wall_ns
    samples = samples[samples["thread"] == 0]
    windows = _windows(profile.dispatches)
    if not len(samples) and not len(windows.start):
        return [UNSEEN], np.array([float(wall_ns)])
    time = samples["start_ns"].to_numpy(np.int64) + samples["duration_ns"].to_numpy(np.int64)
    found = cut_into_stretches(
        windows, Moments(time=time, stack=samples["stack"].to_numpy(np.intp)), wall_ns
    )
    place = np.append(calls.place, 0)[found.call]
    key = place * len(KINDS) + found.kind
    keys, stacks, which = distinct_pairs(key, found.stack + 1, int(found.stack.max()) + 2)
    rows = [
        _row_of(key % len(KINDS), key // len(KINDS), stack, paths, calls)
        for key, stack in zip(keys.tolist(), (stacks - 1).tolist(), strict=True)
    ]
    ns = within_steps(profile, options.step, found.start, found.end)
    return rows, np.bincount(which, weights=ns, minlength=len(keys)).astype(np.float64)


def _row_of(kind: int, place: int, stack: int, paths: dict[int, Path], calls: _Calls) -> Path:
    if kind == WATCHING:
        return WATCHED
    if not place:
        return paths.get(stack) or OUTSIDE
    return calls.row_of_call(place) if kind == IN_CALL else calls.paths[place]


def _windows(dispatches: pd.DataFrame) -> Windows:
    """Return when the calls of the cell's thread were open, and when they were being recorded."""
    call = np.flatnonzero(dispatches["thread"].to_numpy() == 0)
    own = dispatches.iloc[call]
    start, end = own["start_ns"].to_numpy(np.int64), own["end_ns"].to_numpy(np.int64)
    return Windows(
        start=np.append(start, end),
        end=np.append(end, end + own["watch_ns"].to_numpy(np.int64)),
        call=np.append(call, call),
        is_watch=np.arange(2 * len(call)) >= len(call),
    )
