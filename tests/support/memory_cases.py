"""Shared by tests of memory: marks, scripts in other processes, results made by hand."""

import functools
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support.memory_spikes import MIB

from nbprof.memory.namespace import Kind, Name, ObjectMemory
from nbprof.memory.result import LINE, OP, STEP, Mark, MemoryResult, MemoryRun
from nbprof.memory.sampler import Curve

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux resets its watermark")


def of_this_process(test):
    """Run a test of this process' resident memory, on Linux.

    Linux may take away pages of files (libraries, cold code) at any moment, which looks like freed
    memory. The test runs again if it failed while that happened, and only then.
    """

    @functools.wraps(test)
    def run_undisturbed(*args, **kwargs):
        for _ in range(20):
            before = _resident_mib()
            try:
                return test(*args, **kwargs)
            except AssertionError as error:
                after = _resident_mib()
                error.add_note(f"resident MiB before and after the test: {before}, {after}")
                if before["RssFile"] - after["RssFile"] < 0.5:
                    raise
        raise AssertionError("Linux took pages away in each of twenty runs of this test")

    return on_linux(run_undisturbed)


def _resident_mib():
    status = Path("/proc/self/status").read_text()
    return {name: int(size) / 1024 for name, size in re.findall(r"(Rss\w+):\s+(\d+) kB", status)}


def run_script(script):
    """Run a script in a process of its own that imports what the tests import."""
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )


def result_by_hand(**changes):
    """Make a result of one run with four samples, a gap and two statements."""
    curve = Curve()
    for seconds, resident, most in (
        (0, 100, 100),
        (0.01, 150, 160),
        (0.2, 110, 300),
        (0.21, 90, 110),
    ):
        curve.add(seconds, resident * MIB, most * MIB, 0.01 if seconds else 0)
    run = MemoryRun(
        before=100 * MIB,
        peak=300 * MIB,
        after=90 * MIB,
        exact=True,
        seconds=0.21,
        kept=12.5 * MIB,
        curve=curve,
        marks=(Mark(0.0, LINE, 2), Mark(0.01, LINE, 3)),
    )
    return MemoryResult((run,), **changes)


def marked_by_hand():
    """Make the same result with steps and an op."""
    (run,) = result_by_hand().runs
    marks = (
        *run.marks,
        Mark(0.02, STEP, 0, "<f>", end=0.19),
        Mark(0.03, OP, name="MatMul", op_type="MatMul", end=0.18, bytes=200 * MIB),
        Mark(0.195, STEP, 1, "session"),
    )
    return MemoryResult((replace(run, marks=marks),))


A_LIST, A_DICT = Kind("list", 3, 5 * MIB), Kind("dict", 1, 736)
SOME_ARRAYS = Kind("numpy.ndarray", 4, 265.19 * 1024)
HELD_BEFORE = Name("a", "list", 5 * MIB, 5 * MIB, True, 1, kinds=(A_LIST,))
OBJECTS_BEFORE = ObjectMemory(
    (HELD_BEFORE, Name("b", "dict", 736, 736, True, 2, kinds=(A_DICT,))),
    (A_LIST, A_DICT),
    resident=100 * MIB,
)
OBJECTS_AFTER = ObjectMemory(
    (
        Name("<x>", "numpy.ndarray", 265.19 * 1024, 3 * MIB, False, 4, kinds=(SOME_ARRAYS,)),
        HELD_BEFORE,
    ),
    (SOME_ARRAYS, A_LIST),
    resident=103 * MIB,
    rows=1,
)
