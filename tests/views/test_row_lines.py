"""Which file and line, or which function, each row of a view of Python is about."""

from dataclasses import replace

import pandas as pd
from support.by_hand import profile
from support.python_profiles import FUNCTIONS, MODULE, ORDERS, with_calls


def lines_by_name(view):
    lines = view.row_lines
    places = zip(lines.file.tolist(), lines.line.tolist(), strict=True)
    return dict(zip(view.frame["name"], places, strict=True))


def test_rows_of_packages_have_no_line_of_their_own():
    found = lines_by_name(ORDERS.call())

    assert found["cleaning.py:63:parse"] == (MODULE, 63)
    assert found["pandas: dropna"] == found["_TFProfRoot"] == ("", 0)


def test_a_watched_line_has_its_line_and_what_it_called_has_none():
    lines = pd.DataFrame(
        [
            (MODULE, 63, "parse", 9, 500.0, "", 0, "days.append(parse_one(text))"),
            (MODULE, 63, "parse", 0, 400.0, f"{MODULE}:67(parse_one)", 9, ""),
        ],
        columns=["file", "line", "function", "hits", "self_ns", "called", "calls", "source"],
    )
    made = profile()
    recording = replace(made.recording, watched=("lines",))

    found = lines_by_name(replace(made, lines=lines, recording=recording).line())

    assert found["cleaning.py:63"] == (MODULE, 63)
    assert {place for name, place in found.items() if name != "cleaning.py:63"} == {("", 0)}


def test_functions_are_found_and_their_callers_are_not_taken_for_them():
    view = with_calls(profile()).function()

    functions = dict(zip(view.frame["name"], view.row_functions.tolist(), strict=True))

    assert functions["cleaning.py:60(parse)"] == 1
    assert functions["<- cleaning.py:60(parse)"] == functions["_TFProfRoot"] == -1
    assert sorted(view.row_functions)[-len(FUNCTIONS) :] == [0, 1, 2, 3]
