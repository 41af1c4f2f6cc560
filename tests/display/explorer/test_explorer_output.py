"""What goes into a notebook output and into a page: which views, and how much of them."""

import random
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from support.by_hand import node, profile
from support.explorer_pages import PageData, script_of, unpack
from support.explorer_profiles import HOSTILE, SMALL, TIMED, TRAINED, crowded, every_micro, wide

import nbprof.display
from nbprof.display.explorer import page, payload
from nbprof.display.explorer.buffer_store import BufferStore
from nbprof.display.explorer.fit_output import payload_within
from nbprof.display.explorer.packed_timeline import MOST_STEPS
from nbprof.display.explorer.script import script, style
from nbprof.view_kinds import op_views
from nbprof.views import report
from nbprof.views.report import Report, report_of

TWO_STEPS = profile(*(node("a/b", "A", micros=4, step=step) for step in (0, 1)), steps=2)


def output_of(view):
    return view._repr_mimebundle_()["text/html"]


def many_runs(count, ops):
    """Make a profile of `count` op runs at random times, which hardly compress."""
    chance = random.Random(0)
    made = profile(
        *(node(f"op{i % ops}", "A", micros=chance.randrange(9999)) for i in range(count))
    )
    starts = sorted(chance.sample(range(10**9), count))
    return replace(made, events=made.events.assign(start_ns=starts))


@pytest.mark.parametrize("name", op_views())
def test_a_view_that_accounts_for_no_op_type_is_shown(name, tmp_path):
    view = TRAINED.view(name, account_type_regexes=".*GPU.*")

    data = PageData(output_of(view))
    view.to_html(tmp_path / "view.html")

    assert data["views"][data["first"]]["rows"] == len(view.frame) <= 1
    assert PageData((tmp_path / "view.html").read_text())["views"]


def test_an_output_keeps_to_its_size_and_notes_what_it_left_out():
    html = page.output(report_of(wide(9000).scope()), 200_000)

    assert len(html.encode()) <= 200_000
    data = PageData(html)
    packed = data.view("scope")
    assert 100 < packed["rows"] < packed["of"] == 9041
    assert f"scope {packed['rows']:,} of 9,041" in data["missing"]
    assert "view.explore()" in data["missing"]


@pytest.mark.parametrize("size", [120_000, 200_000, 300_000])
@pytest.mark.parametrize("view", ["op", "scope"])
def test_an_output_uses_the_space_it_is_allowed(view, size):
    made = every_micro(wide(9000))

    html = page.output(report_of(made.view(view)), size)

    assert 0.8 * size < len(html.encode()) <= size


def test_without_space_only_the_plain_table_is_written(monkeypatch):
    monkeypatch.setattr(nbprof.display, "OUTPUT_BYTES", 0)

    html = output_of(SMALL.op())

    assert "<script" not in html
    assert "<table>" in html


def test_an_output_shows_the_view_asked_for_among_all_views():
    data = PageData(output_of(SMALL.scope()))

    assert [view["name"] for view in data["views"]] == list(op_views())
    assert data["views"][data["first"]]["name"] == "scope"
    assert data["missing"] == ""


def test_a_huge_profile_is_shown_without_siblings(monkeypatch):
    monkeypatch.setattr(report, "MOST_EVENTS", 3)

    data = PageData(output_of(SMALL.scope()))

    assert [view["name"] for view in data["views"]] == ["scope"]
    assert data["missing"] == (
        "left out: the other views. All of it: view.explore(), or view.to_html(path)."
    )


def test_the_text_of_a_view_makes_no_siblings(monkeypatch):
    view = SMALL.scope()
    monkeypatch.setattr(report, "report_of", None)

    assert view.text.startswith("nbprof")


def test_display_makes_no_view(monkeypatch):
    asked_for = report_of(SMALL.scope())
    monkeypatch.setattr(type(SMALL), "view", None)

    assert set(nbprof.display.bundle(asked_for)) == {"text/plain", "text/html"}
    assert len(payload.whole_payload(asked_for).described["views"]) == len(op_views())


def test_several_steps_can_be_shown_as_their_average():
    several = PageData(output_of(TWO_STEPS.op()))["views"]
    single = PageData(output_of(SMALL.op()))["views"]

    assert all("steps" in view["places"] for view in several)
    assert not any("steps" in view["places"] for view in single)


def test_a_printed_report_has_only_its_own_view():
    data = PageData(output_of(nbprof.parse_text(SMALL.scope().text)))

    assert [view["name"] for view in data["views"]] == ["scope"]


def test_equal_views_have_equal_outputs():
    assert output_of(SMALL.scope()) == output_of(SMALL.scope())


@pytest.mark.parametrize("view", ["op", "scope"])
def test_names_cannot_break_out_of_the_script(view):
    html = output_of(HOSTILE.view(view))

    inside = html[html.index('<script type="module">') + 8 :]
    assert inside.count("</script") == 1
    assert "<!--" not in inside
    names = PageData(html).strings
    assert any("<script>" in name or "</style>" in name for name in names)


