"""Float operations of functions that XLA compiled, counted on the modules in the trace."""

from math import isnan

import pytest
from support.captured import profiled

from nbprof.arrays import NONE
from nbprof.ingest.trace.function_names import function_of_module
from nbprof.ingest.trace.program.hlo_modules import StoredModule
from nbprof.ingest.trace.shapes.hlo_flops import HloCounts
from nbprof.ingest.trace.shapes.hlo_instructions import Taps
from nbprof.ingest.trace.work.op_runs import XLA_CLUSTER, Executed

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")
layers = tf.keras.layers


def float_ops(profile):
    frame = profile.op(select="float_ops", max_depth=1000).frame
    return dict(zip(frame["name"], frame["float_ops"], strict=True))


def convolved(profile):
    """Return the float operations of a profile's convolutions."""
    frame = profile.scope(select="float_ops", max_depth=1000).frame
    named = frame[frame["name"].str.contains("/convolution")]
    return sorted(count for count in named["float_ops"] if count)


def compiled(body, *inputs):
    function = tf.function(body, jit_compile=True)
    function(*inputs)
    found = float_ops(profiled(lambda: function(*inputs)))
    if found.keys() <= {XLA_CLUSTER}:
        pytest.skip("this TensorFlow does not record HLO ops")
    return found


def test_a_compiled_function_counts_its_products_and_elements():
    found = compiled(
        lambda x, w: tf.reduce_sum(tf.tanh(tf.matmul(x, w)) * 2.0),
        tf.ones((8, 16)),
        tf.ones((16, 4)),
    )

    assert found.pop(XLA_CLUSTER) == 0
    assert sum(found.values()) == 2 * 8 * 16 * 4 + 2 * 8 * 4 + (8 * 4 - 1)


def test_a_function_compiled_for_several_shapes_counts_each_run_by_its_own():
    signature = [tf.TensorSpec((None, 16)), tf.TensorSpec((16, 4))]
    product = tf.function(tf.matmul, jit_compile=True, input_signature=signature)
    inputs, weights = [tf.ones((rows, 16)) for rows in (8, 8, 5, 3)], tf.ones((16, 4))

    def body():
        for given in inputs:
            product(given, weights)

    body()
    found = float_ops(profiled(body))

    if found.keys() <= {XLA_CLUSTER}:
        pytest.skip("this TensorFlow does not record HLO ops")
    assert sum(found.values()) == 2 * 16 * 4 * (8 + 8 + 5 + 3)


def test_a_compiled_loop_counts_every_turn():
    def power(x):
        for _ in tf.range(5):
            x = tf.matmul(x, x)
        return x

    found = compiled(power, tf.ones((16, 16)))

    counting = sum(found.values()) - 5 * 2 * 16**3  # the loop also counts its turns
    assert 0 <= counting < 50


def step(convolution, image):
    """Return a function that computes a convolution and both of its gradients."""
    convolution(image)

    def gradients():
        with tf.GradientTape() as tape:
            tape.watch(image)
            cost = tf.reduce_sum(tf.square(convolution(image)))
        return tape.gradient(cost, [image, *convolution.trainable_weights])

    return gradients


@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_convolutions_and_gradients_count_what_they_do_without_xla(padding, stride):
    image = tf.ones((2, 9, 9, 8))
    convolution = layers.Conv2D(6, 3, stride, padding)
    body = step(convolution, image)
    each = 2 * tf.size(convolution(image)).numpy() * 3 * 3 * 8
    function = tf.function(body, jit_compile=True)
    function()

    found = convolved(profiled(function))

    if not found:
        pytest.skip("this TensorFlow does not record HLO ops")
    assert sum(found) == 3 * each


@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize("as_graph", [False, True])
def test_grouped_convolutions_and_gradients_count_the_products_within_groups(padding, as_graph):
    image = tf.ones((2, 9, 9, 8))
    convolution = layers.Conv2D(16, 3, 2, padding, groups=4)
    body = step(convolution, image)
    body = tf.function(body) if as_graph else body
    body()
    each = 2 * tf.size(convolution(image)).numpy() * 3 * 3 * 8 // 4

    profile = profiled(body)

    found = float_ops(profile)
    ops = ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter")
    known = [found[op] for op in ops if op in found] or convolved(profile)
    if not known:
        pytest.skip("this TensorFlow does not record HLO ops")
    assert known == [each] * 3
    assert not any(map(isnan, found.values()))


def test_a_gap_between_elements_is_no_product():
    forward, back = Taps(size=3), Taps(size=3, gaps=2)
    groups = Taps(size=4, stride=3, gaps=4)

    assert forward.pairs(image=5, outputs=3) == 9
    assert back.pairs(image=5, outputs=11) == 15
    assert groups.pairs(image=4, outputs=4) == 4


def test_a_damaged_module_makes_float_ops_unknown():
    whole, op = Executed("f", "/", XLA_CLUSTER), Executed("f", "/dot.1", "dot")
    for proto in (b"", b"\x0a\xff", b"\x0a\x02\x1a\x05", b"\xff" * 30):
        counts = HloCounts([StoredModule("f", NONE, proto)], [whole, op])
        assert isnan(counts.of(op, NONE))
        assert counts.of(whole, NONE) == 0
    assert isnan(HloCounts([], [whole]).of(whole, NONE))


def test_modules_are_named_after_the_function_or_its_forward_half():
    assert function_of_module("a_inference_f_12__.44") == "__inference_f_12"
    assert function_of_module("a_forward_f_12__XlaMustCompile_true_9_.1") == "__forward_f_12"
