"""v1 sessions, and one network in v1 and TensorFlow 2, against RunMetadata and arithmetic."""

import re
from collections import Counter

import numpy as np
import pytest
from support.captured import node_runs, profiled, runs, runs_from, shapes_of

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")
v1 = tf.compat.v1


def float_ops_of(profile):
    frame = profile.op(select="float_ops", max_depth=1000).frame
    return dict(zip(frame["name"], frame["float_ops"], strict=True))


def small_regression():
    """Build a v1 training op on the global step, in the current graph."""
    x = v1.placeholder(tf.float32, [None, 4], "x")
    weights = v1.get_variable("w", [4, 3], initializer=v1.ones_initializer(), use_resource=True)
    loss = tf.reduce_mean(tf.square(tf.nn.relu(tf.matmul(x, weights, name="product"))))
    step = v1.train.get_or_create_global_step()
    return x, v1.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step), step


@pytest.fixture
def session_runs(monkeypatch):
    """Record every call of Session.run."""
    from tensorflow.python.client.session import BaseSession

    made = []
    run = BaseSession.run

    def noted(self, *arguments, **keywords):
        made.append(self)
        return run(self, *arguments, **keywords)

    monkeypatch.setattr(BaseSession, "run", noted)
    return made


@pytest.mark.parametrize("checkpoints", [False, True], ids=["plain", "with checkpoints"])
def test_a_monitored_training_session_has_a_step_per_run(checkpoints, session_runs, tmp_path):
    folder = str(tmp_path) if checkpoints else None
    reached = []

    def body():
        with tf.Graph().as_default():
            x, train, step = small_regression()
            hooks = [v1.train.StopAtStepHook(last_step=7)]
            with v1.train.MonitoredTrainingSession(checkpoint_dir=folder, hooks=hooks) as session:
                while not session.should_stop():
                    session.run(train, {x: np.ones((2, 4))})
                    reached.append(session.run(step) if not session.should_stop() else 7)

    profile = profiled(body)

    counted = node_runs(profile)
    assert reached == [1, 2, 3, 4, 5, 6, 7]
    assert counted["product"] == counted["gradients/product_grad/MatMul_1"] == 7
    assert runs(profile)["ResourceApplyGradientDescent"] == 7
    assert runs(profile)["AssignAddVariableOp"] == 7  # the global step
    assert list(profile.steps["function"]) == ["Session.run"] * len(session_runs)
    products = profile.events[profile.nodes["name"].to_numpy()[profile.events["node"]] == "product"]
    assert products["step"].nunique() == 7


def test_a_monitored_session_is_profiled():
    def body():
        with tf.Graph().as_default():
            x, train, step = small_regression()
            with v1.train.MonitoredSession() as session:
                for _ in range(5):
                    session.run(train, {x: np.ones((2, 4))})
                assert session.run(step) == 5

    assert node_runs(profiled(body))["product"] == 5


def test_the_ops_of_a_session_name_the_lines_that_made_them():
    def body():
        with tf.Graph().as_default(), v1.Session() as session:
            noise = tf.random.uniform([4])
            session.run(noise)

    assert runs_from(profiled(body), "RandomUniform") == {"noise = tf.random.uniform([4])": 1}


RATE, STEPS, BATCH = 0.1, 6, 32
SHAPES = [(64, 128), (128,), (128, 10), (10,)]

BY_CONSTRUCTION = {"_Arg", "_Retval", "Identity"}
"""Op types that may differ between the two, as they pass values in and out: v1 feeds
placeholders and reads variables through handles, while a function's variables are arguments and its
results pass through an Identity."""


def squared_error(x, y, weights):
    hidden = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, weights[0]), weights[1]))
    made = tf.nn.bias_add(tf.matmul(hidden, weights[2]), weights[3])
    return tf.reduce_mean(tf.math.squared_difference(made, y))


def updates(weights, gradients):
    return [w.assign_sub(RATE * gradient) for w, gradient in zip(weights, gradients, strict=True)]


