"""Views as CSV, JSON and Parquet, read back as the same frame."""

import json
import os
import stat
import subprocess
import sys
import threading
import traceback

import numpy as np
import pandas as pd
import pytest
from support import by_hand
from support.by_hand import node, variable
from support.printed_reports import NAMES, report

import nbprof
from nbprof import NbprofError
from nbprof.view_kinds import op_views

EVERYTHING = (
    "bytes,peak_bytes,residual_bytes,output_bytes,micros,params,float_ops,"
    "device,op_types,occurrence,input_shapes"
)
SURROGATE = "\ud800"
"""A lone surrogate, which no UTF-8 file can hold."""


def odd_profile():
    """Return a profile with names that are hard to write and without peak memory."""
    made = by_hand.profile(
        node("a/MatMul", "MatMul", 10, runs=3, size=64, shapes=("2x3", "3x4"), layer="model/a"),
        node("b/Ünï 😀\0", "Relu", 7.5, accelerator_micros=2, layer='model/"b"'),
        node(f"c/half{SURROGATE}\n", "Half", 0.1, stack=(("In [3]", 4, "<module>"),)),
        variables=[variable("a/kernel", "3x4", layer="model/a")],
        notes=(f"memory was not recorded {SURROGATE}", "µs, not ms"),
    )
    made.events["peak_bytes"] = np.nan
    return made


def odd_views():
    return [odd_profile().view(name, select=EVERYTHING, min_micros=0) for name in op_views()]


def empty_views():
    return [by_hand.profile().view(name, select=EVERYTHING) for name in op_views()]


def whole(text):
    return text.replace(SURROGATE, "\ufffd") if isinstance(text, str) else text


def plain(value):
    """Turn arrays into lists, so that values from Parquet can be compared."""
    if isinstance(value, list | np.ndarray):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return None if value != value else whole(value)


def assert_is_the_frame(read, frame):
    assert list(read.columns) == list(frame.columns)
    assert read.index.equals(pd.RangeIndex(len(frame)))
    for name in frame.columns:
        if pd.api.types.is_numeric_dtype(frame[name]) and len(frame):
            pd.testing.assert_series_equal(read[name], frame[name], check_exact=True)
        else:
            assert plain(read[name].tolist()) == plain(frame[name].tolist())


@pytest.fixture(params=[*odd_views(), *empty_views()], ids=lambda view: f"{view.name}")
def view(request):
    return request.param


def test_pandas_reads_the_frame_from_json(view, tmp_path):
    view.to_json(tmp_path / "x.json")

    read = pd.read_json(tmp_path / "x.json", orient="table", precise_float=True)
    assert_is_the_frame(read, view.frame)


def test_pandas_reads_the_frame_and_its_description_from_parquet(view, tmp_path):
    pytest.importorskip("pyarrow")
    view.to_parquet(tmp_path / "x.parquet")

    read = pd.read_parquet(tmp_path / "x.parquet")
    assert_is_the_frame(read, view.frame)
    assert read.attrs["name"] == view.name
    assert read.attrs["title"] == view.headline
    assert read.attrs["notes"] == [whole(note) for note in view.notes]
    assert read.attrs["options"]["select"] == EVERYTHING.split(",")


def test_csv_has_every_row_whatever_its_name(view, tmp_path):
    view.to_csv(tmp_path / "x.csv")

    read = pd.read_csv(tmp_path / "x.csv", encoding="utf-8")
    assert list(read.columns) == list(view.frame.columns)
    assert len(read) == len(view.frame)


def test_a_parsed_report_can_be_written_too(tmp_path):
    for name in NAMES:
        view = nbprof.parse_text(report(name))
        view.to_json(tmp_path / f"{name}.json")

        read = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
        assert len(read["data"]) == len(view.frame)


def test_json_is_a_description_and_a_list_of_rows(tmp_path, golden):
    view = odd_profile().op(select="bytes,peak_bytes,occurrence,input_shapes", order_by="bytes")
    view.to_json(tmp_path / "x.json")

    text = (tmp_path / "x.json").read_text(encoding="utf-8")
    golden.check("op.json", text)
    read = json.loads(text)
    assert list(read) == ["name", "title", "notes", "options", "schema", "data"]
    assert [row["name"] for row in read["data"]] == view.frame["name"].map(whole).tolist()
    assert read["data"][0]["peak_bytes"] is None
    assert read["data"][0]["input_shapes"][0]["shapes"] == ["2x3", "3x4"]


def test_a_json_file_has_units_and_types(tmp_path):
    odd_profile().scope(select=EVERYTHING).to_json(tmp_path / "x.json")

    schema = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))["schema"]["fields"]
    units = {field["name"]: field.get("unit") for field in schema}
    types = {field["name"]: field["type"] for field in schema}
    assert units["total_micros"] == "µs"
    assert units["bytes"] == "bytes"
    assert units["run_count"] is units["name"] is units["parent"] is None
    assert types["name"] == types["op_types"] == "string"
    assert types["parent"] == types["total_run_count"] == "integer"
    assert types["micros"] == "number"


