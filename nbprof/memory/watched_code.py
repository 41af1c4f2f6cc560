"""Which lines `%mprun` measures: those of functions, wherever defined, or of a whole cell."""

import functools
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import CodeType, FunctionType, MethodType
from typing import Any

from nbprof.errors import NbprofError

UNNAMED = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>")
"""Names of code that is part of a line and charged to it."""


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
    plain = _plain_function(function)
    if plain is None:
        kind = "a class" if isinstance(function, type) else f"of type {type(function).__name__}"
        raise NbprofError(
            f"{expression} is {kind}. -f takes a function or method that is written in Python."
        )
    code = plain.__code__
    try:
        lines, first = inspect.getsourcelines(code)
    except (OSError, TypeError, IndentationError, SyntaxError):  # no source, or it has changed
        lines, first = [], code.co_firstlineno
    file = names.get(code.co_filename, code.co_filename)
    source = tuple(line.rstrip("\n") for line in lines)
    return Target(plain.__qualname__, file, max(1, first), source, tuple(_with_inner([code])), True)


def cell_target(codes: Iterable[CodeType], source: str, name: str) -> Target:
    """Make a target of a cell: its own lines and those of the functions it defines."""
    codes = list(codes)
    target = Target(name, name, 1, tuple(source.splitlines()), tuple(_with_inner(codes)), False)
    lines = [first_line(code) for code in codes]
    target.continuations = frozenset(
        id(code) for code, line, before in zip(codes[1:], lines[1:], lines, strict=False)
        if line == before
    )  # fmt: skip
    return target


def first_line(code: CodeType) -> int:
    """Return the line number where a code object begins."""
    return next((line for _, _, line in code.co_lines() if line), 0)


def _plain_function(function: Any) -> FunctionType | None:
    """Unwrap methods, decorators, partials, properties and `tf.function`s."""
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