class InV1:
    """The network in its own graph; `step()` trains it once. `rows` None: any batch size."""

    def __init__(self, rows=BATCH):
        with tf.Graph().as_default() as graph:
            self._x = v1.placeholder(tf.float32, [rows, 64], "x")
            self._y = v1.placeholder(tf.float32, [rows, 10], "y")
            weights = [
                v1.get_variable(
                    f"w{n}", shape, initializer=v1.constant_initializer(0.01), use_resource=True
                )
                for n, shape in enumerate(SHAPES)
            ]
            loss = squared_error(self._x, self._y, weights)
            self._fetched = [loss, tf.group(*updates(weights, tf.gradients(loss, weights)))]
            initialize = v1.global_variables_initializer()
        self._session = v1.Session(graph=graph)
        self._session.run(initialize)
        self.step()

    def step(self, **keywords):
        fed = {self._x: np.ones((BATCH, 64)), self._y: np.ones((BATCH, 10))}
        return float(self._session.run(self._fetched, fed, **keywords)[0])


def in_tf2():
    weights = [tf.Variable(tf.fill(shape, 0.01)) for shape in SHAPES]
    x, y = tf.ones([BATCH, 64]), tf.ones([BATCH, 10])

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = squared_error(x, y, weights)
        updates(weights, tape.gradient(loss, weights))
        return loss

    step(x, y)
    return lambda: float(step(x, y))


@pytest.fixture(scope="module")
def both():
    """Profile the network in v1 and in TensorFlow 2, and keep both losses."""
    old, new = InV1().step, in_tf2()
    losses = [], []
    profiles = [
        profiled(lambda step=step, seen=seen: seen.extend(step() for _ in range(STEPS)))
        for step, seen in zip((old, new), losses, strict=True)
    ]
    return *profiles, *losses


def test_the_same_network_in_v1_and_tf2_has_the_same_losses(both):
    _, _, old_losses, new_losses = both

    assert old_losses == pytest.approx(new_losses, rel=1e-5)


def test_the_same_network_in_v1_and_tf2_has_the_same_ops_and_run_counts(both):
    old, new = (
        {op: count for op, count in runs(profile).items() if op not in BY_CONSTRUCTION}
        for profile in both[:2]
    )

    assert old == new
    assert old["MatMul"] == 5 * STEPS
    assert len(both[0].steps) == len(both[1].steps) == STEPS


def test_the_same_network_in_v1_and_tf2_has_the_same_input_shapes(both):
    old, new = (
        {op: shapes for op, shapes in shapes_of(profile).items() if op not in BY_CONSTRUCTION}
        for profile in both[:2]
    )

    assert old == new


def test_the_same_network_in_v1_and_tf2_has_the_float_ops_computed_by_hand(both):
    old, new = ({op: n for op, n in float_ops_of(profile).items() if n} for profile in both[:2])

    assert old == new
    forward = 2 * BATCH * (64 * 128 + 128 * 10)
    biases = BATCH * (128 + 10)
    backward = 2 * BATCH * (64 * 128 + 2 * 128 * 10)
    assert old["MatMul"] == STEPS * (forward + backward)
    assert old["BiasAdd"] == STEPS * biases


def test_v1_and_tf2_request_the_same_bytes_where_nothing_is_written_in_place(both):
    old, new = (profile.op(select="bytes").frame.set_index("name")["bytes"] for profile in both[:2])

    for op in ("MatMul", "BiasAddGrad", "Mean"):
        assert old[op] == new[op] > 0


def test_v1_and_tf2_have_the_same_output_bytes(both):
    old, new = (
        profile.op(select="output_bytes", max_depth=1000).frame.set_index("name")["output_bytes"]
        for profile in both[:2]
    )

    compute = (set(old.index) & set(new.index)) - BY_CONSTRUCTION
    assert {"BiasAdd", "MatMul", "BiasAddGrad", "Mean", "ReluGrad"} <= compute
    assert {op: old[op] for op in compute if old[op] >= 0} == {
        op: new[op] for op in compute if new[op] >= 0
    }
    assert old["BiasAdd"] == STEPS * BATCH * (128 + 10) * 4


