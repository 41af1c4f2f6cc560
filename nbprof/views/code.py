"""The code view: the tree of the Python lines that ran the ops and, below them, that made them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from nbprof.arrays import distinct, distinct_pairs
from nbprof.errors import NbprofError
from nbprof.views import tree
from nbprof.views.accounting import accounted_rows, weights
from nbprof.views.measure import Groups, Members, add_up, measure, members_by, weighted
from nbprof.views.row_labels import Labels
from nbprof.views.stack_rows import labelled, row_lines, source_texts, stack_rows
from nbprof.views.tree_filter import Rules
from nbprof.views.view import Lines

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.options import ViewOptions
    from nbprof.views.view import View


class Derived(NamedTuple):
    """A row that is not a line of Python itself, but of a layer or of gradients."""

    of: str
    """The line or layer it is of."""
    kind: str
    """LAYER, BACKWARD or GRADIENT."""


Path = tuple[str | Derived, ...]
"""The rows from the outermost line to a row; a line is its label."""
Frame = tuple[Any, ...]
"""A frame of a stack: its values in `FRAME_COLUMNS`."""

NOT_KNOWN = ("no Python line known",)
"""The row of the ops that TensorFlow made by itself."""
GRADIENT = "{} (gradient)"
"""The name of a row in the branch where tfprof repeats the lines of what gradients are of."""
BACKWARD = "{} (backward)"
"""The name of a row of gradients, right below the line or layer whose gradients they are."""
LAYER = "layer {}"
"""The name of the row of a layer, right below the line that runs it and others."""
FRAME_COLUMNS = ("file", "line", "function", "function_line")

NO_STACKS = (
    "the code view needs Python lines, and this profile has none: pass load_tfprof an op log with "
    "call stacks (tf.compat.v1.profiler.write_op_log with add_trace=True writes one)."
)
NO_STACKS_IN_TRACE = (
    "the code view needs Python lines, and a trace has none: use the scope view, or profile "
    "TensorFlow code with %%tfprof."
)
ONLY_GRADIENTS = (
    "the code view needs the call stack of an op that is not a gradient, and the op log has none: "
    "write it again with tf.compat.v1.profiler.write_op_log(..., add_trace=True)."
)

RULES = Rules(
    minimum_of_own=(),
    counts_runs=False,
    trims_the_row=True,
    can_account_displayed=False,
    root_type="",
)


@dataclass(frozen=True, eq=False)
class LinesOfMembers:
    """The lines that nodes come from; a member is the part of a node that has one stack."""

    members: Members
    paths: list[Path]
    stacks: list[int]
    """The number of each member's stack in `profile.frames`."""


def view(profile: "Profile", options: "ViewOptions") -> "View":
    """Place every op run under the line it comes from."""
    if not profile.has_stacks:
        raise NbprofError(NO_STACKS if profile.recording.tfprof else NO_STACKS_IN_TRACE)
    return tree.view("code", _line_tree(profile, options), profile, options)


def _line_tree(profile: "Profile", options: "ViewOptions") -> tree.Tree:
    frames = _shown_frames(profile.frames, options.frames)
    find_lines = _logged_lines if profile.recording.tfprof else _recorded_lines
    found = find_lines(profile, _paths(frames))
    rows, nesting = stack_rows(found.paths)
    row_of_path = dict(zip(rows, range(len(rows)), strict=True))
    group = np.array([*map(row_of_path.__getitem__, found.paths)], dtype=np.intp)
    patterns = options.account_type_regexes
    weight = weights(profile, patterns)[found.members.node]
    for_pprof = options.output.kind == "pprof"
    uses = (lambda _: True) if for_pprof else options.uses
    metrics = measure(profile, options.step, found.members, uses)
    counted = np.where(weight > 0, group, tree.NO_ROW)
    return tree.Tree(
        names=np.array([_name(path[-1]) for path in rows], dtype=object),
        nesting=nesting,
        metrics=add_up(weighted(metrics, weight), group, len(rows)),
        accounted=accounted_rows(len(rows), group[weight > 0], patterns),
        labels=Labels(profile, options.step, found.members, counted, are_nodes=False),
        texts={"source": source_texts(map(_line, rows), frames)},
        rules=RULES,
        row_lines=row_lines(map(_line_of, rows), frames),
        lines=Lines(_frames_of_rows(rows, found, frames), metrics) if for_pprof else None,
    )


