"""Find the lines that made a node, counted from the tf.function that they belong to.

A node's stack begins where the function was traced, perhaps in another cell. The arguments and
results of a function are made before and after its own code runs, so their stack is what leads to
the function; what follows it in the stacks of other nodes are the function's own lines.
"""

import re
from functools import cache
from typing import TYPE_CHECKING

from nbprof.capture.capture import Stack
from nbprof.ingest.trace.function_names import INPUT_PIPELINE
from nbprof.ingest.trace.program.gradients import Forward, Gradients

if TYPE_CHECKING:
    from nbprof.ingest.trace.program.node_names import Resolved
    from nbprof.ingest.trace.program.python_stacks import NodeStack
    from nbprof.ingest.trace.stages import Program

_MAKES_ARGUMENTS = re.compile(r"[/\\]tensorflow[/\\]core[/\\]function[/\\]polymorphism[/\\]")
_TRACES = re.compile(r"[/\\]tensorflow[/\\](?:core[/\\]function|python)[/\\]")


class TracedFrames:
    """The frames that made nodes; a gradient has those of the node whose gradient it is."""

    def __init__(self, program: "Program") -> None:
        self._functions = program.functions
        self._stacks = program.graph_stacks
        self._gradients = Gradients(program.functions)
        self._forward = cache(self._find_forward)
        self._inside = cache(self._find_inside)
        self._leading = cache(self._find_leading)

    def whole(self, place: "Resolved") -> Stack:
        """Return the whole stack that made a node, with what led to the trace of its function."""
        function, node, _ = self._forward(place.function, place.origin, place.owner)
        return self._stacks.of(function, node).of_user

    def inside(self, place: "Resolved") -> Stack:
        """Return the frames from the function that Python called to the node.

        They lead through the functions that this function calls.
        """
        calls = ((call.function, call.node, call.owner) for call in place.calls)
        last = place.function, place.origin, place.owner
        return tuple(frame for node in (*calls, last) for frame in self._inside(*node))

    def _find_inside(self, function: str, node: str, owner: str) -> Stack:
        """Return the frames from a tf.function to one of its nodes; none if they are unknown."""
        function, node, owner = self._forward(function, node, owner)
        stack, leading = self._stacks.of(function, node).of_user, self._leading(owner)
        return stack[len(leading) :] if stack[: len(leading)] == leading else ()

    def _find_forward(self, function: str, node: str, owner: str) -> Forward:
        """Return the node whose gradient a node is if its lines are certain, else the node."""
        found = self._gradients.forward(function, node, owner)
        stacks = (self._stacks.of(forward.function, forward.node) for forward in found)
        lines = {stack.lines for stack in dict.fromkeys(stacks)}
        return found[0] if len(lines) == 1 and all(lines) else Forward(function, node, owner)

    def _find_leading(self, owner: str) -> Stack:
        """Return the frames that led to the trace of a function; a session's graph has none."""
        function = owner.removeprefix(f"{INPUT_PIPELINE}:")
        stacks = self._stacks.of_nodes(function)
        made = next(filter(_is_argument, stacks.values()), None)
        body = self._functions.body(function)
        if made is None and body:
            results = (name for name in body.returned if body.op(name) == "Identity")
            found = [stacks[name] for name in results if name in stacks]
            made = min(found, key=lambda stack: len(stack.frames), default=None)
        frames = made.of_user if made else ()
        while frames and _TRACES.search(frames[-1][0]):
            frames = frames[:-1]
        return frames


def _is_argument(stack: "NodeStack") -> bool:
    """Return whether a node is an argument of its function."""
    return bool(stack.frames) and _MAKES_ARGUMENTS.search(stack.frames[-1][0]) is not None
