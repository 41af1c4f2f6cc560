"""Printed reports become Views with their numbers, and print the same again."""

import contextlib
import math
import subprocess
import sys
import time
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.by_hand import node, profile, variable
from support.paths import GOLDEN
from support.printed_reports import NAMES, report, table

import nbprof
from nbprof.columns import COLUMNS
from nbprof.errors import NbprofError

WORKED = GOLDEN / "tfprof"


def rows_of(text):
    """Return the lines of a table, less the placeholders of omitted rows."""
    lines = text[text.index("_TFProfRoot" if "_TFProfRoot" in text else "node name") :]
    return [line for line in lines.splitlines() if line.strip() != "..."]


# Reports printed by tfprof


@pytest.mark.parametrize("name", NAMES)
def test_the_rows_of_every_report_print_the_same_after_parsing(name):
    text = report(name)

    again = rows_of(table(nbprof.parse_text(text).text))

    first = 0 if again[0].startswith("_") else 1
    expected = rows_of(text)[first:]
    if name == "time_op":  # which has no runs
        expected = [f"{line[:-10]}{'n/a|' + line[-10:].strip():>10}" for line in expected]
    assert again[first:] == expected


@pytest.mark.parametrize("name", ["inception_op", "mnist_code", "deck_op", "float_ops_scope"])
def test_a_report_with_todays_columns_prints_the_same_after_parsing(name):
    text = report(name)

    again = table(nbprof.parse_text(text).text)

    assert again == (table(text) or text[text.index("node name") :])


def test_numbers_shares_devices_and_shapes_of_an_op_report_are_read():
    view = nbprof.parse_text(report("inception_op"))

    assert (view.name, view.is_tree, len(view.frame)) == ("op", False, 10)
    first = view.frame.iloc[0]
    assert first["name"] == "Conv2D"
    assert (first["micros"], first["cpu_micros"]) == (10_430_000, 10_430_000)
    assert first["micros_percent"] == 90.35
    assert first["micros_accumulated_percent"] == 100
    assert (first["peak_bytes"], first["float_ops"]) == (35_870_000, 11.42e9)
    assert first["device"] == "/job:localhost/replica:0/task:0/device:cpu:0"
    shapes = first["input_shapes"]
    assert len(shapes) == 42
    assert shapes[0] == {
        "shapes": ["1x17x17x768", "1x1x768x192"],
        "run_count": 12,
        "defined_count": 12,
        "micros": 1_610_000.0,
    }
    last = view.frame.iloc[-1]
    assert (last["name"], last["run_count"], last["defined_count"]) == ("Const", 392, 489)
    assert last["device"].startswith("|")
    assert last["input_shapes"][0]["shapes"] == []


def test_the_tree_of_a_code_report_is_read_without_counts():
    view = nbprof.parse_text(report("mnist_code"))

    frame = view.frame
    assert (view.name, view.is_tree) == ("code", True)
    assert frame["parent"].tolist()[:4] == [-1, 0, 1, 2]
    assert frame["total_bytes"][0] == 1_660_000
    assert math.isnan(frame["micros"][0])
    assert (frame["micros"][1], frame["total_micros"][1]) == (0, 434)
    assert frame["run_count"].isna().all()
    assert frame["total_defined_count"].isna().all()
    assert view.accounted.tolist() == [False] + [True] * (len(frame) - 1)


def test_the_numbers_of_the_op_table_in_the_slides_are_read():
    frame = nbprof.parse_text(report("deck_op")).frame

    assert len(frame) == 17
    assert frame["bytes"][0] == 40_069_140_000
    assert frame["micros"][:2].tolist() == [1_630_000, 44_570]
    assert frame["cpu_micros_percent"][0] == 95.46
    assert frame["run_count"].tolist()[:6] == [94, 94, 94, 188, 188, 394]
    assert frame["name"][14].endswith("-0-TransposeNHWCtoNCHW-LayoutOptimizer")


