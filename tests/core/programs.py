"""Programs whose op runs, flops, parameters and layers can be worked out on paper.

`python tests/core/programs.py [name ...]` runs them in one process and prints a JSON of what nbprof
reports about each: equal lines from two releases of TensorFlow are what makes them equal.
"""

import json
import math
import os
import re
import sys
import threading

os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf

import nbprof

BATCH, IMAGES, EPOCHS = 16, 64, 2
SIDE, FILTERS, CLASSES = 8, 4, 10

RUNTIME_TYPES = ("_Arg", "_Retval", "_Send", "_Recv", "NoOp", "Identity", "Const")
"""Op types that the runtime adds or drops as it likes, so that releases differ in them."""


def eager():
    """Ten products of 8x16 and 16x4, five sums of 8x4."""
    left, right, sums = tf.ones((8, 16)), tf.ones((16, 4)), tf.ones((8, 4))

    def body():
        for _ in range(10):
            tf.matmul(left, right)
        for _ in range(5):
            tf.add(sums, sums)

    return body


def function_with_loop():
    """Three warm calls of a function that multiplies 6x6 matrices in a loop of twenty turns."""

    @tf.function
    def power(x):
        for _ in tf.range(20):
            x = tf.matmul(x, x)
        return x

    ones = tf.ones((6, 6))
    power(ones)

    def body():
        for _ in range(3):
            power(ones)

    return body


def _model():
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            tf.keras.Input((SIDE, SIDE, 1)),
            layers.Conv2D(FILTERS, 3, padding="same", name="conv"),
            layers.Flatten(name="flat"),
            layers.Dense(CLASSES, name="dense"),
        ],
        name="net",
    )
    model.compile("sgd", "mse")
    return model


def _images():
    return (
        np.ones((IMAGES, SIDE, SIDE, 1), "f4"),
        np.ones((IMAGES, CLASSES), "f4"),
    )


def fit():
    """A cold Keras fit of a convolution and a dense layer, eight batches."""
    model, (images, classes) = _model(), _images()

    def body():
        model.fit(images, classes, batch_size=BATCH, epochs=EPOCHS, verbose=0)

    return body


def warm_fit():
    """The same fit once more."""
    again = fit()
    again()
    return again


def sessions():
    """Three runs of a graph and five of another one, whose nodes have the same names."""
    v1 = tf.compat.v1
    graphs = []
    for size, runs in ((4, 3), (7, 5)):
        with tf.Graph().as_default() as graph:
            x = v1.placeholder(tf.float32, (size, size), name="x")
            with tf.name_scope("scope"):
                tf.matmul(x, x, name="product")
        graphs.append((v1.Session(graph=graph), np.ones((size, size), "f4"), runs))

    def body():
        for session, value, runs in graphs:
            for _ in range(runs):
                session.run("scope/product:0", {"x:0": value})

    return body


def compiled():
    """Ten warm calls of a function that XLA compiled."""
    compiled_function, ones = _compiled_function()
    compiled_function(ones)

    def body():
        for _ in range(10):
            compiled_function(ones)

    return body


def cold_compiled():
    """The first call of a function that XLA compiles, and one more."""
    compiled_function, ones = _compiled_function()

    def body():
        for _ in range(2):
            compiled_function(ones)

    return body


def compiled_inside():
    """Five calls, the first one cold, of a function that calls one that XLA compiles."""
    compiled_function, ones = _compiled_function()

    @tf.function
    def outer(x):
        return compiled_function(x) * 2.0

    def body():
        for _ in range(5):
            outer(ones)

    return body


def _compiled_function():
    @tf.function(jit_compile=True)
    def gram(x):
        return tf.reduce_sum(tf.matmul(x, x) + 1.0)

    return gram, tf.ones((32, 32))


def threads():
    """Ten threads, one after the other, each of which multiplies two matrices and ends."""
    ones = tf.ones((5, 5))
    tf.matmul(ones, ones)

    def body():
        for _ in range(10):
            thread = threading.Thread(target=tf.matmul, args=(ones, ones))
            thread.start()
            thread.join()

    return body


PROGRAMS = {
    program.__name__: program
    for program in (
        *(eager, function_with_loop, fit, warm_fit),
        *(sessions, compiled, cold_compiled, compiled_inside, threads),
    )
}


def profile_of(program):
    """Prepare a program, profile its body and return the Profile."""
    body = PROGRAMS[program]()
    with nbprof.profile() as run:
        body()
    return run.profile


def facts(profile):
    """Return what releases of TensorFlow must agree on, and where the time went."""
    ops = profile.op(select="micros,occurrence,float_ops,params,bytes", max_depth=1000).frame
    ops = ops[~ops["name"].isin(RUNTIME_TYPES)]
    layers = profile.layer(
        select="micros,occurrence,float_ops,params",
        max_depth=1000,
        account_type_regexes=[*map(re.escape, ops["name"])],
    ).frame
    spent = profile.summary()
    return {
        "run_count": _column(ops, "run_count"),
        "float_ops": _column(ops[ops["float_ops"] != 0], "float_ops"),
        "bytes": _column(ops, "bytes"),
        "micros": _column(ops, "micros"),
        "params": _column(layers, "total_params"),
        "layers": _column(layers, "total_run_count"),
        "layer_micros": _column(layers, "total_micros"),
        "layer_float_ops": _column(layers, "total_float_ops"),
        "nodes": _column(profile.scope(max_depth=1000).frame, "run_count"),
        "lines": _lines(profile),
        "steps": [(step.function, bool(step.traced)) for step in profile.steps.itertuples()],
        "summary": _column(spent.rename(columns={"category": "name"}), "percent"),
        "notes": list(profile.notes),
    }


def _column(frame, column):
    return {
        name: None if math.isnan(value) else round(float(value), 3)
        for name, value in sorted(zip(frame["name"], frame[column], strict=True))
    }


def _lines(profile):
    """Return the op runs of each line of this file."""
    frame = profile.code(max_depth=1000, select="occurrence").frame
    here = frame[frame["name"].str.contains("programs.py:")]
    return {
        name.rpartition("programs.py:")[2]: int(count)
        for name, count in zip(here["name"], here["total_run_count"], strict=True)
    }


def main(names):
    """Print the facts of the named programs, or of all."""
    report = {"tensorflow": tf.__version__}
    for name in names or PROGRAMS:
        try:
            report[name] = facts(profile_of(name))
        except Exception as error:  # noqa: BLE001 - one failure must not hide the others
            report[name] = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
