"""The function view, on tables made by hand."""

import math

import pandas as pd
import pytest
from support.by_hand import profile

import nbprof
from nbprof.display import html
from nbprof.display.explorer.payload import whole_payload
from nbprof.errors import NbprofError
from nbprof.views.report import report_of

COLUMNS = ("calls", "primitive_calls", "self_ns", "total_ns")
FUNCTIONS = (
    # file, line, function, framework, then COLUMNS
    ("In [2]", 1, "<module>", False, 1, 1, 100_000, 2_000_000),
    ("In [1]", 3, "fib", False, 120, 1, 900_000, 1_400_000),
    ("~", 0, "<built-in method builtins.len>", True, 300, 300, 500_000, 500_000),
    ("/a/train.py", 9, "step", False, 2, 2, 0, 0),
    ("/b/train.py", 9, "step", False, 3, 3, 0, 0),
)
CALLS = (
    # caller, function, then COLUMNS
    (0, 1, 1, 1, 10_000, 1_400_000),
    (1, 1, 119, 2, 890_000, 890_000),
    (1, 2, 200, 200, 400_000, 400_000),
    (0, 2, 100, 100, 100_000, 100_000),
)


@pytest.fixture
def counted():
    made = profile()
    recording = made.recording
    return made.with_values(
        functions=pd.DataFrame(
            FUNCTIONS, columns=["file", "line", "function", "framework", *COLUMNS]
        ),
        calls=pd.DataFrame(CALLS, columns=["caller", "function", *COLUMNS]),
        recording=type(recording)(**{**vars(recording), "watched": ("samples", "calls")}),
    )


def rows(frame, depth):
    return frame.loc[frame["depth"] == depth, "name"].tolist()


def test_a_row_has_own_and_cumulative_time_and_calls(counted):
    frame = counted.function().frame

    fib = frame[frame["name"] == "In [1]:3(fib)"].iloc[0]
    assert (fib["wall_micros"], fib["total_wall_micros"]) == (900, 1400)
    assert (fib["calls"], fib["primitive_calls"], fib["total_calls"]) == (120, 1, 120)


def test_below_a_function_stand_its_callers_with_what_it_took_from_there(counted):
    frame = counted.function().frame

    place = frame.index[frame["name"] == "{built-in method builtins.len}"][0]
    below = frame[frame["parent"] == place]
    assert below["name"].tolist() == ["<- In [1]:3(fib)", "<- In [2]:1(<module>)"]
    assert below["calls"].tolist() == [200, 100]
    assert below["total_wall_micros"].tolist() == [400, 100]


def test_the_root_has_the_wall_time_and_what_no_function_took(counted):
    root = counted.function().frame.iloc[0]

    assert root["total_wall_micros"] == 2500
    assert root["wall_micros"] == 2500 - 1500
    assert (root["total_calls"], root["total_primitive_calls"]) == (426, 307)


def test_own_values_of_functions_and_root_add_up_to_the_wall_time(counted):
    frame = counted.function().frame

    assert frame.loc[frame["depth"] <= 1, "wall_micros"].sum() == 2500


def test_rows_are_sorted_by_own_time_unless_the_total_is_asked_for(counted):
    by_own = rows(counted.function().frame, 1)
    by_total = rows(counted.function(order_by="total_wall_micros").frame, 1)
    by_calls = rows(counted.function(order_by="calls").frame, 1)

    assert by_own[:2] == ["In [1]:3(fib)", "{built-in method builtins.len}"]
    assert by_total[:2] == ["In [2]:1(<module>)", "In [1]:3(fib)"]
    assert by_calls[0] == "{built-in method builtins.len}"


def test_functions_whose_short_names_are_alike_keep_their_folders(counted):
    names = rows(counted.function().frame, 1)

    assert {"/a/train.py:9(step)", "/b/train.py:9(step)"} <= set(names)