def test_shapes_and_parameters_of_variables_are_read():
    view = nbprof.parse_text(report("params_scope"))

    frame = view.frame.set_index("name")
    assert view.name == "scope"
    assert frame["total_params"]["_TFProfRoot"] == 930_580
    assert frame["shape"]["init/init_conv/DW"] == "3x3x3x16"
    assert (frame["params"]["pool_logit/DW"], frame["total_params"]["pool_logit/DW"]) == (640, 1280)
    assert frame["shape"]["global_step"] == ""
    assert frame["parent"]["pool_logit/DW/Momentum"] == 3


@pytest.mark.parametrize("name", ["time_code", "time_scope", "time_op_devices"])
def test_the_only_time_of_an_old_report_is_read_as_micros(name):
    view = nbprof.parse_text(report(name))

    assert [column.name for column in view.columns if column.metrics] == ["micros"]
    assert any("a single time" in note for note in view.notes)


def test_the_only_count_of_an_old_report_is_the_number_of_nodes():
    view = nbprof.parse_text(report("time_op"))

    assert view.frame["defined_count"].tolist()[:3] == [30, 3450, 2180]
    assert view.frame["run_count"].isna().all()
    assert any("not runs" in note for note in view.notes)


def test_the_source_of_old_code_rows_is_read():
    view = nbprof.parse_text(report("time_code"))

    row = view.frame.iloc[3]
    assert row["name"] == "seq2seq_attention.py:316:<module>:app.run()"
    assert row["source"] == "app.run()"
    assert view.frame["total_micros"].tolist()[6:9] == [2_790_000, 2_460_000, 265_310]
    assert sum("left out" in note for note in view.notes) == 3


def test_devices_of_an_old_report_are_read_in_full():
    frame = nbprof.parse_text(report("time_op_devices")).frame

    assert frame["device"][0] == "/job:worker/replica:0/task:0/cpu:0"
    assert frame["device"][1].count("|") == 5


# The worked examples, and reports of nbprof


@pytest.mark.parametrize("file", sorted(WORKED.glob("w*.txt")), ids=lambda file: file.stem)
def test_the_worked_examples_print_the_same_after_parsing(file):
    text = file.read_text(encoding="utf-8")

    assert table(nbprof.parse_text(text).text) == text


NAMES_OF_NODES = st.lists(
    st.sampled_from(["a", "b", "a-b", "c d", "e (f)", "g, h", "größe", "2us"]),
    min_size=1,
    max_size=4,
).map("/".join)
TYPES = ["MatMul", "Add", "Mat Mul", "Größe", "SparseSoftmaxCrossEntropyWithLogits"]
FRAMES = st.sampled_from([("<cell>", 3, "<module>"), ("layers.py", 7, "dense"), ("a b.py", 1, "f")])
SHAPES = st.sampled_from([(), ("2x3",), ("-1x3", "unknown"), ("",)])

nodes = st.builds(
    node,
    NAMES_OF_NODES,
    st.sampled_from(TYPES),
    micros=st.integers(0, 9),
    accelerator_micros=st.just(0),
    runs=st.integers(1, 3),
    size=st.integers(0, 9),
    flops=st.integers(0, 9),
    stack=st.lists(FRAMES, max_size=2).map(tuple),
    shapes=SHAPES,
    layer=st.sampled_from(["outside layers", "model", "model/dense"]),
    backward=st.booleans(),
)
variables = st.builds(
    variable, st.sampled_from(["v", "w"]), st.sampled_from(["2x3", "4"]), st.booleans()
)
made = st.builds(
    lambda nodes, variables: profile(*nodes, variables=variables),
    st.lists(nodes, max_size=8, unique_by=lambda made: made["name"]),
    st.lists(variables, max_size=2, unique_by=lambda made: made["name"]),
)
columns = st.lists(st.sampled_from([*COLUMNS]), min_size=1, unique=True)


@pytest.mark.parametrize("name", ["op", "scope", "graph", "code", "layer"])
@settings(max_examples=30)
@given(made=made, select=columns)
def test_small_whole_numbers_survive_printing(name, made, select):
    view = made.view(name, select=select)

    again = nbprof.parse_text(view.text)

    assert again.name == name
    assert table(again.text) == table(view.text)
    assert_same_frame(again, view)


