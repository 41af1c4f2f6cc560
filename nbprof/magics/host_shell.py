"""What IPython's shells tell in different ways, from Colab's 7.34 to today's."""

import inspect
import linecache
from collections import defaultdict
from types import FrameType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

RUNNERS = ("run_line_magic", "run_cell_magic")
"""The shell's methods that run a magic."""

_own_cells: WeakKeyDictionary[Any, dict[str, int]] = WeakKeyDictionary()
"""For compilers that do not keep them: the numbers of the cells `name_cell` named, by file name."""


def cell_number(shell: "InteractiveShell") -> int:
    """Return the number of the running cell; `execution_count` may already be the next one."""
    count: int = shell.displayhook.prompt_count
    return count


def name_cell(shell: "InteractiveShell", source: str, raw: str) -> str:
    """Return the file name of the running cell's code, and let its lines be found by it."""
    number = cell_number(shell)
    name: str = shell.compile.cache(source, number, raw_code=raw)
    if not hasattr(shell.compile, "_filename_map"):
        _own_cells.setdefault(shell.compile, {})[name] = number
    return name


def cell_names(shell: "InteractiveShell") -> dict[str, str]:
    """Return the names of all cells run so far, such as `In [3]`, by their file names."""
    kept: dict[str, int] | None = getattr(shell.compile, "_filename_map", None)
    if kept is None:
        kept = _numbers_by_text(shell) | _own_cells.get(shell.compile, {})
    return {file: f"In [{number}]" for file, number in kept.items()}


def _numbers_by_text(shell: "InteractiveShell") -> dict[str, int]:
    """Match the files of IPython's line cache with its history, which knows the cells' numbers.

    IPython before 8 keeps no such table. Where equal cells share one file, it is the last one's.
    """
    files, numbers = defaultdict(list), defaultdict(list)
    for file, (_, _, lines, _) in linecache._ipython_cache.items():  # type: ignore[attr-defined]
        files["".join(lines).rstrip("\n")].append(file)
    for number, text in enumerate(shell.history_manager.input_hist_parsed):
        numbers[text].append(number)
    return {
        file: number
        for text in numbers
        for file, number in zip(reversed(files[text]), reversed(numbers[text]), strict=False)
    }


def caller_of_magic() -> FrameType | None:
    """Return the frame whose code called the running magic through the shell, if there is one.

    Colab's shell wraps the method of IPython's that runs a magic.
    """
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_name not in RUNNERS:
        frame = frame.f_back
    while frame is not None and frame.f_code.co_name in RUNNERS:
        frame = frame.f_back
    return frame


def is_cell_body(frame: FrameType) -> bool:
    """Return whether a frame is the top level of a cell; IPython 7.34 names it after its line."""
    return frame.f_code.co_name.startswith(("<module>", "<cell line: "))
