"""Lines and calls as tables without scripts."""

import re

import pytest
from support.by_hand import profile
from support.explorer_profiles import SMALL, TRAINED
from support.python_profiles import MODULE, ORDERS, sampled, with_calls

from nbprof.display import html
from nbprof.display.source_html import MOST_LINES, line_costs


def part(text, summary):
    """Return the table below a summary."""
    return re.search(rf"<details><summary>{summary}</summary>(.*?)</details>", text, re.S)[1]


def test_costly_lines_are_tinted_and_read_well_without_styles():
    shown = part(html.report(ORDERS.call()), "lines by wall time")

    rows = re.findall(r"<tr>(.*?)</tr>", shown)
    plain = [re.sub(r"<[^>]+>", " ", row).split() for row in rows]
    assert [MODULE] in plain
    assert ["41", "1.08sec", "result", "=", "report(clean(orders))"] in plain
    tints = dict(re.findall(r",(0\.\d+)\)\">(\d+)<", shown))
    assert {line: tint for tint, line in tints.items()}["41"] == "0.55"
    assert "days.append(parse_one(text))" in shown


def test_recursion_counts_once():
    walk = (MODULE, 63, "parse")
    made = sampled((10, (walk, walk, walk)), (5, (walk,)))

    assert line_costs(made.call(), "wall_micros") == {(MODULE, 63): 15_000}


def test_only_the_costliest_lines_are_listed():
    made = sampled(*((ms, (("In [3]", ms, "<module>"),)) for ms in range(1, MOST_LINES + 11)))

    shown = part(html.report(made.call()), "lines by wall time")

    assert "10 lighter lines" in shown
    assert ">10</td>" not in shown
    assert ">11</td>" in shown


@pytest.mark.parametrize("view", [SMALL.op(), SMALL.scope(), SMALL.code()], ids=lambda v: v.name)
def test_views_without_lines_have_no_table_of_them(view):
    assert "lines by" not in html.report(view)


def test_source_is_never_markup():
    stack = (("In [3]", 1, "<module>"),)
    made = sampled((9, stack), source={"In [3]": "x = '<script>'"})

    assert "<script>" not in html.report(made.call())


def test_callers_and_callees_of_functions_are_listed():
    view = with_calls(profile()).function()

    shown = part(html.report(view), "callers and callees")

    rows = [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", shown)]
    plain = [[re.sub(r"<[^>]+>", "", cell) for cell in row] for row in rows if row]
    (parse,) = (row for row in plain if row[0] == "cleaning.py:60(parse)")
    assert parse == [
        "cleaning.py:60(parse)",
        "In [3]:1(&lt;module&gt;) 1 call, 0.90us",
        "cleaning.py:67(parse_one) 5,000 calls, 0.81us",
    ]
    assert len(plain) == 4


def test_a_profile_without_calls_has_no_table_of_them():
    assert "callers" not in html.report(TRAINED.op())
