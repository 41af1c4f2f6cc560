"""The call view: whose Python had the cell's time, and the ops below the calls that ran them."""

import math
from dataclasses import replace

import pandas as pd
import pytest
from support.by_hand import node, profile

from nbprof.view_kinds import VIEWS

pytestmark = pytest.mark.core("reports")

SITE = "/usr/lib/python3/site-packages"
CELL = ("In [3]", 4, "<module>")
LOOP = ("In [3]", 7, "<module>")
STEP = ("In [2]", 9, "step")
FIT = (f"{SITE}/keras/src/trainer.py", 300, "fit")
HANDLER = (f"{SITE}/keras/src/utils/traceback_utils.py", 117, "error_handler")
BATCH = (f"{SITE}/keras/src/trainer.py", 80, "one_step")
DEEPER = ("", 0, "calls around the innermost 256 frames")
MS = 1_000_000
OUTSIDE = "outside the cell's statements"


def sample_table(samples, stacks):
    """List samples, given as (end in ms, stack[, thread[, ms that the interpreter was held]])."""
    listed, last = [], {}
    for end, stack, *more in samples:
        thread, held = (*more, *(0, 0)[len(more) :])
        start = last.get(thread, 0)
        last[thread] = end
        times = (round(ms * MS) for ms in (start, end - start, held))
        listed.append((*times, thread, stacks.index(stack)))
    columns = ["start_ns", "duration_ns", "held_ns", "thread", "stack"]
    return pd.DataFrame(listed, columns=columns, dtype="int64")


def call_table(calls, stacks):
    """List calls, given as (start, end, op, stack[, thread[, recorded until]])."""
    listed = []
    for start, end, what, stack, *more in calls:
        thread, until = (*more, *(0, end)[len(more) :])
        times = (round(ms * MS) for ms in (start, end, until - end))
        listed.append((*times, thread, what, stacks.index(stack)))
    columns = ["start_ns", "end_ns", "watch_ns", "thread", "what", "stack"]
    return pd.DataFrame(listed, columns=columns)


def frame_table(stacks):
    frames = [(number, *frame) for number, stack in enumerate(stacks) for frame in stack]
    frames = [(*frame, f"line {frame[2]}", "site-packages" in frame[1]) for frame in frames]
    columns = ["stack", "file", "line", "function", "source", "framework"]
    return pd.DataFrame(frames, columns=columns).astype({"framework": bool})


def cell(*nodes, samples=(), calls=(), runs=(), threads=("",), watched=("ops", "samples")):
    """Make the profile of a cell of 10 ms; `runs` has the call of each op run."""
    made = profile(*nodes, steps=2)
    stacks = list(dict.fromkeys([*(one[1] for one in samples), *(one[3] for one in calls)]))
    return made.with_values(
        events=made.events.assign(call=list(runs) or -1),
        frames=frame_table(stacks),
        samples_of_python=sample_table(samples, stacks),
        threads_of_python=pd.DataFrame({"name": list(threads)}),
        dispatches=call_table(calls, stacks),
        recording=replace(made.recording, wall_ns=10 * MS, watched=watched),
    )


def rows(view, *columns):
    """Map the path of each row to its numbers."""
    frame, paths, found = view.frame, {-1: ()}, {}
    for row, (name, parent) in enumerate(zip(frame["name"], frame["parent"], strict=True)):
        paths[row] = (*paths[parent], name) if row else ()
        numbers = tuple(frame[column].iloc[row] for column in columns)
        found[paths[row]] = numbers[0] if len(numbers) == 1 else numbers
    return found


MODULE, LOOPS = "In [3]:4:<module>", "In [3]:7:<module>"


def python(*samples, **more):
    return cell(samples=samples, watched=("samples",), **more)


def test_lines_stand_below_the_lines_that_called_them_and_add_up_to_the_wall_time():
    shown = python((4, (CELL, STEP)), (6, (CELL,)), (10, (LOOP,))).call()

    assert rows(shown, "wall_micros", "total_wall_micros") == {
        (): (pytest.approx(math.nan, nan_ok=True), 10_000),
        (MODULE,): (2000, 6000),
        (MODULE, "In [2]:9:step"): (4000, 4000),
        (LOOPS,): (4000, 4000),
    }


