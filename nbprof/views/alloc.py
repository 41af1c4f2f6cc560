"""The alloc view: the lines of Python that allocated memory, by file."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from nbprof.columns import COLUMNS
from nbprof.views import tree
from nbprof.views.measure import Members, Metrics, add_up, measure
from nbprof.views.row_labels import Labels
from nbprof.views.stack_rows import NO_LINE, Path, label, stack_rows
from nbprof.views.tree_filter import Rules
from nbprof.views.view import RowLines

if TYPE_CHECKING:
    import pandas as pd

    from nbprof._profile import Profile
    from nbprof.arrays import Rows
    from nbprof.options import ViewOptions
    from nbprof.views.view import View

NOWHERE = ("no line of Python known",)
"""The row of what was allocated outside of Python code."""
PACKAGES = ("site-packages", "dist-packages")
"""Folders of installed packages."""

RULES = Rules(minimum_of_own=(), counts_runs=False, can_account_displayed=False, root_type="")


def view(profile: "Profile", options: "ViewOptions") -> "View":
    """Place every allocation under the line of the user's that it belongs to."""
    return tree.view("alloc", _site_tree(profile, options), profile, options)


def _site_tree(profile: "Profile", options: "ViewOptions") -> tree.Tree:
    sites = profile.sites
    paths = _paths(sites, whose=options.frames)
    rows, nesting = stack_rows(paths)
    row_of_path = {path: row for row, path in enumerate(rows)}
    group = np.array([*map(row_of_path.__getitem__, paths)], dtype=np.intp)
    nothing: Rows = np.zeros(0, np.intp)
    nowhere = Members(nothing, np.zeros(len(profile.costs), np.intp))
    # The tree of every view is made of ops, too; here are none.
    no_ops = add_up(measure(profile, options.step, nowhere, options.uses), nothing, len(rows))
    source = dict(zip(paths, sites["source"], strict=True))
    return tree.Tree(
        names=np.array([path[-1] for path in rows], dtype=object),
        nesting=nesting,
        metrics=no_ops | add_up(_sizes(sites), group, len(rows)),
        accounted=np.ones(len(rows), dtype=bool),
        labels=Labels(profile, options.step, nowhere, nothing, are_nodes=False),
        texts={"source": [source.get(path, "") if len(path) == 2 else "" for path in rows]},
        rules=RULES,
        row_lines=_lines_of(rows, paths, sites),
    )


def _lines_of(rows: list[Path], paths: list[Path], sites: "pd.DataFrame") -> RowLines:
    """Return the line of each row; only the user's lines count as one."""
    columns = zip(paths, sites["file"], sites["line"].tolist(), sites["framework"], strict=True)
    known = {path[:2]: (file, line) for path, file, line, framework in columns if not framework}
    found = [*(known.get(path, NO_LINE) for path in rows), NO_LINE]
    return RowLines(
        np.array([file for file, _ in found], dtype=object),
        np.array([line for _, line in found], dtype=np.int64),
    )


def _sizes(sites: "pd.DataFrame") -> Metrics:
    return {
        metric.name: sites[metric.column].to_numpy(np.float64)
        for column in COLUMNS.values()
        for metric in column.measures
        if column.views == ("alloc",)
    }


def _paths(sites: "pd.DataFrame", whose: str) -> list[Path]:
    """Return the rows of each site: its file, its line and, with all frames, those it ran."""
    columns = (sites[name] for name in ("file", "line", "function", "framework", "inner"))
    file_names = distinct_names(sites["file"][~sites["framework"]])
    paths: list[Path] = []
    for file, line, function, framework, inner in zip(*columns, strict=True):
        below = tuple(map(short_name, inner)) if whose == "all" else ()
        if framework:
            paths.append((*_library(file, line), *below))
        else:
            paths.append((file_names[file], label(file, line, function), *below))
    return paths


def _library(file: str, line: int) -> Path:
    """Return the package of an installed file, and its line; it has no line of the user's."""
    name = short_name(file)
    if file == "<unknown>":
        return NOWHERE
    return name.partition("/")[0].removesuffix(".py"), f"{name}:{line}"


def short_name(file: str) -> str:
    """Return the path of an installed file from its package on: `pandas/core/frame.py`."""
    parts = file.replace("\\", "/").split("/")
    for place, part in enumerate(parts[:-1]):
        if part in PACKAGES:
            return "/".join(parts[place + 1 :])
    for place, part in enumerate(parts[:-1]):
        if part.startswith("python3."):
            return "/".join(parts[place + 1 :])
    return parts[-1]


def distinct_names(files: Iterable[str]) -> dict[str, str]:
    """Return the shortest ends of paths that tell these files apart."""
    parts = {file: file.replace("\\", "/").split("/") for file in files}
    names = {file: found[-1] for file, found in parts.items()}
    for length in range(2, max(map(len, parts.values()), default=0) + 1):
        if len(set(names.values())) == len(names):
            break
        shared = [name for name in names.values() if [*names.values()].count(name) > 1]
        for file, found in parts.items():
            if names[file] in shared:
                names[file] = "/".join(found[-length:])
    return names
