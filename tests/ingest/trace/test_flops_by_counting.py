"""Float operations compared with brute force: small cases, every product counted one by one."""

import itertools
import string
from math import isnan, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbprof.float_op_table import COUNTED, NO_WORK, computes_nothing, counted, is_known
from nbprof.ingest.trace.shapes.flops import FORMULAS, Run, float_ops
from nbprof.ingest.trace.shapes.output_shapes import infer_shape

SIZES = st.integers(1, 4)


def count(op_type, inputs, output=None, **attributes):
    return float_ops(op_type, Run(inputs, output, attributes))


@st.composite
def convolutions(draw, dimensions):
    """Draw the shapes of an image and a kernel, and how the kernel slides over the image."""
    groups = draw(st.integers(1, 3))
    kernel = draw(st.tuples(*[st.integers(1, 3)] * dimensions))
    strides = draw(st.tuples(*[st.integers(1, 3)] * dimensions))
    dilations = draw(st.tuples(*[st.integers(1, 2)] * dimensions))
    padding = draw(st.sampled_from(["SAME", "VALID", "EXPLICIT"]))
    explicit = [draw(st.tuples(st.integers(0, 2), st.integers(0, 2))) for _ in kernel]
    image = [
        draw(st.integers((size - 1) * dilation + 1, 8))
        for size, dilation in zip(kernel, dilations, strict=True)
    ]
    channels, filters, batch = draw(SIZES), draw(SIZES), draw(SIZES)
    return {
        "image": (batch, *image, groups * channels),
        "kernel": (*kernel, channels, groups * filters),
        "strides": strides,
        "dilations": dilations,
        "padding": padding,
        "around": [0, 0, *itertools.chain(*explicit), 0, 0] if padding == "EXPLICIT" else [],
    }


def positions(case, axis):
    """Return where the kernel begins along an axis as it slides; padding is part of the way."""
    size, taps = case["image"][axis + 1], case["kernel"][axis]
    stride, dilation = case["strides"][axis], case["dilations"][axis]
    reach = (taps - 1) * dilation + 1
    if case["padding"] == "SAME":
        return [start for start in range(size) if start % stride == 0]
    before, after = case["around"][2 * axis + 2 : 2 * axis + 4] or (0, 0)
    places = range(-before, size + after)
    return [start for start in places[::stride] if start + reach <= size + after]


def products(case):
    """Return the shape of the convolution's output, and count its products one by one."""
    *kernel, channels, filters = case["kernel"]
    batch = case["image"][0]
    ways = [positions(case, axis) for axis in range(len(kernel))]
    places = list(itertools.product(*ways))
    taps = list(itertools.product(*map(range, kernel)))
    total = 0
    for _image, _place, _tap in itertools.product(range(batch), places, taps):
        total += channels * filters
    return (batch, *map(len, ways), filters), total


def attributes(case):
    return {
        "strides": (1, *case["strides"], 1),
        "dilations": (1, *case["dilations"], 1),
        "padding": case["padding"].encode(),
        "explicit_paddings": tuple(case["around"]),
        "data_format": b"NHWC",
    }


def channels_first(shape):
    return (shape[0], shape[-1], *shape[1:-1])


@given(st.one_of(convolutions(2), convolutions(3)))
def test_a_convolution_and_its_gradients_count_two_for_each_of_its_products(case):
    output, total = products(case)
    kind = f"Conv{len(case['strides'])}D"
    image, kernel = case["image"], case["kernel"]
    version = "" if kind == "Conv2D" else "V2"

    assert infer_shape(kind, (image, kernel), attributes(case)) == output
    for turn in (tuple, channels_first):
        shown, made = turn(image), turn(output)
        assert count(kind, (shown, kernel), made) == 2 * total
        to_image = f"{kind}BackpropInput{version}"
        assert count(to_image, ((len(image),), kernel, made)) == 2 * total
        to_kernel = f"{kind}BackpropFilter{version}"
        assert count(to_kernel, (shown, (len(kernel),), made), kernel) == 2 * total


