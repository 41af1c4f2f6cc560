"""Ops stand on the line that ran them; behind it, on the line that made them."""

from collections import Counter

import numpy as np
import pytest
from support.captured import profiled

import nbprof

tf = pytest.importorskip("tensorflow")
pytestmark = [pytest.mark.core, pytest.mark.tensorflow]

BLOCK = "body()"
"""The line of `profiled` that runs what is profiled."""


def lines_of(profile, op_type, backward=False):
    """Count the runs of an op type by the user's lines, outermost first, below `profiled`."""
    users = profile.frames[~profile.frames["framework"]]
    stacks = users.groupby("stack")["source"].agg(list)
    types = profile.nodes["op_type"].to_numpy()[profile.events["node"]]
    chosen = (
        (types == op_type) & profile.events["is_run"] & (profile.events["backward"] == backward)
    )
    found = Counter()
    for stack in profile.events["stack"][chosen]:
        lines = stacks.get(stack, [BLOCK, "no line"])
        found[tuple(lines[lines.index(BLOCK) + 1 :])] += 1
    return found


@tf.function
def inner(x):
    y = tf.sin(x)
    return y


@tf.function
def outer(x):
    y = tf.matmul(x, x)
    return inner(y)


X = tf.ones((8, 8))


def test_a_graph_op_stands_on_the_line_that_ran_it_and_behind_it_on_the_line_that_made_it():
    inner(X)  # traced here

    def block():
        inner(X)
        outer(X)

    profile = profiled(block)

    assert lines_of(profile, "Sin") == {
        ("inner(X)", "y = tf.sin(x)"): 1,
        ("outer(X)", "return inner(y)", "y = tf.sin(x)"): 1,
    }
    assert lines_of(profile, "MatMul") == {("outer(X)", "y = tf.matmul(x, x)"): 1}


def test_the_lines_of_a_loop_follow_the_line_of_the_loop():
    @tf.function
    def looped(x):
        for _ in tf.range(3):
            x = tf.tanh(x)
        return x

    looped(X)

    def block():
        looped(X)

    lines = ("looped(X)", "for _ in tf.range(3):", "x = tf.tanh(x)")
    assert lines_of(profiled(block), "Tanh") == {lines: 3}


def test_without_watching_calls_ops_stand_on_the_lines_that_made_them():
    inner(X)  # traced here, if no test before did
    with nbprof.profile(light=True) as run:
        inner(X)

    frames = run.profile.frames
    frames = frames[frames["stack"].isin(run.profile.events["stack"])]  # not those of samples
    assert "y = tf.sin(x)" in set(frames["source"])
    assert "inner(X)" not in set(frames[~frames["framework"]]["source"])


def test_the_ops_of_a_saved_model_stand_on_the_line_that_calls_it(tmp_path):
    class Module(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec((None, 8))])
        def serve(self, x):
            return tf.math.erf(x)

    tf.saved_model.save(Module(), str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))

    def block():
        loaded.serve(X)

    profile = profiled(block)

    assert lines_of(profile, "Erf") == {("loaded.serve(X)",): 1}
    assert "no Python line known" not in set(profile.code().frame["name"])


def test_compiled_ops_stand_on_the_line_that_called_the_function():
    @tf.function(jit_compile=True)
    def compiled(x):
        return tf.reduce_sum(tf.matmul(x, x))

    compiled(X)

    def block():
        compiled(X)

    profile = profiled(block)

    sources = profile.code(select="occurrence").frame.set_index("source")
    assert sources.loc["compiled(X)", "total_run_count"] == profile.events["is_run"].sum()


def test_a_session_runs_its_graph_on_the_line_of_the_run():
    graph = tf.Graph()
    with graph.as_default(), tf.compat.v1.Session(graph=graph) as session:
        fed = tf.compat.v1.placeholder(tf.float32, (2, 2))
        made = tf.math.erf(fed)
        (slope,) = tf.gradients(made, [fed])

        def block():
            session.run([made, slope], {fed: np.ones((2, 2))})

        profile = profiled(block)

    run = "session.run([made, slope], {fed: np.ones((2, 2))})"
    (lines,) = lines_of(profile, "Erf")
    assert lines[0] == run
    assert lines[-1] == "made = tf.math.erf(fed)"
    (gradient,) = lines_of(profile, "Mul", backward=True)
    assert gradient == lines


