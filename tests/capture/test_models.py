"""Parameters, sessions, pipelines and traces of real models, against known values."""

import gc
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

import nbprof
from nbprof.capture import live_objects

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")
layers = tf.keras.layers


def profiled(body):
    with nbprof.profile() as run:
        body()
    return run.profile


def rows(view, *columns):
    frame = view.frame
    return {
        name: tuple(values) for name, *values in frame[["name", *columns]].itertuples(index=False)
    }


def data(count, width, outputs, size=32):
    return np.ones((count * size, width), "f4"), np.ones((count * size, outputs), "f4")


def fitted(model, x, y, **options):
    model.compile(options.pop("optimizer", "sgd"), "mse")
    model.fit(x, y, verbose=0)
    return profiled(lambda: model.fit(x, y, verbose=0, **options))


@pytest.fixture(scope="module")
def mlp():
    model = tf.keras.Sequential(
        [
            tf.keras.Input((64,)),
            layers.Dense(128, "relu", name="wide"),
            layers.Dense(10, name="out"),
        ],
        name="mlp",
    )
    return model, fitted(model, *data(16, 64, 10), optimizer="adam")


def test_a_tf_module_has_its_parameters():
    class Linear(tf.Module):
        def __init__(self):
            super().__init__()
            self.weights = tf.Variable(tf.ones([5, 3]))
            self.steps = tf.Variable(0, trainable=False)

        @tf.function
        def __call__(self, x):
            self.steps.assign_add(1)
            return x @ self.weights

    linear = Linear()
    linear(tf.ones([2, 5]))

    profile = profiled(lambda: linear(tf.ones([2, 5])))

    nodes = profile.nodes[profile.nodes["op_type"] == "VarHandleOp"]
    assert sorted(nodes["params"]) == [1, 15]
    assert sorted(zip(nodes["shape"], nodes["trainable"], strict=True)) == [
        ("5x3", True),
        ("scalar", False),
    ]


def train_in_a_session(steps, options=None):
    graph = tf.Graph()
    with graph.as_default():
        tf.compat.v1.set_random_seed(0)
        x = tf.compat.v1.placeholder(tf.float32, [None, 6], name="x")
        weights = tf.compat.v1.get_variable("weights", [6, 4])
        hidden = tf.nn.relu(tf.matmul(x, weights, name="product"), name="positive")
        loss = tf.reduce_mean(hidden, name="loss")
        train = tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        metadata = tf.compat.v1.RunMetadata() if options else None
        with tf.compat.v1.Session() as session:
            session.run(tf.compat.v1.global_variables_initializer())
            for _ in range(steps):
                session.run(train, {x: np.ones((3, 6), "f4")}, options, metadata)
    return metadata


def test_a_session_graph_has_lines_shapes_flops_and_parameters():
    profile = profiled(lambda: train_in_a_session(5))

    scope = profile.scope(select="params,float_ops,occurrence,input_shapes").frame.set_index("name")
    assert scope.loc["weights", "params"] == 24
    assert scope.loc["product", "float_ops"] == 5 * 2 * 3 * 6 * 4
    assert scope.loc["product", "input_shapes"][0]["shapes"] == ["3x6", "6x4"]
    lines = rows(profile.code(select="occurrence"), "source", "total_run_count")
    assert any("tf.matmul(x, weights" in source for source, _ in lines.values())
    assert rows(profile.layer(), "total_micros")["optimizer"][0] > 0


def test_output_bytes_equal_those_in_run_metadata():
    reported = train_in_a_session(
        1, tf.compat.v1.RunOptions(trace_level=tf.compat.v1.RunOptions.SOFTWARE_TRACE)
    )
    profile = profiled(lambda: train_in_a_session(1))

    ours = rows(profile.scope(select="output_bytes,occurrence"), "output_bytes", "run_count")
    compared = 0
    for device in reported.step_stats.dev_stats:
        for node in device.node_stats:
            size = sum(
                output.tensor_description.allocation_description.requested_bytes
                for output in node.output
            )
            name = node.node_name.partition(":")[0]
            if ours.get(name, (np.nan, 0))[1] == 1 and not np.isnan(ours[name][0]):
                is_handle = any(output.tensor_description.dtype == 20 for output in node.output)
                assert is_handle or ours[name][0] == size, name
                compared += 1
    assert compared > 8


def test_two_graphs_with_equal_node_names_are_kept_apart():
    def body():
        for op in (tf.exp, tf.sin):
            with tf.Graph().as_default(), tf.compat.v1.Session() as session:
                x = tf.compat.v1.placeholder(tf.float32, [None])
                y = op(x, name="same")
                for _ in range(3):
                    session.run(y, {x: [1.0]})

    profile = profiled(body)

    runs = rows(profile.scope(select="occurrence"), "run_count")
    assert runs["session/same"] == (3,)
    assert runs["session_1/same"] == (3,)


def test_ids_shared_by_a_session_and_an_input_pipeline_are_not_mixed_up():
    pipeline = tf.data.Dataset.range(50).map(lambda value: value * 2).batch(5)

    def body():
        list(pipeline)
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            y = tf.math.lgamma(tf.compat.v1.random.uniform([2]), name="in_session")
            for _ in range(8):
                session.run(y)

    runs = rows(profiled(body).scope(select="occurrence"), "run_count")

    assert runs["in_session"] == (8,)


