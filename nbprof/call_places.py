"""Number the places from which Python calls into TensorFlow, so that equal ones can be joined."""

from typing import Any

import numpy as np

from nbprof.arrays import NONE, Rows

SAME = ["thread", "what", "stack"]
"""Calls that agree in these columns of `dispatches` are in the same rows of every view."""


def call_places(dispatches: Any, call: Rows) -> Rows:
    """Return the number of the place of each call, given as a row of `dispatches`; NONE stays.

    `dispatches` is that table of a Profile.
    """
    number = dispatches.groupby(SAME, sort=False).ngroup().to_numpy().astype(np.intp)
    return np.append(number, NONE)[call]
