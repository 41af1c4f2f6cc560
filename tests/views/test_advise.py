"""Advice on hand-made profiles: what triggers it, what it says, and when there is none."""

from dataclasses import replace
from html.parser import HTMLParser

import pandas as pd
import pytest
from support import by_hand
from support.by_hand import node

import nbprof
from nbprof.display.advice import html_report, report
from nbprof.views.advise.check_result import SEVERITIES

CPU, GPU = "/device:CPU:0", "/device:GPU:0"
COLUMNS = ["check", "severity", "message", "rows"]
MS = 1_000_000


def advice(profile):
    return profile.advise().set_index("check")


def changed(profile, wall_ms=100, **tables):
    recording = replace(profile.recording, wall_ns=wall_ms * MS)
    return replace(profile, recording=recording, **tables)


def spent(**milliseconds):
    rows = [(name.replace("_", " "), ms * MS) for name, ms in milliseconds.items()]
    return pd.DataFrame(rows, columns=["category", "ns"])


# No advice


def test_an_empty_profile_gets_an_empty_frame():
    found = by_hand.profile().advise()

    assert list(found) == COLUMNS
    assert len(found) == 0


@pytest.mark.parametrize("graph", [b"", b"\x0a\x03\x0a\x01a"], ids=["nothing", "a node"])
def test_a_graph_that_never_ran_gets_an_empty_frame(graph):
    found = nbprof.load_tfprof(graph).advise()

    assert list(found) == COLUMNS
    assert len(found) == 0


def test_an_ordinary_profile_gets_no_advice():
    profile = by_hand.profile(node("a", "MatMul", micros=10), node("b", "Relu", micros=9))

    assert len(changed(profile).advise()) == 0


def test_the_most_severe_advice_comes_first():
    profile = by_hand.profile(
        node("s", "Softmax", micros=370),
        node("BatchNorm/mul", "Mul", micros=630, accelerator_micros=600, device=GPU),
    )

    severities = [SEVERITIES.index(severity) for severity in profile.advise()["severity"]]

    assert len(severities) >= 3
    assert severities == sorted(severities)


# Work on the wrong device


SOFTMAX = "SoftmaxCrossEntropyWithLogits"


def ops_of_the_guide(device):
    """Return a profile of the ops in tfprof's guide, times in µs, with the softmax on the CPU."""
    return by_hand.profile(
        node("softmax", SOFTMAX, micros=1_370_000),
        node("mm", "MatMul", micros=618_970, accelerator_micros=600_000, device=device),
        node("add", "Add", micros=273_760, accelerator_micros=270_000, device=device),
        node("others", "Sub", micros=1_496_800, accelerator_micros=1_400_000, device=device),
    )


def test_the_softmax_of_tfprofs_guide_is_found_on_the_cpu():
    found = advice(ops_of_the_guide(GPU)).loc["heavy op on the CPU"]

    assert found["rows"] == [SOFTMAX]
    assert found["severity"] == "high"
    assert f"{SOFTMAX} takes 1.37sec, 36.44% of the op time, on {CPU}" in found["message"]
    assert GPU in found["message"]


def test_heavy_ops_on_the_cpu_are_fine_without_an_accelerator():
    assert "heavy op on the CPU" not in advice(ops_of_the_guide(CPU)).index


def test_ops_that_belong_on_the_host_may_take_long_there():
    profile = by_hand.profile(
        node("next", "IteratorGetNext", micros=500),
        node("mm", "MatMul", micros=500, accelerator_micros=450, device=GPU),
    )

    assert "heavy op on the CPU" not in advice(profile).index


def kernels(busy_ms, elapsed_ms):
    profile = by_hand.profile(
        node(
            "mm", "MatMul", micros=busy_ms * 1000 + 1, accelerator_micros=busy_ms * 1000, device=GPU
        )
    )
    events = profile.events.assign(start_ns=[1, elapsed_ms * MS + 1])
    events["duration_ns"] = [1000, 0]
    return replace(profile, events=events)


