"""Every place where nbprof touches TensorFlow, so that a new release is met in one folder.

Written for TensorFlow 2.21. What is undocumented there is looked up by name and may be missing;
each function then says what is lost instead of failing.
"""

import importlib.util
import sys


def installed() -> bool:
    """Tell whether TensorFlow could be imported, without importing it."""
    return "tensorflow" in sys.modules or importlib.util.find_spec("tensorflow") is not None


def imported() -> bool:
    """Tell whether this process has imported TensorFlow, to the end and with success."""
    return hasattr(sys.modules.get("tensorflow"), "__version__")


def version() -> str:
    """Import TensorFlow, if need be, and give its version; raise ImportError if it is broken."""
    from tensorflow import __version__

    return str(__version__)
