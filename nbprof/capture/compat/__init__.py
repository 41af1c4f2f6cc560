"""Use undocumented parts of TensorFlow, together in one folder because a new release may move them.

Written for TensorFlow 2.21. Symbols of the shared library may be missing; functions then return a
value that says so instead of failing.
"""

import importlib.util
import sys


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
