"""The watermark has one owner: nested peaks are right, and lower bounds are reported as such."""

import errno
import os
import re

import pytest
from support.memory_cases import on_linux, run_script
from support.memory_spikes import MIB, spike

from nbprof.memory import measure
from nbprof.memory import watermark as module
from nbprof.memory.watermark import LinuxStatus, Reading, Watermark


class FakeProcess:
    """A process whose memory the test sets, and which remembers its peak."""

    def __init__(self, held=100, can_reset=True):
        self.shortcoming = None if can_reset else "it cannot be reset."
        self.most = held
        self.held = held

    def hold(self, size):
        self.held = size
        self.most = max(self.most, size)

    def read(self):
        return Reading(self.held, self.most)

    def reset(self):
        if self.shortcoming is None:
            self.most = self.held


def test_a_peak_between_two_readings_is_found_after_a_higher_earlier_one():
    process = FakeProcess()
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
    process = FakeProcess()
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


def test_a_sample_has_the_peak_since_the_last_one_even_if_others_read_in_between():
    process = FakeProcess()
    owner = Watermark(process)
    stretch, other = owner.open(), owner.open()

    process.hold(700)
    process.hold(150)
    owner.sample(other)
    first = owner.sample(stretch)
    second = owner.sample(stretch)

    assert first == Reading(150, 700)
    assert second == Reading(150, 150)


def test_without_a_reset_a_peak_that_is_a_new_high_is_exact():
    process = FakeProcess(can_reset=False)
    owner = Watermark(process)

    stretch = owner.open()
    process.hold(300)
    process.hold(100)
    owner.sample(stretch)
    process.hold(200)
    owner.close(stretch)

    assert (stretch.peak, stretch.exact) == (300, True)


def test_without_a_reset_a_peak_below_an_earlier_one_is_a_lower_bound():
    process = FakeProcess(can_reset=False)
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
@pytest.mark.parametrize("error", [errno.EROFS, errno.EACCES])
def test_if_proc_is_not_writable_the_peak_is_a_lower_bound_and_the_report_says_why(
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
        held_to_the_end = bytearray(100 * MIB)
    del held_to_the_end

    result = run.result
    assert not result.exact
    assert result.increment == pytest.approx(100, abs=2)
    assert result.text.startswith("peak memory: at least ")
    assert f"Linux refused to reset the watermark ({os.strerror(error)}" in result.text


AS_ANOTHER_USER = """
import ctypes, os
import nbprof.display.memory.result_report  # while the files can still be read
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
@pytest.mark.skipif(
    getattr(os, "getuid", lambda: 1)() != 0, reason="only root can become another user"
)
@pytest.mark.parametrize("dumpable", [True, False], ids=["allowed", "not allowed"])
def test_as_another_user_the_peak_is_exact_or_the_report_says_why_not(dumpable):
    done = run_script(AS_ANOTHER_USER.format(dumpable=int(dumpable)))

    assert not done.stderr, done.stderr
    assert bool(re.search(r"increment: (199\.|20[01]\.)", done.stdout)) == dumpable
    assert done.stdout.startswith("peak memory: at least ") != dumpable
    assert ("refused to reset the watermark" in done.stdout) != dumpable


FORKED = """
import os
import re
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
    done = run_script(FORKED)

    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(50, abs=2)