def test_functions_of_an_input_pipeline_are_kept_apart_and_have_lines():
    first = tf.data.Dataset.range(20).map(lambda value: tf.cast(value, tf.float32) * 2.0)
    second = first.map(lambda value: tf.math.erf(value) * 3.0)

    profile = profiled(lambda: list(second))

    runs = rows(profile.scope(select="occurrence"), "run_count")
    assert sum(name.startswith("Dataset_map") and name.endswith("/mul") for name in runs) == 2
    sources = set(profile.code().frame["source"])
    assert any("tf.math.erf" in source for source in sources)
    assert rows(profile.layer(), "total_micros")["input pipeline"][0] > 0


def test_each_new_trace_of_a_function_is_listed_with_what_changed():
    @tf.function
    def scaled(x, factor):
        return tf.reduce_sum(x) * factor

    scaled(tf.ones([2]), 2)

    profile = profiled(
        lambda: (scaled(tf.ones([2]), 2), scaled(tf.ones([3]), 2), scaled(tf.ones([3]), 5))
    )

    traces = profile.traces
    assert list(traces["function"]) == ["scaled"] * 2
    assert list(traces["count"]) == [2, 3]
    assert list(traces["step"]) == [1, 2]
    assert list(traces["changed"]) == ["x: float32[2] → float32[3]", "factor: 2 → 5"]
    assert (traces["micros"] > 0).all()
    assert any("scaled was retraced 2 times" in note for note in profile.notes)


def test_a_first_trace_is_listed_without_a_note():
    @tf.function
    def fresh(x):
        return x + 1

    profile = profiled(lambda: fresh(tf.ones([2])))

    assert list(profile.traces["count"]) == [1]
    assert not any("retraced" in note for note in profile.notes)


def test_parameters_of_unused_models_do_not_count():
    other = tf.keras.Sequential([tf.keras.Input((50,)), layers.Dense(50)])
    model = tf.keras.Sequential([tf.keras.Input((3,)), layers.Dense(2)])

    profile = fitted(model, *data(2, 3, 2))

    assert profile.nodes["params"].sum() < other.count_params()


def test_the_graph_view_passes_through_fused_nodes(mlp):
    _, profile = mlp

    fused = profile.nodes[profile.nodes["kernel"].str.startswith("_FusedMatMul")]
    inputs = profile.inputs[profile.inputs["node"].isin(fused.index)]
    makers = set(profile.nodes["op_type"].reindex(inputs["source"]))
    assert "ReadVariableOp" in makers
    assert "Relu" in makers  # the second layer's product takes the first's output


def test_the_second_trace_of_a_first_fit_is_listed_without_a_note():
    model = tf.keras.Sequential([tf.keras.Input((3,)), layers.Dense(2)])
    model.compile("adam", "mse")

    profile = profiled(lambda: model.fit(*data(2, 3, 2), verbose=0))

    assert 2 in list(profile.traces["count"])
    assert not any("retraced" in note for note in profile.notes)


@pytest.mark.core("eager")
def test_an_eager_product_has_its_count_shapes_memory_flops_and_line():
    x = tf.ones([512, 512])

    profile = profiled(lambda: tf.matmul(x, x))

    row = profile.op(select="bytes,float_ops,occurrence,input_shapes").frame.iloc[0]
    assert (row["name"], row["run_count"]) == ("MatMul", 1)
    assert (row["bytes"], row["float_ops"]) == (1_048_576, 268_435_456)
    assert row["input_shapes"][0]["shapes"] == ["512x512", "512x512"]
    assert "profile = profiled(lambda: tf.matmul(x, x))" in set(profile.code().frame["source"])


@pytest.fixture
def searches(monkeypatch):
    """Count how often all objects of the process are searched."""
    done = []

    def get_objects():
        done.append(True)
        return gc.get_objects()

    monkeypatch.setattr(live_objects, "gc", SimpleNamespace(get_objects=get_objects))
    return done


def two_layers(width):
    model = tf.keras.Sequential([tf.keras.Input((4,)), layers.Dense(width), layers.Dense(1)])
    model.compile("sgd", "mse")
    x, y = data(2, 4, 1)
    model.fit(x, y, verbose=0)
    return model, lambda: model.fit(x, y, verbose=0)


def test_a_warm_cell_finds_its_layers_without_a_new_search(searches):
    _, fit = two_layers(width=5)
    first = rows(profiled(fit).layer(select="params"), "total_params")
    assert len(searches) == 1

    second = rows(profiled(fit).layer(select="params"), "total_params")

    assert len(searches) == 1
    assert first == second
    assert (4 * 5 + 5 + 5 + 1,) in second.values()


def test_a_model_made_after_a_search_is_found(searches):
    profiled(two_layers(width=5)[1])

    found = rows(profiled(two_layers(width=7)[1]).layer(select="params"), "total_params")

    assert len(searches) == 2
    assert (4 * 7 + 7 + 7 + 1,) in found.values()


def test_remembered_objects_are_not_kept_alive(searches):
    model, fit = two_layers(width=5)
    profiled(fit)
    left = weakref.ref(model)

    assert searches
    del model, fit
    tf.keras.backend.clear_session()
    gc.collect()

    assert left() is None
