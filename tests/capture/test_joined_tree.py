"""The call view of real cells: Python and TensorFlow's ops in one tree."""

import pytest

import nbprof

pytestmark = [pytest.mark.core("capture"), pytest.mark.tensorflow]


@pytest.fixture(scope="module")
def cell():
    """Return the profile of a cell with a Keras fit, a loop of eager ops and pandas."""
    tf = pytest.importorskip("tensorflow")
    import keras
    import numpy as np
    import pandas as pd

    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])
    model.compile("adam", "mse")
    x, y = np.ones((320, 8), "f4"), np.ones((320, 4), "f4")
    table = pd.DataFrame(np.random.default_rng(1).random((800, 4)))
    value = tf.ones((4, 4))

    def spread(row):
        return row.max() - row.min()

    def step(value):
        return tf.multiply(tf.add(value, 1.0), 0.5)

    model.fit(x, y, verbose=0)
    with nbprof.profile(python="call") as run:
        model.fit(x, y, batch_size=32, verbose=0)
        for _ in range(100):
            value = step(value)
        table.apply(spread, axis=1)
    return run.profile


def paths(view):
    """Return the names from the root down to each row."""
    found = {-1: ()}
    rows = zip(view.frame["name"], view.frame["parent"], strict=True)
    for row, (name, parent) in enumerate(rows):
        found[row] = (*found[parent], name)
    return [found[row] for row in range(len(view.frame))]


def test_wall_time_adds_up_to_that_of_the_cell(cell):
    frame = cell.call().frame
    wall = cell.recording.wall_ns / 1e3

    assert frame["total_wall_micros"][0] == pytest.approx(wall, rel=0.01)
    assert frame["wall_micros"].sum() == pytest.approx(wall, rel=0.01)
    assert (frame["wall_micros"].dropna() >= 0).all()


def test_op_time_bytes_and_runs_are_those_of_the_op_view(cell):
    columns = "micros,bytes,occurrence"
    frame, ops = cell.call(select=f"wall_micros,{columns}").frame, cell.op(select=columns).frame

    for column in ("micros", "bytes", "run_count"):
        assert frame[f"total_{column}"][0] == pytest.approx(ops[column].sum())


def test_every_op_is_below_a_frame_of_the_cell(cell):
    view = cell.call()
    of_rows = zip(paths(view), view.frame["run_count"], strict=True)
    with_runs = [path for path, runs in of_rows if runs > 0]

    assert with_runs
    for path in with_runs:
        assert any(name.startswith("test_joined_tree.py:") for name in path), path
        assert any(name.startswith("» ") for name in path), path


def test_the_calls_of_a_fit_are_below_the_package_that_the_line_calls(cell):
    below = {path[-1] for path in paths(cell.call())[1:] if path[-2] == "keras: fit"}

    assert any(name.startswith("» ") and "step_on_iterator" in name for name in below), below


def test_the_ops_of_a_function_are_below_its_call_by_type(cell):
    below = {path[-1] for path in paths(cell.call())[1:] if "step_on_iterator" in path[-2]}

    assert "MatMul" in below


def test_an_eager_op_has_its_wall_time_and_its_runs_in_one_row(cell):
    frame = cell.call().frame
    add = frame[frame["name"] == "» AddV2"].iloc[0]

    assert add["run_count"] == 100
    assert add["wall_micros"] > add["micros"] > 0


def test_lines_that_pandas_calls_back_are_below_it(cell):
    assert any(
        "pandas: apply" in path and path[-1].endswith(":spread") for path in paths(cell.call())
    )


def test_each_op_run_knows_the_call_it_belongs_to(cell):
    events, dispatches = cell.events, cell.dispatches
    of_add = cell.nodes["op_type"].to_numpy()[events["node"]] == "AddV2"
    eager = events[of_add & (dispatches["what"].to_numpy()[events["call"]] == "AddV2")]

    assert len(eager) == 100
    call = dispatches.iloc[eager["call"]]
    assert call["start_ns"].is_unique
    assert (call["start_ns"].to_numpy() <= eager["start_ns"].to_numpy() + 20_000).all()
    assert (events["call"] >= 0).all()


def test_the_view_survives_saving(cell, tmp_path):
    cell.save(tmp_path / "cell.nbprof")

    assert nbprof.load(tmp_path / "cell.nbprof").call().frame.equals(cell.call().frame)


def test_a_session_stands_below_the_line_that_runs_it():
    tf = pytest.importorskip("tensorflow")
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        product = tf.matmul(tf.ones((4, 4)) * v1.placeholder_with_default(2.0, ()), tf.ones((4, 4)))
        session = v1.Session()
    session.run(product)

    with nbprof.profile(python="call") as run:
        for _ in range(5):
            session.run(product)

    frame = run.profile.call().frame
    row = frame[frame["name"] == "» Session.run"].iloc[0]
    assert row["wall_micros"] > 0
    assert row["total_run_count"] >= 5
    assert any("tensorflow: run" in path for path in paths(run.profile.call()))


def test_light_profiles_have_samples_and_ops_but_not_which_line_ran_them():
    tf = pytest.importorskip("tensorflow")

    with nbprof.profile(light=True, python="call") as run:
        for _ in range(50):
            tf.matmul(tf.ones((64, 64)), tf.ones((64, 64)))

    frame = run.profile.call().frame
    assert frame["total_wall_micros"][0] == pytest.approx(run.profile.recording.wall_ns / 1e3)
    assert frame["total_micros"][0] == pytest.approx(run.profile.op().frame["micros"].sum())
