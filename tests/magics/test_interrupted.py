"""Cells that end early, and ops from lines of earlier cells, in a real shell and a real kernel.

The optimizer counts how many batches were trained.
"""

import pytest
from support.front_ends import Kernel, Shell
from support.left_behind import LEFT_BEHIND, NOTHING, watched_place

pytestmark = [pytest.mark.core("magics"), pytest.mark.tensorflow, pytest.mark.notebook]

MODEL = """
import os, signal, subprocess, numpy as np, nbprof, tensorflow as tf
model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(4, 'relu')])
model.compile('sgd', 'mse')
x, y = np.ones((320, 8), 'f4'), np.ones((320, 4), 'f4')
model.fit(x, y, verbose=0)

class AfterFive(tf.keras.callbacks.Callback):
    def __init__(self, act):
        self.act, self.batches = act, 0
    def on_train_batch_end(self, batch, logs=None):
        self.batches += 1
        if self.batches == 5:
            self.act()

def fail():
    raise ValueError('after five batches')

def interrupt():
    os.kill(os.getpid(), signal.SIGINT)

class InterruptFromOutside(tf.keras.callbacks.Callback):
    # An interrupt that meets a destructor or a callback of the garbage collector is swallowed by
    # Python. Whoever presses the button presses it again when training goes on, so this does too.
    def __init__(self):
        self.batches, self.sender = 0, None
    def on_train_batch_end(self, batch, logs=None):
        self.batches += 1
        if self.batches >= 5 and (self.sender is None or self.sender.poll() is not None):
            self.sender = subprocess.Popen(['kill', '-INT', str(os.getpid())])
            self.batches = -95

def recompile():
    # OrderedDict.pop compares keys halfway through. An interrupt there leaves TensorFlow's cache of
    # traced functions with a key that it cannot pop: every call of the model raises KeyError.
    model.compile(model.optimizer, model.loss)

def trained():
    return int(model.optimizer.iterations.numpy())

def counted():
    frame = nbprof.last().scope(max_depth=1000).frame
    of_model = frame[frame['name'].str.contains('sequential') & frame['run_count'].gt(0)]
    return sorted(set(of_model['run_count'].astype(int)))
"""


def fit(callback, epochs=1):
    return f"model.fit(x, y, batch_size=32, epochs={epochs}, verbose=0, callbacks=[{callback}]);"


@pytest.fixture(scope="module", params=[Shell, Kernel], ids=["shell", "kernel"])
def place(request, tmp_path_factory):
    with watched_place(request.param, tmp_path_factory.mktemp("tmp"), MODEL) as opened:
        yield opened


@pytest.fixture
def run(place, tmp_path):
    """Run cells; check afterwards that nothing is left and that TensorFlow trains and profiles."""
    yield place.run
    assert place.run(LEFT_BEHIND).value.replace("\n", "") == NOTHING
    after = place.run(
        f"tf.profiler.experimental.start({str(tmp_path)!r})\nbefore = trained()\n"
        "try:\n    model.fit(x, y, batch_size=32, verbose=0)\n"
        "finally:\n    tf.profiler.experimental.stop()\n"
        "trained() - before"
    )
    assert after.value == "10"
    assert list(tmp_path.glob("**/*.xplane.pb"))


@pytest.mark.parametrize(
    ("act", "error", "ended"),
    [
        ("fail", "ValueError", "raised ValueError after"),
        ("interrupt", "KeyboardInterrupt", "interrupted after"),
    ],
)
def test_a_fit_that_ends_halfway_is_reported_up_to_there(run, act, error, ended):
    run("before = trained()")

    outcome = run(f"%%tfprof\n{fit(f'AfterFive({act})')}")

    assert outcome.error == error
    assert not outcome.of_nbprof
    assert f" · {ended} " in outcome.report
    assert run("trained() - before").value == "5"
    assert run("counted(), len(nbprof.last().steps)").value == "([5], 5)"