@given(convolutions(2), SIZES)
def test_a_depthwise_convolution_and_its_gradients_count_two_for_each_product(case, multiplier):
    channels = case["image"][-1]
    kernel = (*case["kernel"][:2], channels, multiplier)
    (batch, height, width, _), _ = products(case)
    output = (batch, height, width, channels * multiplier)
    _, total = products(case | {"kernel": (*kernel[:2], 1, channels * multiplier)})
    kind = "DepthwiseConv2dNative"

    assert count(kind, (case["image"], kernel), output) == 2 * total
    assert count(f"{kind}BackpropInput", ((4,), kernel, output)) == 2 * total
    assert count(f"{kind}BackpropFilter", (case["image"], (4,), output), kernel) == 2 * total


def test_the_gradient_to_a_kernel_of_unknown_shape_is_unknown():
    assert isnan(count("Conv2DBackpropFilter", ((1, 5, 5, 2), (4,), (1, 3, 3, 4))))


@st.composite
def equations(draw):
    """Draw an einsum of one or two operands: its indices, which are kept, and their sizes."""
    letters = string.ascii_letters[:5]
    indices = st.lists(st.sampled_from(letters), max_size=4)
    terms = draw(st.lists(indices, min_size=1, max_size=2))
    used = sorted(set(itertools.chain(*terms)))
    kept = draw(st.permutations(used))[: draw(st.integers(0, len(used)))]
    sizes = {letter: draw(SIZES) for letter in used}
    return terms, kept, sizes


def steps(terms, kept, sizes):
    """Count the additions and multiplications of an einsum one by one.

    First each operand is summed over the indices that nothing else has. Then each product of the
    rest is added to its place in the output, if that is more than one.
    """
    total, left = 0, []
    for number, term in enumerate(terms):
        others = set(kept).union(*(other for at, other in enumerate(terms) if at != number))
        seen = set()
        for place in itertools.product(*(range(sizes[letter]) for letter in sorted(set(term)))):
            named = dict(zip(sorted(set(term)), place, strict=True))
            remaining = tuple(value for letter, value in named.items() if letter in others)
            total += remaining in seen
            seen.add(remaining)
        left.append(set(term) & others)
    if len(left) == 1:
        return total
    together = sorted(left[0] | left[1])
    for _place in itertools.product(*(range(sizes[letter]) for letter in together)):
        total += 1 if set(together) <= set(kept) else 2
    return total


@given(equations())
def test_an_einsum_counts_its_sums_and_products(case):
    terms, kept, sizes = case
    shapes = [tuple(sizes[letter] for letter in term) for term in terms]
    equation = f"{','.join(map(''.join, terms))}->{''.join(kept)}"

    assert count("Einsum", shapes, equation=equation.encode()) == steps(terms, kept, sizes)


@pytest.mark.parametrize(
    ("equation", "left", "right"),
    [
        ("bqhd,bkhd->bhqk", (4, 10, 2, 8), (4, 12, 2, 8)),
        ("bhqk,bkhd->bqhd", (4, 2, 10, 12), (4, 12, 2, 8)),
        ("abc,cde->abde", (4, 10, 16), (16, 2, 8)),
        ("i,j->ij", (5,), (7,)),
        ("ij,ij->", (5, 7), (5, 7)),
        ("...ij,...jk->...ik", (3, 1, 4, 5), (2, 5, 6)),
        ("...ij,jk->...ik", (3, 4, 5), (5, 6)),
        ("bi,...bj->...ij", (2, 3), (4, 2, 5)),
    ],
)
def test_an_einsum_of_two_operands_counts_what_numpy_counts(equation, left, right):
    _, report = np.einsum_path(equation, np.ones(left), np.ones(right), optimize=False)
    (line,) = [line for line in report.splitlines() if "Naive FLOP count" in line]

    found = count("Einsum", (left, right), equation=equation.encode())

    assert found == pytest.approx(float(line.rpartition(":")[2]), rel=1e-3)


