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
from pathlib import Path

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


def tensorflow_trace(body: Callable[[], object], folder: str, every_run: bool) -> None:
    """The floor: TensorFlow's own trace of the same cell, written and not read."""
    import tensorflow as tf

    from nbprof.capture import compat

    tf.profiler.experimental.start(folder)
    if every_run:
        compat.record_every_run()
    body()
    tf.profiler.experimental.stop()


def profiling(folder: str) -> dict[str, float]:
    """A cell bare, under TensorFlow's profiler, and under nbprof until its table is text."""
    import nbprof

    body = small_cnn()

    def with_nbprof() -> None:
        with nbprof.profile() as run:
            body()
        run.profile.op()._repr_mimebundle_()

    return medians(
        {
            "bare cell": body,
            "tf.profiler, as it is": lambda: tensorflow_trace(body, folder, every_run=False),
            "tf.profiler, every op run": lambda: tensorflow_trace(body, folder, every_run=True),
            "nbprof, to the table": with_nbprof,
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
    with tempfile.TemporaryDirectory() as folder:
        results["Profiling a warm Keras fit"] = profiling(folder)
        show("Profiling a warm Keras fit", results["Profiling a warm Keras fit"])
        results["Reading its trace"] = reading(folder)
        show("Reading its trace", results["Reading its trace"])
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print(f"\nWritten to {RESULT.relative_to(RESULT.parents[1])}.")


if __name__ == "__main__":
    main()