@pytest.mark.parametrize(
    ("busy", "severity", "share"),
    [(80, "info", "0.80"), (40, "medium", "0.40"), (9, "high", "0.09")],
)
def test_accelerator_utilization_is_judged_as_in_tfprof(busy, severity, share):
    found = advice(kernels(busy, 100)).loc["accelerator utilization"]

    assert found["severity"] == severity
    assert f"utilization {share}" in found["message"]
    assert found["rows"] == [GPU.lower()]


# Ops with a faster alternative


def with_formats(profile, *formats):
    return replace(profile, nodes=profile.nodes.assign(data_format=list(formats)))


def test_channels_last_on_a_gpu_are_found():
    nodes = (
        node("conv", "Conv2D", micros=40, device=GPU),
        node("pool", "MaxPool", micros=5, device=GPU),
    )

    found = advice(with_formats(by_hand.profile(*nodes), "NHWC", "NCHW")).loc["NHWC on a GPU"]

    assert found["rows"] == ["conv"]
    assert "1 nodes" in found["message"]
    assert "40us" in found["message"]


def test_channels_last_on_the_cpu_are_fine():
    profile = by_hand.profile(node("conv", "Conv2D", micros=40))

    assert "NHWC on a GPU" not in advice(with_formats(profile, "NHWC")).index


def test_a_batch_norm_of_single_ops_is_found():
    profile = by_hand.profile(node("BatchNorm/mul", "Mul"), node("BatchNorm/add", "Add"))

    assert advice(profile).loc["unfused batch norm", "rows"] == ["BatchNorm/mul", "BatchNorm/add"]


@pytest.mark.parametrize("op_type", ["FusedBatchNorm", "FusedBatchNormV3", "_FusedBatchNormEx"])
def test_a_fused_batch_norm_is_fine(op_type):
    profile = by_hand.profile(node("BatchNorm/fused", op_type))

    assert "unfused batch norm" not in advice(profile).index


LAYER = by_hand.profile(
    node("mm", "MatMul", micros=70),
    node("bias", "BiasAdd", micros=20),
    node("relu", "Relu", micros=10),
)


def wired(*edges):
    table = pd.DataFrame(edges, columns=["node", "position", "source"]).assign(shape="unknown")
    return replace(LAYER, inputs=table)


def test_a_bias_and_an_activation_that_ran_apart_are_found():
    found = advice(wired((1, 0, 0), (2, 0, 1))).loc["unfused ops"]

    assert found["rows"] == ["bias", "relu"]
    assert "30us, 30.00% of the op time" in found["message"]


def test_an_output_with_two_users_is_not_called_unfused():
    found = advice(wired((1, 0, 0), (2, 0, 0)))

    assert "unfused ops" not in found.index


# How a cell calls TensorFlow


def traces(*micros):
    rows = [("step", row + 1, row, 0.0, float(taken), "") for row, taken in enumerate(micros)]
    table = pd.DataFrame(rows, columns=by_hand.TRACE)
    return changed(by_hand.profile(node("a", "Add", micros=1)), traces=table)


def test_retracing_is_found_with_its_share_of_the_time():
    found = advice(traces(10_000, 10_000, 10_000, 10_000)).loc["retracing"]

    assert found["message"].startswith("step was retraced 3 times, 30.00ms, 30% of the wall time")
    assert (found["severity"], found["rows"]) == ("high", ["step"])


@pytest.mark.parametrize(
    "micros", [(90_000,), (10_000, 10_000), (100, 100, 100, 100)], ids=["once", "twice", "short"]
)
def test_few_or_short_traces_are_fine(micros):
    assert "retracing" not in advice(traces(*micros)).index


def runs_alike(name, runs, micros):
    """Return the profile of a loop of equally long ops."""
    profile = by_hand.profile(node(name, "Add", runs=runs))
    alike = profile.events.assign(self_ns=1000 * micros, duration_ns=1000 * micros)
    return changed(profile, events=alike, spent=spent(Python=50, eager_dispatch=40, ops=10))


def test_many_small_eager_ops_are_found():
    found = advice(runs_alike("Add", 1500, 2))

    assert found.loc["many small eager ops", "rows"] == ["Add"]
    message = found.loc["many small eager ops", "message"]
    assert "1,500 eager ops ran, most for about 2us; starting them took 90%" in message


