"""The log lines of TensorFlow's profiler are dropped; nothing else on standard error is."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from nbprof.capture.compat.profiler_log import LOG_LINE, without_profiler_log

OLD = "2026-11-18 10:23:08.437948: {} external/local_tsl/tsl/profiler/lib/{}:104] Started.\n"
ABSL = "{}0000 00:00:1794997405.577361   19668 {}:117] Started.\n"
FROM_THE_PROFILER = ["profiler_session.cc", "save_profile.cc", "cupti_tracer.cc"]
ABSL_BEGINS = "WARNING: All log messages before absl::InitializeLog() is called are written …\n"


@pytest.mark.parametrize("form", [OLD, ABSL], ids=["until 2.20", "absl"])
@pytest.mark.parametrize("file", FROM_THE_PROFILER)
def test_what_the_profiler_reports_is_dropped_and_what_it_warns_of_is_not(form, file):
    assert LOG_LINE.sub(b"", form.format("I", file).encode()) == b""
    for severity in "WEF":
        line = form.format(severity, file).encode()
        assert LOG_LINE.sub(b"", line) == line


@pytest.mark.parametrize("form", [OLD, ABSL], ids=["until 2.20", "absl"])
def test_what_others_log_passes(form):
    line = form.format("I", "executor.cc").encode()

    assert LOG_LINE.sub(b"", line) == line


def test_a_line_is_found_after_a_progress_bar(capfd):
    with without_profiler_log():
        os.write(2, b"\r 50 %" + OLD.format("I", "profiler_session.cc").encode() + b"\r 60 %")

    assert capfd.readouterr().err == "\r 50 %\r 60 %"


def test_all_that_threads_and_children_write_meanwhile_passes_in_order(capfd):
    def write():
        for number in range(500):
            os.write(2, b"mine %d\n" % number)
            os.write(2, ABSL.format("I", "profiler_session.cc").encode())

    with without_profiler_log():
        thread = threading.Thread(target=write)
        thread.start()
        os.write(2, ABSL_BEGINS.encode())
        subprocess.run([sys.executable, "-c", "import os; os.write(2, b'child')"], check=True)
        thread.join()

    seen = capfd.readouterr().err
    assert seen.count("child") == 1
    assert seen.replace("child", "").splitlines() == [f"mine {number}" for number in range(500)]


def test_a_child_that_outlives_the_block_keeps_its_standard_error(capfd):
    script = "import os, sys; sys.stdin.read(); os.write(2, b'later')"
    with without_profiler_log():
        child = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE)

    (passing,) = (thread for thread in threading.enumerate() if thread.name == "nbprof log")
    child.communicate()
    passing.join()
    assert capfd.readouterr().err == "later"


def descriptors():
    return sorted(Path("/proc/self/fd").glob("*")) if sys.platform == "linux" else None


def test_standard_error_is_the_same_afterwards_and_no_descriptor_is_left(capfd):
    before = os.fstat(2).st_ino, descriptors()

    with pytest.raises(ZeroDivisionError), without_profiler_log(), without_profiler_log():
        1 / 0  # noqa: B018

    assert (os.fstat(2).st_ino, descriptors()) == before
    assert not [thread for thread in threading.enumerate() if thread.name == "nbprof log"]


def test_a_process_without_standard_error_needs_no_filter():
    script = (
        "import os; os.close(2)\n"
        "from nbprof.capture.compat.profiler_log import without_profiler_log\n"
        "with without_profiler_log(): print('ran')"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)

    assert done.stdout == b"ran\n"
