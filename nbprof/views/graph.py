"""The graph view: the tree from the nodes that no other node uses down to their inputs."""

from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import Rows
from nbprof.views import tree
from nbprof.views.accounting import weights
from nbprof.views.measure import measure, nodes_as_members
from nbprof.views.row_labels import Labels
from nbprof.views.tree_filter import Rules
from nbprof.views.tree_nesting import Nesting

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.options import ViewOptions
    from nbprof.views.view import View

RULES = Rules(root_type="_TFGraphParent")


def view(profile: "Profile", options: "ViewOptions") -> "View":
    """Place every node under the first one that uses it, leaving out nodes that do not count."""
    return tree.view("graph", _graph_tree(profile, options), profile, options)


def _graph_tree(profile: "Profile", options: "ViewOptions") -> tree.Tree:
    visited, nesting = _below_first_users(profile)
    counted = np.flatnonzero(weights(profile, options.account_type_regexes)[visited] > 0)
    nodes = visited[counted]
    members = nodes_as_members(profile)
    metrics = measure(profile, options.step, members, options.uses)
    row_of_node = np.full(len(profile.nodes), tree.NO_ROW, dtype=np.intp)
    row_of_node[nodes] = np.arange(len(nodes))
    return tree.Tree(
        names=np.array(profile.nodes["name"].tolist(), dtype=object)[nodes],
        nesting=nesting.only(counted),
        metrics={name: values[nodes] for name, values in metrics.items()},
        accounted=np.ones(len(nodes), dtype=bool),
        labels=Labels(profile, options.step, members, row_of_node),
        rules=RULES,
    )


def _below_first_users(profile: "Profile") -> tuple[Rows, Nesting]:
    """Visit every node once, from users to what they use; return the nodes and their nesting."""
    names = profile.nodes["name"].tolist()
    sources_of = _sources_of_nodes(profile)
    used = {source for sources in sources_of.values() for source in sources}
    results = sorted(
        (node for node in range(len(names)) if node not in used), key=names.__getitem__
    )
    order: list[int] = []
    level: list[int] = []
    visited = [False] * len(names)
    to_visit = [(node, 0) for node in reversed(results)]
    while to_visit:
        node, depth = to_visit.pop()
        if not visited[node]:
            visited[node] = True
            order.append(node)
            level.append(depth)
            to_visit.extend((source, depth + 1) for source in reversed(sources_of.get(node, ())))
    return np.array(order, dtype=np.intp), Nesting.of_levels(np.array(level, dtype=np.intp))


def _sources_of_nodes(profile: "Profile") -> dict[int, list[int]]:
    """List the nodes that each node uses, in the order of its inputs."""
    inputs, count = profile.inputs, len(profile.nodes)
    are_nodes = inputs["source"].between(0, count - 1) & (inputs["node"] < count)
    known = inputs[are_nodes].sort_values(["node", "position"], kind="stable")
    sources_of: dict[int, list[int]] = {}
    for node, source in zip(known["node"].tolist(), known["source"].tolist(), strict=True):
        sources_of.setdefault(node, []).append(source)
    return sources_of
