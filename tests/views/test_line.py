"""The line view, on tables made by hand."""

import pandas as pd
import pytest
from support.by_hand import node, profile

import nbprof
from nbprof.display import html
from nbprof.display.explorer.payload import whole_payload
from nbprof.errors import NbprofError
from nbprof.views.report import report_of

COLUMNS = ("file", "line", "function", "hits", "self_ns", "called", "calls", "source")
LINES = (
    ("/x/helpers.py", 7, "scale", 4, 300_000.0, "", 0, "    return 2 * x | 1"),
    ("In [2]", 1, "<module>", 1, 1_000.0, "", 0, "total = 0"),
    ("In [2]", 2, "<module>", 5, 9_000.0, "", 0, "for x in range(4):"),
    ("In [2]", 3, "<module>", 4, 100_000.0, "", 0, "    total += scale(x)"),
    ("In [2]", 3, "<module>", 0, 400_000.0, "/x/helpers.py:6(scale)", 4, ""),
    ("In [2]", 4, "<module>", 0, 0.0, "", 0, "    never()"),
    ("In [2]", 10, "<module>", 1, 0.0, "", 0, "def f(): return 1"),
    ("In [2]", 10, "f", 2, 50_000.0, "", 0, "def f(): return 1"),
)
STACK = (("In [2]", 3, "<module>"), ("/site-packages/keras/a.py", 5, "call"))
HELPER = (("In [2]", 3, "<module>"), ("/x/other.py", 8, "apply"))


def watched(made, *needs):
    recording = type(made.recording)(**{**vars(made.recording), "watched": needs})
    lines = pd.DataFrame(LINES, columns=COLUMNS).astype({"called": object})
    return made.with_values(lines=lines, recording=recording)


@pytest.fixture
def counted():
    return watched(profile(), "samples", "lines")


@pytest.fixture
def with_ops():
    made = profile(
        node("a", "MatMul", micros=30, runs=3, size=64, stack=STACK),
        node("b", "Relu", micros=20, stack=HELPER),
        node("c", "Cast", micros=5),
    )
    return watched(made, "ops", "samples", "lines")


def row(frame, name):
    return frame[frame["name"] == name].iloc[0]


def test_lines_stand_below_their_file_in_their_order(counted):
    frame = counted.line().frame

    assert frame.loc[frame["depth"] == 1, "name"].tolist() == ["In [2]", "helpers.py"]
    lines = frame.loc[frame["parent"] == 1, "name"].tolist()
    assert lines == [f"In [2]:{number}" for number in (1, 2, 3, 4, 10)]


def test_a_line_has_hits_own_time_and_the_time_with_what_it_led_to(counted):
    line = row(counted.line().frame, "In [2]:3")

    assert (line["hits"], line["wall_micros"], line["total_wall_micros"]) == (4, 100, 500)
    assert line["hit_micros"] == 125
    assert line["source"] == "    total += scale(x)"


def test_below_a_line_stands_what_it_led_to(counted):
    frame = counted.line().frame

    called = row(frame, "(call) helpers.py:6(scale)")
    assert frame["name"][called["parent"]] == "In [2]:3"
    assert (called["hits"], called["wall_micros"], called["total_wall_micros"]) == (4, 0, 400)


def test_a_line_that_never_ran_has_no_hits_and_no_time_per_hit(counted):
    line = row(counted.line().frame, "In [2]:4")

    assert (line["hits"], line["wall_micros"]) == (0, 0)
    assert pd.isna(line["hit_micros"])


def test_a_line_with_a_function_of_its_own_has_the_hits_of_both(counted):
    assert row(counted.line().frame, "In [2]:10")["hits"] == 3


def test_own_times_and_that_of_the_root_add_up_to_the_wall_time(counted):
    frame = counted.line().frame

    assert frame["wall_micros"].sum() == pytest.approx(2500)
    assert frame["total_wall_micros"][0] == 2500
    assert row(frame, "In [2]")["total_wall_micros"] == 160


