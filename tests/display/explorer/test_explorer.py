"""What the explorer is given: columns as bytes, chosen to fit, and one script."""

import json
import re
import shutil
import struct
import subprocess
import zlib
from base64 import b64decode
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.by_hand import node, profile

import nbprof.display
from nbprof.display.explorer import page
from nbprof.display.explorer import payload as payload_module
from nbprof.display.explorer.packing import Store, heaviest, options_as_typed, pack
from nbprof.display.explorer.payload import Payload, all_views, whole, within
from nbprof.display.explorer.run_kinds import kinds_of
from nbprof.display.explorer.script import FOLDER, in_order, script
from nbprof.magics.tfprof_line import parse_line
from nbprof.units import (
    format_bytes,
    format_count,
    format_mebibytes,
    format_micros,
    format_seconds,
)

SCRIPTS = sorted((FOLDER / "js").glob("*.js"))
TYPES = {"i8": "b", "i16": "h", "i32": "i", "f64": "d"}
VIEWS = ("op", "scope", "graph", "code", "layer")
MISSING = {"i8": -(2**7), "i16": -(2**15), "i32": -(2**31)}

SMALL = profile(
    node("dense/MatMul", "MatMul", micros=1234.5, runs=3, size=1_048_576),
    node("dense/BiasAdd", "BiasAdd", micros=10.25, runs=3),
    node("head/MatMul", "MatMul", micros=2_000_000, accelerator_micros=1_500_000, runs=1500),
    node("loss", "Sum", micros=0),
)
TIMED = replace(
    SMALL, events=SMALL.events.assign(start_ns=range(0, 1000 * len(SMALL.events), 1000))
)
"""One event each µs."""
LINES = ((("In [3]", 4, "<module>"),), (("In [3]", 4, "<module>"), ("In [3]", 2, "step")))
TRAINED = profile(
    *(
        made
        for step in (0, 1, 2)
        for made in (
            node("dense/MatMul", "MatMul", 12, size=64, step=step, stack=LINES[0], layer="m/dense"),
            node(
                "grad/MatMul",
                *("MatMul", 20.5, 4, 2),
                **{"size": 32, "step": step, "stack": LINES[1], "layer": "m/dense"},
                backward=True,
            ),
            node("loss", "Sum", step + 1, step=step, stack=LINES[step % 2]),
        )
    ),
    node("once", "Sum", 100, runs=2, size=7, step=1),
    steps=3,
)
TRAINED = replace(
    TRAINED, events=TRAINED.events.assign(start_ns=range(0, 1000 * len(TRAINED.events), 1000))
)
"""Three steps, one event each µs, with lines and layers."""
TWO_STEPS = profile(*(node("a/b", "A", micros=4, step=step) for step in (0, 1)), steps=2)
HOSTILE = profile(
    node("<script>alert(1)</script>", "</style></script><!--<img src=x onerror=alert(1)>", 3),
    notes=("</script><b>&",),
)


def wide(count):
    return profile(*(node(f"scope{i % 40}/node_of_some_length_{i}", "A", i) for i in range(count)))


def unpack(packed, buffers):
    """Read a column as js/data.js does."""
    place, name, per = (*packed, 1)[:3]
    data = buffers[place]
    if name == "var":
        return varied(data, per)
    kind = TYPES[name]
    raw = struct.unpack(f"<{len(data) // struct.calcsize(kind)}{kind}", data)
    missing = MISSING.get(name)
    return [float("nan") if value == missing else value / per for value in raw]


def varied(data, per):
    """Read groups of 7 bits, the lowest first; 0 is not known, 1 is 0."""
    values, value, bits = [], 0, 0
    for byte in data:
        value |= (byte & 127) << bits
        bits += 7
        if byte < 128:
            values.append((value - 1) / per if value else float("nan"))
            value = bits = 0
    return values


def data_of(html):
    """Find the JSON in a page."""
    text = re.search(r"""^load\("[\w-]+",JSON.parse\('(.*)'\),"[^"]+"\);$""", html, re.M)[1]
    return json.loads(re.sub(r"\\(.)", r"\1", text))


def strings_of(data):
    """Put the texts together again."""
    buffers = [b64decode(text) for text in data["buffers"]]
    letter, *ends = data["strings"]
    ends = ends[0].split(letter) if letter else ends
    texts = [""]
    for end, alike in zip(ends, unpack(data["alike"], buffers), strict=True):
        texts.append(texts[-1][: int(alike)] + end)
    return texts[1:]


