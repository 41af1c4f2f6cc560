"""The tables of a Profile about functions and their calls of each other, as displays read them."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbprof._profile import Profile

Frame = Any
"""A table; this room does not know pandas."""


def calls_of(profile: "Profile | None") -> Frame | None:
    """Return the table of calls if functions were watched, else None."""
    calls = getattr(profile, "calls", None)
    return calls if calls is not None and len(calls) else None


def functions_of(profile: "Profile") -> Frame:
    """Return the table of functions of a profile that has calls."""
    functions: Frame = getattr(profile, "functions")  # noqa: B009
    return functions


def function_names(functions: Frame) -> list[str]:
    """Name functions as pstats does: `train.py:9(step)`, and a C function by itself."""
    columns = (functions[name].tolist() for name in ("file", "line", "function"))
    return [
        function if file == "~" else f"{file.rpartition('/')[2]}:{line}({function})"
        for file, line, function in zip(*columns, strict=True)
    ]