def nodes_in_run_metadata(network):
    """Record one step in RunMetadata; return op type, inputs and memory of each node by name."""
    metadata = v1.RunMetadata()
    software = v1.RunOptions(trace_level=v1.RunOptions.SOFTWARE_TRACE)
    network.step(options=software, run_metadata=metadata)
    nodes = [node for device in metadata.step_stats.dev_stats for node in device.node_stats]
    shapes = {
        node.node_name: "x".join(
            str(dim.size) for dim in node.output[0].tensor_description.shape.dim
        )
        for node in nodes
        if node.output
    }
    listed = {}
    for node in nodes:
        op_type, inputs = re.search(r" = (\w+)\((.*)\)", node.timeline_label).groups()
        data = [name for name in inputs.split(", ") if name and not name.startswith("^")]
        listed.setdefault(node.node_name, []).append(
            {
                "op_type": op_type,
                "shapes": tuple(shapes[name] or "scalar" for name in data),
                "bytes": sum(memory.total_bytes for memory in node.memory),
            }
        )
    return listed


NEVER_SEEN_RUNNING = {"Const", "NoOp", "VarHandleOp"}
"""Op types that RunMetadata lists although no kernel ran in this step: constants and handles are
kept from the first step on. A trace has them only in a step that also fills RunMetadata."""


FUSED = {"Relu": ("MatMul", "BiasAdd"), "BiasAdd_1": ("MatMul_1",)}
"""The nodes that were fused, by the name that RunMetadata has for them together."""


@pytest.mark.parametrize("rows", [BATCH, None], ids=["known batch size", "unknown batch size"])
def test_session_nodes_and_counts_equal_those_in_run_metadata(rows):
    network = InV1(rows)

    profile = profiled(lambda: [network.step() for _ in range(STEPS)])

    listed = nodes_in_run_metadata(network)
    ran = {
        name: STEPS * len(times)
        for name, times in listed.items()
        if times[0]["op_type"] not in NEVER_SEEN_RUNNING
    }
    ran |= {name: ran[kernel] for kernel, names in FUSED.items() for name in names}
    assert node_runs(profile) == ran
    nodes = profile.nodes[profile.nodes["params"] == 0]  # variables are handles and do not run
    written = {"Relu": "Relu", "BiasAdd_1": "BiasAdd"}
    written |= {name: name.partition("_")[0] for names in FUSED.values() for name in names}
    assert dict(zip(nodes["name"], nodes["op_type"], strict=True)) == {
        name: written.get(name) or listed[name][0]["op_type"] for name in ran
    }


def test_session_shapes_and_memory_equal_those_in_run_metadata():
    network = InV1(rows=None)

    profile = profiled(lambda: [network.step() for _ in range(STEPS)])

    listed = [ran for times in nodes_in_run_metadata(network).values() for ran in times]
    requested = profile.op(select="bytes").frame.set_index("name")["bytes"]
    for op_type in ("MatMul", "Mean", "Tile", "Shape"):
        of_type = [ran for ran in listed if ran["op_type"] in (op_type, f"_Fused{op_type}")]
        by_shapes = Counter(ran["shapes"][:2] for ran in of_type)  # without a fused bias
        assert shapes_of(profile)[op_type] == {
            shapes: STEPS * count for shapes, count in by_shapes.items()
        }
        assert requested[op_type] == STEPS * sum(ran["bytes"] for ran in of_type) > 0


def test_the_users_run_metadata_is_the_same_under_a_profile():
    network = InV1()
    bare, listed = nodes_in_run_metadata(network), {}

    profile = profiled(lambda: listed.update(nodes_in_run_metadata(network)))

    assert listed.keys() == bare.keys()
    assert not any("gave way" in note for note in profile.notes)


def test_a_network_of_unknown_batch_size_has_all_float_ops():
    network = InV1(rows=None)

    profile = profiled(network.step)

    assert not np.isnan(list(float_ops_of(profile).values())).any()
