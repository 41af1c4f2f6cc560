"""The code view: the tree of the Python lines that made the graph's ops or ran the eager ones."""

from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import Rows
from nbprof.errors import NbprofError
from nbprof.options import EVERYTHING
from nbprof.protos.letters import letters
from nbprof.views import tree
from nbprof.views.accounting import weights
from nbprof.views.line_frames import GRADIENT, frames_of_rows
from nbprof.views.measure import Members, add_up, measure, members_by, weighted
from nbprof.views.row_labels import Labels
from nbprof.views.view import Lines

if TYPE_CHECKING:
    import pandas as pd

    from nbprof._profile import Profile
    from nbprof.options import ViewOptions
    from nbprof.views.view import View

Path = tuple[str, ...]
"""The labels from the outermost line to a row."""

NOT_KNOWN = ("no Python line known",)
"""The row of the ops that TensorFlow made by itself."""

NO_STACKS = (
    "the code view needs lines of Python, and this profile has none: give load_tfprof an op log "
    "with call stacks (tf.compat.v1.profiler.write_op_log with add_trace=True writes one)."
)
NO_STACKS_IN_TRACE = (
    "the code view needs lines of Python, and a trace has none: look at the scope view, or "
    "profile TensorFlow code with %%tfprof."
)

LONGEST_NAME, CUT_NAME = 19, 17

RULES = tree.Rules(
    minimum_of_own=(),
    counts_runs=False,
    trims_the_row=True,
    can_account_displayed=False,
    root_type="",
)


def view(profile: "Profile", options: "ViewOptions") -> "View":
    """Place every op run under the line it comes from."""
    if not profile.has_stacks:
        raise NbprofError(NO_STACKS if profile.recording.tfprof else NO_STACKS_IN_TRACE)
    return tree.view("code", _lines(profile, options), profile, options)


def _lines(profile: "Profile", options: "ViewOptions") -> tree.Tree:
    """Make the tree of lines; a member is a node as far as it comes from one stack."""
    shown = profile.frames if options.frames == "all" else _users(profile.frames)
    paths, sources = _paths(shown)
    find = _logged if profile.recording.tfprof else _watched
    members, of_member, stacks = find(profile, paths)
    rows, parent, level = _rows(of_member)
    place = {path: row for row, path in enumerate(rows)}
    group = np.array([place[path] for path in of_member], dtype=np.intp)
    weight = weights(profile, options.account_type_regexes)[members.node]
    pprof = options.output.kind == "pprof"
    uses = (lambda _: True) if pprof else options.uses
    of_members = measure(profile, options.step, members, uses)
    metrics = add_up(weighted(of_members, weight), group, len(rows))
    lines = None
    if pprof:
        lines = Lines(frames_of_rows(rows, of_member, stacks, shown), of_members)
    accounted = np.full(len(rows), options.account_type_regexes == EVERYTHING)
    accounted[group[weight > 0]] = True
    counted = np.where(weight > 0, group, tree.NOWHERE)
    return tree.Tree(
        [path[-1] for path in rows],
        parent,
        level,
        metrics,
        accounted,
        Labels(profile, options.step, members, counted, are_nodes=False),
        {"source": [sources.get(path[-1], "") for path in rows]},
        RULES,
        lines,
    )


def _rows(paths: list[Path]) -> tuple[list[Path], Rows, Rows]:
    """Make a row of each line, in the order in which the lines first come."""
    found: dict[Path, int] = {}
    parent: list[int] = []
    for path in paths:
        if path not in found:
            for end in range(1, len(path) + 1):
                if path[:end] not in found:
                    parent.append(found.get(path[: end - 1], tree.NONE))
                    found[path[:end]] = len(found)
    order, level = tree.visiting_order(parent)
    rows = list(found)
    place = np.full(len(order) + 1, tree.NONE, dtype=np.intp)
    place[order] = np.arange(len(order))
    above = place[np.array(parent, dtype=np.intp)[order]] if order else place[:0]
    return [rows[row] for row in order], above, np.array(level, dtype=np.intp)


def _watched(profile: "Profile", paths: dict[int, Path]) -> tuple[Members, list[Path], list[int]]:
    """Give the members of a recorded cell, sorted by their lines, their paths and stacks."""
    unknown = np.zeros(len(profile.nodes), dtype=np.int64)
    stack = profile.costs["stack"].to_numpy(np.int64) + 1
    members, stack = members_by(profile, stack, unknown)
    stacks = (stack - 1).tolist()
    return members, [paths.get(number, NOT_KNOWN) for number in stacks], stacks


def _logged(profile: "Profile", paths: dict[int, Path]) -> tuple[Members, list[Path], list[int]]:
    """Give the nodes that tfprof's log has a stack for, by name, gradients last; paths and stacks.

    A gradient's line is that of the node it is of, on a branch of its own.
    """
    names = profile.nodes["name"].tolist()
    by_name = [node for node in sorted(range(len(names)), key=names.__getitem__) if node in paths]
    row = {name: number for number, name in enumerate(names)}
    forward = {node: forward_of(names[node]) for node in by_name}
    plain = [node for node in by_name if not forward[node]]
    of_plain = {names[node] for node in plain}
    gradients = [node for node in by_name if forward[node] and forward[node] in of_plain]
    gradients.sort(key=forward.__getitem__)
    if not plain:
        raise NbprofError("the op log has no call stack of an op that is no gradient.")
    stacks = [*plain, *(row[forward[node]] for node in gradients)]
    of_member = [paths[stack] for stack in stacks]
    for member in range(len(plain), len(stacks)):
        of_member[member] = tuple(f"{text}{GRADIENT}" for text in of_member[member])
    place = np.full(len(names), len(stacks), dtype=np.intp)
    chosen = np.array([*plain, *gradients], dtype=np.intp)
    place[chosen] = np.arange(len(chosen))
    members = Members(chosen, place[profile.costs["node"].to_numpy()])
    return members, of_member, stacks


def forward_of(name: str) -> str:
    """Give the name of the node whose gradient this is, by tfprof's rule, or an empty text."""
    _, found, rest = name.partition("gradients/")
    if not found or "_grad/" not in name:
        return ""
    end = name.find("_grad/") - (len(name) - len(rest))
    return rest if end < 0 else rest[:end]


def _users(frames: "pd.DataFrame") -> "pd.DataFrame":
    """Fold the frames of frameworks: what they did belongs to the line that called them."""
    return frames[~frames["framework"]]


def _paths(frames: "pd.DataFrame") -> tuple[dict[int, Path], dict[str, str]]:
    """Give the labels of each stack, and the text of the line behind each label."""
    labels = [
        label(file, line, function)
        for file, line, function in zip(
            frames["file"], frames["line"], frames["function"], strict=True
        )
    ]
    paths: dict[int, list[str]] = {}
    for stack, text in zip(frames["stack"].tolist(), labels, strict=True):
        paths.setdefault(stack, []).append(text)
    sources = dict(zip(labels, frames["source"], strict=True))
    return {stack: tuple(path) for stack, path in paths.items()}, sources


def label(file: str, line: int, function: str) -> str:
    """Name a line as tfprof does: `train.py:9:<module>`, and `In [3]:9:<module>` in a cell."""
    written = letters(function)
    if len(written) > LONGEST_NAME:
        function = written[:CUT_NAME].decode(errors="replace") + "..."
    return f"{file.rpartition('/')[2]}:{line}:{function}"
