"""Shapes of op outputs, inferred from input shapes and attributes where no allocation shows them.

With oneDNN, TensorFlow records only allocations of 256 KiB and more. The rules here cover the ops
whose float operations depend on their output's shape.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from nbprof.ingest.trace.program.node_attributes import Attributes, MissingError, flag, numbers
from nbprof.ingest.trace.shapes.flops import Dims, broadcast
from nbprof.op_types import PADDED, main_type, replaced_type

if TYPE_CHECKING:
    from nbprof.ingest.trace.program.function_defs import DefinedNode, Functions
    from nbprof.ingest.trace.program.node_names import Resolved

Shapes = Sequence[Dims | None]
Feeding = tuple[str, tuple[str, ...]]
"""A function, and the nodes in it that produce the inputs of another node."""

CONVOLUTION = "Conv2D"
GRADIENTS = {"Conv2DBackpropFilter": 1, "Conv2DBackpropInput": 0}
"""Index of the convolution's input whose gradient each op computes, and whose shape it returns.

The same index among the gradient op's own inputs holds that shape as a value.
"""


class OutputShapes:
    """Infers the shape of a node's first output from its inputs; None where that is impossible."""

    def __init__(
        self,
        op_types: Sequence[str],
        nodes: Sequence["Resolved"],
        functions: "Functions",
        ran: Iterable[tuple[int, Shapes]],
    ) -> None:
        """`ran` lists the input shapes that each node ran with."""
        self._op_types = op_types
        self._nodes = nodes
        self._functions = functions
        self._ran = ran
        self._main = [functions.node(place.function, place.main) for place in nodes]

    def attributes(self, node: int) -> Attributes:
        """Return the attributes of the node that does the work."""
        return self._main[node].attributes

    def fused(self, node: int) -> tuple[str, ...] | None:
        """Return the op types that were fused with the main one, None if unknown."""
        return self._nodes[node].fused

    def of(self, node: int, inputs: Shapes) -> Dims | None:
        """Return the shape of a node's first output for these inputs, None if unknown."""
        if replaced_type(self._op_types[node]).startswith(PADDED):
            return None  # the amount of padding is not known
        op_type = main_type(self._op_types[node])
        if op_type in GRADIENTS:
            return self._of_gradient(node, inputs, GRADIENTS[op_type])
        return infer_shape(op_type, inputs, self._main[node].attributes)

    def _of_gradient(self, node: int, inputs: Shapes, place: int) -> Dims | None:
        """Return the shape of the convolution's input at this place, None unless it is clear."""
        function = self._nodes[node].function
        sizes = [*self._main[node].inputs, "", ""][place]
        feeding = _feeding(self._functions.node(function, sizes))
        other, gradient = inputs[1 - place : 2 - place], inputs[2:3]
        found = {
            shapes[place]
            for shapes, output in self._convolutions.get((function, feeding), ())
            if list(shapes[1 - place : 2 - place]) == list(other) and [output] == list(gradient)
        }
        return found.pop() if len(found) == 1 else None

    @cached_property
    def _convolutions(self) -> "dict[Feeding, set[tuple[tuple[Dims | None, ...], Dims | None]]]":
        """The input and output shapes of convolutions, by what feeds them."""
        found = defaultdict(set)
        for node, inputs in self._ran:
            if main_type(self._op_types[node]) == CONVOLUTION and len(inputs) > 1:
                key = self._nodes[node].function, _feeding(self._main[node])
                output = infer_shape(CONVOLUTION, inputs[:2], self._main[node].attributes)
                found[key].add((tuple(inputs[:2]), output))
        return found


def _feeding(node: "DefinedNode") -> tuple[str, ...]:
    return node.inputs[:2]


def infer_shape(op_type: str, inputs: Shapes, attributes: Attributes) -> Dims | None:
    """Return the shape of an op's first output, None if there is no rule or a shape is missing."""
    rule = _RULES.get(main_type(op_type))
    known = [dims for dims in inputs if dims is not None]
    if rule is None or len(known) < len(inputs):
        return None
    try:
        return rule(known, attributes)
    except (MissingError, IndexError, ValueError, ZeroDivisionError):
        return None


def _matmul(first: str, second: str) -> Callable[[Sequence[Dims], Attributes], Dims]:
    """Return the rule of a matrix product; these attributes state which side is transposed."""

    def rule(inputs: Sequence[Dims], attributes: Attributes) -> Dims:
        left, right = inputs[0], inputs[1]
        height = left[-1] if flag(attributes, first) else left[-2]
        width = right[-2] if flag(attributes, second) else right[-1]
        return (*broadcast(left[:-2], right[:-2]), height, width)

    return rule


def _convolution(inputs: Sequence[Dims], attributes: Attributes) -> Dims:
    *kernel, _, channels = inputs[1]
    return _slide(inputs[0], kernel, channels, attributes)


def _depthwise(inputs: Sequence[Dims], attributes: Attributes) -> Dims:
    *kernel, channels, multiplier = inputs[1]
    return _slide(inputs[0], kernel, channels * multiplier, attributes)


def _pool(inputs: Sequence[Dims], attributes: Attributes) -> Dims:
    spatial = _spatial(inputs[0], attributes)
    ksize = numbers(attributes, "ksize")
    channels = next(at for at in range(1, len(inputs[0])) if at not in spatial)
    return _slide(inputs[0], [ksize[at] for at in spatial], inputs[0][channels], attributes)


def _bias_gradient(inputs: Sequence[Dims], attributes: Attributes) -> Dims:
    return (inputs[0][1 if attributes.get("data_format") == b"NCHW" else -1],)


def _spatial(image: Dims, attributes: Attributes) -> range:
    """Return the axes that a kernel moves along."""
    channels_first = attributes.get("data_format") in (b"NCHW", b"NCDHW")
    return range(2, len(image)) if channels_first else range(1, len(image) - 1)


def _slide(image: Dims, kernel: Sequence[int], channels: int, attributes: Attributes) -> Dims:
    """Return the output shape of a kernel that slides along an image."""
    strides = numbers(attributes, "strides")
    dilations = numbers(attributes, "dilations") if "dilations" in attributes else ()
    padding = attributes.get("padding")
    output = [channels] * len(image)
    output[0] = image[0]
    for at, size in zip(_spatial(image, attributes), kernel, strict=True):
        room = image[at]
        if padding == b"EXPLICIT":
            room += sum(numbers(attributes, "explicit_paddings")[2 * at : 2 * at + 2])
        elif padding not in (b"SAME", b"VALID"):
            raise MissingError
        if padding != b"SAME":
            room -= (size - 1) * (dilations[at] if dilations else 1)
        output[at] = -(-room // strides[at])
    return tuple(output)


_RULES: dict[str, Callable[[Sequence[Dims], Attributes], Dims]] = {
    "MatMul": _matmul("transpose_a", "transpose_b"),
    **dict.fromkeys(("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"), _matmul("adj_x", "adj_y")),
    **dict.fromkeys(("Conv2D", "Conv3D"), _convolution),
    "DepthwiseConv2dNative": _depthwise,
    **dict.fromkeys(("AvgPool", "MaxPool"), _pool),
    "BiasAddGrad": _bias_gradient,
    "MaxPoolGrad": lambda inputs, _: inputs[0],
}
