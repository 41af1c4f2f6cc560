"""Loaded traces, compared with the table that TensorFlow's own converter makes of the same file."""

import json
import shutil

import pytest
from support.trace_files import gpu_trace, host_trace, tpu_trace

import nbprof

pytestmark = pytest.mark.tensorflow
plugin = pytest.importorskip("tensorflow.python.profiler.internal._pywrap_profiler_plugin")


def converted(path, tmp_path):
    """Return TensorFlow's {(host or device, operation, type): (occurrences, self time)}."""
    copy = tmp_path / "copy" / path.name  # TensorFlow writes files beside the trace
    copy.parent.mkdir()
    shutil.copy(path, copy)
    text, _ = plugin.xspace_to_tools_data([str(copy)], "framework_op_stats", {})
    table = json.loads(text)[0]
    names = [column["id"] for column in table["cols"]]
    found = {}
    for row in table["rows"]:
        values = dict(zip(names, (cell["v"] for cell in row["c"]), strict=True))
        if values["type"] != "IDLE":
            key = values["host_or_device"], values["operation"], values["type"]
            found[key] = values["occurrences"], values["total_self_time"]
    return found


def written(tmp_path, trace):
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(trace)
    return path


def scopes(profile):
    frame = profile.scope(max_depth=20).frame
    return frame.set_index("name")


def test_runs_and_times_of_host_ops_equal_the_converters(tmp_path):
    path = written(tmp_path, host_trace(slower=7, steps=5))
    frame = scopes(nbprof.load(path))

    for (_, name, _), (runs, micros) in converted(path, tmp_path).items():
        assert frame.loc[name, ["run_count", "cpu_micros"]].tolist() == [runs, micros]


def test_times_of_gpu_kernels_equal_the_converters(tmp_path):
    path = written(tmp_path, gpu_trace())
    frame = scopes(nbprof.load(path))
    table = converted(path, tmp_path)

    # The converter leaves out HLO ops whose module is not in the trace.
    for (place, name, _), (_, micros) in table.items():
        column = "accelerator_micros" if place == "Device" else "cpu_micros"
        assert frame.loc[name, column] == micros
    assert {name for place, name, _ in table if place == "Device"} == {"dense/MatMul", "dense/Relu"}


def test_runs_and_times_of_tpu_ops_equal_the_converters(tmp_path):
    path = written(tmp_path, tpu_trace())
    profile = nbprof.load(path)
    frame = profile.nodes.assign(
        runs=profile.events.groupby("node")["is_run"].sum(),
        micros=profile.events.groupby("node")["self_ns"].sum() / 1e3,
        made=profile.nodes["name"].str.rpartition("/")[0],
    )
    ours = frame.groupby("made")[["runs", "micros"]].sum()

    table = converted(path, tmp_path)
    assert len(table) == len(ours) == 4
    for (_, name, kind), expected in table.items():
        made = "jit_f" if kind == "Unknown" else name  # an op without a path in the program
        assert ours.loc[made].tolist() == list(expected)


def test_runs_and_times_of_a_real_trace_equal_the_converters(tmp_path):
    import tensorflow as tf

    @tf.function
    def step(x):
        for _ in tf.range(3):
            x = tf.tanh(tf.matmul(x, x) + 1.0)
        return tf.reduce_sum(x)

    x = tf.random.normal((64, 64))
    step(x)
    tf.profiler.experimental.start(str(tmp_path))
    for _ in range(20):
        step(x)
    tf.profiler.experimental.stop()
    path = next(tmp_path.rglob("*.xplane.pb"))
    profile = nbprof.load(tmp_path)
    frame = profile.op().frame.set_index("name")

    by_type = {}
    for (_, _, kind), (runs, micros) in converted(path, tmp_path).items():
        total = by_type.setdefault(kind, [0, 0.0])
        total[0] += runs
        total[1] += micros
    assert {"MatMul", "Tanh"} <= set(by_type)
    for kind in ("MatMul", "Tanh", "AddV2", "Sum"):
        if kind in by_type:
            assert frame.loc[kind, "run_count"] == by_type[kind][0]
            # ours are sums of whole ns
            assert frame.loc[kind, "micros"] == pytest.approx(by_type[kind][1], abs=0.1)
