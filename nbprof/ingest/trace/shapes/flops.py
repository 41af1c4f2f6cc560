"""Float operations of a run: TensorFlow's registered formulas, applied to run-time shapes.

An op without a formula counts 0, as in tfprof; one with a formula that lacks a shape or an
attribute counts NaN. A kernel counts as the op it replaces; ops fused into it count apart.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nan, prod

from nbprof.ingest.trace.program.node_attributes import Attributes, MissingError, numbers
from nbprof.op_types import Kernel, kernel_of

Dims = tuple[int, ...]


@dataclass(frozen=True)
class Run:
    """The shapes and attributes an op ran with."""

    inputs: Sequence[Dims | None]
    output: Dims | None
    attributes: Attributes
    alone: bool = True
    """Whether ops fused into it are counted apart; otherwise they are unknown."""

    def dims(self, place: int) -> Dims:
        """Return the shape of an input."""
        shape = self.inputs[place] if place < len(self.inputs) else None
        if shape is None:
            raise MissingError
        return shape

    def size(self, place: int) -> int:
        """Count the elements of an input."""
        return prod(self.dims(place))

    @property
    def out(self) -> Dims:
        """The shape of the output."""
        if self.output is None:
            raise MissingError
        return self.output

    @property
    def out_size(self) -> int:
        """The number of elements of the output."""
        return prod(self.out)

    def numbers(self, attribute: str) -> Sequence[int]:
        """Return the numbers of an attribute."""
        return numbers(self.attributes, attribute)


Formula = Callable[[Run], int]


def float_ops(op_type: str, run: Run) -> float:
    """Count the float operations of one run, NaN if unknown."""
    kernel = kernel_of(op_type)
    formula = FORMULAS.get(kernel.main)
    whole = kernel.counted and (run.alone or not kernel.is_fused)
    if formula is None:
        return 0.0 if whole else nan
    try:
        return float(formula(run) + (0 if whole else _guess_fused(kernel, run)))
    except (MissingError, IndexError, ZeroDivisionError):
        return nan


def _guess_fused(kernel: Kernel, run: Run) -> int:
    """Count what was fused into the main op if nothing but its inputs tells: a bias, if any."""
    if kernel.beside:
        return run.size(2) - run.dims(2)[-1]
    own = 3 if kernel.before else 2
    return run.out_size if kernel.after and len(run.inputs) > own else 0


def _broadcast_size(run: Run) -> int:
    """Count the output's elements; an output that reuses an input's buffer has no shape."""
    if run.output is not None:
        return run.out_size
    return run.size(0) if len(run.inputs) == 1 else prod(broadcast(run.dims(0), run.dims(1)))


def broadcast(left: Dims, right: Dims) -> Dims:
    """Return the shape that two shapes broadcast to."""
    longer, shorter = sorted((left, right), key=len, reverse=True)
    padded = (1,) * (len(longer) - len(shorter)) + shorter
    return tuple(b if a == 1 else a for a, b in zip(longer, padded, strict=True))


def _reduction(run: Run) -> int:
    # A sum over no axis forwards its input.
    over_nothing = run.output is None and len(run.inputs) > 1 and run.inputs[1] == (0,)
    return 0 if over_nothing else run.size(0) - run.out_size


def _matmul(run: Run) -> int:
    # size(0) / out[0] is the contracted dimension, whichever side is transposed.
    return 2 * run.size(0) // run.out[0] * run.out_size if run.out_size else 0


def _batch_matmul(run: Run) -> int:
    return 2 * run.dims(0)[-1] * run.out_size


def _convolution(dimensions: int) -> Formula:
    """Return the formula of a convolution whose kernel contracts its first `dimensions` axes."""
    return lambda run: 2 * run.out_size * prod(run.dims(1)[:dimensions])


def _convolution_to_input(run: Run) -> int:
    _, height, width, _ = run.numbers("strides")
    return 2 * run.out_size * run.size(1) // (run.out[-1] * height * width)


def _convolution_to_filter(run: Run) -> int:
    _, height, width, _ = run.numbers("strides")
    return 2 * run.out_size * run.size(0) // (run.dims(0)[-1] * height * width)


FORMULAS: dict[str, Formula] = {
    **dict.fromkeys(
        ("Reciprocal", "Square", "Log", "Neg", "AssignSub", "AssignAdd", "BiasAdd", "Mean"),
        lambda run: run.size(0),
    ),
    "Rsqrt": lambda run: 2 * run.size(0),
    "Softmax": lambda run: 5 * run.size(0),
    "L2Loss": lambda run: 3 * run.size(0) - 1,
    **dict.fromkeys(
        (
            *("Add", "AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "Pow", "Equal"),
            *("NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual"),
        ),
        _broadcast_size,
    ),
    "SquaredDifference": lambda run: 2 * _broadcast_size(run),
    "RsqrtGrad": lambda run: 4 * _broadcast_size(run),
    **dict.fromkeys(("Sum", "ArgMax", "ArgMin", "BiasAddGrad"), _reduction),
    "AddN": lambda run: run.size(0) * (len(run.inputs) - 1),
    "MatMul": _matmul,
    **dict.fromkeys(("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"), _batch_matmul),
    "Conv2D": _convolution(3),
    "Conv3D": _convolution(4),
    **dict.fromkeys(("DepthwiseConv2dNative", "Dilation2D"), _convolution(2)),
    "Conv2DBackpropInput": _convolution_to_input,
    "Conv2DBackpropFilter": _convolution_to_filter,
    **dict.fromkeys(("AvgPool", "MaxPool"), lambda run: prod(run.numbers("ksize")) * run.out_size),
    "AvgPoolGrad": lambda run: 2 * prod(run.numbers("ksize")) * run.size(1),
    "MaxPoolGrad": lambda run: (prod(run.numbers("ksize")) + 1) * run.size(1),
}
