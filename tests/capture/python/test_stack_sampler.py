"""The sampler of Python stacks: what it sees, what it costs, and that it leaves nothing behind."""

import _thread
import gc
import os
import queue
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from nbprof.capture.python.lock_waits import LockWaits
from nbprof.capture.python.stack_sampler import (
    DEEPER,
    DENSE,
    FREE_CPU,
    HELD,
    SHORTEST_WAIT,
    SPARSE,
    StackSampler,
    next_wait,
)

linux_tells = pytest.mark.skipif(
    not Path(f"/proc/self/task/{threading.get_native_id()}/syscall").exists(),
    reason="this system does not tell what a thread waits for",
)


def sampled(body):
    """Sample a function; return the samples and how long it took, in ns."""
    sampler = sampled.by = StackSampler()
    sampler.start()
    began = time.time_ns()
    try:
        body()
    finally:
        took = time.time_ns() - began
        sampler.stop()
    return sampler.log(), took


def time_by_function(log):
    """Add up the time since the sample before by innermost function, in ns."""
    since = np.diff(log.time_ns, prepend=log.time_ns[:1])
    total = {}
    for number, ns in zip(log.stack.tolist(), since.tolist(), strict=True):
        name = log.stacks[number][-1][2] if log.stacks[number] else ""
        total[name] = total.get(name, 0) + ns
    return total


def asleep():
    time.sleep(0.3)


def until(condition):
    """Wait until the condition holds, for a minute at most."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_a_sleeping_function_has_the_time_it_slept():
    log, _ = sampled(asleep)

    spent = time_by_function(log)
    assert max(spent, key=spent.get) == "asleep"
    file, line, function = log.stacks[log.stack[-1]][-1]
    assert (file, function) == (__file__, "asleep")
    assert line == asleep.__code__.co_firstlineno + 1


def share_waited(body):
    """Sample a function; return the share of its time in which its thread waited for another."""
    log, took = sampled(body)
    return np.diff(log.time_ns, prepend=log.time_ns[:1])[log.waited].sum() / took


def held_for(seconds):
    """Return a lock that another thread releases after some seconds."""
    lock = threading.Lock()
    lock.acquire()
    threading.Timer(seconds, lock.release).start()
    return lock


def takes_items():
    items = queue.SimpleQueue()
    threading.Timer(0.3, items.put, (1,)).start()
    items.get()


def with_lock():
    with held_for(0.3):
        pass


@linux_tells
@pytest.mark.parametrize(
    "wait",
    [lambda: held_for(0.3).acquire(), lambda: held_for(0.3).acquire(timeout=9), with_lock,
     takes_items],
    ids=["acquire", "acquire with a timeout", "with", "SimpleQueue.get"],
)  # fmt: skip
def test_a_c_function_that_waits_for_another_thread_is_told_from_other_c_functions(wait):
    assert share_waited(wait) > 0.5


def computes():
    end = time.perf_counter() + 0.3
    while time.perf_counter() < end:
        pass


def reads_a_pipe():
    reading, writing = os.pipe()
    threading.Timer(0.3, os.write, (writing, b"x")).start()
    os.read(reading, 1)
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize("body", [asleep, computes, reads_a_pipe])
def test_sleeping_computing_and_reading_are_no_waiting_for_other_threads(body):
    assert share_waited(body) < 0.1


def test_what_the_system_does_not_tell_is_no_wait(monkeypatch):
    monkeypatch.setattr("nbprof.capture.python.lock_waits.FUTEX", {})

    assert share_waited(with_lock) == 0


def test_a_file_of_the_cells_stays_open_that_got_the_number_of_one_of_ours(tmp_path):
    waits = LockWaits(threading.get_native_id())
    waits.look()
    taken = [number for number, _ in waits._files]
    for number in taken:
        os.close(number)
    others = [os.open(tmp_path, os.O_RDONLY) for _ in range(len(taken))]

    assert not waits.look()
    waits.close()

    assert [os.fstat(file).st_ino for file in others] == [tmp_path.stat().st_ino] * len(others)
    for file in others:
        os.close(file)


def holds_the_interpreter():
    numbers = np.random.default_rng(7).random(1_000_000).tolist()
    until(lambda: sampled.by._samples)  # the sampler has begun
    before = time.time_ns()
    numbers.sort()
    holds_the_interpreter.began_ns, holds_the_interpreter.ns = before, time.time_ns() - before


def test_a_c_function_that_holds_the_interpreter_has_its_time_where_it_returns():
    log, _ = sampled(holds_the_interpreter)

    since = np.diff(log.time_ns, prepend=holds_the_interpreter.began_ns)
    longest = log.stacks[log.stack[since.argmax()]][-1]
    assert longest[2] == "holds_the_interpreter"
    assert since.max() > 0.5 * holds_the_interpreter.ns


def test_only_the_thread_that_started_it_is_sampled():
    ended = threading.Event()
    other = threading.Thread(target=ended.wait)
    other.start()
    log, _ = sampled(asleep)
    ended.set()
    other.join()

    assert set(log.thread.tolist()) == {0}
    assert all("wait" not in [frame[2] for frame in stack] for stack in log.stacks)


def test_frames_of_nbprof_are_not_in_the_stacks():
    import nbprof.units

    def calls_back():
        return any(map(busy, range(1)))

    def busy(_):
        time.sleep(0.05)

    inside = {"run": calls_back, "__name__": "nbprof.capture.compat.hooks"}
    exec("def wrapper():\n    run()", inside)
    log, _ = sampled(inside["wrapper"])

    names = {frame[2] for stack in log.stacks for frame in stack}
    assert "busy" in names
    assert "wrapper" not in names
    assert all(nbprof.units.__file__ != frame[0] for stack in log.stacks for frame in stack)


def test_generated_code_of_a_library_is_left_to_its_caller():
    slow = {"sleep": time.sleep, "__name__": "lib", "__file__": subprocess.__file__}
    exec("def __init__():\n    sleep(0.05)", slow)

    log, _ = sampled(lambda: slow["__init__"]())

    assert "__init__" not in time_by_function(log)


def test_what_nbprof_itself_calls_is_no_call_of_the_cells():
    sampler, ended = StackSampler(DENSE), threading.Event()
    code = (
        "def work():\n"
        "    sampler.start()\n"
        "    try:\n"
        "        until(lambda: len(sampler._samples) > 50 or not list(walk('/usr')))\n"
        "    finally:\n"
        "        sampler.stop()\n"
        "        ended.set()\n"
    )
    names = {"__name__": "nbprof.reading", "sampler": sampler, "ended": ended}
    exec(code, names | {"until": until, "walk": os.walk}, names)

    _thread.start_new_thread(names["work"], ())
    ended.wait(60)

    assert ended.is_set()
    assert sampler.log().stacks == ((),)


def test_a_deep_stack_keeps_its_innermost_frames():
    def deep(levels):
        return deep(levels - 1) if levels else asleep()

    log, _ = sampled(lambda: deep(600))

    assert max(map(len, log.stacks)) <= 257
    spent = time_by_function(log)
    assert max(spent, key=spent.get) == "asleep"


def test_a_stack_that_was_cut_says_so_where_its_outer_frames_are_missing():
    def deep(levels):
        return deep(levels - 1) if levels else asleep()

    log, _ = sampled(lambda: deep(600))

    cut = max(log.stacks, key=len)
    assert cut[0] == DEEPER
    assert DEEPER not in cut[1:]


class Clocks:
    """Stands for the clock of the thread's CPU time, which the test sets."""

    def __init__(self, monkeypatch):
        self.cpu = 1.0
        monkeypatch.setattr(time, "clock_gettime", lambda _: self.cpu)


