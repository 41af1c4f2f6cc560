"""Models and blocks to profile with real TensorFlow, and ways to count what ran."""

import json
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

import nbprof

tf = pytest.importorskip("tensorflow")

FORTY_EIGHT_MIB = 48 * 2**20
CLOCKS_NS = 5_000_000
"""How far the clocks of Python and of the trace may differ on a busy machine."""


def profiled(body):
    with nbprof.profile() as run:
        body()
    return run.profile


def runs(profile):
    frame = profile.op(select="occurrence").frame
    return dict(zip(frame["name"], frame["run_count"], strict=True))


def node_runs(profile):
    frame = profile.scope().frame.iloc[1:]
    return {
        name: count for name, count in zip(frame["name"], frame["run_count"], strict=True) if count
    }


def mlp():
    model = tf.keras.Sequential(
        [tf.keras.Input((64,)), tf.keras.layers.Dense(128, "relu"), tf.keras.layers.Dense(10)]
    )
    model.compile("sgd", "mse")
    return model


def batches(count, size=32):
    return np.ones((count * size, 64), "f4"), np.ones((count * size, 10), "f4")


def model_runs(profile):
    """Count the runs of the nodes of a Keras model, forward and backward."""
    return {name: count for name, count in node_runs(profile).items() if "sequential" in name}


def runs_from(profile, op_type):
    """Count the runs of an op type by the innermost line of the user's code."""
    events = profile.events[profile.events["is_run"]]
    events = events[profile.nodes["op_type"].to_numpy()[events["node"]] == op_type]
    users = profile.frames[~profile.frames["framework"]]
    innermost = users.drop_duplicates("stack", keep="last").set_index("stack")["source"]
    return Counter(innermost.reindex(events["stack"]).fillna("no line").tolist())


def shapes_of(profile):
    """Count the runs of each op type by the shapes of their inputs."""
    frame = profile.op(select="input_shapes", max_depth=1000).frame
    return {
        op_type: {tuple(entry["shapes"]): entry["run_count"] for entry in entries}
        for op_type, entries in zip(frame["name"], frame["input_shapes"], strict=True)
    }


def printed_by(script, *arguments):
    """Run a script in its own process and return the JSON on the last line it prints."""
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])
