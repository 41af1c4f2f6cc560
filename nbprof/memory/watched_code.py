"""Which lines `%mprun` measures: those of functions, wherever defined, or of a whole cell."""

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from nbprof.python_code import first_line, function_behind, with_inner


@dataclass(eq=False, slots=True)
class Tally:
    """The counts of one line; amounts are bytes."""

    hits: int = 0
    growth: int = 0
    """How much more was held after the line than before it, summed over its hits."""
    peak: int = 0
    """How far memory rose above its level before the line, in the hit where it rose most."""
    usage: int = 0
    """The most held when the line ended."""


@dataclass(eq=False)
class Target:
    """A function or a cell whose lines are measured."""

    name: str
    file: str
    """Where it is defined, as the user knows it: a path, or `In [5]`."""
    first: int
    """Line number of the first line in `source`."""
    source: tuple[str, ...]
    codes: tuple[CodeType, ...]
    is_function: bool
    """Whether its first line is a `def`."""
    tallies: dict[int, Tally] = field(default_factory=dict)
    """The tally of each line, by its number."""
    calls: int = 0
    entered: int = 0
    """Bytes held at its first call."""
    continuations: frozenset[int] = frozenset()
    """Ids of the codes of a cell's statements that follow another on the same line."""

    def __post_init__(self) -> None:
        numbers = {line for code in self.codes for _, _, line in code.co_lines() if line}
        self.tallies = {number: Tally() for number in numbers}


def function_target(function: Any, expression: str, names: Mapping[str, str]) -> Target:
    """Make a target of anything that wraps a Python function.

    `names` maps file names of cells to names such as `In [3]`; `expression` is what the user typed.
    """
    plain = function_behind(function, expression)
    code = plain.__code__
    try:
        lines, first = inspect.getsourcelines(code)
    except (OSError, TypeError, IndentationError, SyntaxError):  # no source, or it has changed
        lines, first = [], code.co_firstlineno
    file = names.get(code.co_filename, code.co_filename)
    source = tuple(line.rstrip("\n") for line in lines)
    return Target(plain.__qualname__, file, max(1, first), source, tuple(with_inner([code])), True)


def cell_target(codes: Iterable[CodeType], source: str, name: str) -> Target:
    """Make a target of a cell: its own lines and those of the functions it defines."""
    codes = list(codes)
    target = Target(name, name, 1, tuple(source.splitlines()), tuple(with_inner(codes)), False)
    lines = [first_line(code) for code in codes]
    target.continuations = frozenset(
        id(code) for code, line, before in zip(codes[1:], lines[1:], lines, strict=False)
        if line == before
    )  # fmt: skip
    return target
