"""What nbprof reads from a real trace of JAX on the CPU (see tests/data/traces/README.md)."""

import gzip
from random import Random

import pytest
from support.paths import DATA

import nbprof
from nbprof.errors import NbprofError

TRACE = DATA / "traces" / "jax.xplane.pb.gz"


@pytest.fixture(scope="module")
def profile():
    return nbprof.load(TRACE)


def test_the_headline_names_jax(profile):
    assert profile.headline.startswith("nbprof jax · 7.72 ms wall · 3 steps · 206 op runs · JAX")


def test_hlo_ops_are_listed_under_their_path_in_the_program(profile):
    frame = profile.scope(max_depth=20).frame.set_index("name")

    forward = frame.loc["jit(train_step)/jvp()/dot_general"]
    assert forward["total_run_count"] == 2 * 3
    assert frame.loc["jit(train_step)/transpose(jvp())/transpose/dot", "run_count"] == 3
    scanned = "jit(cumulate)/while/body/closed_call/tanh/add_tanh_fusion"
    assert frame.loc[scanned, "run_count"] == 32
    assert frame.loc["jit(norm)/vmap()", "total_run_count"] == 2


def test_a_loop_is_not_charged_for_its_body(profile):
    names = profile.nodes["name"]
    loop = profile.events[profile.events["node"] == names[names.str.endswith("while.6")].index[0]]

    assert (loop["self_ns"] < loop["duration_ns"] / 2).all()


def test_lines_of_python_come_from_the_modules_in_the_trace(profile):
    frame = profile.code(select="micros").frame.set_index("name")

    assert frame.loc["train_with_jax.py:15:train_step", "total_micros"] > 0
    assert frame.loc["train_with_jax.py:9:loss", "micros"] > 0
    assert frame.loc["train_with_jax.py:22:body", "micros"] > 0


def test_annotated_steps_are_the_steps(profile):
    assert profile.steps["function"].tolist() == ["train"] * 3
    assert profile.events.groupby("step")["is_run"].sum().tolist()[:2] == [13, 13]


def test_the_summary_separates_dispatch_from_python(profile):
    summary = profile.summary().set_index("category")["micros"]

    assert summary["eager dispatch"] > 0
    assert summary.sum() == pytest.approx(profile.recording.wall_ns / 1e3)


def test_float_ops_of_hlo_ops_are_counted_on_the_modules_in_the_trace(profile):
    frame = profile.scope(select="float_ops", max_depth=20).frame.set_index("name")
    found = frame["total_float_ops"]
    batch, size, hidden, outputs, steps = 32, 64, 128, 8, 3
    first, second = 2 * batch * size * hidden, 2 * batch * hidden * outputs

    assert found["jit(train_step)/jvp()/dot_general"] == steps * (first + second)
    assert found["jit(train_step)/transpose(jvp())/transpose"] == steps * (first + second)
    assert found["jit(train_step)/transpose(jvp())/dot_general"] == steps * second
    # One addition and one tanh per element; a loop counts its body once for each turn.
    assert found["jit(train_step)/jvp()/tanh"] == steps * 2 * batch * hidden
    assert found["jit(cumulate)/while/body/closed_call/tanh"] == batch * 2 * size
    assert frame["float_ops"]["jit(cumulate)/while/while.6"] == 0
    squares, sums, roots = batch * size, batch * (size - 1), batch
    assert found["jit(norm)"] == squares + sums + roots
    assert not [note for note in profile.op(select="float_ops").notes if "float_ops" in note]


def test_every_view_and_export_works(profile, tmp_path):
    for view in ("op", "scope", "graph", "code", "layer"):
        assert profile.view(view).text
    profile.advise()
    for name in ("x.trace.json", "x.tfprof", "x.pb.gz"):
        profile.export(tmp_path / name)
    profile.save(tmp_path / "x.nbprof")
    assert nbprof.load(tmp_path / "x.nbprof").code().text == profile.code().text


def test_mutated_traces_are_read_or_refused_with_an_nbprof_error(tmp_path):
    whole = gzip.decompress(TRACE.read_bytes())
    mix, outcomes = Random(5), set()
    path = tmp_path / "x.xplane.pb"
    for _ in range(60):
        mutated = bytearray(whole)
        for _ in range(mix.choice((1, 3, 30))):
            mutated[mix.randrange(len(mutated))] = mix.randrange(256)
        path.write_bytes(mutated[: mix.choice((len(mutated), mix.randrange(len(mutated))))])
        try:
            assert nbprof.load(path).op().text
            outcomes.add("read")
        except NbprofError:
            outcomes.add("refused")

    assert outcomes == {"read", "refused"}
