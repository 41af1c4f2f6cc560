"""nbprof beside its peers, in one run: every figure is a ratio (`make bench`).

Rounds of all ways are interleaved, so that a busy moment hits each of them; the median counts.
Writes build/bench.json.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import tfprof_inputs

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

RESULT = Path(__file__).parents[2] / "build" / "bench.json"
ROUNDS = 5

Ways = dict[str, Callable[[], object]]


def medians(ways: Ways, rounds: int = ROUNDS) -> dict[str, float]:
    """Time each way once a round; give the median seconds of each."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            began = time.perf_counter()
            way()
            taken[name].append(time.perf_counter() - began)
    return {name: statistics.median(times) for name, times in taken.items()}


def loading() -> dict[str, float]:
    """IPython started and left again, with and without the extension."""

    def start(*lines: str) -> Callable[[], object]:
        arguments = [argument for line in lines for argument in ("-c", line)]
        command = [sys.executable, "-m", "IPython", "--no-banner", *(arguments or ["-c", "pass"])]
        return lambda: subprocess.run(command, check=True, capture_output=True)

    return medians(
        {"IPython started": start(), "and %load_ext nbprof": start("%load_ext nbprof")}, rounds=15
    )


def small_cnn() -> Callable[[], object]:
    """A warm Keras fit: 40 steps of a small convolutional network."""
    import numpy as np
    import tensorflow as tf

    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            tf.keras.Input((28, 28, 1)),
            layers.Conv2D(16, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(16, 3, activation="relu"),
            layers.Flatten(),
            layers.Dense(10),
        ]
    )
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    x = np.random.default_rng(0).random((1280, 28, 28, 1), dtype="f4")
    y = np.zeros(1280)
    model.fit(x, y, epochs=3, verbose=0)
    return lambda: model.fit(x, y, verbose=0)


def eager_loop() -> Callable[[], object]:
    """Three thousand small eager ops: dispatch is most of it."""
    import tensorflow as tf

    x = tf.ones([16, 16])

    def body() -> None:
        for _ in range(3000):
            tf.matmul(x, x)

    body()
    return body


def session_loop(full_trace: bool = False) -> Callable[[], object]:
    """Two hundred runs of a v1 session, bare or with FULL_TRACE."""
    import numpy as np
    import tensorflow as tf

    v1 = tf.compat.v1
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 256])
        y = tf.nn.relu(tf.matmul(x, tf.random.uniform([256, 256])))
        session = v1.Session()
    values = np.ones((64, 256))
    options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE) if full_trace else None

    def body() -> None:
        for _ in range(200):
            metadata = v1.RunMetadata() if full_trace else None
            session.run(y, {x: values}, options=options, run_metadata=metadata)

    body()
    return body


def tensorflow_trace(body: Callable[[], object], folder: str, switches: bool) -> None:
    """TensorFlow's own trace of the same cell, written and not read."""
    import tensorflow as tf

    from nbprof.capture import compat

    with compat.allocations_recorded() if switches else nullcontext():
        tf.profiler.experimental.start(folder)
        if switches:
            compat.record_every_run()
        body()
        tf.profiler.experimental.stop()


def profiling(body: Callable[[], object], folder: str, more: Ways) -> dict[str, float]:
    """A cell bare, under TensorFlow's profiler, and under nbprof until its table is text."""
    import nbprof
    from nbprof.capture.trace import Recorder

    def capture() -> None:
        recorder = Recorder("bench")
        recorder.start()
        body()
        recorder.stop()

    def with_nbprof(light: bool = False) -> None:
        with nbprof.profile(light=light) as run:
            body()
        run.profile.op()._repr_mimebundle_()

    return medians(
        {
            "bare cell": body,
            "tf.profiler, as it is": lambda: tensorflow_trace(body, folder, switches=False),
            "tf.profiler, our switches (the floor)": lambda: tensorflow_trace(body, folder, True),
            **more,
            "nbprof, capture alone": capture,
            "nbprof, to the table": with_nbprof,
            "nbprof -light, to the table": lambda: with_nbprof(light=True),
        }
    )


def reading(folder: str) -> dict[str, float]:
    """One trace file to per-op figures; TensorFlow's converter gets a fresh copy each time."""
    from tensorflow.python.profiler.internal import _pywrap_profiler_plugin
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    from nbprof import ingest
    from nbprof.capture.capture import Capture

    data = max(Path(folder).glob("**/*.xplane.pb"), key=lambda file: file.stat().st_size)
    trace = data.read_bytes()

    def converter() -> None:
        with tempfile.TemporaryDirectory() as fresh:
            copy = Path(fresh) / "host.xplane.pb"
            copy.write_bytes(trace)
            _pywrap_profiler_plugin.xspace_to_tools_data([str(copy)], "framework_op_stats", {})

    def protobuf_loop() -> int:
        space = xplane_pb2.XSpace.FromString(trace)
        return sum(
            event.duration_ps
            for plane in space.planes
            for line in plane.lines
            for event in line.events
        )

    def ours() -> None:
        ingest.read(Capture(trace, "bench", "", 0, 0, 0)).op()

    print(f"\nThe trace has {len(trace) / 1e6:.1f} MB.")
    return medians(
        {
            "framework_op_stats (TensorFlow, C++)": converter,
            "protobuf, a Python loop over events": protobuf_loop,
            "nbprof, to the op frame": ours,
        }
    )


def show(title: str, seconds: dict[str, float]) -> None:
    floor = next(iter(seconds.values()))
    print(f"\n{title}\n{'':42}{'ratio':>8}{'median':>12}")
    for name, taken in seconds.items():
        print(f"  {name:40}{taken / floor:7.2f}×{taken * 1000:9.1f} ms")


def main() -> None:
    results = {"Loading": loading()}
    show("Loading", results["Loading"])
    full_trace = {"v1 FULL_TRACE alone": session_loop(full_trace=True)}
    with tempfile.TemporaryDirectory() as folder:
        for title, body, more in (
            ("Profiling a loop of eager ops", eager_loop(), {}),
            ("Profiling a loop of v1 session runs", session_loop(), full_trace),
            ("Profiling a warm Keras fit", small_cnn(), {}),
        ):
            results[title] = profiling(body, folder, more)
            show(title, results[title])
        results["Reading a trace"] = reading(folder)
        show("Reading a trace", results["Reading a trace"])
    results["From tfprof's inputs to a view"] = tfprof_inputs.compare()
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print(f"\nWritten to {RESULT.relative_to(RESULT.parents[1])}.")


if __name__ == "__main__":
    main()
