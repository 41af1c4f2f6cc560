"""The watermark has one owner: nested peaks are right, and a bound says that it is one."""

import errno
import os
import subprocess
import sys
import threading

import pytest
from support.memory_spikes import MIB, spike

from nbprof.errors import NbprofError
from nbprof.memory import measure
from nbprof.memory import watermark as module
from nbprof.memory.watermark import LinuxStatus, Reading, Watermark

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="the watermark is Linux's")


def in_a_process(script):
    """Run a script in a process of its own, which finds what the tests find."""
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )


class Process:
    """A process by hand: it holds what is written here, and remembers the most."""

    def __init__(self, held=100, can_set_back=True):
        self.shortcoming = None if can_set_back else "it cannot be set back."
        self.most = held
        self.held = held

    def hold(self, size):
        self.held = size
        self.most = max(self.most, size)

    def read(self):
        return Reading(self.held, self.most)

    def set_back(self):
        if self.shortcoming is None:
            self.most = self.held


def test_a_peak_between_two_looks_is_found_although_an_older_one_was_higher():
    process = Process()
    process.hold(1000)
    process.hold(100)
    owner = Watermark(process)

    stretch = owner.open()
    process.hold(300)
    process.hold(120)
    last = owner.close(stretch)

    assert (stretch.before, stretch.peak, last.resident, stretch.exact) == (100, 300, 120, True)
    assert owner.highest == 1000


def test_nested_and_overlapping_stretches_each_have_their_own_peak():
    process = Process()
    owner = Watermark(process)

    outer = owner.open()
    process.hold(500)
    process.hold(100)
    inner = owner.open()
    process.hold(200)
    process.hold(100)
    other = owner.open()
    owner.close(inner)
    process.hold(300)
    owner.close(outer)
    process.hold(400)
    owner.close(other)

    assert [each.peak for each in (outer, inner, other)] == [500, 200, 400]


def test_a_sample_says_the_most_since_the_sample_before_whoever_looked_between():
    process = Process()
    owner = Watermark(process)
    stretch, other = owner.open(), owner.open()

    process.hold(700)
    process.hold(150)
    owner.sample(other)
    first = owner.sample(stretch)
    second = owner.sample(stretch)

    assert first == Reading(150, 700)
    assert second == Reading(150, 150)


def test_a_watermark_that_cannot_be_set_back_is_exact_when_it_has_risen():
    process = Process(can_set_back=False)
    owner = Watermark(process)

    stretch = owner.open()
    process.hold(300)
    process.hold(100)
    owner.sample(stretch)
    process.hold(200)
    owner.close(stretch)

    assert (stretch.peak, stretch.exact) == (300, True)


def test_a_watermark_that_cannot_be_set_back_and_has_not_risen_gives_a_lower_bound():
    process = Process(can_set_back=False)
    process.hold(1000)
    process.hold(100)
    owner = Watermark(process)

    stretch = owner.open()
    process.hold(300)
    owner.sample(stretch)
    process.hold(900)
    process.hold(100)
    owner.close(stretch)

    assert (stretch.peak, stretch.exact) == (300, False)


@on_linux
@pytest.mark.parametrize("lock_held", [False, True], ids=["lock free", "lock held"])
@pytest.mark.parametrize("milliseconds", [1, 10])
def test_a_short_spike_after_a_higher_one_is_found_within_a_mebibyte(milliseconds, lock_held):
    spike(300 * MIB)

    with measure() as run:
        spike(200 * MIB, milliseconds, lock_held)

    assert run.result.exact
    assert run.result.increment == pytest.approx(200, abs=1)
    assert run.result.peak == pytest.approx(run.result.baseline + run.result.increment)


@on_linux
def test_nested_measurements_of_real_memory_are_each_right():
    with measure() as outer:
        with measure() as first:
            spike(150 * MIB)
        with measure() as second:
            spike(50 * MIB)

    found = [each.result.increment for each in (outer, first, second)]
    assert found == pytest.approx([150, 150, 50], abs=2)


