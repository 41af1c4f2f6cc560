"""The scope view: the tree of `/`-separated node names."""

from typing import TYPE_CHECKING

import numpy as np

from nbprof.views import tree
from nbprof.views.accounting import matches, weights
from nbprof.views.measure import add_up, measure, nodes_as_members
from nbprof.views.row_labels import Labels

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from nbprof._profile import Profile
    from nbprof.arrays import Rows
    from nbprof.options import ViewOptions
    from nbprof.views.view import View

FOLDER = "_kTFScopeParent"
"""tfprof's type of a scope that is no node."""


def view(profile: "Profile", options: "ViewOptions") -> "View":
    """Build the tree of scopes; a missing prefix becomes a row without cost of its own."""
    return tree.view("scope", _scopes(profile, options), profile, options)


def _scopes(profile: "Profile", options: "ViewOptions") -> tree.Tree:
    node_names = profile.nodes["name"].tolist()
    names, parent, level = scopes(node_names)
    place = {name: row for row, name in enumerate(names)}
    group = np.fromiter(map(place.__getitem__, node_names), np.intp, len(node_names))
    members = nodes_as_members(profile)
    metrics = add_up(measure(profile, options.step, members, options.uses), group, len(names))
    is_node = metrics["defined_count"] > 0
    metrics["defined_count"] = np.maximum(metrics["defined_count"], 1)  # tfprof counts folders too
    patterns = options.account_type_regexes
    accounted = ~is_node & matches([FOLDER], patterns)[0]
    accounted[group[weights(profile, patterns) > 0]] = True
    labels = Labels(profile, options.step, members, group, {"op_types": FOLDER})
    return tree.Tree(names, parent, level, metrics, accounted, labels)


def _by_parts(names: "Collection[str]") -> list[str]:
    """Sort by parts, not by text, so that a scope stands directly before what is below it."""
    joined = "\n".join(names)
    if "\0" in joined or joined.count("\n") >= len(names):
        return sorted(names, key=lambda name: name.split("/"))
    # The same, without a list for each name: nothing sorts before this letter.
    ordered = sorted(joined.replace("/", "\0").split("\n"))
    return "\n".join(ordered).replace("\0", "/").split("\n") if names else []


def scopes(names: "Sequence[str]") -> "tuple[list[str], Rows, Rows]":
    """Give all scopes of these names, the names among them, with the parent and level of each."""
    found: list[str] = []
    parent: list[int] = []
    level: list[int] = []
    # The scopes that the name before stands in, itself among them: with a slash, and their rows.
    around, rows = [""], [tree.NONE]
    last = None
    for name in _by_parts(dict.fromkeys(names)):  # in their order, which is half sorted
        head, slash, _ = name.rpartition("/")
        if slash and head == last:  # the next one of the same scope
            parent.append(rows[-2])
            level.append(len(rows) - 2)
            rows[-1] = len(found)
            around[-1] = name + "/"
            found.append(name)
            continue
        last = head if slash else None
        while not name.startswith(around[-1]):
            around.pop()
            rows.pop()
        begin = len(around[-1])
        while begin <= len(name):
            end = name.find("/", begin)
            scope = name if end < 0 else name[:end]
            parent.append(rows[-1])
            level.append(len(rows) - 1)
            rows.append(len(found))
            around.append(scope + "/")
            found.append(scope)
            begin = len(scope) + 1
    return found, np.array(parent, dtype=np.intp), np.array(level, dtype=np.intp)
