"""Views, kinds of op runs and numbers as columns of bytes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.explorer_pages import strings_of, unpack
from support.explorer_profiles import SMALL, TRAINED, wide

from nbprof.display.explorer.buffer_store import BufferStore
from nbprof.display.explorer.packed_view import heaviest, options_as_typed, pack_view
from nbprof.display.explorer.run_kinds import find_kinds
from nbprof.magics.profiling_line import parse_line
from nbprof.view_kinds import op_views


@given(st.lists(st.floats(allow_infinity=False) | st.integers(-(10**9), 10**9)))
def test_numbers_survive_packing(values):
    store = BufferStore()

    found = unpack(store.numbers(values), store.buffers)

    np.testing.assert_allclose(found, np.array(values, dtype=float), rtol=1e-12)


@pytest.mark.parametrize(
    ("values", "kind", "divisor"),
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
def test_numbers_get_the_smallest_type_that_loses_nothing(values, kind, divisor):
    packed = BufferStore().numbers(values)

    assert (*packed[1:], 1)[:2] == (kind, divisor)


@pytest.mark.parametrize(
    "names", [["a/b", "a/c"], ["\n", "|~\t"], ["ä/1", "\U0001f600x", "\ud800"]]
)
def test_texts_survive_packing(names):
    store = BufferStore()

    codes = [*store.codes(names), *store.codes(["more", names[0]])]

    strings = strings_of({"strings": store.string_buffers}, store.buffers)
    assert strings == store.strings
    assert [strings[code] for code in codes] == [*names, "more", names[0]]


def test_a_copy_of_a_store_grows_alone_until_the_store_adopts_it():
    store = BufferStore()
    store.texts(["a"])
    before = store.page_size()

    grown = store.copy()
    grown.numbers(np.arange(10_000))

    assert (len(store.buffers), store.page_size()) == (2, before)
    assert grown.page_size() > before
    store.adopt(grown)
    assert len(store.buffers) == 3


@pytest.mark.parametrize("name", ["op", "scope", "graph", "layer"])
def test_a_packed_view_has_the_numbers_of_its_frame(name):
    view = SMALL.view(name, select="bytes,micros,occurrence,device,op_types,input_shapes")
    store = BufferStore()

    packed = pack_view(view, store)

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


def test_the_total_of_a_metric_includes_hidden_rows():
    packed = pack_view(SMALL.op(hide_name_regexes="MatMul", select="micros"), BufferStore())

    assert packed["columns"][0]["whole"] == pytest.approx(2_001_244.75)


@pytest.mark.parametrize("rows", [None, [0, 1, 2]], ids=["all rows", "some rows"])
def test_a_packed_view_of_lines_has_the_file_and_line_of_each_row(rows):
    view = TRAINED.code()
    store = BufferStore()

    packed = pack_view(view, store, None if rows is None else np.array(rows))

    files = [store.strings[int(code)] for code in unpack(packed["lines"]["file"], store.buffers)]
    lines = unpack(packed["lines"]["line"], store.buffers)
    expected = {
        "_TFProfRoot": ("", 0),
        "no Python line known": ("", 0),
        "In [3]:4:<module>": ("In [3]", 4),
        "In [3]:2:step": ("In [3]", 2),
        "In [3]:2:step (backward)": ("In [3]", 2),
    }
    names = view.frame["name"].iloc[rows or slice(None)]
    assert list(zip(files, lines, strict=True)) == [expected.get(name, ("", 0)) for name in names]
    assert sum(line > 0 for line in lines) >= 2


def test_a_view_whose_rows_are_not_lines_packs_none():
    assert "lines" not in pack_view(SMALL.scope(), BufferStore())


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
@pytest.mark.parametrize("name", op_views())
def test_kinds_add_up_to_every_row_even_if_others_are_hidden_or_cut(name, options):
    view = TRAINED.view(name, **options)
    kinds = find_kinds(TRAINED, ("bytes",))
    rows = heaviest(view, 3)
    store = BufferStore()

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


def test_weights_and_amounts_of_kinds_give_the_metrics_of_the_profile():
    metrics = ("micros", "accelerator_micros", "cpu_micros", "run_count", "bytes")
    view = SMALL.op(select="micros,bytes,occurrence")
    store = BufferStore()

    packed = find_kinds(SMALL, metrics).pack(store)

    for metric in metrics:
        weight = packed["weights"][metric]
        each, amounts = (
            unpack(column, store.buffers) for column in (weight["each"], packed[weight["of"]])
        )
        assert np.dot(each, amounts) == pytest.approx(view.frame[metric].sum())


def test_the_heaviest_rows_include_the_rows_above_them():
    view = SMALL.scope(select="bytes,micros")

    rows = heaviest(view, 2)

    assert list(view.frame["name"].iloc[rows]) == ["_TFProfRoot", "head"]
    by_bytes = replace(view, options=replace(view.options, order_by="bytes"))
    assert set(view.frame["name"].iloc[heaviest(by_bytes, 2)]) == {"_TFProfRoot", "dense"}


def test_chosen_rows_point_at_the_right_parents():
    view = wide(300).scope()
    store = BufferStore()

    packed = pack_view(view, store, heaviest(view, 50))

    parents = [int(row) for row in unpack(packed["parent"], store.buffers)]
    names = [store.strings[int(code)] for code in unpack(packed["names"], store.buffers)]
    for name, parent in zip(names[1:], parents[1:], strict=True):
        assert names[parent] == (name.rpartition("/")[0] or "_TFProfRoot")
    assert packed["of"] == len(view.frame)


def test_the_typed_options_parse_to_the_options_of_the_view():
    view = SMALL.scope(min_micros=5, max_depth=3, show_name_regexes="dense.*", step=0)

    typed = " ".join(f"-{name} {value}" for name, value in options_as_typed(view).items())

    assert parse_line("tfprof", f"scope {typed}").options == view.options