def test_without_tensorflow_only_columns_of_python_are_shown():
    assert [column.name for column in python((10, (CELL,))).call().columns] == ["wall_micros"]


def test_library_frames_are_one_row_named_after_what_the_line_calls():
    shown = python((10, (CELL, HANDLER, FIT, BATCH))).call()

    assert list(rows(shown, "wall_micros"))[1:] == [(MODULE,), (MODULE, "keras: fit")]


def test_a_decorator_alone_is_part_of_the_line():
    assert rows(python((10, (CELL, HANDLER))).call(), "wall_micros")[(MODULE,)] == 10_000


def test_lines_that_a_package_calls_back_stand_below_it():
    shown = python((10, (CELL, FIT, STEP))).call()

    assert (MODULE, "keras: fit", "In [2]:9:step") in rows(shown, "wall_micros")


def test_all_frames_show_on_request():
    shown = python((10, (CELL, HANDLER, FIT))).call(frames="all")

    assert (MODULE, "traceback_utils.py:117:error_handler", "trainer.py:300:fit") in rows(
        shown, "wall_micros"
    )


def test_what_starts_the_users_code_is_left_out():
    runpy = ("<frozen runpy>", 88, "_run_code")
    made = python((10, (runpy, CELL)))
    frames = made.frames.assign(framework=made.frames["file"] == runpy[0])

    shown = made.with_values(frames=frames).call()

    assert list(rows(shown, "wall_micros")) == [(), (MODULE,)]


def test_a_recursive_function_nests_as_deep_as_asked():
    made = python((10, (CELL, *[STEP] * 30)))

    assert len(made.call().frame) == 32
    assert len(made.call(max_depth=4).frame) == 4


def test_frames_beyond_the_deepest_have_a_row_that_says_so():
    shown = python((10, (DEEPER, STEP))).call()

    assert ("calls around the innermost 256 frames", "In [2]:9:step") in rows(shown, "wall_micros")


def test_time_in_which_no_code_of_the_cell_ran_has_a_row():
    assert rows(python((8, (CELL,)), (10, ())).call(), "wall_micros")[(OUTSIDE,)] == 2000


def test_time_in_nothing_but_a_decorator_is_outside_the_statements():
    assert rows(python((10, (HANDLER,))).call(), "wall_micros")[(OUTSIDE,)] == 10_000


def test_a_cell_without_samples_says_so():
    assert rows(python().call(), "wall_micros")[("no sample taken",)] == 10_000


# What samples cannot see


def notes_of(*samples):
    return [note for note in python(*samples).call().notes if "C call" in note]


def test_a_c_call_that_held_the_interpreter_is_noted_with_its_line():
    assert notes_of((9, (CELL,), 0, 8), (10, (LOOP,))) == [
        "8 ms in 1 C call that held the interpreter (In [3]:4): what happened inside it cannot "
        "be sampled"
    ]


def test_several_c_calls_are_added_up_and_the_line_with_most_comes_first():
    (note,) = notes_of((1, (CELL,), 0, 1), (5, (LOOP, FIT), 0, 4), (10, (CELL,), 0, 1))

    assert note.startswith("6 ms in 3 C calls that held the interpreter (In [3]:7, In [3]:4):")


def test_c_calls_of_no_importance_are_not_noted():
    assert notes_of((9.95, (CELL,)), (10, (CELL,), 0, 0.05)) == []


# Other threads

POOL = {"threads": ("", "loader"), "watched": ("samples", "threads")}


def test_another_thread_has_a_row_of_its_own_that_is_no_part_of_the_wall_time():
    shown = cell(samples=[(10, (CELL,)), (10, (STEP,), 1)], **POOL).call()

    assert rows(shown, "total_wall_micros", "total_thread_micros") == {
        (): (10_000, 10_000),
        (MODULE,): (10_000, 0),
        ("thread loader",): (0, 10_000),
        ("thread loader", "In [2]:9:step"): (0, 10_000),
    }