def _shown_frames(frames: pd.DataFrame, whose: str) -> pd.DataFrame:
    """Return the frames with their labels, without those of installed packages unless asked for.

    The work of a package belongs to the line that calls it.
    """
    return labelled(frames if whose == "all" else frames[~frames["framework"]])


def _recorded_lines(profile: "Profile", paths: dict[int, Path]) -> LinesOfMembers:
    """Return the lines of a recorded cell: those of each run's stack.

    A line that runs several Keras layers has a row for each, and gradients have a row of their own
    below the line or layer whose gradients they are.
    """
    stack = profile.costs["stack"].to_numpy(np.int64) + 1
    layer = _layers_to_show(profile, _lines_of(stack, paths))
    backward = profile.costs["backward"].to_numpy(bool)
    width = len(profile.layers) + 1
    unknown = np.zeros(len(profile.nodes), dtype=np.int64)
    members, kind = members_by(profile, 2 * (stack * width + layer) + backward, unknown)
    names = ["", *profile.layers["name"].tolist()]
    stacks = (kind // 2 // width - 1).tolist()
    parts = zip(stacks, (kind // 2 % width).tolist(), (kind % 2).tolist(), strict=True)
    of_members = [
        _path_below(paths[number], names[layer], bool(is_backward))
        if number in paths
        else NOT_KNOWN
        for number, layer, is_backward in parts
    ]
    return LinesOfMembers(members, of_members, stacks)


def _lines_of(stack: Groups, paths: dict[int, Path]) -> Groups:
    """Number the line that each event's stack, counted from 1, leads to; 0 if it is not known.

    Many stacks lead to the same line: they differ in the frames of packages below it.
    """
    numbers: dict[Path, int] = {}
    stacks, which = distinct(stack, int(stack.max(initial=0)) + 1)
    known = (paths.get(number - 1) for number in stacks.tolist())
    lines = [numbers.setdefault(path, len(numbers) + 1) if path else 0 for path in known]
    return np.array(lines, dtype=np.intp)[which]


def _layers_to_show(profile: "Profile", line: Groups) -> Groups:
    """Return the layer of each event, counted from 1, if its line runs several layers; else 0."""
    is_layer = np.append(profile.layers["kind"].to_numpy() != "", False)
    row = profile.costs["layer"].to_numpy(np.int64)
    layer = np.where(is_layer[row], row + 1, 0)
    lines, layers, _ = distinct_pairs(line, layer, len(is_layer) + 1)
    several = np.bincount(lines[layers > 0], minlength=int(line.max(initial=0)) + 1) > 1
    return np.where(several[line] & (line > 0), layer, 0)


def _path_below(path: Path | None, layer: str, is_backward: bool) -> Path:
    """Extend the path of a line, if it is known, by the row of a layer and that of gradients."""
    if path is None:
        return NOT_KNOWN
    path = (*path, Derived(layer, LAYER)) if layer else path
    return (*path, Derived(_name(path[-1]), BACKWARD)) if is_backward else path


def _name(row: str | Derived) -> str:
    """Return what a row is called."""
    return row if isinstance(row, str) else row.kind.format(row.of)


def _logged_lines(profile: "Profile", paths: dict[int, Path]) -> LinesOfMembers:
    """Return the lines that tfprof's log has for nodes, by node name, gradients last.

    A gradient has the line of its forward node, on a branch of its own.
    """
    names = profile.nodes["name"].tolist()
    logged = sorted(filter(paths.__contains__, range(len(names))), key=names.__getitem__)
    forward = {node: forward_of(names[node]) for node in logged}
    plain = [node for node in logged if not forward[node]]
    if not plain:
        raise NbprofError(ONLY_GRADIENTS)
    plain_node = {names[node]: node for node in plain}
    gradients = [node for node in logged if forward[node] and forward[node] in plain_node]
    gradients.sort(key=forward.__getitem__)
    forward_nodes = [plain_node[forward[node]] for node in gradients]
    gradient_paths = [
        tuple(Derived(_name(line), GRADIENT) for line in paths[node]) for node in forward_nodes
    ]
    return LinesOfMembers(
        members=_only_nodes(profile, np.array([*plain, *gradients], dtype=np.intp)),
        paths=[*map(paths.__getitem__, plain), *gradient_paths],
        stacks=[*plain, *forward_nodes],
    )


def _only_nodes(profile: "Profile", nodes: np.ndarray) -> Members:
    """Make members of some nodes; events of other nodes get the number after the last member."""
    member = np.full(len(profile.nodes), len(nodes), dtype=np.intp)
    member[nodes] = np.arange(len(nodes))
    return Members(nodes, member[profile.costs["node"].to_numpy()])


def forward_of(name: str) -> str:
    """Return the name of the node whose gradient this is by tfprof's rule, or an empty string."""
    _, found, rest = name.partition("gradients/")
    if not found or "_grad/" not in name:
        return ""
    end = name.find("_grad/") - (len(name) - len(rest))
    return rest if end < 0 else rest[:end]


def _paths(frames: pd.DataFrame) -> dict[int, Path]:
    """Return the labels of each stack, outermost first."""
    paths: dict[int, list[str]] = {}
    for stack, text in zip(frames["stack"].tolist(), frames["label"], strict=True):
        paths.setdefault(stack, []).append(text)
    return {stack: tuple(path) for stack, path in paths.items()}


def _line_of(path: Path) -> str:
    """Return the label of the line that a row is about; empty: none."""
    row = path[-1]
    return row.of if isinstance(row, Derived) and row.kind == GRADIENT else _line(path)


def _line(path: Path) -> str:
    """Return the label of the line whose source a row shows; empty: none."""
    row = path[-1]
    if isinstance(row, str):
        return row
    return row.of if row.kind == BACKWARD else ""


def _frames_of_rows(rows: list[Path], found: LinesOfMembers, frames: pd.DataFrame) -> pd.DataFrame:
    """Return the uncut frame of each row: that of the first member at or below it."""
    by_stack = _frames_by_stack(frames)
    frame_of: dict[Path, Frame] = {}
    for path, stack in zip(found.paths, found.stacks, strict=True):
        stack_frames = by_stack.get(stack, [("", 0, _name(path[-1]), 0)])
        for end in range(len(path), 0, -1):
            if path[:end] in frame_of:
                break
            frame_of[path[:end]] = _frame_of_row(path[:end], stack_frames)
    # Not Arrow's strings: they cannot hold lone surrogates.
    return pd.DataFrame([*map(frame_of.get, rows)], columns=[*FRAME_COLUMNS], dtype=object)


def _frame_of_row(path: Path, frames: list[Frame]) -> Frame:
    """Return the frame of a row; rows below a line have its place and a function of their own."""
    file, line, function, begins = frames[min(len(path), len(frames)) - 1]
    row = path[-1]
    if isinstance(row, Derived):
        is_of_line = row.kind == GRADIENT or (row.kind == BACKWARD and isinstance(path[-2], str))
        function = row.kind.format(function) if is_of_line else _name(row)
    return file, line, function, begins


def _frames_by_stack(frames: pd.DataFrame) -> dict[int, list[Frame]]:
    if "function_line" not in frames:
        frames = frames.assign(function_line=0)
    by_stack: dict[int, list[Frame]] = {}
    columns = (frames[name].tolist() for name in ("stack", *FRAME_COLUMNS))
    for stack, *frame in zip(*columns, strict=True):
        by_stack.setdefault(stack, []).append(tuple(frame))
    return by_stack
