"""Views of profiles made by hand: rows, order, totals, options and notes."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.by_hand import node, profile, variable

import nbprof
from nbprof.columns import COLUMNS
from nbprof.errors import NbprofError
from nbprof.flag_values import metric_names
from nbprof.view_kinds import op_views

pytestmark = pytest.mark.core("reports")

SMALL = profile(
    node("dense/MatMul", "MatMul", micros=60, runs=3),
    node("dense/BiasAdd", "BiasAdd", micros=10, runs=3),
    node("head/MatMul", "MatMul", micros=20, accelerator_micros=15, runs=3),
    node("loss", "Sum", micros=10),
)


def test_op_rows_add_up_the_nodes_of_a_type():
    frame = SMALL.op().frame

    assert list(frame["name"]) == ["MatMul", "BiasAdd", "Sum"]
    assert list(frame["micros"]) == [80, 10, 10]
    assert list(frame["cpu_micros"]) == [65, 10, 10]
    assert list(frame["accelerator_micros"]) == [15, 0, 0]
    assert list(frame["run_count"]) == [6, 3, 1]
    assert list(frame["defined_count"]) == [2, 1, 1]


def test_op_shares_are_of_the_row_and_of_all_rows_from_it_down():
    frame = SMALL.op().frame

    assert list(frame["micros_percent"]) == [80, 10, 10]
    assert list(frame["micros_accumulated_percent"]) == [100, 20, 10]


def test_op_rows_with_equal_values_keep_name_order():
    assert list(SMALL.op().frame["name"])[1:] == ["BiasAdd", "Sum"]


def test_op_can_be_ordered_by_name_and_by_number_of_nodes():
    assert list(SMALL.op(order_by="name").frame["name"]) == ["BiasAdd", "MatMul", "Sum"]
    assert SMALL.op(order_by="occurrence").frame["name"][0] == "MatMul"


def test_op_max_depth_counts_rows_from_zero_as_tfprof_does():
    assert len(SMALL.op(max_depth=1).frame) == 2


def test_op_minimum_is_compared_with_the_running_total_as_in_tfprof():
    assert list(SMALL.op(min_micros=15).frame["name"]) == ["MatMul", "BiasAdd"]


def test_an_empty_view_names_the_options_that_hide_all_rows():
    matching = "a regular expression (RE2) must match the whole"
    for view in ("op", "scope", "graph", "layer"):
        (note,) = SMALL.view(view, show_name_regexes="zzz", hide_name_regexes="Sum").notes
        assert note.startswith(f"-show_name_regexes zzz leaves no rows: {matching} name, as ")
        assert note in SMALL.view(view, show_name_regexes="zzz", hide_name_regexes="Sum").text
        assert SMALL.view(view, show_name_regexes=".*l.*").notes == ()
        assert SMALL.view(view, max_depth=1).notes == ()
    (note,) = SMALL.op(account_type_regexes="zzz,yyy").notes
    assert note.startswith(f"-account_type_regexes zzz,yyy leaves no rows: {matching} type")
    assert SMALL.scope(min_micros=1e6).notes == ("-min_micros 1e+06 leaves no rows",)
    assert SMALL.scope(trim_name_regexes=".*").notes == ("-trim_name_regexes .* leaves no rows",)
    (note,) = SMALL.op(show_name_regexes="zzz", min_micros=1e6).notes
    assert note.startswith("-show_name_regexes zzz and -min_micros 1e+06 together leave no rows: ")
    (note,) = SMALL.op(show_name_regexes=["Profile:\n" * 999]).notes
    assert "\n" not in note
    assert len(note) < 400


def test_an_empty_profile_blames_no_option():
    assert profile().op(show_name_regexes="zzz").notes == ()


def test_scope_rows_hold_self_and_total_with_the_root_first():
    frame = SMALL.scope().frame.set_index("name")

    assert list(frame.index) == [
        *("_TFProfRoot", "dense", "dense/MatMul", "dense/BiasAdd", "head", "head/MatMul", "loss")
    ]
    assert np.isnan(frame.loc["_TFProfRoot", "micros"])
    assert frame.loc["_TFProfRoot", "total_micros"] == 100
    assert frame.loc["dense", "micros"] == 0
    assert frame.loc["dense", "total_micros"] == 70
    assert frame.loc["head", "total_accelerator_micros"] == 15
    assert frame.loc["dense", "total_run_count"] == 6
    assert frame.loc["dense", "total_defined_count"] == 3  # tfprof counts the folder itself


def test_scope_parents_are_row_numbers():
    frame = SMALL.scope().frame

    assert list(frame["parent"]) == [-1, 0, 1, 1, 0, 4, 0]
    assert list(frame["depth"]) == [0, 1, 2, 2, 1, 2, 1]


def test_scope_max_depth_counts_the_root_as_one():
    assert set(SMALL.scope(max_depth=2).frame["name"]) == {"_TFProfRoot", "dense", "head", "loss"}
    assert list(SMALL.scope(max_depth=1).frame["name"]) == ["_TFProfRoot"]


def test_children_of_a_hidden_scope_move_up_to_the_nearest_shown_one():
    shown = profile(node("a/b/x", micros=1, runs=2), node("a/y", micros=5, runs=2))

    frame = shown.scope(min_occurrence=1).frame

    assert list(frame["name"]) == ["_TFProfRoot", "a/y", "a/b/x"]
    assert list(frame["parent"]) == [-1, 0, 0]


def test_an_op_that_is_also_a_scope_is_one_row():
    frame = profile(node("w", micros=1), node("w/Assign", micros=2)).scope().frame

    assert list(frame["name"]) == ["_TFProfRoot", "w", "w/Assign"]
    assert list(frame["micros"])[1:] == [1, 2]
    assert list(frame["total_micros"]) == [3, 3, 2]


MAIN = ("In [3]", 9, "<module>")
HELPED = profile(
    node("a", "MatMul", micros=5, stack=(MAIN, ("/home/me/train.py", 4, "build_the_whole_model"))),
    node("b", "Relu", micros=3, stack=(MAIN,)),
    node("a", "MatMul", micros=2, stack=(("In [3]", 7, "<module>"),)),
    node("c", "_Arg", micros=1),
)


def test_code_rows_are_lines_below_the_lines_that_called_them():
    frame = HELPED.code().frame

    assert list(frame["name"]) == [
        *("_TFProfRoot", "In [3]:9:<module>", "train.py:4:build_the_whole_m..."),
        *("In [3]:7:<module>", "no Python line known"),
    ]
    assert list(frame["depth"]) == [0, 1, 2, 1, 1]
    assert list(frame["total_micros"]) == [11, 8, 5, 2, 1]
    assert list(frame["micros"])[1:] == [3, 5, 2, 1]
    assert list(frame["source"]) == ["", "line 9", "line 4", "line 7", ""]


def test_a_node_that_ran_from_two_lines_counts_on_both():
    frame = HELPED.code(select="occurrence").frame.set_index("name")

    assert frame.loc["In [3]:7:<module>", "run_count"] == 1
    assert frame.loc["train.py:4:build_the_whole_m...", "run_count"] == 1
    assert frame.loc["_TFProfRoot", "total_run_count"] == 4


IN_CALL = (MAIN, ("In [2]", 4, "call"))
TRAINED = profile(
    node("dense/MatMul", "MatMul", micros=5, stack=IN_CALL),
    node("gradient_tape/dense/MatMul/MatMul", "MatMul", micros=7, stack=IN_CALL, backward=True),
    node("gradient_tape/AddN", "AddN", micros=1, stack=(MAIN,), backward=True),
    node("unknown/Mul", "Mul", micros=2, backward=True),
)


def test_gradients_have_a_row_below_the_line_they_are_the_gradient_of():
    frame = TRAINED.code().frame

    assert list(frame["name"]) == [
        *("_TFProfRoot", "In [3]:9:<module>", "In [2]:4:call", "In [2]:4:call (backward)"),
        *("In [3]:9:<module> (backward)", "no Python line known"),
    ]
    assert list(frame["depth"]) == [0, 1, 2, 3, 2, 1]
    assert list(frame["micros"])[1:] == [0, 5, 7, 1, 2]
    assert list(frame["total_micros"]) == [15, 13, 12, 7, 1, 2]
    assert list(frame["source"]) == ["", "line 9", "line 4", "line 4", "line 9", ""]


def test_a_function_may_be_named_like_a_row_of_gradients():
    named = profile(
        *(node(name, stack=(("In [3]", 9, f"f ({name})"),)) for name in ("backward", "gradient"))
    )
    view = named.code(select="micros", output="pprof:outfile=never_written.pb.gz")

    assert list(view.frame["name"])[1:] == ["In [3]:9:f (backward)", "In [3]:9:f (gradient)"]
    assert list(view.frame["source"])[1:] == ["line 9", "line 9"]
    assert list(view.origin.lines.frames["function"]) == ["f (backward)", "f (gradient)"]


def test_the_rows_of_gradients_are_read_back_from_a_report():
    printed = TRAINED.code(select="micros")

    again = nbprof.parse_text(printed.text).frame

    assert list(again["name"]) == list(printed.frame["name"])
    assert list(again["depth"]) == list(printed.frame["depth"])
    assert list(again["total_micros"]) == list(printed.frame["total_micros"])


def test_a_line_that_runs_several_layers_has_a_row_for_each():
    dense, conv = (("/env/keras/src/layers/" + file, 9, "call") for file in ("dense.py", "conv.py"))
    of_first, of_second = {"layer": "model/first"}, {"layer": "model/second"}
    fitted = profile(
        node("a", "MatMul", micros=4, stack=(MAIN, dense), **of_first),
        node("b", "MatMul", micros=2, stack=(MAIN, dense), backward=True, **of_first),
        node("c", "Conv2D", micros=3, stack=(MAIN, conv), **of_second),
        node("d", "MatMul", micros=1, stack=IN_CALL, **of_second),
    )

    frame = fitted.code().frame

    assert list(frame["name"])[1:] == [
        *("In [3]:9:<module>", "layer model/first", "layer model/first (backward)"),
        *("layer model/second", "In [2]:4:call"),
    ]
    assert list(frame["depth"])[1:] == [1, 2, 3, 2, 2]
    assert list(frame["total_micros"])[1:] == [10, 6, 2, 3, 1]


def test_a_stack_without_lines_of_the_users_is_an_unknown_line():
    keras = ("/env/keras/src/trainer.py", 9, "fit")
    inside = profile(node("a", "MatMul", micros=4, stack=(keras,), backward=True))

    assert list(inside.code().frame["name"]) == ["_TFProfRoot", "no Python line known"]


COUNTED = profile(
    node("dense/MatMul", "MatMul", micros=60, flops=1000),
    node("dense/Relu", "Relu", micros=30),
    node("pool", "AvgPool", micros=10, flops=float("nan")),
)


FITTED = profile(
    node(
        "dense/MatMul",
        "MatMul",
        micros=5,
        stack=(("In [1]", 3, "<module>"), ("/env/keras/src/trainer.py", 9, "fit")),
    )
)


def test_the_lines_of_frameworks_are_folded_into_the_line_that_called_them():
    assert list(FITTED.code().frame["name"]) == ["_TFProfRoot", "In [1]:3:<module>"]


def test_the_lines_of_frameworks_can_be_unfolded():
    names = list(FITTED.code(frames="all").frame["name"])

    assert names == ["_TFProfRoot", "In [1]:3:<module>", "trainer.py:9:fit"]


def test_unknown_float_ops_are_nan_and_do_not_spoil_the_total():
    frame = COUNTED.op(select="float_ops", order_by="name").frame

    assert np.isnan(frame["float_ops"][0])
    assert list(frame["float_ops"])[1:] == [1000, 0]
    assert COUNTED.scope(select="float_ops").frame["total_float_ops"][0] == 1000


def test_the_total_of_unknown_numbers_is_unknown_even_in_a_scope_that_never_ran():
    some = profile(
        node("dark/MatMul", "MatMul", flops=np.nan),
        node("dark/deep/Conv2D", "Conv2D", flops=np.nan),
        node("half/MatMul", "MatMul", flops=np.nan),
        node("half/Add", "Add", flops=7),
        node("quiet/Relu", "Relu"),
    )

    frame = some.scope(select="float_ops,occurrence").frame.set_index("name")["total_float_ops"]
    assert frame[["dark", "dark/deep"]].isna().all()
    assert frame[["half", "quiet", "_TFProfRoot"]].tolist() == [7, 0, 7]
    only = profile(node("dark/MatMul", "MatMul", flops=np.nan))
    assert only.scope(select="float_ops").frame["total_float_ops"].isna().all()


def test_a_minimum_does_not_hide_rows_with_unknown_numbers():
    some = profile(
        node("a", "Large", micros=9, size=500),
        node("b", "Small", micros=5, size=5),
        node("c", "Dark", micros=1, size=np.nan),
    )

    for view in ("op", "scope"):
        names = some.view(view, min_bytes=100).frame["name"].tolist()
        assert names[-2:] == (["Large", "Dark"] if view == "op" else ["a", "c"])
    shares = some.op(select="bytes").frame["bytes_accumulated_percent"]
    assert shares[0] == 100
    assert np.isnan(shares[2])


def test_variables_do_not_turn_a_layers_unknown_memory_into_zero():
    some = profile(
        node("m/MatMul", "MatMul", size=np.nan, layer="dense"),
        node("n/Add", "Add", size=5, layer="other"),
        variables=[variable("kernel", "2x3", layer="dense")],
    )

    frame = some.layer(select="bytes,params").frame.set_index("name")
    assert np.isnan(frame["total_bytes"]["dense"])
    assert frame["total_params"]["dense"] == 6
    assert frame["total_bytes"][["other", "_TFProfRoot"]].tolist() == [5, 5]


def test_notes_name_ops_without_a_formula_and_ops_whose_shapes_are_unknown():
    unknown = {"flops": float("nan")}
    some = profile(
        node("product", "MatMul", micros=500, flops=1000),
        node("root", "Cholesky", micros=300, **unknown),
        node("pool", "AvgPool", micros=102, **unknown),
        *(node(op_type, op_type, micros=20, **unknown) for op_type in ("Qr", "Lu", "Eig")),
        node("frequencies", "FFT", micros=30, **unknown),
        *(node(op_type, op_type, micros=4, **unknown) for op_type in ("Svd", "MyOp")),
    )

    *_, uncounted, missing = some.op(select="float_ops").notes

    assert uncounted == (
        "float_ops leave out Cholesky (30% of the op time), FFT (3%), Eig (2%), Lu (2%), Qr (2%) "
        "and 2 more op types (<1%): there is no formula"
    )
    assert missing.startswith("float_ops are at least what is shown: those of AvgPool (10% of")
    assert not [note for note in some.op(select="micros").notes if "float_ops" in note]


def test_an_op_that_computes_nothing_is_not_named_in_a_note():
    some = profile(node("same", "Identity", micros=30), node("product", "MatMul", flops=10))

    assert not [note for note in some.op(select="float_ops").notes if "float_ops" in note]
    assert COUNTED.op(select="micros").notes == ()


def test_float_ops_are_printed_where_tfprof_prints_them():
    op = COUNTED.op(select="bytes,float_ops,occurrence").text
    scope = COUNTED.scope(select="bytes,float_ops,occurrence").text

    assert "node name | requested bytes | # float_ops | op occurrence (run|defined)" in op
    assert "1.00k float_ops (100.00%, 100.00%)" in op
    assert "node name | # float_ops | requested bytes | op count (run|defined)" in scope
    assert "dense/MatMul (1.00k/1.00k flops, 0B/0B, 1/1|1/1)" in scope


SHAPED = profile(
    node("a", "MatMul", micros=4, runs=2, shapes=("8x4", "4x2")),
    node("b", "MatMul", micros=6, runs=3, shapes=("2x2", "unknown")),
    node("b", "MatMul", micros=1, runs=2, shapes=("8x4", "4x2")),
)


def test_each_input_shape_has_its_runs_nodes_and_time():
    (entries,) = SHAPED.op(select="micros,input_shapes").frame["input_shapes"]

    assert entries == [
        {"shapes": ["8x4", "4x2"], "run_count": 4, "defined_count": 2, "micros": 5},
        {"shapes": ["2x2", "unknown"], "run_count": 3, "defined_count": 1, "micros": 6},
    ]


def test_input_shapes_are_printed_as_tfprof_does():
    *_, row, blank, first, second, end = SHAPED.op(select="micros,input_shapes").text.split("\n")[
        :-1
    ]

    assert row.startswith("MatMul ")
    assert (blank, end) == ("", "")
    assert first == "input_type: 0:8x4,\t1:4x2\t(run*4|defined*2)\texec_time: 5us"
    assert second == "input_type: 0:2x2,\t1:unknown\t(run*3|defined*1)\texec_time: 6us"


TWO_STEPS = profile(
    node("a", "A", micros=10, size=100, runs=2, step=0),
    node("a", "A", micros=20, size=300, runs=1, step=1),
    node("b", "B", micros=7, step=1),
    steps=2,
)


def test_a_single_step_can_be_viewed():
    first, second = (TWO_STEPS.op(step=step).frame.set_index("name") for step in (0, "1"))

    assert list(first["micros"]) == [10, 0]
    assert list(second.loc[["A", "B"], "micros"]) == [20, 7]
    assert list(second.loc[["A", "B"], "run_count"]) == [1, 1]


def test_the_average_is_over_the_steps_in_which_a_node_ran():
    frame = TWO_STEPS.op(step=-1, select="bytes,micros,occurrence").frame.set_index("name")

    assert list(frame.loc["A", ["micros", "bytes", "run_count"]]) == [15, 200, 1.5]
    assert frame.loc["B", "micros"] == 7
    assert "1.50|1" in TWO_STEPS.op(step=-1).text


def test_the_steps_add_up_to_the_cell():
    whole = TWO_STEPS.scope().frame["total_micros"][0]

    assert sum(TWO_STEPS.scope(step=step).frame["total_micros"][0] for step in (0, 1)) == whole


def test_an_unknown_step_is_refused_with_a_list_of_the_steps():
    with pytest.raises(NbprofError, match="there is no step 2; steps are 0, 1, -1 or all"):
        TWO_STEPS.op(step=2)
    with pytest.raises(NbprofError, match="steps are 0, -1 or all"):
        SMALL.op(step=1)


def test_an_unknown_view_is_refused_with_a_list_of_the_views():
    with pytest.raises(
        NbprofError, match="there is no view 'kernel'; views are op, scope, graph, code, layer"
    ):
        SMALL.view("kernel")


@pytest.mark.parametrize("view", op_views())
@pytest.mark.parametrize("column", [name for name in metric_names() if COLUMNS[name].of_ops])
@pytest.mark.parametrize("made", [SMALL, profile(), profile(node("one", micros=1))])
def test_every_view_of_ops_shows_every_column_of_any_profile(view, column, made):
    shown = made.view(view, select=column, order_by=column)

    assert {"name", *COLUMNS[column].metrics} <= set(shown.frame.columns)
    assert shown.text.splitlines().count("Profile:") == 1
    assert "<table>" in shown._repr_mimebundle_()["text/html"]


names = st.lists(st.sampled_from(["a", "b", "a-b", "c"]), min_size=1, max_size=4).map("/".join)
nodes = st.builds(
    node,
    names,
    st.sampled_from(["MatMul", "Add", "Relu"]),
    micros=st.integers(0, 1000),
    runs=st.integers(1, 3),
)


@given(st.lists(nodes, max_size=12, unique_by=lambda made: made["name"]))
def test_the_op_and_scope_views_add_up_to_the_same_totals(made):
    built = profile(*made)
    spent = sum(described["cpu_ns"] for described in made) / 1000
    runs = sum(described["runs"] for described in made)

    op, scope = built.op().frame, built.scope().frame

    assert op["micros"].sum() == pytest.approx(spent)
    assert scope["total_micros"][0] == pytest.approx(spent)
    assert op["run_count"].sum() == scope["total_run_count"][0] == runs


@given(st.lists(nodes, max_size=12, unique_by=lambda made: made["name"]), st.integers(0, 6))
def test_a_scope_tree_is_consistent_at_every_depth(made, depth):
    frame = profile(*made).scope(max_depth=depth).frame

    assert (frame["parent"] < frame.index).all()
    rows = frame.iloc[1:]
    assert (rows["depth"].to_numpy() == frame["depth"].to_numpy()[rows["parent"]] + 1).all()
    for parent, children in rows.groupby("parent"):
        if depth >= 6:
            own = np.nan_to_num(frame["micros"][parent])
            assert frame["total_micros"][parent] == pytest.approx(
                own + children["total_micros"].sum()
            )
        assert children["total_micros"].is_monotonic_decreasing


def test_numbers_in_frames_are_raw():
    frame = SMALL.op().frame

    assert pd.api.types.is_float_dtype(frame["micros"])
    assert pd.api.types.is_integer_dtype(frame["run_count"])