def test_gradients_in_a_graph_stand_with_the_line_they_are_the_gradient_of():
    @tf.function
    def step(x, w):
        with tf.GradientTape() as tape:
            tape.watch(w)
            y = tf.matmul(x, w)
            z = tf.nn.relu(y)
        return tape.gradient(z, w)

    step(X, X)

    def block():
        step(X, X)

    profile = profiled(block)

    forward = {("step(X, X)", "y = tf.matmul(x, w)"): 1}
    assert lines_of(profile, "MatMul") == forward
    assert lines_of(profile, "MatMul", backward=True) == forward
    assert lines_of(profile, "ReluGrad", backward=True) == {("step(X, X)", "z = tf.nn.relu(y)"): 1}


def test_gradients_of_a_function_stand_where_the_function_was_called():
    @tf.function
    def squared(x):
        return tf.matmul(x, x)

    def block():
        with tf.GradientTape() as tape:
            tape.watch(X)
            y = squared(X)
        tape.gradient(y, X)

    profile = profiled(block)

    lines = ("y = squared(X)", "return tf.matmul(x, x)")
    assert lines_of(profile, "MatMul") == {lines: 1}
    assert lines_of(profile, "MatMul", backward=True) == {lines: 2}


def test_gradients_of_eager_ops_stand_with_the_line_they_are_the_gradient_of():
    def block():
        with tf.GradientTape() as tape:
            tape.watch(X)
            y = tf.matmul(X, X)
            z = tf.nn.relu(y)
        tape.gradient(z, X)

    profile = profiled(block)

    assert lines_of(profile, "MatMul", backward=True) == {("y = tf.matmul(X, X)",): 2}
    assert lines_of(profile, "ReluGrad", backward=True) == {("z = tf.nn.relu(y)",): 1}
    # Adding up the two gradients of X is nobody's gradient.
    assert lines_of(profile, "AddN", backward=True) == {("tape.gradient(z, X)",): 1}


def test_gradients_of_one_tensor_on_two_lines_are_told_apart_by_the_other_tensors():
    a, b = tf.ones((8, 8)), tf.ones((8, 8))

    def block():
        with tf.GradientTape() as tape:
            tape.watch([a, b])
            y = tf.matmul(X, a)
            z = tf.matmul(X, b)
        tape.gradient([y, z], [a, b])

    assert lines_of(profiled(block), "MatMul", backward=True) == {
        ("y = tf.matmul(X, a)",): 1,
        ("z = tf.matmul(X, b)",): 1,
    }


def test_every_run_is_in_one_row_of_the_code_view():
    def block():
        with tf.GradientTape() as tape:
            tape.watch(X)
            y = outer(X)
        tape.gradient(y, X)

    profile = profiled(block)

    frame = profile.code(select="micros,occurrence").frame
    assert frame["run_count"].sum() == profile.events["is_run"].sum()
    assert frame["micros"].sum() == pytest.approx(profile.events["self_ns"].sum() / 1e3)
    assert frame["total_micros"][0] == pytest.approx(profile.events["self_ns"].sum() / 1e3)


def test_layers_that_one_line_runs_have_a_row_each_with_their_gradients_below():
    layers = [tf.keras.layers.Dense(4, name="first"), tf.keras.layers.Dense(2, name="second")]
    model = tf.keras.Sequential([tf.keras.Input((8,)), *layers])
    model.compile("sgd", "mse")
    x, y = np.ones((8, 8)), np.ones((8, 2))
    model.fit(x, y, verbose=0)

    def block():
        model.fit(x, y, verbose=0)

    frame = profiled(block).code(select="occurrence").frame

    names = frame["name"].tolist()
    line = frame["source"].tolist().index("model.fit(x, y, verbose=0)")
    for name in ("first", "second"):
        row = names.index(f"layer {model.name}/{name}")
        assert frame["parent"][row] == line
        assert frame["parent"][names.index(f"{names[row]} (backward)")] == row


def test_packages_are_no_lines_of_the_users():
    tree = pytest.importorskip("optree")

    def block():
        tree.tree_map(tf.sin, [X, X])

    assert lines_of(profiled(block), "Sin") == {("tree.tree_map(tf.sin, [X, X])",): 2}
