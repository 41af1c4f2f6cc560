"""Shapes of op outputs, inferred where no allocation shows them.

With oneDNN, TensorFlow records only allocations of 256 KiB and more. The rules here cover the ops
whose float operations depend on their output's shape: it follows from the input shapes and the
attributes, or is what the ops that use the output ran on.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

from nbprof.arrays import NONE
from nbprof.ingest.trace.program.node_attributes import (
    CONSTANT,
    GRADIENTS,
    PADDINGS,
    REDUCTIONS,
    Attributes,
    MissingError,
    flag,
    numbers,
)
from nbprof.ingest.trace.shapes.flops import Dims, broadcast
from nbprof.op_types import kernel_of, main_type

if TYPE_CHECKING:
    from nbprof.ingest.trace.program.function_defs import Functions
    from nbprof.ingest.trace.program.node_names import Resolved
    from nbprof.ingest.trace.shapes.used_shapes import UsedShapes

Shapes = Sequence[Dims | None]
Convolved = tuple[str, str, int, str]
"""A function, a type of convolution in it, and which of its inputs is which tensor."""


CONVOLUTIONS = {convolution for convolution, _ in GRADIENTS.values()}


class OutputShapes:
    """Infers the shape of a node's first output from its inputs; None where that is impossible."""

    def __init__(
        self,
        op_types: Sequence[str],
        nodes: Sequence["Resolved"],
        functions: "Functions",
        ran: Iterable[tuple[int, Shapes]],
        used: "UsedShapes | None" = None,
    ) -> None:
        """`ran` lists the input shapes that each node ran with."""
        self._op_types = op_types
        self._nodes = nodes
        self._functions = functions
        self._ran = ran
        self._used = used
        self._main = [functions.node(place.function, place.origin) for place in nodes]

    def attributes(self, node: int) -> Attributes:
        """Return the attributes of the node that does the work."""
        return self._main[node].attributes

    def of(self, node: int, inputs: Shapes) -> Dims | None:
        """Return the shape of a node's first output for these inputs, None if unknown."""
        op_type = main_type(self._op_types[node])
        if op_type in GRADIENTS:
            return self._of_gradient(node, inputs)
        found = infer_shape(op_type, self._padded(node, inputs), self._main[node].attributes)
        first = inputs[0] if inputs else None
        if found is None and self._used and op_type in REDUCTIONS and first is not None:
            return self._used.output(node, inputs, partial(_is_reduced, first))
        return found

    def of_main(self, node: int, inputs: Shapes) -> tuple[Dims | None, ...]:
        """Return the input shapes of the op that does the work, given those of its kernel."""
        taken = len(self._main[node].tensors) if self._nodes[node].fused else len(inputs)
        return tuple(self._padded(node, inputs)[:taken])

    def _padded(self, node: int, inputs: Shapes) -> Shapes:
        """Return the input shapes of the main op, where padding was fused into its kernel."""
        place = self._nodes[node]
        if not set(PADDINGS).intersection(kernel_of(self._op_types[node]).before):
            return inputs
        before = (self._functions.node(place.function, name) for name in place.fused or ())
        added = next((pad.attributes.get(CONSTANT) for pad in before if pad.op in PADDINGS), None)
        if not isinstance(added, tuple) or not inputs or inputs[0] is None:
            return (None, *inputs[1:])
        amounts = zip(inputs[0], added[::2], added[1::2], strict=True)
        return (tuple(map(sum, amounts)), *inputs[1:])

    def _of_gradient(self, node: int, inputs: Shapes) -> Dims | None:
        """Return the shape of the convolution's input that this is the gradient to, if clear."""
        convolution, place = GRADIENTS[main_type(self._op_types[node])]
        main, function = self._main[node], self._nodes[node].function
        stated = main.attributes.get(CONSTANT)
        if isinstance(stated, tuple):
            return stated
        other, gradient = inputs[1 - place : 2 - place], inputs[2:3]

        def fits(shape: Dims) -> bool:
            both = (shape, *other) if place == 0 else (*other, shape)
            return [infer_shape(convolution, both, main.attributes)] == list(gradient)

        tensor = self._measured(function, "".join(main.tensors[place : place + 1]))
        found = self._convolved.get((function, convolution, place, tensor), set())
        fitting = {shape for shape in found if fits(shape)}
        if len(fitting) == 1:
            return fitting.pop()
        return self._used.output(node, inputs, fits) if self._used else None

    def _measured(self, function: str, tensor: str) -> str:
        """Return the tensor whose shape this tensor holds, empty if unknown."""
        name, _, output = tensor.partition(":")
        node, number = self._functions.node(function, name), output.rpartition(":")[2]
        if node.op not in ("Shape", "ShapeN") or not number.isdecimal():
            return ""
        return "".join(node.tensors[int(number) : int(number) + 1])

    @cached_property
    def _convolved(self) -> "dict[Convolved, set[Dims]]":
        """The shapes that the inputs of convolutions had, also as their gradients state them."""
        found = defaultdict(set)
        for node, inputs in self._ran:
            op_type = main_type(self._op_types[node])
            convolution, gradient_to = GRADIENTS.get(op_type, (op_type, NONE))
            if convolution not in CONVOLUTIONS:
                continue
            for place, tensor in enumerate(self._main[node].tensors[:2]):
                shape = inputs[place] if place < len(inputs) else None
                if place != gradient_to and shape is not None:
                    found[self._nodes[node].function, convolution, place, tensor].add(shape)
        return found


def _is_reduced(dims: Dims, shape: Dims) -> bool:
    """Return whether a reduction can turn these dimensions into that shape."""
    if len(shape) == len(dims):
        return all(after in (before, 1) for before, after in zip(dims, shape, strict=True))
    left = iter(dims)
    return all(size in left for size in shape)


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


def _reduction(inputs: Sequence[Dims], attributes: Attributes) -> Dims:
    dims = inputs[0]
    over = {axis % len(dims) for axis in numbers(attributes, CONSTANT)}
    kept = (1,) if attributes.get("keep_dims") else ()
    shape: Dims = ()
    for axis, size in enumerate(dims):
        shape += kept if axis in over else (size,)
    return shape


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
    **dict.fromkeys(REDUCTIONS, _reduction),
    **dict.fromkeys(
        ("MaxPoolGrad", "FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"),
        lambda inputs, _: inputs[0],
    ),
}