def assert_same_frame(again, view):
    assert set(view.frame.columns) - {"tensor_value"} == set(again.frame.columns)
    assert len(view.frame) == len(again.frame)
    for name in again.frame.columns:
        if name.endswith("_percent"):
            shown = view.frame[name].where(~hidden(view, name), 0)
            np.testing.assert_allclose(again.frame[name], shown, atol=0.0051)
        elif name == "input_shapes":
            assert first_shapes(again) == first_shapes(view)
        elif again.frame[name].dtype.kind in "if":
            np.testing.assert_allclose(again.frame[name], view.frame[name])
        elif name not in ("source", "kind") and (name, view.name) != ("shape", "code"):
            assert again.frame[name].fillna("").tolist() == view.frame[name].fillna("").tolist()


def hidden(view, name):
    """Mask of rows for which tfprof prints no share, because their bytes are 0."""
    metric = name.removesuffix("_percent").removesuffix("_accumulated")
    return (view.frame[metric] == 0) & COLUMNS[metric].no_share_of_zero


def first_shapes(view):
    lists = view.frame["input_shapes"]
    if not view.is_tree:
        return lists.tolist()
    return [entries[0]["shapes"] if entries else [] for entries in lists]


def test_numbers_not_recorded_stay_nan():
    view = profile(node("a", "MatMul", flops=math.nan), node("b", "Add", flops=3)).scope(
        select="float_ops"
    )
    op = profile(node("a", "MatMul", flops=math.nan)).op(select="float_ops,micros")

    assert nbprof.parse_text(view.text).frame["float_ops"].isna().tolist() == [True, True, False]
    assert nbprof.parse_text(op.text).frame["float_ops"].isna().all()
    assert table(nbprof.parse_text(op.text).text) == table(op.text)
    assert nbprof.parse_text(view.text).accounted.tolist() == [False, True, True]


@pytest.mark.parametrize("micros", [999, 1000, 1004, 1005, 999_994, 999_999, 10**6, 3_600_000_000])
def test_large_numbers_print_the_same_after_parsing(micros):
    view = profile(node("a", "MatMul", micros=micros, size=micros, flops=micros)).scope(
        select="micros,bytes,float_ops"
    )

    again = nbprof.parse_text(view.text)

    assert table(again.text) == table(view.text)
    assert again.frame["total_micros"][0] == pytest.approx(micros, rel=0.005)


# Where the table is


OP = table(report("inception_op"))
SCOPE = (WORKED / "w1.txt").read_text(encoding="utf-8")
FRAME = (
    "\n====Options====\n-max_depth    10\n\n====Model Analysis Report====\n{}"
    "\n====End of Report====\n"
)


@pytest.mark.parametrize("text", [OP, SCOPE], ids=["op", "scope"])
@pytest.mark.parametrize(
    "around",
    [
        FRAME,
        "\nDoc:\n{}",
        "Parsing Inputs...\n\nsome words\n{}",
        "{}\n\nSome words after it (1 of 2).\n",
        "    words\n\n{}\n\n\nparam_stats = profile(\n    graph,\n    options=x)\n",
        "```\n{}```\nwords\n",
        "{}tfprof> quit\n",
    ],
)
def test_text_around_the_table_does_not_matter(text, around):
    assert table(nbprof.parse_text(around.format(text)).text) == text


def test_a_table_may_be_indented_and_have_windows_line_ends():
    text = "".join(f"    {line}\r\n" for line in SCOPE.splitlines())

    assert table(nbprof.parse_text(text).text) == SCOPE


def test_trailing_spaces_may_be_missing():
    text = "\n".join(line.rstrip() for line in OP.splitlines())

    assert table(nbprof.parse_text(text).text) == OP


