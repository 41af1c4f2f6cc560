"""Find the Pythons of this machine."""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

PRINT_VERSION = "import ensurepip, sys, venv; print('{}.{}'.format(*sys.version_info))"
RUNNING = "{}.{}".format(*sys.version_info)


@cache
def find_python(version):
    """Return the path of a Python that can make environments, or None.

    Looks at the Python that runs this, then on the PATH, then among pyenv's versions.
    """
    return next((path for path in _candidates(version) if _is_version(path, version)), None)


def _candidates(version):
    if version == RUNNING:
        yield sys.executable
    yield from filter(None, [shutil.which(f"python{version}")])
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from sorted(pyenv.glob(f"versions/{version}.*/bin/python"), reverse=True)


def _is_version(path, version):
    """Try it: a name on the PATH may be a shim with nothing behind it."""
    found = subprocess.run([path, "-c", PRINT_VERSION], capture_output=True, text=True)
    return found.stdout.strip() == version
