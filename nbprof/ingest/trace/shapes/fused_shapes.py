"""The shapes that fused ops worked on, which follow from those of their kernel."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nbprof.ingest.trace.shapes.flops import Dims
from nbprof.ingest.trace.shapes.output_bytes import is_elementwise
from nbprof.ingest.trace.shapes.output_shapes import Shapes, infer_shape
from nbprof.op_types import kernel_of

if TYPE_CHECKING:
    from nbprof.ingest.trace.program.function_defs import Functions
    from nbprof.ingest.trace.program.node_names import Resolved

GRADIENT = 2
"""Index of the gradient among the inputs of an op that computes the gradient of a convolution."""


class FusedShapes:
    """Finds the shapes of nodes that were fused into others."""

    def __init__(
        self, op_types: Sequence[str], nodes: Sequence["Resolved"], functions: "Functions"
    ) -> None:
        self._op_types = op_types
        self._nodes = nodes
        self._functions = functions

    def of(
        self, node: int, inputs: Shapes, output: Dims | None
    ) -> tuple[tuple[Dims | None, ...], Dims | None]:
        """Return the shapes of a fused node's inputs and output, given those of its kernel."""
        place = self._nodes[node]
        kernel = kernel_of(self._op_types[place.inside])
        if place.op_type in kernel.beside:
            gradient = tuple(inputs[GRADIENT : GRADIENT + 1])
            attributes = self._functions.node(place.function, place.node).attributes
            return gradient, infer_shape(place.op_type, gradient, attributes)
        if place.op_type in kernel.before:
            first = tuple(inputs[:1])
            return first, first[0] if first and is_elementwise(place.op_type) else None
        # What follows the main op works on its output, element by element.
        group = {self._nodes[place.inside].origin, *(self._nodes[place.inside].fused or ())}
        further = self._further_inputs(place.inside, len(inputs))
        taken = [
            output if name in group else inputs[further[place.node, at]] if further else None
            for at, name in enumerate(self._producers(place, place.node))
        ]
        return tuple(taken), output

    def _further_inputs(self, node: int, count: int) -> dict[tuple[str, int], int]:
        """Return which of a kernel's `count` inputs the fused nodes take: `{(node, input): place}`.

        A kernel takes the inputs of its main op first, then those of the ops after it. Return
        nothing if that does not fit.
        """
        place = self._nodes[node]
        group = {place.origin, *(place.fused or ())}
        needed = [
            (name, at)
            for name in place.fused or ()
            for at, producer in enumerate(self._producers(place, name))
            if producer not in group
        ]
        first = len(self._producers(place, place.origin))
        if first + len(needed) != count:
            return {}
        return {key: first + number for number, key in enumerate(needed)}

    def _producers(self, place: "Resolved", name: str) -> tuple[str, ...]:
        node = self._functions.node(place.function, name)
        return node.inputs[: len(node.tensors)]