@given(st.lists(st.floats(allow_infinity=False) | st.integers(-(10**9), 10**9)))
def test_numbers_come_back_as_they_were(values):
    store = Store()

    found = unpack(store.numbers(values), store.buffers)

    np.testing.assert_allclose(found, np.array(values, dtype=float), rtol=1e-12)


@pytest.mark.parametrize(
    ("values", "kind", "per"),
    [
        ([0, 1, 127], "i8", 1),
        ([-129, 200], "i16", 1),
        ([1.5, -1234.567], "i32", 1000),
        ([1 / 3], "f64", 1),
        ([-(2.0**40)], "f64", 1),
        ([2.0**40, float("nan"), 3], "var", 1),
        ([1.5, 1234.567], "var", 1000),
    ],
)
def test_numbers_take_the_smallest_type_that_loses_nothing(values, kind, per):
    packed = Store().numbers(values)

    assert (*packed[1:], 1)[:2] == (kind, per)


@pytest.mark.parametrize("name", ["op", "scope", "graph", "layer"])
def test_a_packed_view_has_the_numbers_of_its_frame(name):
    view = SMALL.view(name, select="bytes,micros,occurrence,device,op_types,input_shapes")
    store = Store()

    packed = pack(view, store)

    names = [store.strings[int(code)] for code in unpack(packed["names"], store.buffers)]
    assert names == list(view.frame["name"])
    if view.is_tree:
        assert unpack(packed["parent"], store.buffers) == list(view.frame["parent"])
    for column in packed["columns"]:
        found = unpack(column["data"], store.buffers)
        if column["unit"]:
            np.testing.assert_allclose(found, view.frame[column["key"]].to_numpy(float))
        elif column["key"] != "input_shapes":
            texts = [store.strings[int(code)] for code in found]
            assert texts == [text or "" for text in view.frame[column["key"]]]


def test_what_is_all_of_a_metric_is_that_of_the_profile_also_where_rows_are_hidden():
    packed = pack(SMALL.op(hide_name_regexes="MatMul", select="micros"), Store())

    assert packed["columns"][0]["whole"] == pytest.approx(2_001_244.75)


FILTERED = [
    {},
    {"max_depth": 2},
    {"hide_name_regexes": "grad.*"},
    {"show_name_regexes": ".*MatMul.*"},
    {"start_name_regexes": "grad.*|m/.*"},
    {"min_micros": 30},
    {"account_type_regexes": "MatMul"},
]


@pytest.mark.parametrize("options", FILTERED, ids=str)
@pytest.mark.parametrize("name", VIEWS)
def test_the_kinds_add_up_to_every_row_also_where_others_are_hidden_or_cut(name, options):
    view = TRAINED.view(name, **options)
    kinds = kinds_of(TRAINED, ("bytes",))
    rows = heaviest(view, 3)
    store = Store()

    places = unpack(kinds.pack_places(view, rows, store)["row"], store.buffers)

    frame = view.frame.iloc[rows]
    own, total = np.zeros(len(rows)), np.zeros(len(rows))
    ns = np.bincount(kinds.of_event, TRAINED.events["self_ns"])
    parents = frame["parent"].to_numpy() if view.is_tree else np.full(len(rows), -1)
    above = {int(row): place for place, row in enumerate(rows)}
    for place, amount in zip(map(int, places), ns / 1e3, strict=True):
        if place >= 0:
            own[place] += amount
        row = -2 - place if place < -1 else place
        while row >= 0:
            total[row] += amount
            row = above.get(int(parents[row]), -1)
    known = frame["micros"].notna().to_numpy()
    np.testing.assert_allclose(own[known], frame["micros"][known])
    if view.is_tree:
        np.testing.assert_allclose(total, frame["total_micros"])


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_in_which_no_type_of_op_counts_is_shown_too(name, tmp_path):
    view = TRAINED.view(name, account_type_regexes=".*GPU.*")

    data = data_of(view._repr_mimebundle_()["text/html"])
    view.to_html(tmp_path / "view.html")

    assert data["views"][data["first"]]["rows"] == len(view.frame) <= 1
    assert data_of((tmp_path / "view.html").read_text())["views"]


