"""TensorFlow's engine and nbprof open each other's saved profiles and show the same."""

import os
from pathlib import Path

import pytest
from support import real_graphs
from support import tfprof_by_hand as by_hand
from support import tfprof_cases as cases
from support.tfprof_engine import DEFAULTS, Engine

import nbprof
from nbprof.errors import NbprofError

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")

SEEDS = range(int(os.environ.get("NBPROF_CASES", "300")))
EVERYTHING = {"max_depth": 100, "select": [*cases.COLUMNS[:-1]]}


@pytest.fixture(scope="module")
def engine():
    with Engine() as engine:
        yield engine


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.tfprof"


def shown(profile, case):
    """Return our report of a case, or None if nbprof refuses it."""
    try:
        text = profile.view(case.view, **{**DEFAULTS, **case.options}).text
    except NbprofError:
        return None
    return text.partition("\nProfile:\n")[2]


def is_negative(case):
    """Return whether a time or an amount is negative, which the engine reads as a huge one."""
    records = [
        record
        for _, run in case.runs
        for stats in cases.RunMetadata.FromString(run).step_stats.dev_stats
        for record in stats.node_stats
    ]
    return any(
        record.op_end_rel_micros < 0 or any(m.live_bytes < 0 for m in record.memory)
        for record in records
    )


def savable(engine):
    """Yield cases that the engine can save and that have a node, which identifies the file."""
    for seed in SEEDS:
        case = cases.case(seed)
        answer = engine.save(case)
        has_node = cases.GraphDef.FromString(case.graph).node
        if answer.saved and has_node and not is_negative(case):
            yield seed, case, answer.saved


def test_nbprof_shows_the_same_views_of_a_file_the_engine_saved(engine, path):
    compared, different = 0, []
    for seed, case, saved in savable(engine):
        path.write_bytes(saved)
        expected = engine.ask_saved(saved, case.view, case.options).text
        found = shown(nbprof.load(path), case)
        if expected is not None and found is not None:
            compared += 1
            if found.rstrip("\n") != expected.rstrip("\n"):
                different.append(seed)

    assert different == []
    assert compared > 0.7 * len(SEEDS)


def test_the_engine_shows_the_same_views_of_a_file_nbprof_wrote(engine, path):
    compared, different = 0, []
    for seed, case, _ in savable(engine):
        nbprof.load_tfprof(case.graph, case.runs, case.op_log).export(path)
        found = engine.ask_saved(path.read_bytes(), case.view, case.options)
        compared += 1
        if found.text != engine.ask(case).text:
            different.append(seed)

    assert different == []
    assert compared > 0.8 * len(SEEDS)


def test_the_engine_gives_the_same_advice_on_a_file_nbprof_wrote(engine, path):
    different = []
    for seed in range(len(SEEDS) // 3):
        case = cases.case(seed, view="advise")
        nbprof.load_tfprof(case.graph, case.runs, case.op_log).export(path)
        found = engine.ask_saved(path.read_bytes(), "advise", case.options)
        if found.proto != engine.ask(case).proto:
            different.append(seed)

    assert different == []


@pytest.mark.parametrize("view", cases.VIEWS)
@pytest.mark.parametrize("name", real_graphs.GRAPHS)
def test_real_graphs_look_the_same_after_saving_by_either(name, view, engine, path):
    case = cases.Case(*real_graphs.real_graph(name), view, EVERYTHING)
    expected = engine.ask(case).text

    path.write_bytes(engine.save(case).saved)
    assert shown(nbprof.load(path), case).rstrip("\n") == expected.rstrip("\n")
    nbprof.load_tfprof(case.graph, case.runs, case.op_log).export(path)
    assert engine.ask_saved(path.read_bytes(), view, EVERYTHING).text == expected


def test_an_input_from_an_unknown_node_is_left_out(engine, path):
    case = by_hand.Case(by_hand.graph("b B", "a A nowhere b"))

    nbprof.load_tfprof(case.graph).export(path)

    found = engine.ask_saved(path.read_bytes(), "graph", {"select": ["input_shapes"]})
    assert "a (1:unknown)" in found.text
    assert nbprof.load(path).inputs["source"].tolist() == [0]


def test_a_file_saved_by_tensorflows_profiler_is_read(path):
    with tf.Graph().as_default() as graph:
        tf.matmul(tf.ones([4, 5]), tf.ones([5, 6]), name="mm")
        profiler = tf.compat.v1.profiler.Profiler(graph)
        profiler._write_profile(str(path))
        del profiler

    loaded = nbprof.load(path)

    assert loaded.op(select=["float_ops"]).frame.set_index("name").loc["MatMul", "float_ops"] == 240


@tf.function
def squared(x):
    return tf.reduce_sum(tf.matmul(x, x))


@pytest.fixture(scope="module")
def cell():
    x = tf.random.normal([200, 200])
    squared(x)
    with nbprof.profile() as run:
        for _ in range(3):
            squared(x)
        tf.nn.relu(x)
    return run.profile


IN_REPORT = {"op": "MatMul", "scope": "MatMul (", "graph": "MatMul (", "code": Path(__file__).name}


@pytest.mark.parametrize("view", cases.VIEWS)
def test_a_captured_cell_opens_in_the_engine(view, cell, engine, path):
    cell.export(path)

    answer = engine.ask_saved(path.read_bytes(), view, {**EVERYTHING, "order_by": "micros"})

    assert (answer.crashed, answer.error) == (None, None)
    assert IN_REPORT[view] in answer.text


def test_the_times_of_a_captured_cell_are_right_in_the_engine(cell, engine, path):
    cell.export(path)

    for step in cell.steps["step"]:
        ours = cell.op(select=["micros"], step=int(step)).frame["micros"].sum()
        answer = engine.ask_saved(path.read_bytes(), "op", {**EVERYTHING, "step": int(step)})
        theirs = answer.rows[0][1].total_exec_micros
        assert abs(ours - theirs) <= 0.5 * len(cell.nodes) + 1
