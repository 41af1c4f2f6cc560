"""Files that an earlier nbprof saved show what they showed then.

Commit 399b01b saved `version_2_*.nbprof` and wrote the texts beside them; never regenerate either.
`cell` is a real cell that ran a Keras fit and eager ops on TensorFlow 2.21, `tfprof` is made of the
files in `tests/data/tfprof`, and `hosts` of two copies of a trace. Together they fill all tables.
"""

import re

import pytest
from support.paths import DATA

import nbprof
from nbprof._profile import TABLES

pytestmark = pytest.mark.core("files")

FILES = ("cell", "tfprof", "hosts")
LATER_TABLES = {
    *("samples_of_python", "threads_of_python", "dispatches", "functions", "calls", "lines"),
    *("sites", "spans", "counts"),
}
COLUMNS = "bytes,residual_bytes,micros,occurrence,params,float_ops"
STEPS = ["step", "start_micros", "micros", "function", "traced"]
RENAMED = {"\ndispatch,": "\neager dispatch,", "\ntf.function tracing,": "\nbuilding graphs,"}
"""Categories of the summary that have better names today."""
LATER_ROW = re.compile(r" *(layer .*|.* \(backward\)) \(")
"""Rows of the code view for layers and gradients, which earlier versions did not have."""
OWN = re.compile(r"(?<=[(, |])[^(, |/]+/")
"""The value of a row itself, before the total of the row and those below it."""


def saved(name):
    return nbprof.load(DATA / "own_file" / f"version_2_{name}.nbprof")


def shown_then(name):
    """Return what the nbprof that saved a file showed of it, by title."""
    text = (DATA / "own_file" / f"version_2_{name}.txt").read_text(encoding="utf-8")
    for before, today in RENAMED.items():
        text = text.replace(before, today)
    titles = re.findall(r"^== (.*) ==$", text, re.MULTILINE)
    return dict(zip(titles, re.split(r"^== .* ==\n", text, flags=re.MULTILINE)[1:], strict=True))


def shown_today(profile):
    """Return what a profile shows, without notes, by title."""
    views = ("op", "scope", "graph", *(["code"] if profile.has_stacks else []), "layer")
    tables = {
        "summary": profile.summary(),
        "steps": profile.steps[STEPS],
        "live at peak": profile.live_at_peak().head(10),
    }
    return {
        **{
            name: profile.view(name, select=COLUMNS).text.partition("Profile:\n")[2]
            for name in views
        },
        **{
            name: table.round(3).to_csv(index=False, lineterminator="\n")
            for name, table in tables.items()
        },
    }


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_version_2_shows_what_it_showed(name):
    then, today = shown_then(name), shown_today(saved(name))

    assert list(today) == list(then)
    for title in set(then) - ({"code"} if name == "cell" else set()):
        assert today[title] == then[title], title


def test_lines_of_a_file_of_version_2_have_the_totals_they_had():
    then, today = shown_then("cell")["code"], shown_today(saved("cell"))["code"]
    lines = [line for line in today.splitlines() if not LATER_ROW.match(line)]

    assert 0 < len(lines) < len(today.splitlines())
    assert [OWN.sub("", line) for line in lines] == [
        OWN.sub("", line) for line in then.splitlines()
    ]


def test_the_files_of_version_2_fill_all_tables():
    profiles = [saved(name) for name in FILES]

    empty = {name for name in TABLES if not any(len(getattr(it, name)) for it in profiles)}
    assert empty == LATER_TABLES
