"""Float operations of a run: the formulas that `float_op_table` names, applied to run-time shapes.

Most formulas are those that TensorFlow registers for tfprof. Products are counted as they are
computed, also where TensorFlow's formula is wrong (gradients of convolutions, transposed batches)
or missing. A kernel counts as the op it replaces; ops fused into it count apart.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import nan, prod

from nbprof.float_op_table import computes_nothing, counted
from nbprof.ingest.trace.program.node_attributes import Attributes, MissingError, flag, numbers
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

    def text(self, attribute: str) -> str:
        """Return an attribute that is a text."""
        value = self.attributes.get(attribute)
        if not isinstance(value, bytes):
            raise MissingError
        return value.decode("utf-8", "replace")


Formula = Callable[[Run], int]


def float_ops(op_type: str, run: Run) -> float:
    """Count the float operations of one run, NaN if unknown."""
    kernel = kernel_of(op_type)
    row = counted(kernel.main)
    whole = kernel.counted and (run.alone or not kernel.is_fused)
    if row is None:
        return 0.0 if whole and computes_nothing(kernel.main) else nan
    try:
        main = row.times * FORMULAS[row.formula](run)
        return float(main + (0 if whole else _guess_fused(kernel, run)))
    except (MissingError, IndexError, ZeroDivisionError):
        return nan


def _guess_fused(kernel: Kernel, run: Run) -> int:
    """Count what was fused into the main op if nothing but its inputs tells: a bias, if any."""
    if kernel.beside:
        return run.size(2) - run.dims(2)[-1]
    own = 3 if kernel.before else 2
    return run.out_size if kernel.after and len(run.inputs) > own else 0


def _output_size(run: Run) -> int:
    """Count the output's elements; an output that reuses an input's buffer has no shape."""
    if run.output is not None:
        return run.out_size
    size = run.dims(0)
    for place in range(1, len(run.inputs)):
        size = broadcast(size, run.dims(place))
    return prod(size)


def broadcast(left: Dims, right: Dims) -> Dims:
    """Return the shape that two shapes broadcast to."""
    longer, shorter = sorted((left, right), key=len, reverse=True)
    padded = (1,) * (len(longer) - len(shorter)) + shorter
    return tuple(b if a == 1 else a for a, b in zip(longer, padded, strict=True))


def _input_size(place: int, run: Run) -> int:
    return run.size(place)


def _reduction(run: Run) -> int:
    # A sum over no axis forwards its input.
    over_nothing = run.output is None and len(run.inputs) > 1 and run.inputs[1] == (0,)
    return 0 if over_nothing else max(run.size(0) - run.out_size, 0)


def _matmul(run: Run) -> int:
    # The rest of the left matrix is the dimension summed over, whichever side is transposed.
    left = prod(run.dims(0)[-2:])
    return 2 * run.out_size * (left // run.out[-2]) if run.out_size else 0


def _sparse_matmul(run: Run) -> int:
    return 2 * run.size(1) * run.out[-1]


def _convolution(contracted: slice, run: Run) -> int:
    """Count the products of a convolution that sums over these dimensions of its kernel."""
    return 2 * run.out_size * prod(run.dims(1)[contracted])


def _gradient_to_convolved(contracted: slice, run: Run) -> int:
    """Count the products of the convolution whose gradient to the input this is.

    The gradient has a product for each of the convolution's, and `Conv2DTranspose` is a gradient.
    """
    return 2 * run.size(2) * prod(run.dims(1)[contracted])


def _gradient_to_kernel(contracted: slice, run: Run) -> int:
    """Count the products of the convolution whose gradient to the kernel this is."""
    kernel = run.dims(1) if run.output is None else run.output
    if len(kernel) < 3:
        raise MissingError
    return 2 * run.size(2) * prod(kernel[contracted])


def _normalization(training: int, otherwise: int, run: Run) -> int:
    return run.size(0) * (training if flag(run.attributes, "is_training") else otherwise)


def _einsum(run: Run) -> int:
    """Count the products of an Einsum of two operands, or the sums of one."""
    operands, output, sizes = _read_equation(run)

    def size(labels: set[str]) -> int:
        return prod(sizes[label] for label in labels)

    total, left = 0, []
    for number, labels in enumerate(operands):
        others = output.union(*operands[:number], *operands[number + 1 :])
        total += max(size(labels) - size(labels & others), 0)
        left.append(labels & others)
    if len(left) == 1:
        return total
    together = left[0] | left[1]
    return total + size(together) * (1 if together <= output else 2)


def _read_equation(run: Run) -> tuple[list[set[str]], set[str], dict[str, int]]:
    """Return the indices of the operands and of the output, and the size of each index."""
    given, arrow, kept = run.text("equation").replace(" ", "").partition("->")
    terms = given.split(",")
    if not arrow or len(terms) > 2 or len(terms) != len(run.inputs):
        raise MissingError
    sizes: dict[str, int] = {}
    operands = []
    for place, term in enumerate(terms):
        dims = run.dims(place)
        labels = _spell_out(term, len(dims))
        if len(labels) != len(dims):
            raise MissingError
        for label, size in zip(labels, dims, strict=True):
            sizes[label] = size if sizes.get(label, 1) == 1 else sizes[label]
        operands.append(set(labels))
    output = set(_spell_out(kept, len(kept) + len(sizes)))
    return operands, output & sizes.keys(), sizes


def _spell_out(term: str, rank: int) -> list[str]:
    """Return the indices of a term; those that `...` stands for are numbered from the right."""
    before, dots, after = term.partition("...")
    unnamed = rank - len(before) - len(after) if dots else 0
    return [*before, *(str(number) for number in range(unnamed, 0, -1)), *after]


def _lstm(run: Run) -> int:
    batches = prod(run.dims(1)[:-1])
    return 2 * batches * run.size(4)


def _lstm_cell(run: Run) -> int:
    return 2 * run.dims(0)[0] * run.size(3)


def _gru_cell(run: Run) -> int:
    return 2 * run.dims(0)[0] * (run.size(2) + run.size(3))


GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
"""Weight matrices per layer, for the input and again for the state, by mode of CuDNN."""


def _cudnn(run: Run) -> int:
    directions = 2 if run.text("direction") == "bidirectional" else 1
    cells, _, units = run.dims(1)
    *batches, size = run.dims(0)
    gates = GATES.get(run.text("rnn_mode"))
    if gates is None or run.attributes.get("num_proj", (0,)) != (0,):
        raise MissingError
    first = directions * (size + units)
    further = (cells - directions) * (directions * units + units)
    return 2 * prod(batches) * gates * units * (first + further)


ALL, SPACE = slice(0, -1), slice(0, 2)
"""Dimensions of a kernel that a convolution sums over: all but the last, or height and width."""

FORMULAS: dict[str, Formula] = {
    "elements of the output": _output_size,
    "elements of the first input": partial(_input_size, 0),
    "elements of the second input": partial(_input_size, 1),
    "elements of the third input": partial(_input_size, 2),
    **{f"update by input {place}": partial(_input_size, place) for place in range(2, 11)},
    "squares and their sum": lambda run: 3 * run.size(0) - 1,
    "reduction": _reduction,
    "sum of tensors": lambda run: run.size(0) * (len(run.inputs) - 1),
    "matrix product": _matmul,
    "sparse matrix product": _sparse_matmul,
    "einsum": _einsum,
    "convolution": partial(_convolution, ALL),
    "gradient to the convolved": partial(_gradient_to_convolved, ALL),
    "gradient to the kernel": partial(_gradient_to_kernel, ALL),
    "depthwise convolution": partial(_convolution, SPACE),
    "depthwise gradient to the convolved": partial(_gradient_to_convolved, SPACE),
    "depthwise gradient to the kernel": partial(_gradient_to_kernel, SPACE),
    "pool": lambda run: prod(run.numbers("ksize")) * run.out_size,
    "gradient of an average": lambda run: 2 * prod(run.numbers("ksize")) * run.size(1),
    "gradient of a maximum": lambda run: (prod(run.numbers("ksize")) + 1) * run.size(1),
    "batch normalization": partial(_normalization, 6, 3),
    "gradient of batch normalization": partial(_normalization, 8, 5),
    "LSTM": _lstm,
    "LSTM cell": _lstm_cell,
    "GRU cell": _gru_cell,
    "CuDNN": _cudnn,
}
"""The formulas by the names that `float_op_table` uses."""
