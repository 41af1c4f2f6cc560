"""Sites of allocations: the user's line that each belongs to."""

import subprocess
import threading

import numpy as np
import pytest

from nbprof.capture.python.allocation_log import PACKAGE, AllocationLog
from nbprof.ingest.trace.allocation_sites import site_table

CELL = "/tmp/ipykernel_7/123.py"
LIBRARY, THREADS = subprocess.__file__, threading.__file__
OURS, WATCHER = f"{PACKAGE}/run.py", f"{PACKAGE}/capture/dispatch.py"


def sites(*tracebacks, frames=10):
    """Return the sites of allocations with these tracebacks, innermost first, of 100 bytes each."""
    sizes = np.full(len(tracebacks), 100.0)
    log = AllocationLog(
        tracebacks=tracebacks,
        frames=frames,
        left_bytes=sizes,
        left_count=sizes / 100,
        peak_bytes=2 * sizes,
        before_bytes=np.full(len(tracebacks), np.nan),
    )
    return site_table(log, {CELL: "In [3]"})


def places(*tracebacks, frames=10):
    table = sites(*tracebacks, frames=frames)
    return list(zip(table["file"], table["line"], table["framework"], strict=True))


def test_an_allocation_belongs_to_the_innermost_line_of_the_users():
    table = sites(((LIBRARY, 8), (LIBRARY, 9), (CELL, 2), (CELL, 5)))

    assert places(((LIBRARY, 8), (CELL, 2), (CELL, 5))) == [("In [3]", 2, False)]
    assert table["inner"].tolist() == [(f"{LIBRARY}:9", f"{LIBRARY}:8")]


def test_allocations_of_one_line_add_up_by_what_it_ran():
    table = sites(((CELL, 2),), ((CELL, 2), ("train.py", 7)), ((LIBRARY, 8), (CELL, 2)))

    assert table["inner"].tolist() == [(), (f"{LIBRARY}:8",)]
    assert table["left_bytes"].tolist() == [200, 100]
    assert table["left_count"].tolist() == [2, 1]
    assert table["peak_bytes"].tolist() == [400, 200]
    assert table["before_bytes"].isna().all()


def test_without_a_line_of_the_users_it_is_the_innermost_line():
    assert places(((LIBRARY, 8), (THREADS, 9))) == [(LIBRARY, 8, True)]


@pytest.mark.parametrize(
    "traceback",
    [
        ((OURS, 1), (CELL, 2)),
        ((WATCHER, 1), (CELL, 2)),
        ((THREADS, 9), (OURS, 1), (CELL, 2)),
        ((THREADS, 9), (WATCHER, 1), (THREADS, 3)),
    ],
    ids=["by nbprof", "by a watcher", "for nbprof", "on a thread of nbprof's"],
)
def test_what_nbprof_allocates_is_left_out(traceback):
    assert places(traceback) == []


def test_what_the_cell_allocates_below_nbprofs_frames_counts():
    assert places(((CELL, 2), (OURS, 1)), ((LIBRARY, 8), (WATCHER, 1), (CELL, 3))) == [
        ("In [3]", 2, False),
        ("In [3]", 3, False),
    ]


def test_a_cut_traceback_with_a_watcher_may_be_the_users():
    assert places(((LIBRARY, 8), (WATCHER, 1)), frames=2) == [(LIBRARY, 8, True)]


def test_generated_code_counts_for_the_line_that_runs_it():
    assert places((("<string>", 3), (CELL, 2))) == [("In [3]", 2, False)]
    assert places((("<string>", 3), (THREADS, 9))) == [("<string>", 3, False)]


def test_an_allocation_outside_of_python_has_no_line():
    assert places((("<unknown>", 0),)) == [("<unknown>", 0, True)]


def test_the_function_and_the_source_of_a_line_are_found(tmp_path):
    file = tmp_path / "train.py"
    file.write_text("def step():\n    return [object()]\n\nkept = step()\n", encoding="utf-8")

    table = sites(((str(file), 2),), ((str(file), 4),))

    assert table["function"].tolist() == ["step", "<module>"]
    assert table["source"].tolist() == ["return [object()]", "kept = step()"]


def test_a_file_that_is_no_python_has_no_functions(tmp_path):
    file = tmp_path / "broken.py"
    file.write_text("def step(:\n", encoding="utf-8")

    assert sites(((str(file), 1),))["function"].tolist() == ["<module>"]


def test_without_allocations_there_are_no_sites():
    assert sites().empty
