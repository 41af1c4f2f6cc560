"""The column `live_bytes` of profiles made by hand: defaults, tfprof's inputs, explorer, files."""

from dataclasses import replace

import numpy as np
import pytest
from support.by_hand import node, profile, variable
from support.paths import DATA

import nbprof
from nbprof.columns import allocator_columns
from nbprof.display.explorer.payload import whole_payload
from nbprof.view_kinds import VIEWS, op_views
from nbprof.views.report import report_of, whole_report

LINE = (("In [3]", 4, "<module>"),)


@pytest.fixture
def cell():
    """Return a profile of two ops and 500 bytes that neither of them allocated."""
    made = profile(
        node("dense/MatMul", "MatMul", micros=30, size=64, layer="dense", stack=LINE),
        node("dense/Relu", "Relu", micros=10, step=1, layer="dense", stack=LINE),
        variables=[variable("kernel", "3x4", layer="dense")],
        steps=2,
    )
    return made.with_values(recording=replace(made.recording, outside_ops_bytes=500.0))


@pytest.fixture
def tfprofs():
    folder = DATA / "tfprof"
    return nbprof.load_tfprof(folder / "graph.pbtxt", [folder / "run_meta"])


def names(columns):
    return [column.name for column in columns if column.name in ("micros", *allocator_columns())]


def test_a_cell_shows_live_bytes_and_tfprofs_inputs_show_bytes(cell, tfprofs):
    for view in ("op", "scope"):
        assert names(cell.view(view).columns) == ["micros", "live_bytes"]
        assert names(tfprofs.view(view).columns) == ["bytes", "micros"]
    assert cell.op().options.select == ("micros", "live_bytes", "occurrence")
    assert tfprofs.op().options.select == ("bytes", "micros", "occurrence")
    assert cell.op(select=[]).options.select == ()


def test_siblings_show_the_same_columns_as_the_view_that_was_asked_for(cell, tfprofs):
    for report in (report_of(cell.op()), report_of(tfprofs.op())):
        first = names(report.view.columns)
        assert all(names(sibling.columns) == first for sibling in report.siblings)


def test_tfprofs_inputs_have_no_live_bytes_and_a_note_says_so(tfprofs):
    view = tfprofs.scope(select="live_bytes")

    assert view.frame["total_live_bytes"].isna().all()
    assert any("do not know what was alive at the peak" in note for note in view.notes)
    assert "live_bytes" not in names(whole_report(tfprofs).view.columns)


@pytest.mark.parametrize("view", [name for name in op_views() if VIEWS[name].is_tree])
def test_what_no_op_allocated_is_in_the_total_of_every_tree(cell, view):
    frame = cell.view(view).frame

    assert frame["total_live_bytes"][0] == frame["live_bytes"].sum() == 564
    assert frame["total_micros"][0] == 40
    assert frame["total_run_count"][0] == 2


def test_parameters_and_what_no_op_allocated_can_be_shown_together(cell):
    frame = cell.layer(select="params,live_bytes").frame.set_index("name")

    assert frame.loc["_TFProfRoot", ["total_params", "total_live_bytes"]].tolist() == [12, 564]
    assert frame.loc["outside layers", "total_live_bytes"] == 500


def test_unknown_parameters_stay_unknown_beside_what_no_op_allocated(cell):
    trace = cell.with_values(
        nodes=cell.nodes.assign(params=np.nan),
        recording=replace(cell.recording, has_definitions=False),
    )

    assert np.isnan(trace.scope(select="params,live_bytes").frame["total_params"][0])


def test_the_smallest_shown_live_bytes_can_be_chosen(cell):
    shown = cell.op(order_by="live_bytes", min_live_bytes=1)

    assert shown.frame["name"].tolist() == ["outside ops", "MatMul"]


def test_the_explorer_knows_that_live_bytes_are_of_one_moment(cell):
    described = whole_payload(report_of(cell.scope())).described

    for view in described["views"]:
        flags = {column["key"]: column.get("at_one_moment") for column in view["columns"]}
        assert flags["live_bytes"]
        assert not flags["micros"]
    assert "live_bytes" in described["kinds"]["weights"]


def test_files_of_stacks_and_times_leave_out_what_no_op_allocated(cell, tmp_path):
    pprof = cell.code(select="live_bytes", output=f"pprof:outfile={tmp_path / 'x.pb.gz'}")
    timeline = cell.scope(output=f"timeline:outfile={tmp_path / 'x'}")

    assert pprof.frame["total_live_bytes"][0] == 64
    for view in (pprof, timeline):
        assert all(path.exists() for path in view.write_output())


def test_table_files_have_the_row_of_what_no_op_allocated(cell, tmp_path):
    cell.op().to_csv(tmp_path / "x.csv")

    rows = (tmp_path / "x.csv").read_text(encoding="utf-8").splitlines()
    assert rows[-1].startswith("outside ops,")
    assert "live_bytes" in rows[0]


def test_a_saved_cell_keeps_what_no_op_allocated(cell, tmp_path):
    cell.save(tmp_path / "x.nbprof")

    assert nbprof.load(tmp_path / "x.nbprof").op().text == cell.op().text