@pytest.mark.parametrize(("busy", "held"), [(1.0, 2 * HELD), (0.6, 2 * HELD), (0.1, 0)])
def test_a_late_sample_says_that_the_interpreter_was_held_if_the_thread_was_busy(
    monkeypatch, busy, held
):
    sampler = StackSampler()
    clocks = Clocks(monkeypatch)
    sampler.start()
    sampler.stop()
    sampler._held_ns(0.0)
    clocks.cpu += busy * 2 * HELD

    assert sampler._held_ns(2 * HELD) == pytest.approx(held * 1e9)


def test_a_sample_in_time_says_nothing_about_the_interpreter():
    sampler = StackSampler()
    sampler.start()
    sampler.stop()

    assert sampler._held_ns(HELD / 2) == 0


# Other threads


def sampled_with_threads(body):
    sampler = StackSampler(DENSE, threads=True)
    sampler.start()
    try:
        body()
    finally:
        sampler.stop()
    return sampler.log()


def functions_of(log, name):
    """Return the names of all functions in the samples of a thread."""
    number = log.names.index(name)
    stacks = [log.stacks[stack] for stack in set(log.stack[log.thread == number].tolist())]
    return {frame[2] for stack in stacks for frame in stack}


def test_a_thread_that_starts_in_the_cell_is_sampled_under_its_name():
    def cell():
        worker = threading.Thread(target=asleep, name="loader")
        worker.start()
        worker.join()

    log = sampled_with_threads(cell)

    assert functions_of(log, "loader") == {"asleep"}
    assert "asleep" not in functions_of(log, "")


