"""The alloc view: the lines that allocated memory, below their files."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from support.by_hand import profile

import nbprof
from nbprof.display import html
from nbprof.display.explorer.payload import whole_payload
from nbprof.errors import NbprofError
from nbprof.note import Note
from nbprof.views.report import report_of

COLUMNS = ["file", "line", "function", "source", "framework", "inner"]
NUMPY = "/venv/lib/python3.11/site-packages/numpy/core/numeric.py"
SITES = [
    ("In [3]", 4, "<module>", "a = np.ones(99)", False, (f"{NUMPY}:191",), 800.0, 1.0, 800.0),
    ("In [3]", 4, "<module>", "a = np.ones(99)", False, (), 100.0, 2.0, 100.0),
    ("In [3]", 7, "load", "rows.append(row)", False, (), 50.0, 5.0, 2000.0),
    ("/home/me/train.py", 2, "main", "x = 1", False, (), -30.0, -3.0, 0.0),
    (NUMPY, 12, "", "", True, (), 10.0, 1.0, 10.0),
    ("<unknown>", 0, "", "", True, (), 1.0, 1.0, 1.0),
]


@pytest.fixture
def cell():
    """Return a profile of a cell whose Python was watched, without TensorFlow."""
    made = profile()
    numbers = ["left_bytes", "left_count", "peak_bytes"]
    sites = pd.DataFrame(SITES, columns=[*COLUMNS, *numbers]).assign(before_bytes=np.nan)
    recording = replace(made.recording, watched=("samples", "sites"))
    return made.with_values(sites=sites, recording=recording)


def rows(view, column):
    frame = view.frame
    return dict(zip(frame["name"], frame[column].tolist(), strict=True))


def test_lines_stand_below_their_files_and_add_up(cell):
    view = cell.alloc()

    assert view.frame["depth"].tolist() == [0, 1, 2, 2, 1, 2, 1, 1, 2]
    assert rows(view, "total_alloc_bytes") == {
        "_TFProfRoot": 931,
        "In [3]": 950,
        "In [3]:4:<module>": 900,
        "In [3]:7:load": 50,
        "numpy": 10,
        "numpy/core/numeric.py:12": 10,
        "no line of Python known": 1,
        "train.py": -30,
        "train.py:2:main": -30,
    }
    assert rows(view, "total_alloc_count")["_TFProfRoot"] == 7
    assert rows(view, "source")["In [3]:7:load"] == "rows.append(row)"


def test_files_alone_are_shown_with_a_depth_of_two(cell):
    assert rows(cell.alloc(max_depth=2), "total_alloc_bytes") == {
        **{"_TFProfRoot": 931, "In [3]": 950, "numpy": 10, "no line of Python known": 1},
        "train.py": -30,
    }


def test_all_frames_show_the_lines_of_packages_below_the_users(cell):
    own = rows(cell.alloc(frames="all"), "alloc_bytes")

    assert own["In [3]:4:<module>"] == 100
    assert own["numpy/core/numeric.py:191"] == 800


def test_another_column_may_come_first(cell):
    names = cell.alloc(order_by="alloc_peak_bytes", max_depth=3).frame["name"].tolist()

    assert names[1:3] == ["In [3]", "In [3]:7:load"]


def test_files_of_the_same_name_are_told_apart(cell):
    paths = ["/a/b/util.py", "/a/c/util.py", "main.py", "/x/main.py", "In [3]", "/y/lone.py"]
    sites = cell.sites.assign(file=paths, framework=False)

    names = cell.with_values(sites=sites).alloc(max_depth=2).frame["name"].tolist()

    assert sorted(names[1:]) == [
        *("In [3]", "b/util.py", "c/util.py", "lone.py", "main.py", "x/main.py"),
    ]


def test_a_peak_that_is_not_known_is_not_zero(cell):
    note = Note("the peak passed too quickly", ("alloc_peak_bytes",))
    unseen = cell.with_values(sites=cell.sites.assign(peak_bytes=np.nan), notes=(note,))

    view = unseen.alloc()

    assert view.frame["total_alloc_peak_bytes"].isna().all()
    assert view.notes == (note,)
    assert unseen.alloc(select="alloc_bytes").notes == ()
    assert "n/a" in view.text


def test_without_allocations_there_is_only_the_root(cell):
    assert cell.with_values(sites=cell.sites[:0]).alloc().frame["name"].tolist() == ["_TFProfRoot"]


def test_a_profile_without_sites_says_what_records_them():
    with pytest.raises(NbprofError, match="%%pyprof alloc"):
        profile().alloc()


def test_the_report_is_read_back(cell):
    view = cell.alloc()

    again = nbprof.parse_text(view.text)

    assert again.name == "alloc"
    for column in ("name", "parent", "total_alloc_bytes", "alloc_count"):
        assert again.frame[column].fillna(-1).tolist() == view.frame[column].fillna(-1).tolist()


def test_it_is_in_pages_and_files(cell, tmp_path):
    view = cell.alloc()
    view.to_csv(tmp_path / "x.csv")
    view.to_json(tmp_path / "x.json")

    described = whole_payload(report_of(view)).described

    assert "alloc" in [packed["name"] for packed in described["views"]]
    assert "In [3]:7:load" in html.report(view)
    assert "In [3]:7:load" in (tmp_path / "x.csv").read_text(encoding="utf-8")


def test_it_survives_saving_and_loading(cell, tmp_path):
    cell.save(tmp_path / "x.nbprof")

    loaded = nbprof.load(tmp_path / "x.nbprof")

    assert loaded.alloc(frames="all").text == cell.alloc(frames="all").text
    assert loaded.sites["inner"].tolist() == cell.sites["inner"].tolist()
