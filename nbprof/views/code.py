"""The code view: the tree of the Python lines that made the graph's ops or ran the eager ones."""

from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np

from nbprof.views import tree
from nbprof.views.labels import Labels
from nbprof.views.measure import add_up, measure, members_by

if TYPE_CHECKING:
    import pandas as pd

    from nbprof._profile import Profile
    from nbprof.options import ViewOptions
    from nbprof.views.view import View

Path = tuple[str, ...]
"""The labels from the outermost line to a row."""

NOT_KNOWN = ("no Python line known",)
"""The row of the ops that TensorFlow made by itself."""

LONGEST_NAME, CUT_NAME = 19, 17


def view(profile: "Profile", options: "ViewOptions") -> "View":
    """Place every op run under the line it comes from."""
    return tree.view("code", _lines(profile, options), profile, options)


def _lines(profile: "Profile", options: "ViewOptions") -> tree.Tree:
    """Make the tree of lines; a member is a node as far as it comes from one stack."""
    unknown = np.zeros(len(profile.nodes), dtype=np.int64)
    members, stack = members_by(profile, profile.events["stack"].to_numpy(np.int64) + 1, unknown)
    shown = profile.frames if options.frames == "all" else _users(profile.frames)
    paths, sources = _paths(shown)
    of_member = [paths.get(number - 1, NOT_KNOWN) for number in stack.tolist()]
    rows = sorted({path[:end] for path in of_member for end in range(1, len(path) + 1)})
    place = {path: row for row, path in enumerate(rows)}
    group = np.array([place[path] for path in of_member], dtype=np.intp)
    parent = np.array([place.get(path[:-1], -1) for path in rows], dtype=np.intp)
    return tree.Tree(
        [path[-1] for path in rows],
        parent,
        add_up(measure(profile, options.step, members), group, len(rows)),
        Labels(profile, options.step, members, group),
        {"source": [sources.get(path[-1], "") for path in rows]},
    )


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
    if len(function) > LONGEST_NAME:
        function = function[:CUT_NAME] + "..."
    return f"{PurePath(file).name}:{line}:{function}"
