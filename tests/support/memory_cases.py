"""Shared by tests of memory: a mark for Linux, scripts in other processes, results made by hand."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest
from support.memory_spikes import MIB

from nbprof.memory.namespace import Kind, Name, ObjectMemory
from nbprof.memory.result import LINE, OP, STEP, Mark, MemoryResult, MemoryRun
from nbprof.memory.sampler import Curve

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux resets its watermark")


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


OBJECTS_BEFORE = ObjectMemory(
    (Name("a", "list", 5 * MIB, 5 * MIB, True, 1), Name("b", "dict", 736, 736, True, 2)),
    (Kind("list", 3, 5 * MIB), Kind("dict", 1, 736)),
    resident=100 * MIB,
)
OBJECTS_AFTER = ObjectMemory(
    (
        Name("<x>", "numpy.ndarray", 265.19 * 1024, 3 * MIB, False, 4),
        Name("a", "list", 5 * MIB, 5 * MIB, True, 1),
    ),
    (Kind("numpy.ndarray", 4, 265.19 * 1024), Kind("list", 3, 5 * MIB)),
    resident=103 * MIB,
    rows=1,
)
