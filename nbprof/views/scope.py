"""The scope view: the tree of `/`-separated node names."""

from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from nbprof.views import tree
from nbprof.views.accounting import matches, weights
from nbprof.views.measure import add_up, measure, nodes_as_members
from nbprof.views.row_labels import Labels
from nbprof.views.tree_nesting import Nesting

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.options import ViewOptions
    from nbprof.views.view import View

FOLDER = "_kTFScopeParent"
"""tfprof's op type of a scope that is not a node."""


def view(profile: "Profile", options: "ViewOptions") -> "View":
    """Build the tree of scopes; a scope that is not a node becomes a row without own cost."""
    return tree.view("scope", _scope_tree(profile, options), profile, options)


def _scope_tree(profile: "Profile", options: "ViewOptions") -> tree.Tree:
    number, node_names = pd.factorize(profile.nodes["name"])
    names = with_scopes(node_names.tolist())
    order = np.array(order_by_parts(names), dtype=np.intp)
    row = np.empty(len(names), dtype=np.intp)
    row[order] = np.arange(len(names))
    group = row[number]
    members = nodes_as_members(profile)
    metrics = add_up(measure(profile, options.step, members, options.uses), group, len(names))
    is_node = metrics["defined_count"] > 0
    metrics["defined_count"] = np.maximum(metrics["defined_count"], 1)  # tfprof counts folders too
    patterns = options.account_type_regexes
    accounted = ~is_node & matches([FOLDER], patterns)[0]
    accounted[group[weights(profile, patterns) > 0]] = True
    level = np.fromiter(map(str.count, names, repeat("/")), np.intp, len(names))
    return tree.Tree(
        names=np.array(names, dtype=object)[order],
        nesting=Nesting.of_levels(level[order]),
        metrics=metrics,
        accounted=accounted,
        labels=Labels(profile, options.step, members, group, {"op_types": FOLDER}),
    )


def with_scopes(names: list[str]) -> list[str]:
    """Return the names, then all further scopes around them."""
    found = dict.fromkeys(names)
    inner = list(found)
    while inner:
        around = dict.fromkeys([name.rpartition("/")[0] for name in inner if "/" in name])
        inner = [scope for scope in around if scope not in found]
        found.update(dict.fromkeys(inner))
    return list(found)


def order_by_parts(names: list[str]) -> list[int]:
    """Order names by their parts, not by text, so that a scope comes right before what is in it."""
    joined = "\n".join(names)
    keys: list[str] | list[list[str]] = joined.replace("/", "\0").split("\n")
    # No character sorts before "\0"; names that contain one, or a line break, are split instead.
    if "\0" in joined or len(keys) != len(names):
        keys = [name.split("/") for name in names]
    return sorted(range(len(names)), key=keys.__getitem__)
