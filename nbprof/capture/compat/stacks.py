"""Ask TensorFlow where in Python the nodes of functions and v1 graphs were made.

TensorFlow reads the file names of a stack as UTF-8. If one is not, the newest releases for Linux
raise RuntimeError; the others end the process. There, nothing is asked while such code is loaded.
"""

import gc
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import compress, repeat
from operator import attrgetter, is_
from types import FunctionType
from typing import Any

from nbprof.capture import compat
from nbprof.capture.compat import definitions, doors

FIRST_SAFE_RELEASE = (2, 21)
"""The first TensorFlow for Linux that raises an error instead of ending the process."""

FATAL = (
    "graph ops lack the line that made them: this TensorFlow would crash if asked for it, because "
    "the file name {file!r} is not UTF-8; rename the file, or use TensorFlow 2.21 for Linux"
)
UNREADABLE = (
    "ops of functions written in a file whose name is not UTF-8 lack the line that made them; "
    "rename the file"
)

_answered: set[str] = set()
"""Functions that TensorFlow was asked about and that it can be asked about again: finding out
whether it may be asked takes a search through all objects."""


class StackReader:
    """Reads stacks, and calls `say(why)` if it cannot.

    `files` are names of files whose code was seen running.
    """

    def __init__(self, files: Iterable[str], say: Callable[[str], None]) -> None:
        self._files = tuple(files)
        self._say = say

    def of_function(self, name: str) -> Any:
        """Return the GraphDebugInfo of a function, or None."""
        import tensorflow as tf

        context = definitions.runtime()
        if context is None or doors.FUNCTION_STACKS.open() is None:
            return None
        if name not in _answered and not self._may_ask:
            return None
        try:
            stacks = context.get_graph_debug_info(name)
        except tf.errors.NotFoundError:
            return None
        except RuntimeError:
            self._say(UNREADABLE)
            return None
        _answered.add(name)
        return stacks

    def of_graph(self, graph: Any) -> Any:
        """Return the GraphDebugInfo of a v1 graph, or None."""
        new_builder = doors.GRAPH_STACKS.open()
        if new_builder is None or not self._may_ask:
            return None
        builder = new_builder()
        for operation in graph.get_operations():
            try:
                if operation.traceback is not None:
                    builder.AccumulateStackTrace("", operation.name, operation.traceback)
            except RuntimeError:
                self._say(UNREADABLE)
        return builder.Build()

    @cached_property
    def _may_ask(self) -> bool:
        """Whether asking for a stack cannot end the process: no code has an unreadable name."""
        if sys.platform == "linux" and compat.release() >= FIRST_SAFE_RELEASE:
            return True
        names = {*self._files, *_files_of_modules(), *_files_of_functions()}
        unreadable = sorted(name for name in names if not _is_utf8(name))
        if unreadable:
            self._say(FATAL.format(file=unreadable[0]))
        return not unreadable


def _files_of_modules() -> Iterator[str]:
    for module in list(sys.modules.values()):
        try:
            file = object.__getattribute__(module, "__dict__").get("__file__")  # imports nothing
        except AttributeError:
            continue
        if isinstance(file, str):
            yield file


def _files_of_functions() -> Iterator[str]:
    everything = gc.get_objects()
    functions = compress(everything, map(is_, map(type, everything), repeat(FunctionType)))
    return map(attrgetter("__code__.co_filename"), functions)


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