def test_after_an_interrupt_from_outside_every_trained_batch_is_reported(run):
    run("before = trained()")

    outcome = run(f"%%tfprof\n{fit('InterruptFromOutside()', epochs=100_000)}")

    run("recompile()")
    assert outcome.error == "KeyboardInterrupt"
    assert " · interrupted after " in outcome.report
    batches = run("trained() - before").value
    assert int(batches) >= 5
    assert run("counted()").value == f"[{batches}]"


def test_a_fit_can_be_profiled_right_after_an_interrupted_one(run):
    run(f"%%tfprof -q\n{fit('InterruptFromOutside()', epochs=100_000)}")
    run("recompile()")

    outcome = run("%%tfprof\nmodel.fit(x, y, batch_size=32, verbose=0);")

    assert outcome.error is None
    assert outcome.report
    assert run("counted(), len(nbprof.last().steps)").value == "([10], 10)"


def test_an_interrupt_during_a_call_has_the_traceback_of_the_bare_cell(run):
    run(
        "def held(value):\n    interrupt()\n    return value\n"
        "waits = tf.function(lambda v: tf.numpy_function(held, [v], tf.float32))"
    )

    bare = run("waits(tf.ones([2]))")
    profiled = run("%%tfprof -q\nwaits(tf.ones([2]))")

    assert bare.error == profiled.error == "KeyboardInterrupt"
    assert not profiled.of_nbprof
    assert " · interrupted after " in run("nbprof.last().headline").value


def test_the_tensor_at_the_peak_names_its_line_in_an_earlier_cell(run):
    run(
        "def noise():\n    return tf.random.uniform([12 * 2**20])\n\n"
        "def total():\n    return tf.reduce_sum(noise())\n\n"
        "keep, reduce = tf.function(noise), tf.function(total)\nkeep(), reduce();"
    )
    number = int(run("len(In) - 2").value)

    for make in ("keep", "reduce", "noise", "total"):
        for _ in range(20):  # an executor may end after the trace, which then lacks its events
            run(f"%%tfprof -q\n\n\nmade = {make}()")
            run("largest = nbprof.last().live_at_peak().iloc[0]")
            if run("largest['source']").value != "''":
                break

        assert run("largest['source']").value == f"'In [{number}]:2:noise'"
        assert run("int(largest['bytes'])").value == str(48 * 2**20)
    run("del made")


def test_a_layer_and_a_training_step_name_their_lines_in_earlier_cells(run):
    run(
        "class Bent(tf.keras.layers.Layer):\n    def call(self, x):\n"
        "        bent = tf.math.erf(x)\n        return bent * 2.0"
    )
    layer = int(run("len(In) - 2").value)
    run(
        "bend, weight = Bent(), tf.Variable([1.0, 2.0])\n@tf.function\ndef step(x):\n"
        "    with tf.GradientTape() as tape:\n        loss = tf.reduce_sum(bend(x * weight))\n"
        "    gradient = tape.gradient(loss, weight)\n"
        "    weight.assign_sub(0.1 * gradient)\n    return loss"
    )
    step = int(run("len(In) - 2").value)

    run("%%tfprof code -o lines -q -select occurrence\nfor _ in range(4):\n    step(tf.ones([2]))")

    frame = eval(run("lines.frame[['name', 'source', 'total_run_count']].values.tolist()").value)
    seen = {name: (source, count) for name, source, count in frame}
    assert seen[f"In [{layer}]:3:call"] == ("bent = tf.math.erf(x)", 4)
    assert seen[f"In [{layer}]:4:call"][0] == "return bent * 2.0"
    assert seen[f"In [{step}]:6:step"][0] == "gradient = tape.gradient(loss, weight)"
    assert seen[f"In [{step}]:6:step"][1] >= 4
    assert seen[f"In [{step}]:7:step"][1] >= 2 * 4


def test_a_map_function_names_its_line_in_an_earlier_cell(run):
    run("def prepare(v):\n    return tf.math.erf(tf.cast(v, tf.float32))")
    number = int(run("len(In) - 2").value)

    run("%%tfprof code -o lines -q\nfor v in tf.data.Dataset.range(5).map(prepare):\n    pass")

    assert f"In [{number}]:2:prepare" in run("print(list(lines.frame['name']))").printed
