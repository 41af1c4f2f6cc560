"""`live_bytes` of real TensorFlow programs: known tensors, and sums that reach the peak."""

import os

import numpy as np
import pytest
from support.captured import FORTY_EIGHT_MIB, printed_by, profiled

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")

VIEWS = ("scope", "graph", "code", "layer")
SMALL = 100_000
"""More bytes than everything else in these small programs holds."""


def own(view):
    return dict(zip(view.frame["name"], view.frame["live_bytes"], strict=True))


def assert_adds_up(profile):
    (peak,) = (reached["live_bytes"] for reached in profile.memory().attrs["peak"].values())
    assert profile.op(max_depth=1000).frame["live_bytes"].sum() == peak > 0
    for name in VIEWS:
        assert profile.view(name).frame["total_live_bytes"][0] == peak, name


def test_a_large_tensor_counts_at_the_line_that_made_it():
    def make():
        noise = tf.random.uniform([FORTY_EIGHT_MIB // 4])
        return tf.reduce_sum(noise)

    line = f"test_live_bytes_real.py:{make.__code__.co_firstlineno + 1}:make"
    for body in (make, tf.function(make)):
        profile = profiled(body)

        assert_adds_up(profile)
        lines = own(profile.code(order_by="live_bytes"))
        assert FORTY_EIGHT_MIB <= lines[line] < FORTY_EIGHT_MIB + SMALL
        assert own(profile.op())["RandomUniform"] == FORTY_EIGHT_MIB


def test_a_tensor_from_numpy_is_outside_ops():
    array = np.ones(FORTY_EIGHT_MIB // 4, "f4")[1:]
    profile = profiled(lambda: tf.constant(array) + tf.constant(1.0))

    assert_adds_up(profile)
    # TensorFlow takes over numpy's own copy if that happens to be aligned.
    assert own(profile.op()).get("outside ops", 0) in (0, pytest.approx(array.nbytes, abs=SMALL))


def test_a_fit_adds_up_to_its_peak_and_a_large_activation_counts_at_its_layer():
    model = tf.keras.Sequential(
        [
            tf.keras.Input((8,)),
            tf.keras.layers.Dense(FORTY_EIGHT_MIB // 4 // 64, "tanh", name="wide"),
            tf.keras.layers.Dense(1, name="out"),
        ],
        name="fitted",
    )
    model.compile("sgd", "mse")
    x, y = np.ones((128, 8), "f4"), np.ones((128, 1), "f4")
    model.fit(x, y, batch_size=64, verbose=0)
    profile = profiled(lambda: model.fit(x, y, batch_size=64, verbose=0))

    assert_adds_up(profile)
    layers = profile.layer().frame.set_index("name")["total_live_bytes"]
    assert layers["fitted/wide/forward"] >= FORTY_EIGHT_MIB
    assert layers["fitted"] > 0.9 * layers["_TFProfRoot"]


PROGRAM = """
import json
import numpy as np, tensorflow as tf, nbprof
x = tf.ones([1024, 1024])
def work():
    kept = [tf.matmul(x, x), tf.random.uniform([6_000_000]), tf.zeros([10])]
    return kept, tf.reduce_sum(kept[1] * 2.0)
work()
with nbprof.profile() as large:
    made = work()
with nbprof.profile() as small:
    made = tf.matmul(tf.ones([8, 8]), tf.ones([8, 8]))
with nbprof.profile() as none:
    made = 1 + 1

def seen(profile):
    frame = profile.op().frame
    live = frame["live_bytes"].fillna(-1)  # which JSON can hold
    return {
        "live": dict(zip(frame["name"], live)),
        "peak": [peak["live_bytes"] for peak in profile.memory().attrs["peak"].values()],
        "notes": profile.op().notes,
        "notes on time": profile.op(select="micros").notes,
        "notes on bytes": profile.op(select="bytes").notes,
    }

print(json.dumps({"large": seen(large.profile), "small": seen(small.profile),
                  "none": seen(none.profile)}))
"""

NOT_KNOWN = -1


def test_large_tensors_make_the_same_peak_with_and_without_onednn(monkeypatch):
    found = []
    for switch in ("0", "1"):
        monkeypatch.setitem(os.environ, "TF_ENABLE_ONEDNN_OPTS", switch)
        found.append(printed_by(PROGRAM))
    without, with_it = found
    if not with_it["large"]["notes on bytes"]:
        pytest.skip("this TensorFlow has no kernels of oneDNN")

    for seen in found:
        large = {name: size for name, size in seen["large"]["live"].items() if size > SMALL}
        assert large == {"MatMul": 2**22, "RandomUniform": 24_000_000, "Mul": 24_000_000}
        known = [size for size in seen["large"]["live"].values() if size != NOT_KNOWN]
        assert sum(known) == sum(seen["large"]["peak"])
    assert 0 <= sum(without["large"]["peak"]) - sum(with_it["large"]["peak"]) < SMALL
    assert with_it["large"]["live"]["Sum"] == NOT_KNOWN
    assert without["large"]["live"]["Sum"] == 4
    assert set(with_it["small"]["live"].values()) == {NOT_KNOWN}
    for case in ("large", "small"):
        assert with_it[case]["notes on time"] == []
        assert ["256 KiB" in note for note in with_it[case]["notes on bytes"]] == [True]
    assert not any("256 KiB" in note for note in with_it["none"]["notes on bytes"])
    assert without["large"]["notes on bytes"] == []
