"""The layer view: the tree of Keras layers, forward and backward apart, and all other work."""

from typing import TYPE_CHECKING

import numpy as np

from nbprof.options import EVERYTHING
from nbprof.views import tree
from nbprof.views.accounting import weights
from nbprof.views.measure import add_up, measure, members_by, weighted
from nbprof.views.row_labels import Labels

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.options import ViewOptions
    from nbprof.views.measure import Groups
    from nbprof.views.view import View

FORWARD, BACKWARD = "forward", "backward"


def view(profile: "Profile", options: "ViewOptions") -> "View":
    """Place every op run in its layer."""
    return tree.view("layer", _layers(profile, options), profile, options)


def _layers(profile: "Profile", options: "ViewOptions") -> tree.Tree:
    """Make the tree; a layer that has a backward pass has a row for each pass below its own."""
    layers, events = profile.layers, profile.costs
    half = 2 * events["layer"].to_numpy(np.int64) + events["backward"].to_numpy()
    members, half = members_by(profile, half, 2 * profile.nodes["layer"].to_numpy(np.int64))
    variable = np.arange(len(half)) > members.of_event.max(initial=-1)

    apart = np.zeros(len(layers), dtype=bool)
    apart[half[half % 2 == 1] // 2] = True
    split = np.flatnonzero(apart)
    first = np.full(len(layers), -1)
    first[split] = len(layers) + 2 * np.arange(len(split))
    group = half // 2
    group = np.where(apart[group] & ~variable, first[group] + half % 2, group)

    names = layers["name"].tolist()
    names += [f"{names[layer]}/{part}" for layer in split for part in (FORWARD, BACKWARD)]
    parent = np.concatenate((layers["parent"].to_numpy(np.intp), np.repeat(split, 2)))
    kinds = [*layers["kind"], *([""] * (2 * len(split)))]
    by_name = sorted(range(len(names)), key=names.__getitem__)
    order, level = _visiting_order(by_name, parent)
    place = np.full(len(order) + 1, tree.NONE, dtype=np.intp)  # the last entry is no parent's
    place[order] = np.arange(len(order))
    group = place[group]
    weight = weights(profile, options.account_type_regexes)[members.node]
    metrics = add_up(
        weighted(measure(profile, options.step, members, options.uses), weight), group, len(names)
    )
    accounted = np.full(len(names), options.account_type_regexes == EVERYTHING)
    accounted[group[weight > 0]] = True
    return tree.Tree(
        [names[row] for row in order],
        place[parent[order]],
        np.array(level, dtype=np.intp),
        metrics,
        accounted,
        Labels(profile, options.step, members, group, are_nodes=False),
        {"kind": [kinds[row] for row in order]},
    )


def _visiting_order(by_name: list[int], parent: "Groups") -> tuple[list[int], list[int]]:
    """Order rows so that a subtree stands together, siblings by name; give levels, too."""
    rank = {row: place for place, row in enumerate(by_name)}
    above = [rank.get(int(parent[row]), tree.NONE) for row in by_name]
    order, level = tree.visiting_order(above)
    return [by_name[place] for place in order], level
