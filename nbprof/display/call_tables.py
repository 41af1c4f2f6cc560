"""The tables of a Profile about functions and their calls of each other, as displays read them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from nbprof._profile import Profile


def calls_of(profile: "Profile | None") -> "pd.DataFrame | None":
    """Return the table of calls if functions were watched, else None."""
    calls = getattr(profile, "calls", None)
    return calls if calls is not None and len(calls) else None


def functions_of(profile: "Profile") -> "pd.DataFrame":
    """Return the table of functions of a profile that has calls."""
    functions: pd.DataFrame = getattr(profile, "functions")  # noqa: B009
    return functions


def function_names(functions: "pd.DataFrame") -> list[str]:
    """Name functions as pstats does: `train.py:9(step)`, and a C function by itself."""
    columns = (functions[name].tolist() for name in ("file", "line", "function"))
    return [
        function if file == "~" else f"{file.rpartition('/')[2]}:{line}({function})"
        for file, line, function in zip(*columns, strict=True)
    ]
