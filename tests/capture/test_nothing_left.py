"""Blocks that end early, and thirty in a row, leave nothing behind."""

import sys
import time

import pytest
from support.captured import batches, mlp, model_runs, printed_by, profiled, runs

import nbprof

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")


class RaiseAfterFive(tf.keras.callbacks.Callback):
    """Raise ValueError after the fifth batch."""

    def on_train_batch_end(self, batch, logs=None):
        if batch == 4:
            raise ValueError("after five batches")


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
def test_a_fit_that_fails_halfway_has_a_profile_and_affects_nothing_after_it(warm, tmp_path):
    model = mlp()
    x, y = batches(12)
    if warm:
        model.fit(x, y, batch_size=32, verbose=0)
    before = int(model.optimizer.iterations)

    with pytest.raises(ValueError, match="after five batches"), nbprof.profile() as run:
        model.fit(x, y, batch_size=32, verbose=0, callbacks=[RaiseAfterFive()])

    trained = int(model.optimizer.iterations) - before
    assert trained == 5
    assert set(model_runs(run.profile).values()) == {trained}
    assert len(run.profile.steps) == trained
    again = profiled(lambda: model.fit(x, y, batch_size=32, verbose=0))
    assert set(model_runs(again).values()) == {12}
    tf.profiler.experimental.start(str(tmp_path))
    model.fit(x, y, batch_size=32, verbose=0)
    tf.profiler.experimental.stop()
    assert list(tmp_path.glob("**/*.xplane.pb"))


INTERRUPTED = """
import gc, json, signal, sys, tempfile, threading, time
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)
tempfile.tempdir = tempfile.mkdtemp()
import tensorflow as tf, nbprof
from nbprof.capture.compat import switches
from tensorflow.python.profiler import trace

HERE = Path(nbprof.__file__).parent
OURS = {str(file) for file in [HERE / "run.py", *HERE.glob("capture/**/*.py")]}
ALLOCATOR = switches.allocator_statistics_on()
SWITCH_INTERVAL = sys.getswitchinterval()

class Watch:
    # Python handles signals when a function begins and when a C function returns.
    def __init__(self, interrupt=None):
        self.places, self.interrupt = [], interrupt
    def __call__(self, frame, event, argument):
        if event not in ("call", "c_return") or frame.f_code.co_filename not in OURS:
            return
        if event == "call" and frame.f_code.co_name in ("__enter__", "__exit__"):
            return  # no code of ours runs between the user's block and these
        called = getattr(argument, "__name__", "") if event == "c_return" else ""
        place = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}:{called}"
        if place == self.interrupt and place not in self.places:
            signal.raise_signal(signal.SIGINT)
        self.places.append(place)

def profile(watch):
    run = nbprof.profile()
    try:
        sys.setprofile(watch)
        with run:
            tf.ones([2])
    except KeyboardInterrupt as interrupt:
        return interrupt  # keep it, as a notebook keeps the last traceback
    finally:
        sys.setprofile(None)

def left_behind():
    left = [thread.name for thread in threading.enumerate() if thread.name.startswith("nbprof")]
    for folder in Path(tempfile.gettempdir()).glob("nbprof-*"):
        left.append("a temporary folder")
        folder.rename(Path(tempfile.gettempdir()) / f"found-{folder.name}")
    if switches.allocator_statistics_on() != ALLOCATOR:
        left.append("the allocator's statistics")
    if trace.enabled() if callable(trace.enabled) else trace.enabled:
        left.append("a profiler")
    if sys.getswitchinterval() != SWITCH_INTERVAL:
        left.append("the switch interval")
        sys.setswitchinterval(SWITCH_INTERVAL)
    for _ in range(1000):  # a thread ends soon after it is told to
        samplers = [frame for frame in sys._current_frames().values() if is_sampler(frame)]
        if not samplers:
            return left
        time.sleep(0.001)
    return [*left, "the sampler"]

def is_sampler(frame):
    return frame.f_code.co_filename.endswith("stack_sampler.py")

profile(None)
watch = Watch()
profile(watch)
places, found = list(dict.fromkeys(watch.places)), {}

def refusal():
    try:
        profile(None)
    except nbprof.NbprofError as error:
        return str(error)

for place in places:
    interrupt = profile(Watch(place))
    left = [*left_behind(), *filter(None, [refusal()])]
    if left:
        found[place] = left
        del interrupt
        gc.collect()
        if refusal():
            left.append("for good")
            break
print(json.dumps({"places": len(places), "left": found}))
"""