def test_the_heaviest_rows_bring_the_rows_above_them():
    view = SMALL.scope()

    rows = heaviest(view, 2)

    assert list(view.frame["name"].iloc[rows]) == ["_TFProfRoot", "head"]
    light = replace(view, options=replace(view.options, order_by="bytes"))
    assert set(view.frame["name"].iloc[heaviest(light, 2)]) == {"_TFProfRoot", "dense"}


def test_rows_that_were_chosen_point_at_the_right_parents():
    view = wide(300).scope()
    store = Store()

    packed = pack(view, store, heaviest(view, 50))

    parents = [int(row) for row in unpack(packed["parent"], store.buffers)]
    names = [store.strings[int(code)] for code in unpack(packed["names"], store.buffers)]
    for name, parent in zip(names[1:], parents[1:], strict=True):
        assert names[parent] == (name.rpartition("/")[0] or "_TFProfRoot")
    assert packed["of"] == len(view.frame)


def test_the_options_are_those_of_a_line_that_gives_the_same_view():
    view = SMALL.scope(min_micros=5, max_depth=3, show_name_regexes="dense.*", step=0)

    typed = " ".join(f"-{name} {value}" for name, value in options_as_typed(view).items())

    assert parse_line(f"scope {typed}").options == view.options


def test_an_output_keeps_to_its_size_and_says_what_it_left_out():
    view = wide(9000).scope()

    html = page.output(view, 200_000)

    assert len(html.encode()) <= 200_000
    data = data_of(html)
    (packed,) = (one for one in data["views"] if one["name"] == "scope")
    assert 100 < packed["rows"] < packed["of"] == 9041
    assert f"scope {packed['rows']:,} of 9,041" in data["complete"]
    assert "view.explore()" in data["complete"]


def test_the_room_that_is_there_is_used():
    html = page.output(wide(9000).scope(), 300_000)

    assert 260_000 < len(html.encode()) <= 300_000


def test_where_there_is_no_room_the_plain_table_stands_alone(monkeypatch):
    monkeypatch.setattr(nbprof.display, "OUTPUT_BYTES", 0)

    html = SMALL.op()._repr_mimebundle_()["text/html"]

    assert "<script" not in html
    assert "<table>" in html


def test_the_views_stand_in_the_order_of_the_switch_and_the_asked_one_is_shown_first():
    data = data_of(SMALL.scope()._repr_mimebundle_()["text/html"])

    assert [view["name"] for view in data["views"]] == ["op", "scope", "graph", "code", "layer"]
    assert data["first"] == 1
    assert data["complete"] == ""


def test_several_steps_can_be_seen_as_their_average():
    several = data_of(TWO_STEPS.op()._repr_mimebundle_()["text/html"])["views"]
    one = data_of(SMALL.op()._repr_mimebundle_()["text/html"])["views"]

    assert all("steps" in view["places"] for view in several)
    assert not any("steps" in view["places"] for view in one)


def test_a_printed_report_has_its_own_view_only():
    parsed = nbprof.parse_text(SMALL.scope().text)

    data = data_of(parsed._repr_mimebundle_()["text/html"])

    assert [view["name"] for view in data["views"]] == ["scope"]


def test_the_same_view_gives_the_same_output():
    assert page.output(SMALL.scope(), 300_000) == page.output(SMALL.scope(), 300_000)


@pytest.mark.parametrize("view", ["op", "scope"])
def test_names_cannot_leave_the_data(view):
    html = HOSTILE.view(view)._repr_mimebundle_()["text/html"]

    inside = html[html.index('<script type="module">') + 8 :]
    assert inside.count("</script") == 1
    assert "<!--" not in inside
    assert not set("<>&") & set(Payload({"name": "</script>&"}, []).to_json())
    names = strings_of(data_of(html))
    assert any("<script>" in name or "</style>" in name for name in names)


@pytest.mark.parametrize("names", [["a/b", "a/c"], ["\n", "|~\t"], ["ä/1", "ä/2", "\U0001f600x"]])
def test_texts_come_back_as_they_were(names):
    data = data_of(profile(*map(node, names)).graph()._repr_mimebundle_()["text/html"])

    assert set(names) < set(strings_of(data))


def test_buffers_stand_in_base64_in_a_page_and_apart_in_a_widget():
    payload = whole(SMALL.op(), [SMALL.op()])

    assert [b64decode(text) for text in json.loads(payload.to_json())["buffers"]] == payload.buffers
    assert json.loads(payload.to_json(buffers=False))["buffers"] == []


