"""Cells that run known functions again: nothing is read twice, and nothing stale is shown."""

import gc
import weakref

import numpy as np
import pytest
from support.captured import node_runs, profiled, runs_from

from nbprof.ingest.trace.program import function_defs, python_stacks

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")
layers = tf.keras.layers


@pytest.fixture
def read(monkeypatch):
    """Record every read of a function or of its stacks that the cache does not have."""
    done = []
    for module, name in ((function_defs, "_read_function"), (python_stacks, "_read_stacks")):
        reader = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda message, reader=reader: done.append(reader) or reader(message)
        )
    return done


def dense(units):
    """Return a model that was trained once, and its training step."""
    model = tf.keras.Sequential([tf.keras.Input((4,)), layers.Dense(units), layers.Dense(1)])
    model.compile("sgd", "mse")
    x, y = np.ones((64, 4), "f4"), np.ones((64, 1), "f4")

    def fit():
        model.fit(x, y, verbose=0)

    fit()
    return model, fit


def test_a_known_function_is_not_read_again_and_looks_the_same(read):
    @tf.function
    def loop(x):
        for _ in tf.range(3):
            x = tf.sin(x)
        return tf.nn.relu(x)

    x = tf.ones(4)
    loop(x)
    first = profiled(lambda: loop(x))
    assert read
    read.clear()

    second = profiled(lambda: loop(x))

    assert not read
    assert node_runs(first) == node_runs(second)
    assert runs_from(first, "Sin") == runs_from(second, "Sin") == {"x = tf.sin(x)": 3}


def test_a_redefined_function_shows_its_new_lines_and_ops():
    x = tf.ones(4)
    found = []

    @tf.function
    def same(x):
        return tf.sin(x)  # as it was

    found.append(runs_from(profiled(lambda: same(x)), "Sin"))
    del same
    gc.collect()

    @tf.function
    def same(x):
        return tf.sin(x)  # elsewhere

    found.append(runs_from(profiled(lambda: same(x)), "Sin"))
    del same
    gc.collect()

    @tf.function
    def same(x):
        return tf.cos(x)  # otherwise

    found.append(runs_from(profiled(lambda: same(x)), "Cos"))
    assert found == [
        {f"return tf.{line}": 1}
        for line in ("sin(x)  # as it was", "sin(x)  # elsewhere", "cos(x)  # otherwise")
    ]


def sum_of_two(second_input):
    """Define Sin(x) + Cos(`second_input`)."""
    function = tf.compat.v1.GraphDef().library.function.add()
    signature = function.signature
    signature.name = "sum_of_two"
    signature.input_arg.add(name="x", type=1)
    signature.output_arg.add(name="out", type=1)
    inputs = {"Sin": ["x"], "Cos": [second_input], "AddV2": ["Sin:y:0", "Cos:y:0"]}
    for op, given in inputs.items():
        function.node_def.add(name=op, op=op, input=given).attr["T"].type = 1
    function.ret["out"] = "AddV2:z:0"
    return function


def test_a_new_definition_under_an_old_name_is_read():
    from tensorflow.python.eager import context, execute

    found = []
    runtime = context.context()
    for second_input in ("x", "Sin:y:0"):
        runtime.add_function_def(sum_of_two(second_input))
        try:
            profile = profiled(
                lambda: execute.execute(b"sum_of_two", 1, [tf.ones(4)], None, runtime)
            )
        finally:
            runtime.remove_function("sum_of_two")
        name = profile.nodes["name"]
        inputs = profile.inputs
        found.append(set(zip(name[inputs["source"]], name[inputs["node"]], strict=True)))

    both = {("x", "Sin"), ("Sin", "AddV2"), ("Cos", "AddV2")}
    assert found == [both | {("x", "Cos")}, both | {("Sin", "Cos")}]


def test_changes_to_a_model_between_cells_are_shown():
    model, fit = dense(units=5)
    profiled(fit)
    before = profiled(fit).nodes

    model.layers[0].trainable = False
    after = profiled(fit).nodes

    of_model = before["params"] > 0
    trained = before["trainable"]
    assert before["params"][trained].sum() == 4 * 5 + 5 + 5 + 1
    assert after["params"][after["trainable"]].sum() == 5 + 1
    assert before["name"][of_model].tolist() == after["name"][after["params"] > 0].tolist()


def test_after_clear_session_a_new_model_with_the_old_names_is_shown():
    for units in (5, 7):
        tf.keras.backend.clear_session()
        model, fit = dense(units)
        shown = profiled(fit).layer(select="params").frame.set_index("name")["params"]
        assert [layer.name for layer in model.layers] == ["dense", "dense_1"]
        assert shown["sequential/dense"] == 4 * units + units
        assert shown["sequential/dense_1"] == units + 1


def test_remembered_functions_keep_no_model_alive():
    model, fit = dense(units=5)
    profile = profiled(fit)
    profile = profiled(fit)
    left = weakref.ref(model)
    assert function_defs._cache._known
    assert python_stacks._cache._known

    del model, fit, profile
    tf.keras.backend.clear_session()
    gc.collect()

    assert left() is None