def test_lines_are_sorted_by_time_if_asked_for(counted):
    frame = counted.line(order_by="wall_micros").frame

    of_cell = frame.index[frame["name"] == "In [2]"][0]
    assert frame.loc[frame["parent"] == of_cell, "name"].tolist()[0] == "In [2]:3"


def test_the_text_is_the_table_of_pprofile(counted):
    lines = counted.line().text.partition("\nProfile:\n")[2].splitlines()

    assert lines[:3] == [
        "Total duration: 0.0025s",
        "File: In [2]",
        "File duration: 0.00016s (6.40%)",
    ]
    titles = [title.strip() for title in lines[3].split("|")]
    assert titles == ["Line #", "Hits", "Time", "Time per hit", "%", "Source code"]
    cells = [[cell.strip() for cell in line.split("|")] for line in lines[7:9]]
    assert cells == [
        ["3", "4", "0.0005", "0.000125", "20.00%", "total += scale(x)"],
        ["(call)", "4", "0.0004", "0.0001", "16.00%", "# helpers.py:6 scale"],
    ]


@pytest.mark.parametrize("select", ["hits,wall_micros,hit_micros", "hits", "wall_micros"])
def test_the_text_is_read_back(counted, select):
    shown = counted.line(select=select)

    again = nbprof.parse_text(shown.text)

    assert again.name == "line"
    pd.testing.assert_frame_equal(again.frame, shown.frame, check_dtype=False)


def test_a_damaged_text_is_refused(counted):
    damaged = counted.line().text.replace("|", ";", 30)

    with pytest.raises(NbprofError, match="table of the line view on line"):
        nbprof.parse_text(damaged)


def test_ops_stand_beside_the_innermost_line_of_the_users(with_ops):
    frame = with_ops.line(select="hits,micros,bytes,occurrence").frame

    line = row(frame, "In [2]:3")
    assert (line["hits"], line["micros"], line["bytes"], line["run_count"]) == (4, 30, 64, 3)
    assert row(frame, "other.py:8")["micros"] == 20
    assert pd.isna(row(frame, "other.py:8")["hits"])
    assert row(frame, "no Python line known")["micros"] == 5


@pytest.mark.parametrize("metric", ["micros", "bytes", "run_count"])
def test_the_ops_of_all_lines_add_up_to_the_op_view(with_ops, metric):
    options = {"select": "micros,bytes,occurrence"}

    frame = with_ops.line(**options).frame

    assert frame[metric].sum() == with_ops.op(**options).frame[metric].sum()
    assert frame[f"total_{metric}"][0] == frame[metric].sum()


def test_a_text_with_ops_is_read_back(with_ops):
    shown = with_ops.line(select="hits,wall_micros,micros,occurrence")

    again = nbprof.parse_text(shown.text)

    pd.testing.assert_frame_equal(again.frame, shown.frame, check_dtype=False)


def test_every_face_has_the_rows(counted, tmp_path):
    shown = counted.line()
    described = whole_payload(report_of(shown)).described
    shown.to_csv(tmp_path / "x.csv")
    shown.to_json(tmp_path / "x.json")

    assert "total += scale(x)" in html.report(shown)
    assert "line" in [packed["name"] for packed in described["views"]]
    assert "In [2]:3" in (tmp_path / "x.csv").read_text(encoding="utf-8")
    assert "In [2]:3" in (tmp_path / "x.json").read_text(encoding="utf-8")


def test_the_table_survives_saving_and_loading(counted, tmp_path):
    counted.save(tmp_path / "x.nbprof")

    assert nbprof.load(tmp_path / "x.nbprof").line().text == counted.line().text


def test_times_that_were_not_recorded_are_unknown(counted):
    untimed = counted.with_values(lines=counted.lines.assign(self_ns=float("nan")))

    line = row(untimed.line().frame, "In [2]:1")

    assert line["hits"] == 1
    assert pd.isna(line["wall_micros"])


def test_without_counted_lines_the_view_says_what_counts_them():
    with pytest.raises(NbprofError, match="profile the cell with %%pyprof line"):
        profile().line()