def test_time_of_threads_that_were_not_sampled_is_not_known_and_a_note_says_how_to_know_it():
    shown = python((10, (CELL,))).call(select="thread_micros")

    assert shown.frame["total_thread_micros"].isna().all()
    assert any("-threads samples the others" in note for note in shown.notes)


# Ops below the calls that ran them

ADD = node("Add", "AddV2", micros=5, size=8)
CONV = node("model/conv", "Conv2D", micros=700, runs=3, step=1)


def joined(**options):
    """A loop that calls an op, then a fit that runs a function."""
    made = cell(
        ADD,
        CONV,
        samples=[(10, (CELL,))],
        calls=[(1, 2, "AddV2", (LOOP, STEP)), (4, 9, "train", (CELL, FIT), 0, 9.5)],
        runs=[0, 1, 1, 1],
    )
    return made.call(**options)


def test_an_eager_op_is_in_the_row_of_its_call_and_graph_ops_are_below_that_of_the_function():
    found = rows(joined(), "wall_micros", "micros", "run_count")

    assert found[(LOOPS, "In [2]:9:step", "» AddV2")] == (1000, 5, 1)
    assert found[(MODULE, "keras: fit", "» train")] == (5000, 0, 0)
    assert found[(MODULE, "keras: fit", "» train", "Conv2D")] == (0, 700, 3)


def test_the_python_before_a_call_belongs_to_what_makes_it():
    found = rows(joined(), "wall_micros")

    assert found[(LOOPS, "In [2]:9:step")] == 1000
    assert found[(MODULE, "keras: fit")] == 2000


def test_watching_calls_has_a_row_of_its_own():
    assert rows(joined(), "wall_micros")[("nbprof: watching calls into TensorFlow",)] == 500


def test_wall_time_and_op_time_add_up_to_those_of_the_cell():
    frame = joined().frame

    assert frame["total_wall_micros"][0] == frame["wall_micros"].sum() == 10_000
    assert frame["total_micros"][0] == frame["micros"].sum() == 705


def test_op_types_can_be_chosen():
    frame = joined(account_type_regexes="Conv2D").frame

    assert (frame["total_wall_micros"][0], frame["total_micros"][0]) == (10_000, 700)


def test_ops_without_a_call_are_kept_apart():
    made = cell(ADD, samples=[(10, (CELL,))], runs=[-1])

    assert rows(made.call(), "micros")[("no Python line known",)] == 5


def test_ops_that_another_thread_called_stand_below_its_row():
    made = cell(
        ADD,
        samples=[(10, (CELL,))],
        calls=[(1, 2, "AddV2", (STEP,), 1)],
        runs=[0],
        threads=("", "loader"),
    )

    found = rows(made.call(), "wall_micros", "micros")
    assert found[("thread loader", "In [2]:9:step", "» AddV2")] == (0, 5)
    assert found[(MODULE,)] == (10_000, 0)


def test_a_step_has_the_wall_time_between_its_start_and_its_end():
    made = cell(samples=[(4, (CELL,)), (10, (LOOP,))])
    steps = made.steps.assign(start_micros=[0.0, 3000.0], micros=[1000.0, 5000.0])
    made = made.with_values(steps=steps)

    assert rows(made.call(step=1), "wall_micros") == pytest.approx(
        {(): math.nan, (MODULE,): 1000, (LOOPS,): 4000}, nan_ok=True
    )
    assert made.call(step=-1).frame["total_wall_micros"][0] == 3000


def test_a_profile_from_before_there_were_calls_has_the_samples_alone():
    made = cell(ADD, samples=[(10, (CELL,))])
    old = made.with_values(
        events=made.events.drop(columns="call"),
        samples_of_python=made.samples_of_python.drop(columns="held_ns"),
        threads_of_python=made.threads_of_python[:0],
    )

    assert rows(old.call(), "wall_micros")[(MODULE,)] == 10_000


def test_the_view_shows_time_first():
    assert VIEWS["call"].order_by == "wall_micros"
    assert [column.name for column in joined().columns if not column.brings][:1] == ["wall_micros"]
