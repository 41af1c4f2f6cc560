"""The shape of an op's output by the shapes of its inputs and its attributes.

It is needed where no allocation tells the shape: with oneDNN, TensorFlow records only those of
256 KiB and more. Only ops are known here whose float operations depend on it; None for all others
and where an input or an attribute is missing.
"""

from collections.abc import Callable, Sequence

from nbprof.ingest.trace.flops import Dims, broadcast
from nbprof.ingest.trace.node_attributes import Attributes, MissingError, flag, numbers
from nbprof.op_types import main_type


def output_shape(
    op_type: str, inputs: Sequence[Dims | None], attributes: Attributes
) -> Dims | None:
    """Give the shape of an op's first output, None where it cannot be told."""
    rule = _RULES.get(main_type(op_type))
    known = [dims for dims in inputs if dims is not None]
    if rule is None or len(known) < len(inputs):
        return None
    try:
        return rule(known, attributes)
    except (MissingError, IndexError, ValueError, ZeroDivisionError):
        return None


def _matmul(first: str, second: str) -> Callable[[Sequence[Dims], Attributes], Dims]:
    """Multiply matrices; the attributes of these names say which are transposed."""

    def rule(inputs: Sequence[Dims], attributes: Attributes) -> Dims:
        one, other = inputs[0], inputs[1]
        height = one[-1] if flag(attributes, first) else one[-2]
        width = other[-2] if flag(attributes, second) else other[-1]
        return (*broadcast(one[:-2], other[:-2]), height, width)

    return rule


def _convolution(inputs: Sequence[Dims], attributes: Attributes) -> Dims:
    *kernel, _, channels = inputs[1]
    return _slid(inputs[0], kernel, channels, attributes)


def _depthwise(inputs: Sequence[Dims], attributes: Attributes) -> Dims:
    *kernel, channels, multiplier = inputs[1]
    return _slid(inputs[0], kernel, channels * multiplier, attributes)


def _pool(inputs: Sequence[Dims], attributes: Attributes) -> Dims:
    place = _places(inputs[0], attributes)
    ksize = numbers(attributes, "ksize")
    channels = next(at for at in range(1, len(inputs[0])) if at not in place)
    return _slid(inputs[0], [ksize[at] for at in place], inputs[0][channels], attributes)


def _bias_gradient(inputs: Sequence[Dims], attributes: Attributes) -> Dims:
    return (inputs[0][1 if attributes.get("data_format") == b"NCHW" else -1],)


def _places(image: Dims, attributes: Attributes) -> range:
    """Tell which dimensions are those that a kernel moves along."""
    channels_first = attributes.get("data_format") in (b"NCHW", b"NCDHW")
    return range(2, len(image)) if channels_first else range(1, len(image) - 1)


def _slid(image: Dims, kernel: Sequence[int], channels: int, attributes: Attributes) -> Dims:
    """Move a kernel along an image."""
    place = _places(image, attributes)
    strides = numbers(attributes, "strides")
    dilations = numbers(attributes, "dilations") if "dilations" in attributes else ()
    output = [channels] * len(image)
    output[0] = image[0]
    for at, size in zip(place, kernel, strict=True):
        room = image[at]
        padding = attributes.get("padding")
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
