"""Whether samples tell the truth: programs of known shape measure their own parts, unprofiled."""

import pytest
from support.fidelity import compared, distance, profiled, timed
from support.known_shapes import PARTS


def test_the_call_tree_finds_the_parts_of_a_program():
    shown = profiled(PARTS, tensorflow=False)

    assert min(shown.values()) >= 0
    assert (
        sum(seconds > 0 for seconds in shown.values()) >= 5
    )  # a busy machine may move the time of two


def test_the_call_tree_is_within_five_percent_of_the_truth():
    bare, shown = compared(lambda: timed(PARTS), lambda: profiled(PARTS, tensorflow=False))

    assert distance(bare, shown) <= 0.05, (bare, shown)


# With TensorFlow


@pytest.fixture(scope="module")
def eager():
    """Return a loop of two small ops and one without calls."""
    tf = pytest.importorskip("tensorflow")
    one = tf.random.normal((40, 40))
    part = tf.random.normal((2, 2))

    def adds():
        tf.add(one, one)

    def multiplies():
        tf.multiply(part, 0.5)

    def call_free():
        total = 0
        for number in range(1_000_000):
            total += number % 7

    return {part.__name__: part for part in (adds, multiplies, call_free)}


@pytest.mark.tensorflow
def test_eager_ops_and_a_loop_between_them_keep_their_times(eager):
    profiled(eager, 20)  # the first profile of a process looks up much
    bare, shown = compared(lambda: timed(eager, 1500), lambda: profiled(eager, 1500))

    ratio = bare["adds"] / bare["multiplies"]
    assert shown["adds"] / shown["multiplies"] == pytest.approx(ratio, rel=0.05), (bare, shown)
    assert shown["call_free"] == pytest.approx(bare["call_free"], rel=0.1), (bare, shown)