def test_an_einsum_that_is_not_understood_is_unknown():
    shapes = ((2, 3), (3, 4))
    assert isnan(count("Einsum", shapes))
    assert isnan(count("Einsum", (None, (3, 4)), equation=b"ij,jk->ik"))
    assert isnan(count("Einsum", shapes, equation=b"ijk,kl->il"))
    assert isnan(count("Einsum", shapes, equation=b"ij,jk"))
    assert isnan(count("Einsum", (*shapes, (4, 5)), equation=b"ij,jk,kl->il"))


@given(SIZES, SIZES, SIZES, st.lists(SIZES, max_size=2), st.booleans())
def test_a_batch_of_products_counts_the_same_whichever_side_is_transposed(m, k, n, batch, turned):
    left = (*batch, k, m) if turned else (*batch, m, k)

    found = count("BatchMatMulV2", (left, (k, n)), (*batch, m, n))

    assert found == 2 * prod(batch) * m * k * n


WEIGHTS = {"lstm": 4, "gru": 3, "rnn_tanh": 1}


@pytest.mark.parametrize("mode", WEIGHTS)
@pytest.mark.parametrize("directions", [1, 2])
def test_an_rnn_of_cudnn_counts_the_products_of_every_step_layer_and_direction(mode, directions):
    time, batch, size, units, layers = 7, 3, 5, 4, 2
    shapes = ((time, batch, size), (layers * directions, batch, units), None, None)
    total = 0
    for layer, _direction, _gate in itertools.product(
        range(layers), range(directions), range(WEIGHTS[mode])
    ):
        given = size if layer == 0 else directions * units
        total += time * batch * units * (given + units)
    how = {
        "rnn_mode": mode.encode(),
        "direction": b"bidirectional" if directions == 2 else b"unidirectional",
    }

    assert count("CudnnRNNV3", shapes, **how) == 2 * total
    assert count("CudnnRNNBackpropV3", shapes, **how) == 4 * total
    assert isnan(count("CudnnRNNV3", shapes, **how, num_proj=(2,)))


def test_rnns_in_one_kernel_count_their_products():
    time, batch, size, units = 7, 3, 5, 4
    weights = (size + units, 4 * units)
    sequence = ((), (time, batch, size), (batch, units), (batch, units), weights)
    step = 2 * batch * (size + units) * units

    assert count("BlockLSTMV2", sequence) == time * 4 * step
    assert count("BlockLSTMGradV2", sequence) == 2 * time * 4 * step
    cell = ((batch, size), (batch, units), (batch, units), weights)
    assert count("LSTMBlockCell", cell) == 4 * step
    gates = ((size + units, 2 * units), (size + units, units))
    assert count("GRUBlockCell", ((batch, size), (batch, units), *gates)) == 3 * step


def test_every_row_of_the_table_has_a_formula_and_no_type_is_listed_twice():
    types = [op_type for row in COUNTED for op_type in row.types]

    assert {row.formula for row in COUNTED} <= set(FORMULAS)
    assert len(types) == len(set(types))
    assert not [op_type for op_type in types if computes_nothing(op_type)]
    assert all(NO_WORK.values())


@pytest.mark.parametrize(
    "op_type",
    [
        *("Identity", "Reshape", "Const", "ReadVariableOp", "_Arg", "_Retval", "Cast", "Transpose"),
        *("StatefulPartitionedCall", "While", "IteratorGetNext", "Iterator::Root", "ConcatV2"),
        *("ParallelMapDatasetV2", "GatherV2", "AssignVariableOp", "NoOp", "VarHandleOp"),
        *("TensorListReserve", "OptionalHasValue", "_MklTranspose", "MemcpyD2H"),
    ],
)
def test_what_computes_nothing_counts_zero(op_type):
    assert count(op_type, ((3, 4),)) == 0


@pytest.mark.parametrize(
    "op_type",
    ["Cholesky", "FFT", "StatelessRandomUniformV2", "TopKV2", "CTCLoss", "MyOp"],
)
def test_what_computes_without_a_formula_is_unknown_not_zero(op_type):
    assert counted(op_type) is None
    assert not is_known(op_type)
    assert isnan(count(op_type, ((3, 4),), (3, 4)))
