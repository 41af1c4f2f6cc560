"""Python stacks: where in the user's code a node was made or an eager op ran, and for what."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from os import sep
from pathlib import Path
from typing import Any

import nbprof
from nbprof.capture.capture import LOSS, METRICS, OPTIMIZER, Frame, Stack
from nbprof.ingest.trace.program.content_cache import ContentCache

RUNNERS = (f"{Path(nbprof.__file__).parent}{sep}", f"{sep}IPython{sep}core{sep}")
"""Path fragments of the files that run the user's code; a stack begins below them."""

FRAMEWORKS = re.compile(
    r"""[/\\](?:site|dist)-packages[/\\](?:tensorflow|keras|tf_keras|numpy)[/\\]
    | [/\\]tensorflow[/\\]python[/\\] | [/\\]keras[/\\]src[/\\]  # where they are built or edited
    | [/\\]lib[/\\]python3\.\d+[/\\](?!(?:site|dist)-packages[/\\])  # Python's own library
    | ^<frozen\ """,
    re.VERBOSE,
)
"""Matches paths of files whose frames are not the user's."""

CELL_BODY = re.compile(r"^<cell line: \d+>$")
"""Matches what IPython 7.34 calls the top level of a cell."""

_LAYER_CALL = ("keras/src/layers/layer.py", "__call__")
_PARTS = (
    (METRICS, re.compile(r"/keras/src/metrics/")),
    (OPTIMIZER, re.compile(r"/keras/src/optimizers/|/tensorflow/python/training/optimizer\.py")),
    (LOSS, re.compile(r"/keras/src/losses/|/keras/src/trainers/compile_utils\.py")),
)
_TAPE = re.compile(r"/tensorflow/python/(eager/backprop|ops/gradients_util)\.py")


@dataclass(frozen=True, eq=False)
class NodeStack:
    """The stack that made one or more nodes, framework frames included."""

    frames: Stack

    @cached_property
    def of_user(self) -> Stack:
        """The frames below those that run cells."""
        return below_runners(self.frames)

    @cached_property
    def layer_calls(self) -> int:
        """Number of calls of Keras layers on the stack."""
        file, function = _LAYER_CALL
        return sum(1 for path, _, name in self.frames if name == function and path.endswith(file))

    @cached_property
    def part(self) -> str:
        """The part of training that the node is for, empty if unknown."""
        first = min((_rank(path) for path, _, _ in self.frames), default=len(_PARTS))
        return _PARTS[first][0] if first < len(_PARTS) else ""

    @cached_property
    def in_tape(self) -> bool:
        """Whether the node was made while building a gradient."""
        return any(_is_tape(path) for path, _, _ in self.frames)


@cache
def _rank(path: str) -> int:
    """Return the index in _PARTS that a file belongs to; the first match wins."""
    found = (place for place, (_, pattern) in enumerate(_PARTS) if pattern.search(path))
    return next(found, len(_PARTS))


@cache
def _is_tape(path: str) -> bool:
    return _TAPE.search(path) is not None


_cache = ContentCache[dict[str, NodeStack]]()


def read_stacks(info: Any) -> dict[str, NodeStack]:
    """Read a GraphDebugInfo: return the stack of each node of a function by the node's name."""
    # Deterministic, because TensorFlow orders the same content differently each time.
    return _cache.get(info.SerializeToString(deterministic=True), lambda: _read_stacks(info))


def _read_stacks(info: Any) -> dict[str, NodeStack]:
    files = list(info.files)
    frames: dict[int, Frame] = {
        # AutoGraph leaves lambdas nameless.
        key: (_at(files, frame.file_index), frame.line, frame.func or "<lambda>")
        for key, frame in info.frames_by_id.items()
    }
    stacks = {
        key: NodeStack(tuple(frames[number] for number in trace.frame_id if number in frames))
        for key, trace in info.traces_by_id.items()
    }
    return {
        name.removesuffix("@"): stacks[trace]
        for name, trace in info.name_to_trace_id.items()
        if trace in stacks
    }


def _at(files: list[str], number: int) -> str:
    return files[number] if 0 <= number < len(files) else ""


NO_STACK = NodeStack(())


class GraphStacks:
    """The Python stacks that made the nodes of functions and graphs, framework frames included."""

    def __init__(self, function_stacks: Callable[[str], Any]) -> None:
        self._function_stacks = function_stacks
        self._known: dict[str, dict[str, NodeStack]] = {"": {}}

    def of(self, function: str, node: str) -> NodeStack:
        """Return a node's stack; a node that TensorFlow adds around a loop gets the loop's."""
        if function not in self._known:
            info = self._function_stacks(function)
            self._known[function] = {} if info is None else read_stacks(info)
        known = self._known[function]
        while known and node and node not in known:
            node = node.rpartition("/")[0]
        return known.get(node, NO_STACK)


def below_runners(stack: Iterable[Frame]) -> Stack:
    """Return the frames below those that run cells."""
    kept: list[Frame] = []
    for frame in stack:
        if _is_runner(frame[0]):
            kept.clear()
        else:
            kept.append(frame)
    return tuple(kept)


def in_cells(stack: Stack, cells: Mapping[str, str]) -> Stack:
    """Replace the files of cells with the names of the cells."""
    return tuple(
        (cells[file], line, CELL_BODY.sub("<module>", function))
        if file in cells
        else (file, line, function)
        for file, line, function in stack
    )


@cache
def _is_runner(file: str) -> bool:
    return any(part in file for part in RUNNERS)


@cache
def is_framework(file: str) -> bool:
    """Return whether a file belongs to a framework or to Python's own library."""
    return FRAMEWORKS.search(file) is not None
