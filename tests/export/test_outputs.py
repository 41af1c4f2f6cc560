"""The files of `-output` for profiles made by hand: their content, and what is refused."""

import gzip
import json
from dataclasses import replace

import pandas as pd
import pytest
from support.by_hand import node, profile

from nbprof.errors import NbprofError

CELL, MODEL = ("In [1]", 3, "<module>"), ("/home/u/model.py", 9, "call")
KERAS = ("/lib/keras/layer.py", 100, "__call__")
STACK = (CELL, KERAS, MODEL)


def run_twice():
    """Return a profile of two steps with ops of one cell, one of them called through a model."""
    return profile(
        node("a/mm", "MatMul", micros=10.5, size=100, stack=STACK),
        node("a/relu", "Relu", micros=2, accelerator_micros=1.25, stack=(CELL,)),
        node("b", "Add", micros=1, step=1, runs=3, stack=(CELL,)),
        node("made by TensorFlow", "NoOp", micros=0.25),
        steps=2,
    )


def write(tmp_path, view, kind, **options):
    """Write one output; return the bytes of each file by the suffix of its name."""
    shown = run_twice().view(view, output=f"{kind}:outfile={tmp_path / 'out'}", **options)
    assert list(tmp_path.iterdir()) == []
    assert f"view.write_output() writes {tmp_path / 'out'}" in shown.notes[-1]
    written = shown.write_output()
    assert sorted(written) == sorted(tmp_path.iterdir())
    return {path.name.removeprefix("out"): path.read_bytes() for path in written}


# Reports


def test_a_report_is_written_as_it_is_shown(tmp_path):
    files = write(tmp_path, "op", "file")

    assert files == {"": run_twice().view("op").text.encode()}


