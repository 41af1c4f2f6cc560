"""The timeline of real runs draws every op run once, on its thread, for its duration."""

import threading
from collections import Counter

import numpy as np
import pytest
from support.chrome_trace_rules import arrows, check, lane_names, ns, of_phase, slices

import nbprof

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")


def eager_loop():
    x = tf.ones([32, 32])
    for _ in range(20):
        x = tf.matmul(x, x) * 0.01


def fit():
    model = tf.keras.Sequential([tf.keras.Input((16,)), tf.keras.layers.Dense(4)])
    model.compile("adam", "mse")
    model.fit(np.ones((96, 16), "f4"), np.ones((96, 4), "f4"), batch_size=32, verbose=0)


def in_threads():
    threads = [threading.Thread(target=eager_loop) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def functions_in_threads():
    double = tf.function(lambda x: tf.reduce_sum(tf.matmul(x, x)))
    double(tf.ones([8, 8]))
    work = [lambda: [double(tf.ones([8, 8])) for _ in range(10)]] * 3
    threads = [threading.Thread(target=target) for target in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def everything():
    fit()
    eager_loop()
    in_threads()
    functions_in_threads()


@pytest.fixture(
    scope="module",
    params=[fit, eager_loop, in_threads, functions_in_threads, everything],
    ids=lambda body: body.__name__,
)
def exported(request, tmp_path_factory):
    with nbprof.profile() as run:
        request.param()
    path = tmp_path_factory.mktemp("export") / "x.trace.json"
    run.profile.export(path)
    return run.profile, check(path.read_bytes())


def ops(trace):
    return [event for event in of_phase(trace, "X") if event["cat"] != "step"]


def test_every_op_run_is_one_slice(exported):
    profile, trace = exported

    nodes = profile.nodes.loc[profile.events["node"]]
    ran = Counter(zip(nodes["name"], nodes["op_type"], profile.events["step"], strict=True))
    drawn = Counter((op["name"], op["cat"], op["args"]["step"]) for op in ops(trace))
    assert drawn == ran
    assert len(ops(trace)) == len(profile.events)


def test_the_slices_of_a_lane_add_up_to_the_time_of_its_thread(exported):
    profile, trace = exported

    drawn = sorted(
        sum(end - start for start, end, _ in found)
        for (pid, _), found in slices(trace).items()
        if pid != 1
    )
    assert len(drawn) == len(profile.threads)  # on the CPU no ops partly overlap
    assert drawn == sorted(profile.events.groupby("thread")["duration_ns"].sum())
    self_ns = sum(ns(op["args"]["self_micros"]) for op in ops(trace))
    assert self_ns == profile.events["self_ns"].sum()


def test_every_step_is_one_slice(exported):
    profile, trace = exported

    steps = [event for event in of_phase(trace, "X") if event["cat"] == "step"]

    assert [(step["name"], step["args"]["traced"]) for step in steps] == list(
        zip(profile.steps["function"], profile.steps["traced"], strict=True)
    )


def test_arrows_lead_from_a_step_to_its_own_ops_once_per_thread(exported):
    profile, trace = exported

    found = arrows(trace)

    assert all(step["cat"] == "step" for step, _ in found)
    assert all(step["args"]["step"] == op["args"]["step"] for step, op in found)
    ends = Counter((op["args"]["step"], op["tid"]) for _, op in found)
    assert set(ends.values()) <= {1}
    if len(profile.threads) > 1:
        assert found


def test_the_lane_of_the_cells_own_thread_is_marked(exported):
    profile, trace = exported

    own = [name for _, name in lane_names(trace).values() if "the cell's thread" in name]

    assert len(own) == profile.threads["is_cell"].sum() <= 1


def test_the_counter_follows_the_memory_of_the_profile(exported):
    profile, trace = exported

    peaks = Counter()
    for event in of_phase(trace, "C"):
        device = event["name"].removeprefix("live memory of ")
        peaks[device] = max(peaks[device], event["args"]["bytes"])

    expected = {
        device: peak["live_bytes"] for device, peak in profile.memory().attrs["peak"].items()
    }
    assert dict(peaks) == expected


def test_the_cells_thread_is_found_even_if_it_is_not_the_first():
    profiles = []

    def cell():
        with nbprof.profile() as run:
            eager_loop()
            in_threads()
        profiles.append(run.profile)

    thread = threading.Thread(target=cell)
    thread.start()
    thread.join()

    (profile,) = profiles
    started = profile.events.groupby("thread")["start_ns"].min()
    assert len(started) >= 2
    assert np.flatnonzero(profile.threads["is_cell"]).tolist() == [started.idxmin()]