def test_a_report_that_does_not_name_its_view_is_guessed_with_a_note():
    named = nbprof.parse_text(f"Doc:\ngraph: words\n\nProfile:\n{SCOPE}")
    guessed = nbprof.parse_text(SCOPE)

    assert (named.name, named.notes) == ("graph", ())
    # tfprof's own Doc block says `scope` for the graph view, too.
    graph = (WORKED / "w4.txt").read_text(encoding="utf-8")
    assert nbprof.parse_text(f"Doc:\nscope: words\n\nProfile:\n{graph}").name == "graph"
    assert guessed.name == "scope"
    assert "look like the scope view" in guessed.notes[0]


def test_values_of_variables_stay_with_their_rows():
    text = (
        "_TFProfRoot ()\n  w/gamma ()\n[1.80 2.10 2.06 ],\n    w/gamma/read ()\n"
        "  w/beta ()\n[[1.00 2.00 ],\n[3.00 4.00 ],\n],\n"
    )

    view = nbprof.parse_text(text)

    assert view.frame["tensor_value"].tolist()[:3] == ["", "[1.80 2.10 2.06 ],", ""]
    assert table(view.text) == f"node name | \n{text}"


def test_a_cut_report_has_a_note():
    view = nbprof.parse_text(f"{SCOPE}… and 1,234 more rows: -o NAME keeps the View\n")

    assert any("1,234 more rows" in note for note in view.notes)


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("DepthwiseConv2dNativeBackpropInput", "491.52k"),
        ("ResizeNearestNeighborGradV2", "491.52k"),
        ("ResizeNearestNeighborGradV2", "1.28k"),
        ("conv2d_1/convolution-0-Transpose_10", "491.52k"),
    ],
)
def test_a_name_that_runs_into_its_number_is_split_from_it(name, number):
    row = f"{name}{f'{number} float_ops (100.00%, 100.00%)':>30}"

    view = nbprof.parse_text(f"node name | # float_ops\n{row}\n")

    assert view.frame["name"][0] == name
    assert table(view.text).splitlines()[1] == row


def test_the_op_view_of_no_nodes_has_no_legend():
    doc = "Doc:\nop: words\nparam: words\noccurrence: words\n\nProfile:\n"
    row = "_TFProfRoot                     0 params (0.00%, 0.00%),        0|0\n"

    view = nbprof.parse_text(doc + row)
    bare = nbprof.parse_text("_TFProfRoot              \n")

    assert (view.name, table(view.text)) == ("op", row)
    assert (view.frame["params"][0], view.frame["defined_count"][0]) == (0, 0)
    assert (bare.name, table(bare.text)) == ("op", "_TFProfRoot              \n")


@pytest.mark.parametrize("column", ["device", "op_types", "occurrence"])
def test_a_long_name_is_split_from_cells_without_numbers(column):
    long = node("a", "SparseSoftmaxCrossEntropyWithLogits", device="/job:j/device:CPU:0")
    view = profile(long, node("b", "Add")).op(select=column)

    again = nbprof.parse_text(view.text)

    assert again.frame["name"].tolist() == view.frame["name"].tolist()
    assert again.frame.iloc[:, 1].tolist() == view.frame.iloc[:, 1].tolist()


# Text that is not a report


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "not a tfprof report: expected a line 'node name"),
        ("hello\nworld", "not a tfprof report"),
        ("node name | # of things\n", "line 1: there is no column '# of things'; expected some of"),
        ("node name | peak bytes | peak bytes\n", "line 1: the column peak_bytes comes twice"),
        ("Doc:\nscope: x\n\nnode name | peak bytes\n", "line 5: expected the row '_TFProfRoot"),
        ("_TFProfRoot (--/5B)\n", "line 1: the report has no legend"),
        (
            "node name | peak bytes\n_TFProfRoot (--/5us)\n",
            "line 2 .*'5us' is not a number in B",
        ),
        ("node name | peak bytes\n_TFProfRoot (--/5B, 3)\n", "line 2 .*no more cells than peak"),
        ("node name | peak bytes\n_TFProfRoot ()\n", "line 2 .* as self/total"),
        ("node name | peak bytes\n_TFProfRoot (--/5B)\n  a (5B/5\n", "line 3 .*in parentheses"),
        ("node name | peak bytes\n_TFProfRoot (--/5B)\n   a (5B/5B)\n", "line 3 .*two spaces"),
        ("node name | peak bytes\n_TFProfRoot (--/5B)\n    a (5B/5B)\n", "line 3 .*2 to 2 spaces"),
        ("node name | peak bytes\nMatMul  5B (1.00%, 2.0\n", "line 2 .*expected 1 numbers"),
        ("node name | peak bytes\nMatMul  5us (1.00%, 2.00%)\n", "line 2 .*'5us' is not a number"),
        (f"{SCOPE}\n{SCOPE}", "line 14 begins a second report; parse one at a time"),
        ("node name | \n_TFProfRoot ()\n\ud800\n", "line 3 has half a character .*: pass the text"),
        (b"node name | ", "takes the text of a report, not bytes"),
        (None, "takes the text of a report, not NoneType"),
    ],
)
def test_a_bad_report_is_refused_with_its_line_and_what_was_expected(text, error):
    with pytest.raises(NbprofError, match=error):
        nbprof.parse_text(text)


