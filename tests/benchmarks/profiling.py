"""Run a cell bare, under TensorFlow's profiler, and under nbprof until its output is ready.

The floor is TensorFlow's own trace with the switches nbprof sets: the same events, never read.
"""

import tempfile

from tensorflow_cells import eager_loop, session_loop, small_cnn, tensorflow_trace
from ways import medians

TITLE = "Profiling a cell"
FLOOR = "tf.profiler, our switches (the floor)"


def measure(settings):
    full_trace = {"v1 FULL_TRACE alone": session_loop(full_trace=True)}
    cells = {
        "loop of eager ops": (eager_loop(), {}),
        "loop of v1 session runs": (session_loop(), full_trace),
        "warm Keras fit": (small_cnn(), {}),
    }
    rows = []
    for cell, (body, more) in cells.items():
        with tempfile.TemporaryDirectory() as folder:
            seconds = medians(_ways(body, folder, more), rounds=settings.rounds + 2)
        bare, floor = seconds["bare cell"], seconds[FLOOR]
        rows += [
            {
                "cell": cell,
                "way": way,
                "ratio": taken / bare,
                "of_floor": taken / floor,
                "seconds": taken,
            }
            for way, taken in seconds.items()
        ]
    return rows


def _ways(body, folder, more):
    import nbprof
    from nbprof.capture.recorder import Recorder

    def capture():
        recorder = Recorder("bench")
        recorder.start()
        body()
        recorder.stop()

    def analysis():
        with nbprof.profile() as run:
            body()
        return run.profile.op()

    def output(light=False):
        with nbprof.profile(light=light) as run:
            body()
        run.profile.op()._repr_mimebundle_()

    return {
        "bare cell": body,
        "tf.profiler, as it is": lambda: tensorflow_trace(body, folder, False, False),
        FLOOR: lambda: tensorflow_trace(body, folder),
        **more,
        "nbprof, capture alone": capture,
        "nbprof, capture and analysis": analysis,
        "nbprof, to text and explorer": output,
        "nbprof -light, to text and explorer": lambda: output(light=True),
    }
