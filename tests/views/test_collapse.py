"""The views of a collapsed Profile equal those of the full one, to the last digit."""

import numpy as np
import pandas as pd
import pytest
from support.by_hand import node, profile, variable
from support.paths import DATA
from support.trace_files import host_trace

import nbprof
from nbprof.errors import NbprofError
from nbprof.views.collapse import collapse

EVERYTHING = (
    "bytes,peak_bytes,residual_bytes,output_bytes,micros,accelerator_micros,cpu_micros,params,"
    "float_ops,occurrence,device,op_types,input_shapes"
)
LINE = (("train.py", 3, "train"), ("model.py", 9, "call"))


def odd_profile():
    """Return a profile with several steps, stacks, layers and shapes, and sizes partly unknown."""
    full = profile(
        node("a/MatMul", "MatMul", 10.001, runs=3, size=7, stack=LINE, flops=10, layer="m/d"),
        node("a/MatMul", "MatMul", 3.003, runs=2, step=1, stack=LINE[:1], shapes=("2x3",)),
        node("a/MatMul", "MatMul", 5.1, accelerator_micros=4.7, step=1, layer="m/d", backward=True),
        node("b", "Add", 0.7, runs=5, size=1, flops=3, layer="m"),
        node("c", "Sub", 0.3, runs=1),
        steps=2,
        variables=(variable("kernel", "3x4", layer="m/d"),),
    )
    events = full.events
    unknown = np.arange(len(events)) % 3 == 0
    events.loc[unknown, "bytes"] = np.nan
    events.loc[events["node"] == 2, ["float_ops", "output_bytes"]] = np.nan
    return full


def loaded(content, tmp_path):
    path = tmp_path / "x.xplane.pb"
    path.write_bytes(content)
    return nbprof.load(path)


JAX = DATA / "traces" / "jax.xplane.pb.gz"
PROFILES = {
    "by hand": lambda tmp_path: odd_profile(),
    "nothing": lambda tmp_path: profile(),
    "JAX": lambda tmp_path: nbprof.load(JAX),
    "a trace": lambda tmp_path: loaded(host_trace(slower=3, steps=7), tmp_path),
}


@pytest.mark.parametrize(
    ("name", "view"),
    [
        (name, view)
        for name in PROFILES
        for view in ("op", "scope", "graph", "code", "layer")
        if (name, view) != ("a trace", "code")  # it has no Python lines
    ],
)
@pytest.mark.parametrize("step", ["all", -1, 0])
def test_every_view_of_a_collapsed_profile_is_the_same(name, view, step, tmp_path):
    full = PROFILES[name](tmp_path)
    options = {"select": EVERYTHING, "step": step}

    expected, collapsed = (some.view(view, **options) for some in (full, collapse(full)))

    pd.testing.assert_frame_equal(expected.frame, collapsed.frame, check_exact=True)
    assert expected.text == collapsed.text
    assert expected.notes == collapsed.notes


@pytest.mark.parametrize("make", PROFILES.values(), ids=PROFILES)
def test_summary_steps_hosts_and_headline_are_the_same(make, tmp_path):
    full = make(tmp_path)
    small = collapse(full)

    pd.testing.assert_frame_equal(small.summary(), full.summary())
    pd.testing.assert_frame_equal(small.steps, full.steps)
    pd.testing.assert_frame_equal(small.hosts(), full.hosts())
    assert small.headline == full.headline
    assert len(small.events) <= len(full.events)


def test_collapsing_twice_changes_nothing_more():
    once = collapse(odd_profile())

    pd.testing.assert_frame_equal(collapse(once).events, once.events)


def test_collapsing_keeps_the_number_of_runs():
    small = collapse(odd_profile())

    assert small.events["is_run"].sum() == 12
    assert len(small.events) < 12


def test_sums_beyond_the_precision_of_floats_do_not_depend_on_order():
    full = odd_profile()
    full.events["float_ops"] = 2.0**53 - np.arange(len(full.events))

    expected, collapsed = (some.op(select="float_ops").frame for some in (full, collapse(full)))

    assert expected["float_ops"].tolist() == collapsed["float_ops"].tolist()


def test_memory_over_time_and_timelines_say_that_they_need_single_runs(tmp_path):
    small = collapse(loaded(host_trace(), tmp_path))

    with pytest.raises(NbprofError, match="does not keep memory over time"):
        small.memory()
    with pytest.raises(NbprofError, match="needs single runs"):
        small.export(tmp_path / "x.trace.json")
    with pytest.raises(NbprofError, match="needs single runs"):
        small.view("scope", output=f"timeline:outfile={tmp_path / 'y'}").write_output()
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".pb"]
    small.advise()
    small.export(tmp_path / "x.tfprof")
    small.save(tmp_path / "x.nbprof")
    assert nbprof.load(tmp_path / "x.nbprof").op().text == small.op().text
