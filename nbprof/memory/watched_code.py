"""Which lines are measured: of functions, wherever they were defined, or of a whole cell."""

import functools
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import CodeType, FunctionType, MethodType
from typing import Any

from nbprof.errors import NbprofError

UNNAMED = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>")
"""Code inside a line; what it does is counted to the line around it."""


@dataclass(eq=False, slots=True)
class Tally:
    """What was counted of one line; amounts are bytes."""

    hits: int = 0
    growth: int = 0
    """How much more is held after it, all hits added up."""
    peak: int = 0
    """How far memory rose above where it stood before the line, in the hit where it rose most."""
    usage: int = 0
    """The most that was held after it."""


@dataclass(eq=False)
class Target:
    """A function or a cell whose lines are measured."""

    name: str
    file: str
    """Where it stands, as the user knows it: a path, or `In [5]`."""
    first: int
    """The number of the first line of `source`."""
    source: tuple[str, ...]
    codes: tuple[CodeType, ...]
    is_function: bool
    """Whether its first line only defines it."""
    tallies: dict[int, Tally] = field(default_factory=dict)
    calls: int = 0
    entered: int = 0
    """What was held when it was first entered."""
    going_on: frozenset[int] = frozenset()
    """Statements of a cell, by their codes' id, on a line where another stands before them."""

    def __post_init__(self) -> None:
        numbers = {line for code in self.codes for _, _, line in code.co_lines() if line}
        self.tallies = {number: Tally() for number in numbers}


def of_function(function: Any, expression: str, names: Mapping[str, str]) -> Target:
    """Make a target of whatever has a Python function inside; `names` are of cells, by file."""
    found = _plain(function)
    if found is None:
        kind = "a class" if isinstance(function, type) else f"of type {type(function).__name__}"
        raise NbprofError(
            f"-f takes a function or a method that is written in Python, and {expression} is "
            f"{kind}."
        )
    code = found.__code__
    try:
        lines, first = inspect.getsourcelines(code)
    except (OSError, TypeError, IndentationError, SyntaxError):  # no source, or another by now
        lines, first = [], code.co_firstlineno
    file = names.get(code.co_filename, code.co_filename)
    source = tuple(line.rstrip("\n") for line in lines)
    return Target(found.__qualname__, file, max(1, first), source, tuple(_with_inner([code])), True)


def of_cell(codes: Iterable[CodeType], source: str, name: str) -> Target:
    """Make a target of a cell: its own lines and those of functions that it defines."""
    codes = list(codes)
    target = Target(name, name, 1, tuple(source.splitlines()), tuple(_with_inner(codes)), False)
    lines = [first_line(code) for code in codes]
    target.going_on = frozenset(
        id(code) for code, line, before in zip(codes[1:], lines[1:], lines, strict=False)
        if line == before
    )  # fmt: skip
    return target


def first_line(code: CodeType) -> int:
    """Give the first line that a code has a part of."""
    return next((line for _, _, line in code.co_lines() if line), 0)


def _plain(function: Any) -> FunctionType | None:
    """Look through what is wrapped around a function."""
    for _ in range(20):
        if isinstance(function, FunctionType):
            inner = inspect.unwrap(function)
            return inner if isinstance(inner, FunctionType) else function
        if isinstance(function, MethodType | staticmethod | classmethod):
            function = function.__func__
        elif isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, property):
            function = function.fget
        elif hasattr(function, "python_function"):  # a tf.function
            function = function.python_function
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        else:
            return None
    return None


def _with_inner(codes: Iterable[CodeType]) -> "list[CodeType]":
    found: list[CodeType] = []
    left = list(codes)
    while left:
        code = left.pop()
        found.append(code)
        left += [
            inner
            for inner in code.co_consts
            if isinstance(inner, CodeType) and inner.co_name not in UNNAMED
        ]
    return found
