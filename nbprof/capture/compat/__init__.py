"""Use undocumented parts of TensorFlow, together in one folder because a new release may move them.

Works with TensorFlow 2.15 to 2.22. `doors.py` is the table of these parts; functions of the other
files return a value that says so if one is missing, instead of failing.
"""

import importlib.util
import re
import sys

OLDEST = (2, 15)
"""The oldest TensorFlow that can be profiled."""


def installed() -> bool:
    """Return whether TensorFlow could be imported, without importing it."""
    return "tensorflow" in sys.modules or importlib.util.find_spec("tensorflow") is not None


def imported() -> bool:
    """Return whether this process has imported TensorFlow completely."""
    return hasattr(sys.modules.get("tensorflow"), "__version__")


def version() -> str:
    """Import TensorFlow if needed and return its version; raise ImportError if it is broken."""
    from tensorflow import __version__

    return str(__version__)


def release() -> tuple[int, ...]:
    """Return TensorFlow's version as numbers, such as `(2, 21)`; empty if it has none."""
    numbers = re.match(r"(\d+)\.(\d+)", version())
    return tuple(map(int, numbers.groups())) if numbers else ()


def too_old() -> bool:
    """Return whether TensorFlow is known to be older than OLDEST."""
    return bool(release()) and release() < OLDEST
