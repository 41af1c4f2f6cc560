"""What a tree needs to know about rows in which no op can count."""

from typing import TYPE_CHECKING

import numpy as np

from nbprof.views.measure import Members, Metrics, add_up, measure
from nbprof.views.row_labels import Labels
from nbprof.views.tree_filter import Rules

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.options import ViewOptions

RULES = Rules(minimum_of_own=(), counts_runs=False, can_account_displayed=False, root_type="")
"""The rules of trees without ops."""


def no_ops(profile: "Profile", options: "ViewOptions", count: int) -> tuple[Metrics, Labels]:
    """Return the metrics of ops and the labels of `count` rows without any."""
    nowhere = Members(np.zeros(0, np.intp), np.zeros(len(profile.costs), np.intp))
    nothing = np.zeros(0, np.intp)
    metrics = add_up(measure(profile, options.step, nowhere, options.uses), nothing, count)
    labels = Labels(profile, options.step, nowhere, nothing, are_nodes=False)
    return metrics, labels