@on_linux
def test_a_measurement_in_another_thread_does_not_take_the_peak_from_this_one():
    def elsewhere():
        for _ in range(20):
            with measure():
                pass

    with measure() as run:
        spike(100 * MIB)
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()

    assert run.result.increment == pytest.approx(100, abs=3)


@on_linux
@pytest.mark.parametrize("error", [errno.EROFS, errno.EACCES])
def test_where_proc_cannot_be_written_the_peak_is_a_bound_and_a_sentence_says_why(
    monkeypatch, error
):
    opened = os.open

    def refuse(path, flags, *rest):
        if path == "/proc/self/clear_refs":
            raise OSError(error, os.strerror(error))
        return opened(path, flags, *rest)

    monkeypatch.setattr(module.os, "open", refuse)
    monkeypatch.setattr(module, "_owner", None)
    monkeypatch.setattr("nbprof.memory.meter.watermark", lambda: Watermark(LinuxStatus()))
    spike(300 * MIB)

    with measure() as run:
        spike(100 * MIB, milliseconds=400)  # long enough to be seen on a busy machine

    result = run.result
    assert not result.exact
    assert 50 < result.increment <= 101
    assert result.text.startswith("peak memory: at least ")
    assert f"Linux would not set its watermark back ({os.strerror(error)}" in result.text


AS_SOMEBODY_ELSE = """
import ctypes, os
import nbprof.display.memory.result_text  # while the program may still be read
from support.memory_spikes import spike
from nbprof.memory import measure
os.setgid(65534)
os.setuid(65534)
ctypes.CDLL(None).prctl(4, {dumpable})  # PR_SET_DUMPABLE, which starting a program sets to 1
spike(300 * 2**20)
with measure() as run:
    spike(200 * 2**20, milliseconds=50)
print(run.result)
"""


@on_linux
@pytest.mark.skipif(getattr(os, "getuid", lambda: 1)() != 0, reason="only root becomes another")
@pytest.mark.parametrize("hidden", [False, True], ids=["plain", "without the right"])
def test_as_another_user_the_peak_is_exact_or_the_report_says_why_not(hidden):
    done = in_a_process(AS_SOMEBODY_ELSE.format(dumpable=int(not hidden)))

    assert not done.stderr, done.stderr
    assert done.stdout.startswith("peak memory: at least " if hidden else "peak memory: 2")
    assert ("would not set its watermark back" in done.stdout) == hidden


FORKED = """
import os
from support.memory_spikes import MIB, spike
from nbprof.memory import measure
with measure():
    pass
child = os.fork()
if child == 0:
    with measure() as run:
        spike(50 * MIB)
    print(run.result.increment, flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


@on_linux
def test_a_forked_process_has_a_watermark_of_its_own():
    done = in_a_process(FORKED)

    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(50, abs=2)


def test_there_is_no_result_before_the_block_has_ended():
    with measure() as run, pytest.raises(NbprofError, match="has not ended"):
        _ = run.result


def test_the_curve_has_the_exact_peak_and_its_gaps(monkeypatch):
    with measure(interval=0.005) as run:
        spike(60 * MIB, milliseconds=120, lock_held=True)

    samples = run.result.samples
    assert samples["peak_bytes"].max() == run.result.frame["peak_bytes"][0]
    assert samples["gap"].any()
    assert samples["seconds"].is_monotonic_increasing


LOOKED_AT_BESIDE_ASYNCIO = """
import asyncio
from nbprof.memory.retained import held

async def waits(future):
    await future

async def main():
    futures = [asyncio.get_running_loop().create_future() for _ in range(50)]
    tasks = [asyncio.create_task(waits(future)) for future in futures]
    await asyncio.sleep(0.01)
    for future in futures:
        future.set_result(1)
    await asyncio.gather(*tasks)
    held()
    for _ in range(50):
        await asyncio.gather(*[asyncio.create_task(asyncio.sleep(0)) for _ in range(10)])
        await asyncio.ensure_future(asyncio.sleep(0))

for _ in range(3):
    asyncio.run(main())
print("alive")
"""


def test_looking_at_all_objects_leaves_asyncio_alive():
    done = in_a_process(LOOKED_AT_BESIDE_ASYNCIO)

    assert done.stdout.strip() == "alive", done.stderr