def test_a_damaged_row_is_never_taken_for_the_end_of_the_table():
    lines = OP.splitlines()
    for place, line in enumerate(lines[1:], 1):
        if "%" in line or line.startswith("input_type"):
            damaged = "\n".join([*lines[:place], line[: len(line) // 2], *lines[place + 1 :]])
            with pytest.raises(NbprofError, match=f"line {place + 1} "):
                nbprof.parse_text(damaged)


SCRAPS = (
    *("\n", "  ", "(", ")", ",", "|", "/", "--", "n/a", "9" * 30, "_TFProfRoot", "node name | "),
    *("input_type:", "%", "\t", "\ud800", "\udc80", "\0", "1000.00KB", "tfprof> op", "Doc:", "..."),
    *("[", " params", "Profile:", "=====", "٣", "inf", "9e5"),
)


def damage(draw, text):
    """Cut a piece out of a text, insert something, or swap two lines."""
    begin = draw.randrange(len(text) + 1)
    end = begin + draw.choice((0, 1, 5, 50, len(text)))
    if draw.random() < 0.2:
        lines = text.split("\n")
        one, other = draw.randrange(len(lines)), draw.randrange(len(lines))
        lines[one], lines[other] = lines[other], lines[one]
        return "\n".join(lines)
    return text[:begin] + draw.choice(("", *SCRAPS)) + text[end:]


def test_thousands_of_damaged_reports_are_read_or_refused_in_a_sentence():
    draw = Random(4)
    texts = [report(name)[:6000] for name in NAMES] + [SCOPE]
    refused = 0
    for _ in range(4000):
        text = draw.choice(texts)
        for _ in range(draw.choice((1, 1, 2, 5))):
            text = damage(draw, text)
        try:
            table(nbprof.parse_text(text).text)
        except NbprofError:
            refused += 1

    assert 1000 < refused < 4000


@pytest.mark.parametrize(
    "text",
    [
        "node name | peak bytes\n" + "a (1B (1.00%" * 50_000,
        "node name | peak bytes\n_TFProfRoot (--/1B)\n" + "  a (" * 100_000,
        "node name | peak bytes\n" + " " * 300_000 + "x",
        "node name | peak bytes\n" + "9" * 100_000,
        "node name | op types\n" + "a|" * 100_000,
        "node name | input shapes\nA\n\ninput_type: " + "0:1," * 100_000,
        "Doc:\n" * 100_000 + "_TFProfRoot ()",
        "node name | peak bytes\nA 1B (1.00%, 1.00%)\n\n" + "A (1.00%\n" * 50_000,
    ],
    ids=range(8),
)
def test_hostile_texts_are_parsed_or_refused_in_linear_time(text):
    began = time.thread_time()
    with contextlib.suppress(NbprofError):
        nbprof.parse_text(text)

    assert time.thread_time() - began < 5


def test_importing_nbprof_does_not_import_pandas():
    check = "import sys, nbprof; assert nbprof.parse_text and 'pandas' not in sys.modules"

    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