def test_a_parquet_file_has_types_units_and_nulls(tmp_path):
    pytest.importorskip("pyarrow")
    from pyarrow import parquet

    odd_profile().op(select=EVERYTHING).to_parquet(tmp_path / "x.parquet")

    table = parquet.read_table(tmp_path / "x.parquet")
    assert table.schema.field("cpu_micros").metadata[b"unit"].decode() == "µs"
    assert table.schema.field("micros_percent").metadata[b"unit"] == b"%"
    assert table["peak_bytes"].null_count == len(table)
    entry = table.schema.field("input_shapes").type.value_type
    assert {field.name: str(field.type) for field in entry} == {
        "shapes": "list<element: string>",
        "run_count": "int64",
        "defined_count": "int64",
        "micros": "double",
    }


def test_the_types_of_a_parquet_file_do_not_depend_on_its_rows(tmp_path):
    pytest.importorskip("pyarrow")
    from pyarrow import parquet

    for some, none in zip(odd_views(), empty_views(), strict=True):
        some.to_parquet(tmp_path / "some")
        none.to_parquet(tmp_path / "none")

        types = [parquet.read_schema(tmp_path / name).types for name in ("some", "none")]
        assert types[0] == types[1]


def test_without_pyarrow_parquet_is_refused_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(NbprofError, match=r"install it with: pip install 'nbprof\[parquet\]'\.$"):
        odd_profile().op().to_parquet(tmp_path / "x.parquet")

    assert not list(tmp_path.iterdir())


def test_everything_else_works_without_pyarrow(tmp_path):
    program = """
import sys
sys.modules["pyarrow"] = None
import nbprof
from support import by_hand
from support.by_hand import node
by_hand.profile(node("a", "MatMul", 1, shapes=("2x3",))).save("x.nbprof")
view = nbprof.load("x.nbprof").view("scope", select="micros,input_shapes")
view.to_csv("x.csv"), view.to_json("x.json"), view.text
"""
    here = {"PYTHONPATH": ":".join(sys.path)}

    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, env=here)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.csv", "x.json", "x.nbprof"]


@pytest.mark.parametrize("method", ["to_csv", "to_json", "to_parquet"])
def test_a_path_that_cannot_be_written_is_refused_in_a_sentence(tmp_path, method):
    if method == "to_parquet":
        pytest.importorskip("pyarrow")
    view = odd_profile().op()

    for path in (tmp_path / "none" / "x", tmp_path):
        with pytest.raises(NbprofError, match=r"cannot be written: .*\.$"):
            getattr(view, method)(path)
    getattr(view, method)(str(tmp_path / "x"))
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


EXPORTED = ("x.trace.json", "x.trace.json.gz", "x.pb.gz", "x.tfprof")


@pytest.mark.parametrize(
    ("of", "method", "name"),
    [
        *(
            ("view", "to_csv", "x.csv"),
            ("view", "to_json", "x.json"),
            ("view", "to_html", "x.html"),
        ),
        *(("profile", "save", "x.nbprof"), ("profile", "to_html", "x.html")),
        *(("profile", "export", name) for name in EXPORTED),
    ],
)
def test_writers_name_only_the_path_they_were_given(tmp_path, of, method, name):
    profile = odd_profile()
    writer = getattr(profile.op() if of == "view" else profile, method)
    path = tmp_path / "none" / name

    with pytest.raises(NbprofError) as refused:
        writer(path)
    assert str(refused.value) == f"{path} cannot be written: No such file or directory."
    shown = "".join(traceback.format_exception(refused.value))
    assert ".part" not in shown.partition(str(path))[2]
    assert "During handling" not in shown
    assert "direct cause" not in shown
    for nothing in (None, ""):
        with pytest.raises(NbprofError, match="needs a path"):
            writer(nothing)


def test_a_file_is_replaced_once_the_new_one_is_whole(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    path.write_text("older")
    monkeypatch.setattr("nbprof.export.table.values", lambda *_: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        odd_profile().op().to_json(path)

    assert path.read_text() == "older"
    assert [one.name for one in tmp_path.iterdir()] == ["x.json"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe, view = tmp_path / "pipe", odd_views()[0]
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()

    view.to_csv(pipe)

    reader.join()
    view.to_csv(tmp_path / "file")
    assert read == [(tmp_path / "file").read_bytes()]
    assert pipe.is_fifo()
    assert not list(tmp_path.glob("*.part"))


def test_a_full_device_is_refused_and_stays_a_device(tmp_path):
    device = tmp_path / "full"
    try:  # its own device: a bug would replace /dev/full
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
        device.open("wb").close()
    except (OSError, AttributeError):
        pytest.skip("only root on Linux can make a full device")

    with pytest.raises(NbprofError, match="full cannot be written: No space left on device"):
        by_hand.profile(node("a")).save(device)

    assert device.is_char_device()
