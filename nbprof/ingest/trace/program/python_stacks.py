"""Python stacks: where in the user's code a node was made or an eager op ran, and for what."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from os import sep
from pathlib import Path
from typing import Any

import nbprof
from nbprof.capture.capture import LOSS, METRICS, OPTIMIZER, Frame, Stack
from nbprof.capture.kerases import is_layer_call, part_of
from nbprof.ingest.trace.program.content_cache import ContentCache
from nbprof.user_files import is_users

RUNNERS = (f"{Path(nbprof.__file__).parent}{sep}", f"{sep}IPython{sep}core{sep}")
"""Path fragments of the files that run the user's code; a stack begins below them."""

CELL_BODY = re.compile(r"^<cell line: \d+>$")
"""Matches what IPython 7.34 calls the top level of a cell."""

LAMBDA = "<lambda>"
"""What Python calls a function without a name."""

_PARTS = (METRICS, OPTIMIZER, LOSS)
"""Parts of training; the first that any frame of a stack belongs to is the part of the stack."""
_V1_OPTIMIZER = re.compile(r"/tensorflow/python/training/optimizer\.py")
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
    def lines(self) -> Stack:
        """The frames of the user's files below those that run cells."""
        return tuple(frame for frame in self.of_user if is_users(frame[0]))

    @cached_property
    def layer_calls(self) -> int:
        """Number of calls of Keras layers on the stack."""
        is_call = [is_layer_call(path, name) for path, _, name in self.frames]
        # AutoGraph may split a call into several frames, one right below the other.
        return sum(here and not above for above, here in pairwise((False, *is_call)))

    @cached_property
    def part(self) -> str:
        """The part of training that the node is for, empty if unknown."""
        # An optimizer that asks for a gradient does not compute it.
        tapes = [place for place, (path, _, _) in enumerate(self.frames) if _is_tape(path)]
        inside = self.frames[max(tapes, default=0) :]
        parts = {_part(path) for path, _, _ in inside}
        return next((part for part in _PARTS if part in parts), "")

    @cached_property
    def in_tape(self) -> bool:
        """Whether the node was made while building a gradient."""
        return any(_is_tape(path) for path, _, _ in self.frames)


@cache
def _part(path: str) -> str:
    """Return the part of training that a file of Keras or TensorFlow does; empty for others."""
    return part_of(path) or (OPTIMIZER if _V1_OPTIMIZER.search(path) else "")


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
        key: (_at(files, frame.file_index), frame.line, frame.func or LAMBDA)
        for key, frame in info.frames_by_id.items()
    }
    stacks = {
        key: NodeStack(_once([frames[number] for number in trace.frame_id if number in frames]))
        for key, trace in info.traces_by_id.items()
    }
    return {
        name.removesuffix("@"): stacks[trace]
        for name, trace in info.name_to_trace_id.items()
        if trace in stacks
    }


def _once(frames: list[Frame]) -> Stack:
    """Leave out the second of the two frames that AutoGraph makes of a lambda."""
    pairs = pairwise((None, *frames))
    return tuple(
        frame for above, frame in pairs if frame and (frame != above or frame[2] != LAMBDA)
    )


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
        known = self.of_nodes(function)
        while known and node and node not in known:
            node = node.rpartition("/")[0]
        return known.get(node, NO_STACK)

    def of_nodes(self, function: str) -> Mapping[str, NodeStack]:
        """Return the stacks of a function's nodes by name; none if they are unknown."""
        if function not in self._known:
            info = self._function_stacks(function)
            self._known[function] = {} if info is None else read_stacks(info)
        return self._known[function]


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