def test_the_text_is_the_table_of_pstats(counted):
    text = counted.function().text

    legend, root, first, *_ = text.partition("\nProfile:\n")[2].splitlines()
    titles = "ncalls tottime percall cumtime percall filename:lineno(function)"
    assert legend.split() == titles.split()
    assert root.split() == [
        "426/307",
        "0.001000",
        "0.000002",
        "0.002500",
        "0.000008",
        "_TFProfRoot",
    ]
    assert first.split() == [
        "120/1",
        "0.000900",
        "0.000008",
        "0.001400",
        "0.001400",
        "In",
        "[1]:3(fib)",
    ]
    assert text.count("Profile:") == 1


@pytest.mark.parametrize("select", ["wall_micros,calls", "wall_micros", "calls"])
def test_the_text_is_read_back(counted, select):
    shown = counted.function(select=select)

    again = nbprof.parse_text(shown.text)

    assert again.name == "function"
    pd.testing.assert_frame_equal(again.frame, shown.frame, check_dtype=False)
    assert again.text.partition("Profile:")[2] == shown.text.partition("Profile:")[2]


def test_a_damaged_text_is_refused_with_the_line(counted):
    damaged = counted.function().text.replace("120/1", "a few")

    with pytest.raises(NbprofError, match=r"table of the function view on line \d+ cannot be read"):
        nbprof.parse_text(damaged)


def test_rows_are_filtered_by_name_depth_and_minimum(counted):
    assert rows(counted.function(max_depth=2).frame, 2) == []
    assert rows(counted.function(show_name_regexes=".*fib.*").frame, 1) == [
        "In [1]:3(fib)",
        "<- In [1]:3(fib)",
    ]
    assert "In [1]:3(fib)" not in rows(counted.function(min_calls=130).frame, 1)


def test_the_note_says_that_times_are_inflated_and_compares_with_samples(counted):
    frames = pd.DataFrame(
        {
            "stack": [0, 0, 1],
            "file": ["In [2]", "In [1]", "In [2]"],
            "line": [4, 5, 4],
            "function": ["<module>", "fib", "<module>"],
            "source": "",
            "framework": False,
        }
    )
    samples = pd.DataFrame(
        {"start_ns": range(40), "duration_ns": 1, "thread": 0, "stack": [0] * 10 + [1] * 30}
    )
    sampled = counted.with_values(frames=frames, samples_of_python=samples)

    (without,) = counted.function().notes
    (note,) = sampled.function().notes
    assert without.startswith("counting slows every call")
    assert "In [2]:1(<module>) 7% (samples: 75%)" in note
    assert "In [1]:3(fib) 60% (samples: 25%)" in note


def test_every_face_has_the_rows(counted, tmp_path):
    shown = counted.function()
    described = whole_payload(report_of(shown)).described
    shown.to_csv(tmp_path / "x.csv")
    shown.to_json(tmp_path / "x.json")

    assert "In [1]:3(fib)" in html.report(shown)
    assert "<script" not in html.report(shown)
    assert "function" in [packed["name"] for packed in described["views"]]
    assert "In [1]:3(fib)" in (tmp_path / "x.csv").read_text(encoding="utf-8")
    assert "In [1]:3(fib)" in (tmp_path / "x.json").read_text(encoding="utf-8")


def test_the_tables_survive_saving_and_loading(counted, tmp_path):
    counted.save(tmp_path / "x.nbprof")

    loaded = nbprof.load(tmp_path / "x.nbprof")

    assert loaded.function().text == counted.function().text
    pd.testing.assert_frame_equal(loaded.calls, counted.calls, check_dtype=False)


def test_without_counted_calls_the_view_says_what_counts_them():
    with pytest.raises(NbprofError, match="profile the cell with %%pyprof function"):
        profile().function()


def test_a_cell_without_calls_has_the_root_alone(counted):
    empty = counted.with_values(functions=counted.functions[:0], calls=counted.calls[:0])

    frame = empty.function().frame

    assert frame["name"].tolist() == ["_TFProfRoot"]
    assert not math.isnan(frame["wall_micros"][0])