@pytest.mark.parametrize("count", [4, 3000])
def test_a_file_is_little_more_than_its_data(tmp_path, count):
    view = wide(count).scope()
    payload = whole(view, all_views(view))
    size = sum(map(len, payload.buffers))
    size += sum(len(text) for text in payload.described["strings"])

    view.to_html(tmp_path / "view.html")

    assert (tmp_path / "view.html").stat().st_size < 1.5 * size + 100_000


def test_a_profile_as_a_file_has_all_views_and_columns(tmp_path):
    SMALL.to_html(tmp_path / "profile.html")

    text = (tmp_path / "profile.html").read_text(encoding="utf-8")
    data = data_of(text)
    assert [view["name"] for view in data["views"]] == ["op", "scope", "graph", "code", "layer"]
    assert {"peak_bytes", "float_ops", "device"} <= {
        data["columns"][place]["column"] for place, *_ in data["views"][0]["columns"]
    }
    assert not re.search(r"""(src|href)=|https?://|@import|url\(|fetch\(""", text)


def test_the_timeline_has_every_run_where_there_is_room():
    data = data_of(TIMED.op()._repr_mimebundle_()["text/html"])

    assert data["timeline"]["events"] == data["timeline"]["of"] == len(TIMED.events)
    assert data["timeline"]["own_ns"]
    assert data["timeline"]["bins"] is None
    assert data_of(SMALL.op()._repr_mimebundle_()["text/html"])["timeline"] is None


def test_lanes_of_the_timeline_are_told_apart():
    threads = TIMED.threads.assign(name="tf_Compute/-4566947640013323534", is_cell=False)
    events = TIMED.events.assign(thread=np.arange(len(TIMED.events)) % 2)
    two = replace(TIMED, threads=pd.concat([threads.head(1)] * 2), events=events)

    data = data_of(two.op()._repr_mimebundle_()["text/html"])

    assert data["timeline"]["lanes"] == ["tf_Compute 1", "tf_Compute 2"]


def test_a_timeline_without_room_for_all_keeps_the_longest_runs_and_says_so():
    nodes = [node(f"op{i}", "A", micros=i) for i in range(6000)]
    many = profile(*nodes)
    many = replace(many, events=many.events.assign(start_ns=range(6000)))

    data = data_of(page.output(many.op(), 200_000))

    kept = data["timeline"]["events"]
    assert 200 <= kept < 6000
    assert data["timeline"]["own_ns"] is None
    assert f"the timeline has the longest {kept:,} of 6,000 op runs" in data["complete"]


def test_rows_are_not_said_to_be_cut_where_only_the_timeline_is():
    many = profile(*(node(f"op{i % 7}", "A", micros=i) for i in range(6000)))
    many = replace(many, events=many.events.assign(start_ns=range(6000)))

    data = data_of(page.output(many.op(), 84_000))

    assert all(view["rows"] == view["of"] for view in data["views"])
    assert data["complete"] == (
        f"the timeline has the longest {data['timeline']['events']:,} of 6,000 op runs. "
        "All of it: view.explore(), or view.to_html(path)."
    )


def test_more_is_promised_only_where_not_all_can_be_had(monkeypatch):
    monkeypatch.setattr(payload_module, "MOST_TIMED", 5000)
    many = profile(*(node(f"op{i}", "A", micros=i) for i in range(6000)))
    many = replace(many, events=many.events.assign(start_ns=range(6000)))

    data = data_of(page.output(many.op(), 200_000))

    assert data["complete"].startswith("the heaviest rows are here (scope ")
    assert "timeline" not in data["complete"].partition(")")[0]
    assert data["complete"].endswith(" More: view.explore(), or view.to_html(path).")


def test_a_file_says_that_its_timeline_has_the_longest_runs(monkeypatch):
    monkeypatch.setattr(payload_module, "MOST_TIMED", 5)

    described = whole(TIMED.op(), [TIMED.op()]).described

    assert described["timeline"]["events"] == 5
    runs = len(TIMED.events)
    assert described["complete"] == f"the timeline has the longest 5 of {runs:,} op runs."


