"""The shapes of what nodes give, where no allocation tells: by their definitions and inputs."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from nbprof.ingest.trace.shape_inference import output_shape
from nbprof.op_types import PADDED, main_type, replaced_type

if TYPE_CHECKING:
    from nbprof.ingest.trace.flops import Dims
    from nbprof.ingest.trace.node_attributes import Attributes
    from nbprof.ingest.trace.node_names import Functions, Resolved

    Shapes = Sequence[Dims | None]
    Feeding = tuple[str, tuple[str, ...]]
    """A function, and the nodes of it that feed another one."""

CONVOLUTION = "Conv2D"
GRADIENTS = {"Conv2DBackpropFilter": 1, "Conv2DBackpropInput": 0}
"""The place among a convolution's inputs that each is the gradient of, and so has the shape of;
that shape itself stands at the same place among the gradient's inputs."""


class OutputShapes:
    """Tells the shape of a node's first output; `ran` says which nodes ran on which shapes."""

    def __init__(
        self,
        op_types: Sequence[str],
        resolved: Sequence["Resolved"],
        functions: "Functions",
        ran: Iterable[tuple[int, "Shapes"]],
    ) -> None:
        self._op_types = op_types
        self._resolved = resolved
        self._functions = functions
        self._ran = ran
        self.attributes: list[Attributes] = [
            functions.attributes(place.function, place.main) for place in resolved
        ]

    def fused(self, node: int) -> tuple[str, ...] | None:
        """Give the types of the ops that were fused with the main one, None if not known."""
        return self._resolved[node].fused

    def of(self, node: int, inputs: "Shapes") -> "Dims | None":
        """Give the shape, None where it cannot be told."""
        if replaced_type(self._op_types[node]).startswith(PADDED):
            return None  # by how much is not told
        op_type = main_type(self._op_types[node])
        if op_type in GRADIENTS:
            return self._of_gradient(node, inputs, GRADIENTS[op_type])
        return output_shape(op_type, inputs, self.attributes[node])

    def _of_gradient(self, node: int, inputs: "Shapes", place: int) -> "Dims | None":
        """Give the shape of what a convolution had at this place, if there is but one."""
        function = self._resolved[node].function
        sizes = [*self._functions.inputs(function, self._resolved[node].main), "", ""][place]
        feeding = self._functions.inputs(function, sizes)[:2]
        known, given = inputs[1 - place : 2 - place], inputs[2:3]
        found = {
            shapes[place]
            for shapes, output in self._convolutions.get((function, feeding), ())
            if list(shapes[1 - place : 2 - place]) == list(known) and [output] == list(given)
        }
        return found.pop() if len(found) == 1 else None

    @cached_property
    def _convolutions(self) -> "dict[Feeding, set[tuple[tuple[Dims | None, ...], Dims | None]]]":
        """Find on which shapes convolutions ran and what they gave, by what feeds them."""
        found = defaultdict(set)
        for node, inputs in self._ran:
            if main_type(self._op_types[node]) == CONVOLUTION and len(inputs) > 1:
                function = self._resolved[node].function
                feeding = self._functions.inputs(function, self._resolved[node].main)[:2]
                output = output_shape(CONVOLUTION, inputs[:2], self.attributes[node])
                found[function, feeding].add((tuple(inputs[:2]), output))
        return found