@pytest.mark.parametrize("count", [4, 3000])
def test_a_page_is_smaller_than_its_data(tmp_path, count):
    view = wide(count).scope()
    size = sum(map(len, payload.whole_payload(report_of(view)).buffers))

    view.to_html(tmp_path / "view.html")

    assert (tmp_path / "view.html").stat().st_size < size + 90_000


def test_the_page_of_a_profile_has_all_views_and_columns(tmp_path):
    SMALL.to_html(tmp_path / "profile.html")

    text = (tmp_path / "profile.html").read_text(encoding="utf-8")
    data = PageData(text)
    assert [view["name"] for view in data["views"]] == list(op_views())
    columns = {column["column"] for column in data["views"][0]["columns"]}
    assert {"peak_bytes", "float_ops", "device"} <= columns
    assert not re.search(r"""(src|href)=|https?://|@import|url\(|fetch\(""", text)
    assert not re.search(r"https?://|@import|url\(|fetch\(", script_of(text))


def test_the_timeline_has_every_run_if_they_fit():
    timeline = PageData(output_of(TIMED.op()))["timeline"]

    assert timeline["events"] == timeline["of"] == len(TIMED.events)
    assert timeline["own_ns"]
    assert timeline["bins"] is None
    assert PageData(output_of(SMALL.op()))["timeline"] is None


def test_lanes_with_the_same_name_are_numbered():
    threads = TIMED.threads.assign(name="tf_Compute/-4566947640013323534", is_cell=False)
    events = TIMED.events.assign(thread=np.arange(len(TIMED.events)) % 2)
    two = replace(TIMED, threads=pd.concat([threads.head(1)] * 2), events=events)

    data = PageData(output_of(two.op()))

    assert data["timeline"]["lanes"] == ["tf_Compute 1", "tf_Compute 2"]


def test_a_timeline_that_does_not_fit_keeps_the_longest_runs_and_says_so():
    data = PageData(page.output(report_of(many_runs(20_000, ops=20_000).op()), 200_000))

    kept = data["timeline"]["events"]
    assert 200 <= kept < 20_000
    assert data["timeline"]["own_ns"] is None
    assert f"the timeline has the longest {kept:,} of 20,000 op runs" in data["missing"]


def test_if_only_the_timeline_is_cut_the_note_mentions_no_rows():
    data = PageData(page.output(report_of(many_runs(20_000, ops=7).op()), 84_000))

    assert all(view["rows"] == view["of"] for view in data["views"])
    assert data["missing"] == (
        f"the timeline has the longest {data['timeline']['events']:,} of 20,000 op runs "
        "one by one, and all in stretches of 841 µs. "
        "All of it: view.explore(), or view.to_html(path)."
    )


def test_the_note_offers_more_and_not_all_if_no_output_holds_all(monkeypatch):
    monkeypatch.setattr(payload, "MOST_TIMED", 5000)

    data = PageData(page.output(report_of(many_runs(20_000, ops=20_000).op()), 200_000))

    assert data["missing"].startswith("the heaviest rows are here (scope ")
    assert "timeline" not in data["missing"].partition(")")[0]
    assert data["missing"].endswith(" More: view.explore(), or view.to_html(path).")


def test_a_file_notes_that_its_timeline_has_the_longest_runs(monkeypatch):
    monkeypatch.setattr(payload, "MOST_TIMED", 5)

    described = payload.whole_payload(Report(view=TIMED.op())).described

    assert described["timeline"]["events"] == 5
    runs = len(TIMED.events)
    assert described["missing"] == (
        f"the timeline has the longest 5 of {runs:,} op runs one by one, "
        "and all in stretches of 1.25 ms."
    )


def test_a_view_of_a_million_rows_ships_the_heaviest_and_notes_how_many_are_missing():
    small = wide(99).scope(select="micros")
    frame = small.frame.iloc[np.arange(1_000_000) % len(small.frame)].reset_index(drop=True)
    names = [f"n{place}" for place in range(len(frame))]
    frame = frame.assign(name=names, parent=np.where(frame.index == 0, -1, 0), total_micros=1.0)
    frame.loc[999_999, "total_micros"] = 2.0
    huge = replace(small, frame=frame, profile=None)

    whole = payload.whole_payload(Report(view=huge))
    html = output_of(huge)

    (packed,) = whole.described["views"]
    assert packed["rows"] == 200_000
    assert packed["of"] == 1_000_000
    assert unpack(packed["frame_rows"], whole.buffers)[-1] == 999_999
    assert whole.described["missing"] == (
        "the heaviest rows are here (scope 200,000 of 1,000,000). "
        "All rows: view.frame, or view.to_csv(path)."
    )
    assert len(html.encode()) <= nbprof.display.OUTPUT_BYTES
    assert "of 1,000,000)" in PageData(html)["missing"]


def test_with_too_many_kinds_of_runs_only_the_longest_runs_are_kept_without_sums(monkeypatch):
    monkeypatch.setattr(payload, "MOST_KINDS", 2)
    timed = Report(view=TIMED.op())

    timeline = payload.whole_payload(timed).described["timeline"]
    kinds = payload.timeline_of(payload.all_kinds(timed)).kinds

    assert (timeline["own_ns"], timeline["bins"]) == (None, None)
    assert timeline["events"] == 2 < timeline["of"]
    assert kinds.count == 2
    assert not kinds.complete


