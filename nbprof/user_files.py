"""Tell the user's Python files from installed ones, by where they are.

What lies where packages are installed, in site-packages, dist-packages or Python's own library, is
not the user's, whatever its name is. Everything else is: notebooks, scripts, their folders, and
packages installed in editable mode.
"""

import os
import re
import sysconfig
from collections.abc import Mapping
from functools import cache
from types import CodeType
from typing import Any

INSTALLED = re.compile(
    r"""(?:^|/)(?:site|dist)-packages/
    | (?:^|/)lib/python3\.\d+t?/  # Python's own library, also that of another machine
    | /python3\d+t?\.zip/
    | (?:^|/)__autograph_generated_file  # its lines are shown where the user wrote them
    | ^<(?:frozen\ |__array_function__\ |decorator-gen-)""".replace("/", r"[/\\]"),
    re.VERBOSE,
)
"""Matches the paths of installed files on any machine, and the names of code made by them."""


@cache
def is_users(file: str) -> bool:
    """Return whether a file is the user's own."""
    return INSTALLED.search(file) is None and not os.path.normcase(file).startswith(_folders())


def is_users_code(code: CodeType, names: Mapping[str, Any]) -> bool:
    """Return whether code is the user's, given its global names.

    Code without a file, as `exec` compiles it, belongs to the file whose names it uses.
    """
    file = code.co_filename
    if file.startswith("<"):
        owner = names.get("__file__")
        file = owner if isinstance(owner, str) else file
    return is_users(file)


@cache
def _folders() -> tuple[str, ...]:
    """Return the folders into which this Python and its packages are installed."""
    paths = sysconfig.get_paths()
    kinds = ("stdlib", "platstdlib", "purelib", "platlib", "scripts")
    found = {os.path.normcase(paths[kind]) for kind in kinds if paths.get(kind)}
    return tuple(folder.rstrip(os.sep) + os.sep for folder in sorted(found))
