"""`%%pyprof call` in a shell: the tree of what the cell ran, whatever the cell does."""

import sys

import pytest
from support.front_ends import shell_with_nbprof

import nbprof

pytestmark = [pytest.mark.core("magics"), pytest.mark.notebook]

FUNCTIONS = """
import asyncio, signal, threading, time

def naps(seconds=0.05):
    time.sleep(seconds)

def down(levels):
    return down(levels - 1) if levels else naps()

def yields(count):
    for number in range(count):
        naps(0.01)
        yield number

async def awaits():
    naps()
    await asyncio.sleep(0)
"""


@pytest.fixture
def run():
    with shell_with_nbprof(FUNCTIONS) as run:
        yield run


def tree(column="total_wall_micros"):
    """Map the path of each row of the last profile to a number."""
    frame, paths, found = nbprof.last().call().frame, {-1: ()}, {}
    for row, (name, parent) in enumerate(zip(frame["name"], frame["parent"], strict=True)):
        paths[row] = (*paths[parent], name.partition(":")[2] if row else "")
        found[paths[row][1:]] = frame[column].iloc[row]
    return found


def functions():
    """Return the functions of all rows."""
    return {name.rpartition(":")[2] for name in nbprof.last().call().frame["name"]}


def test_the_root_has_the_cells_wall_time_and_own_times_add_up_to_it(run):
    run("%%pyprof call\nnaps()\ndown(3)")

    frame = nbprof.last().call().frame
    wall = nbprof.last().recording.wall_ns / 1e3
    assert frame["total_wall_micros"][0] == pytest.approx(wall, abs=1)
    assert frame["wall_micros"].sum() == pytest.approx(wall, abs=1)


def test_lines_are_numbered_as_on_the_screen(run):
    run("%%pyprof\n\nnaps()")

    assert any(path[0].startswith("3:<module>") for path in tree() if path)


def test_no_tensorflow_is_imported(run):
    known = set(sys.modules)
    run("%%pyprof\nnaps()")

    assert "tensorflow" not in set(sys.modules) - known


def test_the_value_of_the_cell_is_kept(run):
    assert run("%%pyprof -q\nnaps()\n'value'").value == "'value'"


def test_a_recursive_function_nests(run):
    run("%%pyprof -q\ndown(5)")

    deepest = max(tree(), key=len)
    assert [part.partition(":")[2] for part in deepest] == ["<module>", *["down"] * 6, "naps"]


def test_what_a_generator_does_stands_below_the_line_that_asks_it(run):
    run("%%pyprof -q\nfor number in yields(5):\n    pass")

    assert any(
        [part.partition(":")[2] for part in path] == ["<module>", "yields", "naps"]
        for path in tree()
    )


def test_a_coroutine_that_the_cell_runs_is_seen(run):
    run("%%pyprof -q\nawaits().send(None)")

    assert "awaits" in functions()


def test_a_top_level_await_is_refused_and_nothing_runs(run):
    outcome = run("%%pyprof call\nran = True\nawait awaits()")

    assert "%%pyprof cannot run a top-level await" in outcome.traceback
    assert run("ran").error == "NameError"


def test_an_exception_ends_the_cell_after_the_report_of_what_ran(run):
    outcome = run("%%pyprof call\nnaps()\n1 / 0")

    assert outcome.error == "ZeroDivisionError"
    assert "naps" in outcome.report
    assert not outcome.of_nbprof


def test_an_interrupt_ends_the_cell_after_the_report_of_what_ran(run):
    outcome = run("%%pyprof call\nnaps()\nsignal.raise_signal(signal.SIGINT)")

    assert outcome.error == "KeyboardInterrupt"
    assert "naps" in outcome.report


THREADS = "worker = threading.Thread(target=naps, name='loader')\nworker.start()\nworker.join()"


def test_threads_show_on_request_and_are_no_part_of_the_wall_time(run):
    run(f"%%pyprof call -threads -q\n{THREADS}")

    profile = nbprof.last()
    frame = profile.call().frame.set_index("name")
    assert frame["total_thread_micros"]["thread loader"] > 0
    assert frame["total_wall_micros"]["thread loader"] == 0
    assert frame["total_wall_micros"].iloc[0] == pytest.approx(
        profile.recording.wall_ns / 1e3, abs=1
    )


def test_threads_do_not_show_unasked(run):
    run(f"%%pyprof call -q\n{THREADS}")

    assert not [name for name in nbprof.last().call().frame["name"] if name.startswith("thread ")]


def test_threads_are_refused_where_no_cell_runs(run):
    run("%%pyprof -q\nnaps()")

    assert "-threads is for profiling a cell" in run("%pyprof call -threads").traceback


def test_the_last_profile_can_be_looked_at_again(run):
    run("%%pyprof -q\nnaps()")

    assert "naps" in run("%pyprof call -max_depth 5").report
