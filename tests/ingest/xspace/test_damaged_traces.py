"""Ten thousand damaged traces give a Profile or one NbprofError, within memory and time limits."""

import os
import subprocess
import sys

import pytest
from support import damaged_traces
from support.paths import TOP
from support.xspace_bytes import Unsigned, event, line, plane, space

import nbprof

ROUNDS = 4
"""Number of rounds, each with its own seed."""
PER_ROUND = 2500
"""Damaged traces in a round."""


def start(round_, first, last):
    """Read a part of a round in another process, whose memory can be limited."""
    # Every BLAS thread would reserve address space of its own.
    environment = {
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": f"{TOP}:{TOP / 'tests'}",
    }
    return subprocess.Popen(
        [sys.executable, damaged_traces.__file__, *map(str, (round_, first, last))],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_damaged_traces_are_read_or_refused(round_):
    half = PER_ROUND // 2

    running = [start(round_, first, first + half) for first in (0, half)]

    shown = 0
    for process in running:
        printed, error = process.communicate()
        assert process.returncode == 0, error
        shown += int(printed.split()[0])
    assert 0.2 * PER_ROUND < shown < 0.8 * PER_ROUND


def test_every_kind_of_damage_changes_a_trace():
    chance = damaged_traces.Random(0)
    for whole in damaged_traces.wholes():
        for damage in damaged_traces.ON_BYTES:
            assert any(damage(whole, chance) != whole.data for _ in range(20))
        for damage in damaged_traces.ON_TREES:
            trees = [damaged_traces.copied(whole.tree) for _ in range(20)]
            for fields in trees:
                damage(fields, chance)
            assert any(damaged_traces.written(fields) != whole.data for fields in trees)


# Bugs that the damaged traces found


def test_a_trace_with_gpu_kernels_but_no_host_plane_is_read(tmp_path):
    kernel = event("sgemm", 100, 80_000_000, {"tf_op": "a/MatMul:MatMul"})
    path = tmp_path / "device.xplane.pb"
    path.write_bytes(space(plane("/device:GPU:0", [line(7, "Stream #7(Compute)", 3, [kernel])])))

    (row,) = nbprof.load(path).op().frame.to_dict("records")

    assert (row["name"], row["accelerator_micros"]) == ("MatMul", 80)


def test_an_absurd_start_time_counts_as_missing(tmp_path):
    worker = [event("MatMul:MatMul", 0, 5_000_000, display_name="MatMul")]
    host = plane("/host:CPU", [line(1, "python", 0, worker)])
    task = plane("Task Environment", stats={"profile_start_time": Unsigned(2**64 - 1)})
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(space(host, task))

    (row,) = nbprof.load(path).op().frame.to_dict("records")

    assert row["micros"] == 5
