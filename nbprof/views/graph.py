"""The graph view: the tree from the nodes that nobody uses to what they are made of."""

from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import Rows
from nbprof.views import tree
from nbprof.views.accounting import weights
from nbprof.views.measure import measure, nodes_as_members
from nbprof.views.row_labels import Labels

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.options import ViewOptions
    from nbprof.views.view import View


def view(profile: "Profile", options: "ViewOptions") -> "View":
    """Place every node under the first that uses it; a node that does not count dissolves."""
    return tree.view("graph", _graph(profile, options), profile, options)


def _graph(profile: "Profile", options: "ViewOptions") -> tree.Tree:
    order, level = _first_users(profile)
    accounted = weights(profile, options.account_type_regexes)[order] > 0
    kept = np.flatnonzero(accounted)
    above, depth = tree.nearest_shown(kept, tree.ends(level))
    nodes = order[kept]
    members = nodes_as_members(profile)
    metrics = measure(profile, options.step, members, options.uses)
    row_of_node = np.full(len(profile.nodes), tree.NOWHERE, dtype=np.intp)
    row_of_node[nodes] = np.arange(len(nodes))
    names = profile.nodes["name"].tolist()
    return tree.Tree(
        [names[node] for node in nodes.tolist()],
        above,
        depth,
        {name: values[nodes] for name, values in metrics.items()},
        np.ones(len(nodes), dtype=bool),
        Labels(profile, options.step, members, row_of_node),
        rules=tree.Rules(root_type="_TFGraphParent"),
    )


def _first_users(profile: "Profile") -> tuple[Rows, Rows]:
    """Visit the nodes from users to what they use, each once; give them and how deep they are."""
    names = profile.nodes["name"].tolist()
    inputs = profile.inputs
    is_there = inputs["source"].between(0, len(names) - 1) & (inputs["node"] < len(names))
    known = inputs[is_there].sort_values(["node", "position"], kind="stable")
    used: dict[int, list[int]] = {}
    for node, source in zip(known["node"].tolist(), known["source"].tolist(), strict=True):
        used.setdefault(node, []).append(source)
    is_used = np.zeros(len(names), dtype=bool)
    is_used[known["source"].to_numpy(np.intp)] = True
    results = sorted(np.flatnonzero(~is_used).tolist(), key=names.__getitem__)
    order: list[int] = []
    level: list[int] = []
    visited = np.zeros(len(names), dtype=bool).tolist()
    waiting = [(node, 0) for node in reversed(results)]
    while waiting:
        node, depth = waiting.pop()
        if not visited[node]:
            visited[node] = True
            order.append(node)
            level.append(depth)
            waiting.extend((source, depth + 1) for source in reversed(used.get(node, ())))
    return np.array(order, dtype=np.intp), np.array(level, dtype=np.intp)
