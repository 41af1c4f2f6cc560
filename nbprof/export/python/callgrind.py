"""Write `.callgrind` for KCachegrind, QCachegrind and callgrind_annotate.

Samples have a cost for every line; counted calls have one for every function, at the line where it
begins. Costs are whole ns, or samples if these have no known time. A count of calls that is not
known is 1, because callgrind_annotate takes the cost of no calls for the caller's own.
"""

from collections import Counter
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from nbprof.export.python.call_tables import CallTables, call_tables
from nbprof.export.python.sampled_stacks import COUNT_NS
from nbprof.export.python.texts import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from nbprof._profile import Profile

NO_FILE = "???"
"""What callgrind itself writes for a file that is not known."""
HEAD = """\
# callgrind format
version: 1
creator: nbprof
cmd: {cmd}
desc: Trigger: {how}
positions: line
event: {event}
events: {event}
summary: {total}

"""


def write(profile: "Profile", file: BinaryIO) -> None:
    """Write the cost of each function, then of each of its calls."""
    recording, tables = profile.recording, call_tables(profile, ".callgrind")
    event, unit_ns = ("ns", 1) if recording.timed else ("samples", COUNT_NS)
    total = int(_whole(tables.own_lines["ns"]).sum()) // unit_ns
    about = {"cmd": one_line(recording.what), "how": one_line(recording.how), "event": event}
    file.write(HEAD.format(**about, total=total).encode())
    for line in _lines(tables, unit_ns):
        file.write(line.encode())


def _lines(tables: CallTables, unit_ns: int) -> "Iterator[str]":
    """Yield the lines of every function."""
    names = _Names(tables.functions)
    own = _by_function(tables.own_lines, "function", ["line", "ns"])
    calls = _by_function(tables.call_lines, "caller", ["line", "function", "calls", "total_ns"])
    begins = tables.functions["line"].tolist()
    for function in range(len(tables.functions)):
        yield f"fl={names.file(function)}\nfn={names.function(function)}\n"
        for _, line, ns in own.get(function, ()):
            yield f"{max(line, 0)} {ns // unit_ns}\n"
        for _, line, called, count, ns in calls.get(function, ()):
            yield (
                f"cfi={names.file(called)}\ncfn={names.function(called)}\n"
                f"calls={max(count, 1)} {max(begins[called], 0)}\n{max(line, 0)} {ns // unit_ns}\n"
            )
        yield "\n"


def _by_function(
    table: "pd.DataFrame", key: str, columns: list[str]
) -> "dict[int, list[tuple[int, ...]]]":
    """Return the rows of each function, as whole numbers."""
    ordered = table.sort_values(key, kind="stable")
    values = (_whole(ordered[name]).tolist() for name in (key, *columns))
    rows = zip(*values, strict=True)
    return {function: list(found) for function, found in groupby(rows, itemgetter(0))}


def _whole(column: "pd.Series[int]") -> "np.ndarray[tuple[int, ...], np.dtype[np.int64]]":
    """Return what is known of a column; costs below 0, which clocks may cause, are 0."""
    return np.maximum(column.fillna(0).to_numpy(np.int64), 0)


class _Names:
    """The names of functions and files; each is written once, then its number stands for it."""

    def __init__(self, functions: "pd.DataFrame") -> None:
        self._files = [one_line(file) if file else NO_FILE for file in functions["file"]]
        names = [*map(one_line, functions["function"])]
        count = Counter(zip(self._files, names, strict=True))
        # KCachegrind would take two functions of the same name in a file for one.
        self._functions = [
            name if count[file, name] == 1 else f"{name}:{line}"
            for file, name, line in zip(self._files, names, functions["line"], strict=True)
        ]
        self._numbers: dict[tuple[str, str], int] = {}

    def file(self, function: int) -> str:
        """Return the file of a function."""
        return self._numbered("file", self._files[function])

    def function(self, function: int) -> str:
        """Return the name of a function."""
        return self._numbered("function", self._functions[function])

    def _numbered(self, kind: str, name: str) -> str:
        key = (kind, name)
        if key in self._numbers:
            return f"({self._numbers[key]})"
        self._numbers[key] = len(self._numbers) + 1
        return f"({self._numbers[key]}) {name}"