def test_small_eager_ops_are_found_although_some_waited_for_a_core():
    profile = runs_alike("Add", 1500, 2)
    profile.events.loc[::10, ["self_ns", "duration_ns"]] = 5_000_000

    assert "many small eager ops" in advice(profile).index


@pytest.mark.parametrize(
    ("name", "runs", "micros"),
    [("model/add", 1500, 2), ("Add", 500, 2), ("Add", 1500, 100)],
    ids=["ops of a graph", "few ops", "long ops"],
)
def test_graph_ops_few_ops_and_long_ops_are_not_called_small_eager_ops(name, runs, micros):
    assert "many small eager ops" not in advice(runs_alike(name, runs, micros)).index


# What steps wait for


@pytest.mark.parametrize(("share", "severity"), [(10, None), (20, "medium"), (60, "high")])
def test_waiting_for_input_is_judged_by_its_share_of_the_wall_time(share, severity):
    profile = by_hand.profile(node("a", "Add", micros=1))
    table = spent(waiting_for_input=share, Python=100 - share)

    found = advice(changed(profile, spent=table))

    assert found["severity"].get("input-bound") == severity


def stepping(gap_ms, step_ms=1, count=10):
    every = (gap_ms + step_ms) * 1000.0
    steps = pd.DataFrame(
        {
            "step": range(count),
            "start_micros": [every * number for number in range(count)],
            "micros": step_ms * 1000.0,
            "function": "train",
            "traced": False,
        }
    )
    wall = count * (gap_ms + step_ms)
    profile = by_hand.profile(node("a", "Add", micros=1))
    return changed(profile, wall, steps=steps, spent=spent(Python=gap_ms * count, ops=count))


def test_python_between_steps_is_found():
    found = advice(stepping(gap_ms=5)).loc["Python between steps"]

    assert "between 10 steps, 5.00ms each time" in found["message"]
    assert found["rows"] == ["train"]


@pytest.mark.parametrize("profile", [stepping(1), stepping(5, step_ms=20), stepping(5, count=3)])
def test_little_python_between_steps_is_fine(profile):
    assert "Python between steps" not in advice(profile).index


# Memory


def holding(*sizes):
    rows = [
        (0, 0, "cpu", number, float("nan"), size, "output", "[10]", "float32")
        for number, size in enumerate(sizes)
    ]
    table = pd.DataFrame(rows, columns=by_hand.ALLOCATION)
    return replace(by_hand.profile(node("big", "Fill", micros=1)), allocations=table)


def test_a_peak_of_few_tensors_is_found():
    found = advice(holding(150e6, 20e6, 20e6, 10e6)).loc["peak of few tensors"]

    assert found["message"].startswith("3 tensors make up 95% of the peak of 200.00MB on cpu: big")
    assert set(found["rows"]) == {"big"}


@pytest.mark.parametrize("sizes", [(50e6,), (20e6,) * 10], ids=["a low peak", "many tensors"])
def test_a_low_peak_or_one_of_many_tensors_is_fine(sizes):
    assert "peak of few tensors" not in advice(holding(*sizes)).index


# Reports


FRAME = pd.DataFrame(
    {
        "check": ["retracing"],
        "severity": ["high"],
        "message": ["f<x> & g were traced 3 times. Give them tensors."],
        "rows": [["f<x>", "g"]],
    }
)


def test_the_text_report_has_a_paragraph_for_each_advice():
    assert report(FRAME) == (
        "high: retracing\n    f<x> & g were traced 3 times. Give them tensors.\n    rows: f<x>, g\n"
    )


def test_a_report_without_advice_is_one_sentence():
    assert report(FRAME[:0]) == "no advice: nothing stands out in this profile\n"
    assert "nothing stands out" in html_report(FRAME[:0])


def test_the_html_report_is_escaped_and_has_no_scripts():
    tags = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, _: tags.append(tag)

    parser.feed(html_report(FRAME))

    assert "script" not in tags
    assert "x" not in tags
    assert "f&lt;x&gt;" in html_report(FRAME)