def test_an_interrupt_anywhere_in_nbprof_leaves_nothing_switched_on():
    seen = printed_by(INTERRUPTED)

    assert seen["places"] > 50
    assert seen["left"] == {}


def sampling():
    files = [frame.f_code.co_filename for frame in sys._current_frames().values()]
    return any(file.endswith("stack_sampler.py") for file in files)


def fail(*_, **__):
    raise ValueError("no luck")


@pytest.mark.parametrize(
    ("place", "refused"),
    [
        ("nbprof.capture.compat.profiler_session.start_session", False),
        ("nbprof.capture.python.stack_sampler.StackSampler.start", True),
        ("nbprof.memory.meter.Measurement.__enter__", True),
    ],
    ids=["the session", "the sampler", "the memory"],
)
def test_a_set_up_that_fails_leaves_nothing_switched_on(monkeypatch, place, refused):
    before = sys.getswitchinterval()
    with monkeypatch.context() as broken:
        broken.setattr(place, fail)
        run = nbprof.profile()
        if refused:
            with pytest.raises(ValueError, match="no luck"):
                run.__enter__()
        else:
            with run:
                time.sleep(0.05)
            assert any("no luck" in note for note in run.profile.notes)
            assert run.profile.summary()["category"][0] == "your Python"

    assert sys.getswitchinterval() == before
    deadline = time.monotonic() + 60
    while sampling():  # it ends soon after it is told to
        assert time.monotonic() < deadline
        time.sleep(0.001)
    assert runs(profiled(lambda: tf.ones([2]) + 1.0))["AddV2"] == 1


LEAKS = """
import ctypes, gc, json, os, tempfile
from pathlib import Path
libc = ctypes.CDLL(None)
# One heap for all threads: glibc does not return free memory at the end of the others, and the list
# of gc.get_objects(), some megabytes, may be in any of them.
M_ARENA_MAX = -8
libc.mallopt(M_ARENA_MAX, 1)
tempfile.tempdir = tempfile.mkdtemp()
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors="nocolor")

def run(cell):
    assert shell.run_cell(cell, store_history=True).success

def state():
    gc.collect()
    libc.malloc_trim(0)  # freed memory must not look used
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "files": sorted(os.listdir(tempfile.gettempdir())),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": len(os.listdir("/proc/self/task")),
        "bytes": pages * os.sysconf("SC_PAGE_SIZE"),
    }

run("%load_ext nbprof")
run("import tensorflow as tf, numpy as np, nbprof")
run("model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(4)])")
run("model.compile('sgd', 'mse')")
run("x, y = np.ones((64, 8), 'f4'), np.ones((64, 4), 'f4')")
run("chain = tf.function(lambda v: [v := v + tf.sin(v) for _ in range(50)][-1])")
CELL = '''%%tfprof -q
model.fit(x, y, verbose=0)
for _ in range(20):
    chain(tf.ones([2]))
tf.function(lambda v: v + 1.0)(1.0)
None'''
for _ in range(10):
    run(CELL)
settled = state()
for _ in range(20):
    run(CELL)
last = state()
kept = []
for _ in range(8):
    run("%%tfprof -q\\nfor _ in range(200):\\n    chain(tf.ones([2]))")
    kept.append(shell.user_ns["nbprof"].last())
print()
print(json.dumps({"settled": settled, "last": last, "with eight profiles kept": state()}))
"""

FLAT = 6 * 2**20
"""Bytes that twenty cells may add, less than one per cent of what the process uses."""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_thirty_profiled_cells_leak_no_file_thread_or_memory():
    seen = printed_by(LEAKS)

    settled, last = seen["settled"], seen["last"]
    for what in ("files", "descriptors", "threads"):
        assert last[what] == settled[what], what
    assert last["bytes"] - settled["bytes"] < FLAT
    # Keeping eight larger profiles on purpose exceeds the limit, so it would catch a leak.
    assert seen["with eight profiles kept"]["bytes"] - last["bytes"] > FLAT