def test_samples_of_all_threads_are_taken_at_the_same_moments():
    def cell():
        workers = [threading.Thread(target=asleep) for _ in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    log = sampled_with_threads(cell)

    own = set(log.time_ns[log.thread == 0].tolist())
    assert set(log.time_ns[log.thread != 0].tolist()) <= own


def test_a_worker_from_before_the_cell_counts_if_it_does_something():
    jobs = queue.Queue()

    def works():
        while jobs.get() is not None:
            asleep()
            jobs.task_done()

    def idles():
        ended.wait()

    ended = threading.Event()
    for target, name in ((works, "worker"), (idles, "idle")):
        threading.Thread(target=target, name=name).start()

    def cell():
        jobs.put(1)
        jobs.join()

    log = sampled_with_threads(cell)
    jobs.put(None)
    ended.set()

    assert "asleep" in functions_of(log, "worker")
    idle = log.names.index("idle") if "idle" in log.names else 0
    assert not idle or idle not in log.thread


# What it costs


def samples_in(seconds, cpu_per_sample, pace=SPARSE):
    """Count the samples of a cell of this length, each of which takes this much CPU time."""
    elapsed, count = 0.0, 0
    while elapsed < seconds:
        count += 1
        elapsed += next_wait(pace, elapsed, count * cpu_per_sample)
    return count


@pytest.mark.parametrize("pace", [SPARSE, DENSE])
@pytest.mark.parametrize("micros", [5, 60, 150])
@pytest.mark.parametrize("seconds", [0.5, 10, 600])
def test_sampling_stays_within_its_share_of_the_time(seconds, micros, pace):
    cpu = samples_in(seconds, micros / 1e6, pace) * micros / 1e6

    assert cpu <= pace.cpu_share * seconds + FREE_CPU + 2 * micros / 1e6


def test_samples_are_never_denser_than_a_millisecond():
    assert next_wait(DENSE, 0.5, 0.0) == SHORTEST_WAIT


def test_ten_minutes_have_a_bounded_number_of_samples():
    assert samples_in(600, 1e-6) < 40_000


# Nothing is left behind


@pytest.fixture
def switch_interval():
    """Set an unusual switch interval, as nothing else would."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.0042)
    yield sys.getswitchinterval()
    sys.setswitchinterval(before)


def test_the_thread_and_the_switch_interval_are_as_before(switch_interval):
    threads = len(sys._current_frames())

    with pytest.raises(ZeroDivisionError):
        sampled(lambda: 1 / 0)

    assert sys.getswitchinterval() == switch_interval
    until(lambda: len(sys._current_frames()) <= threads)


def test_a_switch_interval_that_the_cell_sets_stays(switch_interval):
    sampled(lambda: sys.setswitchinterval(0.017))

    assert sys.getswitchinterval() == pytest.approx(0.017)


def test_a_shorter_switch_interval_is_not_made_longer(switch_interval):
    sys.setswitchinterval(0.0005)
    seen = []

    sampled(lambda: seen.append(sys.getswitchinterval()))

    assert seen == [pytest.approx(0.0005, rel=0.01)]


def test_a_thread_that_cannot_start_leaves_the_switch_interval(switch_interval, monkeypatch):
    def fail(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", fail)
    sampler = StackSampler()

    with pytest.raises(RuntimeError, match="can't start"):
        sampler.start()

    assert sys.getswitchinterval() == switch_interval
    assert len(sampler.log().time_ns) == 0


def test_stopping_twice_or_before_the_start_does_nothing(switch_interval):
    sampler = StackSampler()
    sampler.stop()
    sampler.start()
    sampler.stop()
    sampler.stop()

    assert sys.getswitchinterval() == switch_interval


def test_no_sample_is_taken_after_the_stop():
    sampler = StackSampler()
    sampler.start()
    asleep()
    sampler.stop()
    taken = len(sampler.log().time_ns)
    asleep()

    assert len(sampler.log().time_ns) == taken > 0


def test_the_cell_sees_neither_another_thread_nor_other_random_numbers():
    random.seed(5)
    expected = random.random()
    random.seed(5)
    seen = []

    sampled(lambda: (asleep(), seen.append(threading.enumerate())))

    assert seen == [threading.enumerate()]
    assert random.random() == expected


INTERRUPTED = """
import signal, sys, threading, time, traceback
sys.path[:0] = {path!r}
signal.signal(signal.SIGINT, signal.default_int_handler)
from nbprof.capture.python.stack_sampler import StackSampler
before = sys.getswitchinterval()
for number in range(40):
    sampler = StackSampler()
    sampler.start()
    timer = threading.Timer(0.003 + number % 7 / 1000, signal.raise_signal, (signal.SIGINT,))
    try:
        try:
            timer.start()
            while True:
                sum(range(1000))
        finally:
            sampler.stop()
    except KeyboardInterrupt:
        text = traceback.format_exc()
        assert "stack_sampler" not in text, text
    timer.join()
assert sys.getswitchinterval() == before
print("whole")
"""


def test_interrupts_never_show_the_sampler():
    script = INTERRUPTED.format(path=sys.path)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=300
    )

    assert done.stdout == "whole\n", done.stderr


GARBAGE = """
import _thread, gc, sys, threading, time
sys.path[:] = {path!r}
from nbprof.capture.python.stack_sampler import StackSampler

class StartsThread:
    def __del__(self):
        _thread.start_new_thread(int, ())  # takes the lock of the interpreter's list of threads

ended = threading.Event()
for _ in range(20):
    threading.Thread(target=ended.wait, daemon=True).start()
sampler = StackSampler()
sampler.start()
for threshold in range(20, 40):
    gc.collect()
    gc.set_threshold(threshold)
    for _ in range(9):
        garbage = StartsThread()
        garbage.itself = garbage
    del garbage
    time.sleep(0.01)  # whatever the sampler allocates now makes the collector come
sampler.stop()
print("whole")
"""


def test_a_destructor_that_needs_the_interpreters_lock_meets_no_sampler_that_holds_it():
    done = subprocess.run(
        [sys.executable, "-c", GARBAGE.format(path=sys.path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert done.stdout == "whole\n", done.stderr


FRAMES_THAT_GO = """
import gc, sys, time
sys.path[:] = {path!r}
from nbprof.capture.python import stack_sampler

class LetsOthersRun:
    def __del__(self):
        time.sleep(0.002)

# Functions of many sizes, so that what follows a frame in its place is no frame.
for size in range(13):
    exec(f"def f{{size}}(n):\\n    " + " = ".join(f"v{{i}}" for i in range(size + 1)) + " = n\\n"
         f"    return f{{(size * 7 + 3) % 13}}(n - 1) if n else n")

def spin():
    end = time.perf_counter() + 0.03
    while time.perf_counter() < end:
        for size in range(13):
            globals()[f"f{{size}}"](20)

stack_sampler.FREE_CPU = 100  # a sample a millisecond
sampler = stack_sampler.StackSampler()
sampler.start()
spin()
for headroom in range(60):
    gc.disable()
    gc.collect()
    for _ in range(9):
        garbage = LetsOthersRun()
        garbage.itself = garbage
    del garbage
    gc.set_threshold(gc.get_count()[0] + 1 + headroom % 20)
    gc.enable()
    spin()
sampler.stop()
names = {{frame[2] for stack in sampler.log().stacks for frame in stack}}
known = {{"<module>", "spin", "__del__"}} | {{f"f{{size}}" for size in range(13)}}
print("whole" if names <= known else names, gc.isenabled())
"""


def test_frames_that_go_while_garbage_is_collected_are_never_read():
    done = subprocess.run(
        [sys.executable, "-c", FRAMES_THAT_GO.format(path=sys.path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert (done.stdout, done.stderr) == ("whole True\n", "")


ENDING_THREADS = """
import _thread, gc, sys, threading, time
sys.path[:] = {path!r}
from nbprof.capture.python.stack_sampler import DENSE, StackSampler

class StartsThread:
    def __del__(self):
        _thread.start_new_thread(int, ())  # takes the lock of the interpreter's list of threads

def short(levels):
    garbage = StartsThread()
    garbage.itself = garbage
    return short(levels - 1) if levels else sum(range(300))

gc.set_threshold(15)
sampler = StackSampler(DENSE, threads=True)
sampler.start()
for _ in range(60):
    threads = [threading.Thread(target=short, args=(9,)) for _ in range(25)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
sampler.stop()
print("whole" if len(sampler.log().time_ns) else "no samples")
"""


def test_many_threads_that_end_and_collect_garbage_are_sampled_safely():
    done = subprocess.run(
        [sys.executable, "-c", ENDING_THREADS.format(path=sys.path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert (done.stdout, done.stderr) == ("whole\n", "")


def test_a_cell_that_turned_the_collector_off_keeps_it_off():
    gc.disable()
    try:
        sampled(asleep)
        assert not gc.isenabled()
    finally:
        gc.enable()
