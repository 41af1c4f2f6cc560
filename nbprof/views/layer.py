"""The layer view: the tree of Keras layers, forward and backward apart, and all other work."""

from typing import TYPE_CHECKING

import numpy as np

from nbprof.views import tree
from nbprof.views.labels import Labels
from nbprof.views.measure import add_up, measure, members_by

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
    layers, events = profile.layers, profile.events
    half = 2 * events["layer"].to_numpy(np.int64) + events["backward"].to_numpy()
    members, half = members_by(profile, half, 2 * profile.nodes["layer"].to_numpy(np.int64))
    variable = members.node > events["node"].max()

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
    order, place = _visiting_order(names, parent)
    group = place[group]
    return tree.Tree(
        [names[row] for row in order],
        place[parent[order]],
        add_up(measure(profile, options.step, members), group, len(names)),
        Labels(profile, options.step, members, group),
        {"kind": [kinds[row] for row in order]},
    )


def _visiting_order(names: list[str], parent: "Groups") -> "tuple[list[int], Groups]":
    """Order rows so that a parent stands before its children; give the new place of each, too."""
    depth = np.zeros(len(parent), dtype=np.intp)
    above = parent.copy()
    while (above >= 0).any():
        depth[above >= 0] += 1
        above = np.where(above >= 0, parent[above], -1)
    order = sorted(range(len(names)), key=lambda row: (depth[row], names[row]))
    place = np.full(len(order) + 1, -1, dtype=np.intp)  # the last entry is that of no parent
    place[order] = np.arange(len(order))
    return order, place