def test_a_view_of_a_million_rows_ships_the_heaviest_and_says_how_many_are_left_out(tmp_path):
    small = wide(99).scope(select="micros")
    frame = small.frame.iloc[np.arange(1_000_000) % len(small.frame)].reset_index(drop=True)
    names = [f"n{place}" for place in range(len(frame))]
    frame = frame.assign(name=names, parent=np.where(frame.index == 0, -1, 0), total_micros=1.0)
    frame.loc[999_999, "total_micros"] = 2.0
    huge = replace(small, frame=frame, profile=None)

    payload = whole(huge, [huge])
    html = huge._repr_mimebundle_()["text/html"]

    (packed,) = payload.described["views"]
    assert packed["rows"] == 200_000
    assert packed["of"] == 1_000_000
    assert unpack(packed["frame_rows"], payload.buffers)[-1] == 999_999
    assert payload.described["complete"] == (
        "the heaviest rows are here (scope 200,000 of 1,000,000). "
        "All rows: view.frame, or view.to_csv(path)."
    )
    assert len(html.encode()) <= nbprof.display.OUTPUT_BYTES
    assert "of 1,000,000)" in data_of(html)["complete"]


def test_too_many_kinds_of_runs_are_those_of_the_longest_and_never_added_up(monkeypatch):
    monkeypatch.setattr(payload_module, "MOST_KINDS", 2)

    described = whole(TIMED.op(), [TIMED.op()]).described
    timeline = payload_module.timeline_of(TIMED.op())

    assert (described["timeline"]["own_ns"], described["timeline"]["bins"]) == (None, None)
    assert described["timeline"]["events"] == 2 < described["timeline"]["of"]
    assert timeline.kinds.count == 2
    assert not timeline.kinds.complete


