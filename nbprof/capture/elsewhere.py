"""Tell what a cell may have run that TensorFlow's profiler does not see: other frameworks."""

import sys
from collections.abc import Collection

from nbprof.capture.capture import Elsewhere
from nbprof.capture.kerases import foreign_backend

FRAMEWORKS = ("jax", "torch")
"""Frameworks that run outside TensorFlow, by their modules."""

IN_PART = (
    "Keras runs on {backend}, which nbprof does not see: only TensorFlow's part of the cell, such "
    "as the input pipeline, is shown; {remedy}"
)
"""Note on a cell in which Keras ran on another framework and TensorFlow ran, too."""
NOT_AT_ALL = "Keras runs on {backend}, which nbprof does not see; {remedy}"
"""Why TensorFlow may have run nothing, if Keras runs on another framework."""
REMEDY = "set KERAS_BACKEND=tensorflow before importing Keras to see its layers"
"""What to do about Keras on another framework."""
LOADED = "nbprof does not see what {frameworks} runs"
"""Why TensorFlow may have run nothing, if other frameworks are loaded."""


def find_elsewhere(seen: Collection[str], watched: bool) -> Elsewhere:
    """Describe what a cell may have run elsewhere.

    `seen` are the backends of Keras that called into TensorFlow, if calls were `watched`.
    """
    backend = foreign_backend()
    if backend:
        ran = backend in seen or not watched
        return Elsewhere(
            in_part=IN_PART.format(backend=backend, remedy=REMEDY) if ran else "",
            all_of_it=NOT_AT_ALL.format(backend=backend, remedy=REMEDY),
        )
    loaded = [name for name in FRAMEWORKS if name in sys.modules]
    reason = LOADED.format(frameworks=" or ".join(loaded)) if loaded else ""
    return Elsewhere(all_of_it=reason)