@pytest.mark.parametrize("kind", ["stdout", "none"])
def test_stdout_and_none_write_no_file(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert run_twice().view("op", output=kind).write_output() == ()

    assert list(tmp_path.iterdir()) == []


# Timelines


KEYS = {
    "M": {"ph", "name", "pid", "args"},
    "X": {"ph", "name", "cat", "pid", "tid", "ts", "dur", "args"},
}


def events(content):
    """Read a Chrome trace and check the fields of every event."""
    trace = json.loads(content)
    assert list(trace) == ["traceEvents"]
    named = {event["pid"] for event in trace["traceEvents"] if event["ph"] == "M"}
    for event in trace["traceEvents"]:
        assert set(event) == KEYS[event["ph"]]
        assert event["pid"] in named
        assert event.get("ts", 0) >= 0
        assert event.get("dur", 1) >= 0
    return trace["traceEvents"]


def regions(content):
    found = [event for event in events(content) if event["ph"] == "X"]
    return {event["name"]: (event["pid"], event["ts"], event["dur"]) for event in found}


def test_the_timeline_of_scopes_is_a_flame_graph_of_totals(tmp_path):
    files = write(tmp_path, "scope", "timeline", order_by="name")

    assert list(files) == ["_all"]
    assert regions(files["_all"]) == {
        "_TFProfRoot": (0, 0, 13.75),
        "a": (1, 0, 12.5),
        "a/mm": (2, 0, 10.5),
        "a/relu": (2, 10.5, 2),
        "b": (1, 12.5, 1),
        "made by TensorFlow": (1, 13.5, 0.25),
    }


def test_the_timeline_does_not_need_micros_selected(tmp_path):
    files = write(tmp_path, "scope", "timeline", order_by="name", select="bytes")

    assert regions(files["_all"])["a/mm"] == (2, 0, 10.5)


def test_the_timeline_of_lines_is_a_flame_graph_too(tmp_path):
    files = write(tmp_path, "code", "timeline", step=0)

    assert regions(files["_0"]) == {
        "_TFProfRoot": (0, 0, 12.75),
        "In [1]:3:<module>": (1, 0, 12.5),
        "model.py:9:call": (2, 0, 10.5),
        "no Python line known": (1, 12.5, 0.25),
    }


def test_the_timeline_of_a_graph_has_the_real_times_on_each_device(tmp_path):
    files = write(tmp_path, "graph", "timeline", order_by="name")

    processes = [e["args"]["name"] for e in events(files["_all"]) if e["ph"] == "M"]
    drawn = [e for e in events(files["_all"]) if e["ph"] == "X"]
    assert processes == [
        "Op scheduling threads: /host:CPU",
        "Op execution threads: /device:GPU:0/stream:all",
    ]
    assert len(drawn) == len(run_twice().events)
    assert sum(event["dur"] for event in drawn) == 13.75


def test_no_two_ops_of_a_lane_overlap(tmp_path):
    files = write(tmp_path, "graph", "timeline")

    lanes = {}
    for event in sorted(events(files["_all"]), key=lambda event: event.get("ts", 0)):
        if event["ph"] == "X":
            lane = event["pid"], event["tid"]
            assert lanes.get(lane, 0) <= event["ts"]
            lanes[lane] = event["ts"] + event["dur"]
    assert len(lanes) > 1


def test_an_average_graph_is_drawn_step_by_step(tmp_path):
    files = write(tmp_path, "graph", "timeline", step=-1)

    assert {name: sorted(regions(content)) for name, content in files.items()} == {
        "_0": ["a/mm", "a/relu", "made by TensorFlow"],
        "_1": ["b"],
    }


# pprof


def varint(content, place):
    value = shift = 0
    while True:
        byte = content[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place


def fields(content):
    """Read a message into {number: values}, texts and messages as bytes."""
    found, place = {}, 0
    while place < len(content):
        tag, place = varint(content, place)
        value, place = varint(content, place)
        if tag & 7 == 2:
            value, place = content[place : place + value], place + value
        else:
            assert tag & 7 == 0
        found.setdefault(tag >> 3, []).append(value)
    return found


def packed(content):
    numbers, place = [], 0
    while place < len(content):
        number, place = varint(content, place)
        numbers.append(number)
    return numbers


def read_pprof(content):
    """Parse a pprof file, check its references, and return readable samples."""
    message = fields(gzip.decompress(content))
    texts = [text.decode() for text in message[6]]
    assert texts[0] == ""
    assert len(set(texts)) == len(texts)
    functions = {}
    for function in map(fields, message.get(5, ())):
        (number,), (name,), (file,) = function[1], function[2], function.get(4, [0])
        functions[number] = (texts[file], texts[name])
    locations = {}
    for location in map(fields, message.get(4, ())):
        (number,), (line,) = location[1], map(fields, location[4])
        locations[number] = (*functions[line[1][0]], line.get(2, [0])[0])
    assert sorted(functions) == list(range(1, len(functions) + 1))
    assert sorted(locations) == list(range(1, len(locations) + 1))
    types = [[texts[kind[1][0]], texts[kind[2][0]]] for kind in map(fields, message[1])]
    samples = []
    for sample in map(fields, message.get(2, ())):
        (label,), (values,) = map(fields, sample[3]), map(packed, sample[2])
        assert len(values) == len(types)
        stack = [locations[number] for number in packed(sample.get(1, [b""])[0])]
        samples.append((texts[label[2][0]], values, stack))
    return types, sorted(samples), message


IN_CELL = ("In [1]", "<module>", 3)
IN_MODEL = ("/home/u/model.py", "call", 9)


def test_pprof_has_a_sample_for_each_op_with_its_lines_innermost_first(tmp_path):
    types, samples, _ = read_pprof(write(tmp_path, "code", "pprof", select="micros")[""])

    assert types == [["runs", "count"], ["time", "nanoseconds"]]
    assert samples == [
        ("a/mm", [1, 10_500], [IN_MODEL, IN_CELL]),
        ("a/relu", [1, 2_000], [IN_CELL]),
        ("b", [3, 1_000], [IN_CELL]),
        ("made by TensorFlow", [1, 250], [("", "no Python line known", 0)]),
    ]


def test_pprof_of_bytes_has_bytes(tmp_path):
    types, samples, _ = read_pprof(write(tmp_path, "code", "pprof", select="bytes")[""])

    assert types[1] == ["bytes", "bytes"]
    assert samples[0][1] == [1, 100]


def test_pprof_counts_hidden_lines_at_the_line_above(tmp_path):
    _, samples, _ = read_pprof(write(tmp_path, "code", "pprof", select="micros", max_depth=2)[""])

    assert samples[0] == ("a/mm", [1, 10_500], [IN_CELL])


def test_pprof_has_gradients_and_layers_below_their_line(tmp_path):
    made = profile(
        node("a", micros=1, stack=(CELL,), layer="first"),
        node("b", micros=2, stack=(CELL,), layer="second"),
        node("c", micros=3, stack=(CELL,), layer="second", backward=True),
        node("d", micros=4, stack=(CELL, MODEL), backward=True),
    )
    made.export(tmp_path / "out.pb.gz")

    _, samples, _ = read_pprof((tmp_path / "out.pb.gz").read_bytes())

    functions = {op: [name for _, name, _ in lines] for op, _, lines in samples}
    assert functions == {
        "a": ["layer first", "<module>"],
        "b": ["layer second", "<module>"],
        "c": ["layer second (backward)", "layer second", "<module>"],
        "d": ["call (backward)", "call", "<module>"],
    }


def test_pprof_has_framework_frames_on_request(tmp_path):
    _, samples, _ = read_pprof(write(tmp_path, "code", "pprof", select="micros", frames="all")[""])

    assert samples[0][2] == [IN_MODEL, ("/lib/keras/layer.py", "__call__", 100), IN_CELL]


def test_exporting_for_pprof_twice_gives_the_same_bytes(tmp_path):
    for name in ("x.pb.gz", "y.pb.gz"):
        run_twice().export(tmp_path / name)

    content = (tmp_path / "x.pb.gz").read_bytes()
    types, samples, message = read_pprof(content)
    assert content == (tmp_path / "y.pb.gz").read_bytes()
    assert types[1] == ["time", "nanoseconds"]
    assert sum(values[1] for _, values, _ in samples) == 13_750
    assert message[10] == [run_twice().recording.wall_ns]


def test_pprof_refuses_a_metric_that_was_not_recorded(tmp_path):
    made = profile(node("a", micros=1, size=float("nan"), stack=STACK))

    with pytest.raises(NbprofError, match="bytes was not recorded"):
        made.code(select="bytes", output=f"pprof:outfile={tmp_path / 'out'}").write_output()

    assert list(tmp_path.iterdir()) == []


# Refusals


@pytest.mark.parametrize(
    ("view", "options", "reason"),
    [
        ("op", {"output": "timeline:outfile=x"}, "op view has no timeline"),
        (
            "scope",
            {"output": "pprof:outfile=x", "select": "micros"},
            "view has no pprof output",
        ),
        (
            "code",
            {"output": "pprof:outfile=x", "select": "micros,bytes"},
            "needs exactly one column",
        ),
        ("code", {"output": "pprof:outfile=x", "select": "occurrence"}, "not occurrence"),
        ("op", {"output": "file:outfile=/nowhere/x"}, "/nowhere/x cannot be written"),
        ("scope", {"output": "timeline:outfile=/nowhere/x"}, "/nowhere/x_all cannot be written"),
    ],
)
def test_an_impossible_output_is_refused_in_a_sentence(
    view, options, reason, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)

    with pytest.raises(NbprofError, match=f"{reason}.*[.]$"):
        run_twice().view(view, **options).write_output()

    assert list(tmp_path.iterdir()) == []


SURROGATE = "\udfff"
"""A lone surrogate, which a Python string may contain but UTF-8 may not."""


@pytest.mark.parametrize("view", ["op", "scope", "code", "layer"])
def test_a_lone_surrogate_breaks_neither_view_nor_file(tmp_path, view):
    op = node(
        f"a{SURROGATE}/b", f"Op{SURROGATE}", 3, size=8, stack=(CELL,), shapes=(f"2{SURROGATE}",)
    )
    made = profile(op, notes=(SURROGATE,))
    halves = pd.Series([f"g{SURROGATE}"], dtype=object)  # Arrow's strings cannot hold it
    made = replace(made, frames=made.frames.assign(file=halves, function=halves))
    out = tmp_path / "out.txt"

    shown = made.view(view, select="micros,op_types,input_shapes", output=f"file:outfile={out}")
    shown.write_output()

    assert SURROGATE in shown.text
    assert "\N{REPLACEMENT CHARACTER}" in out.read_text(encoding="utf-8")
    for name in ("x.trace.json", "x.pb.gz", "x.tfprof"):
        made.export(tmp_path / name)
        assert (tmp_path / name).stat().st_size