def test_many_runs_of_few_ops_have_sums_for_parts_of_the_time():
    many = profile(
        *(node(f"op{i % 7}", "A", micros=i, step=i // 700) for i in range(7000)), steps=10
    )
    many = replace(many, events=many.events.assign(start_ns=range(0, 7_000_000, 1000)))

    data = data_of(page.output(many.op(), 84_000))

    assert data["timeline"]["events"] < data["timeline"]["of"] == 7000
    buffers = [b64decode(text) for text in data["buffers"]]
    bins = data["timeline"]["bins"]
    assert sum(unpack(bins["runs"], buffers)) == 7000
    assert sum(unpack(bins["ns"], buffers)) == many.events["self_ns"].sum()


def test_cells_are_shipped_whole_where_they_are_short():
    cells = pd.DataFrame({"file": "In [3]", "line": [1, 2], "text": ["if True:", "    step()"]})
    with_cells = replace(TRAINED, cells=cells)

    data = data_of(with_cells.op()._repr_mimebundle_()["text/html"])
    long = replace(with_cells, cells=cells.assign(text=["x", "y" * 200_000]))

    buffers = [b64decode(text) for text in data["buffers"]]
    texts = [strings_of(data)[int(code)] for code in unpack(data["cells"]["texts"], buffers)]
    assert texts == ["if True:", "    step()"]
    assert data_of(long.op()._repr_mimebundle_()["text/html"])["cells"] is None


def test_too_little_room_for_a_view_gives_nothing():
    assert within(SMALL.op(), 100) is None


def test_the_script_is_small_and_has_neither_comments_nor_imports():
    joined = script()

    assert len(joined.encode()) < 100_000
    assert not re.search(r"/\*\*|^\s*//|^import |^export ", joined, re.M)
    assert "</" not in joined
    used = {name for first in ("explorer", "memory_curve", "loader") for name in in_order(first)}
    assert used == {file.stem for file in SCRIPTS}


def test_a_page_has_the_script_packed_and_the_whole_of_it():
    html = SMALL.op()._repr_mimebundle_()["text/html"]

    (inside,) = re.findall(r'"([\w+/]{9999,}=*)"\);\n</script>', html)
    assert zlib.decompress(b64decode(inside), -zlib.MAX_WBITS).decode() == script()
    assert len(inside) < 0.5 * len(script())


def test_names_of_the_modules_do_not_meet_when_they_are_joined():
    kinds = r"^(?:export )?(?:async )?(?:function|class|const|let) (\w+)"
    names = [name for file in SCRIPTS for name in re.findall(kinds, file.read_text(), re.M)]

    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("file", SCRIPTS, ids=lambda file: file.name)
def test_a_module_is_short_sets_no_markup_and_needs_nothing(file):
    text = file.read_text(encoding="utf-8")

    assert len(text.splitlines()) <= 400
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)
    assert not re.search(r"smooth|\.animate\(", text)
    assert not re.search(r"fetch\(|XMLHttpRequest|WebSocket|https?://|import\([^\"]", text)
    # Lines are joined without their indentation, so no text may go over several of them.
    assert all(line.count("`") % 2 == 0 for line in text.splitlines())
    assert max(map(len, text.splitlines())) <= 110


def paths(view):
    """Give the numbers of each row by its name and those above it."""
    frame = view.frame
    columns = [name for name in frame.columns if name.endswith(("micros", "bytes", "run_count"))]
    found, above = {}, []
    for place, parent in enumerate(frame.get("parent", pd.Series([-1] * len(frame)))):
        above.append((above[parent] if parent >= 0 else "") + "\n" + frame["name"][place])
        numbers = frame.iloc[place][columns].astype(float)
        found[above[-1]] = numbers.astype(object).where(numbers.notna(), None).to_dict()
    return found


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """The modules and their tests in a folder that Node takes for ES modules."""
    if shutil.which("node") is None:
        pytest.skip("no Node on this machine")
    folder = tmp_path_factory.mktemp("js")
    for file in (*SCRIPTS, *Path(__file__).parent.glob("*.test.js")):
        shutil.copy(file, folder)
    (folder / "package.json").write_text('{"type": "module"}')
    numbers = [0, 0.5, 1.125, 1.375, 2.665, 2.675, 7, 999.994, 999.996, 1000, 1234.5, 12345.678]
    numbers += [10.0**power * 1.23456 for power in range(12)]
    ways = {"micros": format_micros, "bytes": format_bytes, "count": format_count}
    texts = {name: [[one, write(one)] for one in numbers] for name, write in ways.items()}
    (folder / "numbers.json").write_text(json.dumps(texts))
    of_memory = {
        "mebibytes": [[one, format_mebibytes(one)] for one in (0, 1, 2**20, 123456789, 5e9)],
        "seconds": [[one, format_seconds(one * 1e9)] for one in (0, 5e-6, 0.0321, 0.9, 12.345)],
    }
    (folder / "memory_numbers.json").write_text(json.dumps(of_memory))
    view = TIMED.scope(select="micros,bytes,occurrence,op_types")
    (folder / "scope.json").write_text(whole(view, all_views(view)).to_json())
    trained = TRAINED.scope()
    for name, most in (("whole", 200_000), ("binned", 2)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(payload_module, "MOST_TIMED", most)
            made = whole(trained, all_views(trained)).to_json()
        (folder / f"{name}.json").write_text(made)
    second = TRAINED.steps["start_micros"].iloc[1]
    later = TRAINED.events[TRAINED.events["start_ns"] >= 1000 * second].reset_index(drop=True)
    expected = {
        name: {
            "whole": paths(TRAINED.view(name)),
            "later": paths(replace(TRAINED, events=later).view(name)),
            "average": paths(TRAINED.view(name, step=-1)),
        }
        for name in VIEWS
    }
    (folder / "expected.json").write_text(json.dumps({"second": second, **expected}))
    return folder


def test_the_modules_pass_their_own_tests(scripts):
    done = subprocess.run(
        ["node", "--test", *sorted(map(str, scripts.glob("*.test.js")))],
        cwd=scripts,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stdout


def test_the_joined_script_can_be_read(scripts):
    others = (f"function _{name}(){{{script(name)}}}" for name in ("memory_curve", "loader"))
    joined = "\n".join([script(), *others])
    (scripts / "joined.js").write_text(joined, encoding="utf-8")

    done = subprocess.run(
        ["node", "--check", scripts / "joined.js"], capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr


def test_the_types_in_the_modules_are_right():
    """Needs TypeScript on the PATH; nothing of the package does."""
    compiler = shutil.which("tsc")
    if compiler is None:
        pytest.skip("no TypeScript on this machine")
    flags = "--noEmit --allowJs --checkJs --strict --target es2022 --module es2022"
    flags += " --moduleResolution bundler --lib es2023,dom,dom.iterable"

    done = subprocess.run(
        [
            compiler,
            *flags.split(),
            *(FOLDER / "js" / f"{name}.js" for name in ("explorer", "memory_curve", "loader")),
        ],
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stdout


def test_half_a_character_in_a_name_costs_neither_output_nor_file(tmp_path):
    view = profile(node("half \ud800/MatMul", "MatMul", micros=3)).scope()

    view.to_html(tmp_path / "half.html")

    assert "MatMul" in (tmp_path / "half.html").read_text(encoding="utf-8")
    assert "MatMul" in view._repr_mimebundle_()["text/html"]
