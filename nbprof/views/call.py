"""The call view: the tree of Python calls, by samples of the stack of the cell's thread."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from nbprof.views import tree
from nbprof.views.measure import Members, Metrics, add_up, measure
from nbprof.views.row_labels import Labels
from nbprof.views.stack_rows import Path, labelled, row_lines, source_texts, stack_rows
from nbprof.views.tree_filter import Rules

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.arrays import Rows
    from nbprof.options import ViewOptions
    from nbprof.views.view import View

UNSEEN = ("no sample taken",)
"""The row of a cell that ended before its first sample."""
BETWEEN = ("between statements",)
"""The row of samples in which no code of the cell was running."""

RULES = Rules(minimum_of_own=(), counts_runs=False, can_account_displayed=False, root_type="")


def view(profile: "Profile", options: "ViewOptions") -> "View":
    """Place every sample under the calls that led to it."""
    return tree.view("call", _call_tree(profile, options), profile, options)


def _call_tree(profile: "Profile", options: "ViewOptions") -> tree.Tree:
    samples = profile.samples_of_python
    own = samples[samples["thread"] == 0]
    frames = labelled(profile.frames)
    path_of = paths(frames, options.frames)
    found = [path_of.get(stack, BETWEEN) for stack in own["stack"].tolist()]
    micros = own["duration_ns"].to_numpy(np.float64) / 1e3
    if not len(own):
        found, micros = [UNSEEN], np.array([profile.recording.wall_ns / 1e3])
    rows, nesting = stack_rows(found)
    labels = [row for path in rows if isinstance(row := path[-1], str)]
    row_of_path = {path: row for row, path in enumerate(rows)}
    group = np.array([*map(row_of_path.__getitem__, found)], dtype=np.intp)
    nowhere = Members(np.zeros(0, np.intp), np.zeros(len(profile.costs), np.intp))
    metrics = _no_ops(profile, options, nowhere, len(rows))
    wall = np.bincount(group, weights=micros, minlength=len(rows)).astype(np.float64)
    metrics["wall_micros"] = wall
    return tree.Tree(
        names=np.array([path[-1] for path in rows], dtype=object),
        nesting=nesting,
        metrics=metrics,
        accounted=np.ones(len(rows), dtype=bool),
        labels=Labels(profile, options.step, nowhere, np.zeros(0, np.intp), are_nodes=False),
        texts={"source": source_texts(labels, frames)},
        rules=RULES,
        row_lines=row_lines(labels, frames),
    )


def _no_ops(profile: "Profile", options: "ViewOptions", nowhere: Members, count: int) -> Metrics:
    """Return the metrics of ops for rows without any."""
    nothing: Rows = np.zeros(0, np.intp)
    return add_up(measure(profile, options.step, nowhere, options.uses), nothing, count)


def paths(frames: pd.DataFrame, whose: str) -> dict[int, Path]:
    """Return the rows of each stack, outermost first.

    Unless all frames are asked for, those of installed packages that follow each other are one row,
    named after the function that the user's line calls.
    """
    columns = frames[["stack", "label", "framework", "file", "function"]]
    stacks = groupby(columns.itertuples(index=False, name=None), key=itemgetter(0))
    if whose == "all":
        return {stack: tuple(text for _, text, *_ in found) for stack, found in stacks}
    return {stack: tuple(_folded(found)) for stack, found in stacks}


def _folded(frames: Iterable[tuple[int, str, bool, str, str]]) -> Iterator[str]:
    for installed, run in groupby(frames, key=itemgetter(2)):
        if installed:
            _, _, _, file, function = next(run)
            yield f"{package_of(file)}: {function}"
        else:
            yield from (text for _, text, *_ in run)


def package_of(file: str) -> str:
    """Return the package that an installed file belongs to."""
    parts = file.replace("\\", "/").split("/")
    for folder in ("site-packages", "dist-packages"):
        if folder in parts:
            return parts[parts.index(folder) + 1].removesuffix(".py")
    return parts[-1].removesuffix(".py")
