"""The scope view: the tree of `/`-separated node names."""

from typing import TYPE_CHECKING

import numpy as np

from nbprof.views import tree
from nbprof.views.labels import Labels
from nbprof.views.measure import add_up, measure, nodes_as_members

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.options import ViewOptions
    from nbprof.views.view import View


def view(profile: "Profile", options: "ViewOptions") -> "View":
    """Build the tree of scopes; a missing prefix becomes a row without cost of its own."""
    return tree.view("scope", _scopes(profile, options), profile, options)


def _scopes(profile: "Profile", options: "ViewOptions") -> tree.Tree:
    node_paths = [tuple(name.split("/")) for name in profile.nodes["name"]]
    # Sorting by parts, not by text, puts each scope directly before what is below it.
    paths = sorted({path[:end] for path in node_paths for end in range(1, len(path) + 1)})
    place = {path: row for row, path in enumerate(paths)}
    parent = np.array([place.get(path[:-1], -1) for path in paths], dtype=np.intp)
    group = np.array([place[path] for path in node_paths], dtype=np.intp)
    members = nodes_as_members(profile)
    metrics = add_up(measure(profile, options.step, members), group, len(paths))
    metrics["defined_count"] = np.maximum(metrics["defined_count"], 1)  # tfprof counts folders too
    names = ["/".join(path) for path in paths]
    return tree.Tree(names, parent, metrics, Labels(profile, options.step, members, group))