def test_the_timeline_is_there_even_if_the_views_could_take_all_the_room():
    cell = crowded(1400, names=3000)
    html = page.output(report_of(cell.op()), 120_000)

    data = PageData(html)

    assert len(cell.events) > 40_000
    assert len(html.encode()) <= 120_000
    assert any(view["rows"] < view["of"] for view in data["views"])
    assert data["timeline"]["stretches"]["count"] == 1200


@pytest.mark.parametrize("most", [1200, 150])
def test_stretches_are_filled_by_the_time_of_each_op_type(most):
    cell = crowded(50)
    timeline = payload.timeline_of(payload.all_kinds(Report(view=cell.op())))
    store = BufferStore()

    packed = timeline.pack(store, most=10, bins=0, stretches=most)["stretches"]

    filled = np.zeros((len(unpack(packed["kinds"], store.buffers)), packed["count"]))
    at = np.cumsum(unpack(packed["gaps"], store.buffers)).astype(int)
    filled.ravel()[at] = unpack(packed["level"], store.buffers)
    micros = filled.sum(axis=1) / packed["levels"] * packed["micros"]
    assert micros.sum() == pytest.approx(50_000, rel=0.01)
    assert sorted(micros) == pytest.approx([5_000, 10_000, 35_000], rel=0.02)
    assert filled.sum(axis=0).max() <= packed["levels"] + len(filled)


def test_a_stretch_in_which_next_to_nothing_ran_is_marked():
    made = profile(node("a", "A"), node("b", "B"))
    times = {"start_ns": [0, 10**9 - 10], "duration_ns": 10, "self_ns": 10}
    lone = replace(made, events=made.events.assign(**times))
    timeline = payload.timeline_of(payload.all_kinds(Report(view=lone.op())))
    store = BufferStore()

    packed = timeline.pack(store, most=0, bins=0)["stretches"]

    assert np.cumsum(unpack(packed["gaps"], store.buffers)).tolist() == [0, 2 * 1200 - 1]
    assert unpack(packed["level"], store.buffers) == [0, 0]


def test_a_cut_timeline_has_sums_for_parts_of_the_time():
    many = many_runs(20_000, ops=7)

    data = PageData(page.output(report_of(many.op()), 84_000))

    assert data["timeline"]["events"] < data["timeline"]["of"] == 20_000
    bins = data["timeline"]["bins"]
    assert sum(data.numbers(bins["runs"])) == 20_000
    assert sum(data.numbers(bins["ns"])) == many.events["self_ns"].sum()


def test_short_cells_are_shipped_whole():
    cells = pd.DataFrame({"file": "In [3]", "line": [1, 2], "text": ["if True:", "    step()"]})
    chance = random.Random(0)
    long_text = "".join(chance.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=400_000))

    short = PageData(output_of(replace(TRAINED, cells=cells).op()))
    long = PageData(output_of(replace(TRAINED, cells=cells.assign(text=["x", long_text])).op()))

    texts = [short.strings[int(code)] for code in short.numbers(short["cells"]["texts"])]
    assert texts == ["if True:", "    step()"]
    assert long["cells"] is None


def test_the_files_that_fit_are_shipped_the_first_ones_first():
    chance = random.Random(0)
    noise = [f"{chance.random()}" for _ in range(40_000)]
    cells = pd.DataFrame(
        {
            "file": ["In [3]"] + ["a.py"] * 100 + ["b.py"] * 39_900,
            "line": range(40_001),
            "text": ["step()", *noise],
        }
    )

    data = PageData(output_of(replace(TRAINED, cells=cells).code()))

    files = {data.strings[int(code)] for code in data.numbers(data["cells"]["files"])}
    assert files == {"In [3]"}


def test_nothing_is_packed_if_the_view_does_not_fit():
    assert payload_within(report_of(SMALL.op()), 100) is None


def test_a_page_contains_the_whole_script():
    html = output_of(SMALL.op())

    assert script_of(html) == f"{style()}\0{script()}"


def test_a_lone_surrogate_in_a_name_breaks_neither_output_nor_page(tmp_path):
    view = profile(node("half \ud800/MatMul", "MatMul", micros=3)).scope()

    view.to_html(tmp_path / "half.html")

    assert "MatMul" in (tmp_path / "half.html").read_text(encoding="utf-8")
    assert "MatMul" in output_of(view)


TWO_RUNS = [node("a/b", "A", micros=4, step=4000), node("c", "B", micros=2, step=4000)]


def test_the_timeline_marks_late_steps_in_detail_by_their_numbers():
    many = every_micro(profile(*TWO_RUNS, steps=4005))
    steps = many.steps.assign(in_detail=many.steps["step"] == 4000)
    late = many.with_values(steps=steps)

    timeline = payload.whole_payload(report.report_of(late.op())).described["timeline"]

    assert timeline["steps"]["first"] == 4001 - MOST_STEPS
