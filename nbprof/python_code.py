"""The code of Python functions: what is behind a name, what is inside it, where its lines are."""

import functools
import inspect
from collections.abc import Iterable
from types import CodeType, FunctionType, MethodType
from typing import Any

from nbprof.errors import NbprofError

TOP_LEVEL = ("<module>", "<cell line: ")
"""Names of the top level of a file or a cell; IPython 7.34 puts the line into them."""
UNNAMED = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>")
"""Names of code that is part of a line and charged to it."""


def function_behind(function: Any, expression: str) -> FunctionType:
    """Return the Python function that something wraps; `expression` is what the user typed."""
    plain = _plain_function(function)
    if plain is None:
        kind = "a class" if isinstance(function, type) else f"of type {type(function).__name__}"
        raise NbprofError(
            f"{expression} is {kind}. -f takes a function or method that is written in Python."
        )
    return plain


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


def with_inner(codes: Iterable[CodeType]) -> list[CodeType]:
    """Return codes with those of the functions and classes defined inside them."""
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
