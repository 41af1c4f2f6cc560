"""Name what a line of the user's calls in an installed package.

A run of library frames is one row of a call tree, `pandas: apply`, named after the function that
the user's line calls. What only passes calls on, such as a decorator, is passed over.
"""

import re
from collections.abc import Iterable
from functools import cache

_WRAPPERS = re.compile(
    r"""(?:^|/)(?:
        keras/.*traceback_utils | tf_keras/.*traceback_utils
        | tensorflow/python/util/(?:traceback_utils|dispatch|tf_decorator|deprecation|tf_contextlib)
        | pandas/util/_decorators | sklearn/utils/_param_validation
        | functools | contextlib | decorator | wrapt/\w+
    )\.py$
    | ^<(?:__array_function__|decorator-gen-)""",
    re.VERBOSE,
)
"""Matches the files of functions that only pass calls on."""
_WRAPPING = frozenset(
    ("wrapper", "_wrapper", "wrapped", "_wrapped", "wrapper_func", "wrapped_fn", "inner_wrapper")
)
"""What packages call such functions elsewhere."""
_PACKAGE = re.compile(r"(?:^|/)(?:site|dist)-packages/(\w+)")
_STANDARD = re.compile(r"(?:^|/)(?:lib/python3\.\d+t?|python3\d+t?\.zip|Lib)/(.+)\.py$")
"""Matches files of the standard library, on other machines, too."""
_FROZEN = re.compile(r"^<frozen (\w+)")
_IMPORTS = "<frozen importlib"
"""What the names of the files of Python's import system begin with."""
MODULE = "<module>"
"""What Python calls the top level of a module."""


@cache
def is_wrapper(file: str, function: str) -> bool:
    """Return whether a function of a library only passes calls on."""
    return function in _WRAPPING or _WRAPPERS.search(file.replace("\\", "/")) is not None


@cache
def package_of(file: str) -> str:
    """Return the package that an installed file belongs to: `pandas`, `concurrent.futures`."""
    path = file.replace("\\", "/")
    if found := _PACKAGE.search(path) or _FROZEN.match(path):
        return found[1]
    if path.startswith("<__array_function__"):
        return "numpy"
    found = _STANDARD.search(path)
    *folders, module = (found[1] if found else path.removesuffix(".py")).split("/")
    if not found:
        folders = folders[-1:] if module == "__init__" else []
    return ".".join(folders) or module


def called(frames: Iterable[tuple[str, str]], inside: tuple[str, str] | None) -> str:
    """Name the row of library frames that follow each other, `(file, function)`, outermost first.

    `inside` is the frame that follows them, if there is one. Return an empty text if they only pass
    calls on.
    """
    named = [frame for frame in frames if not is_wrapper(*frame)]
    if not named:
        return ""
    file, function = named[0]
    if not file.startswith(_IMPORTS):
        return f"{package_of(file)}: {function}"
    started = [file for file, function in (*named, inside or ("", "")) if function == MODULE]
    return f"import: {package_of(started[0])}" if started else "import"
