"""What holds with every supported release of TensorFlow and Keras: numbers worked out on paper."""

import re
from functools import cache

import pytest

pytest.importorskip("tensorflow")

from core import programs

pytestmark = [pytest.mark.core, pytest.mark.tensorflow]

BATCHES = programs.EPOCHS * programs.IMAGES // programs.BATCH
PIXELS = programs.SIDE**2
CONVOLVED = 2 * programs.BATCH * PIXELS * programs.FILTERS * 9 * BATCHES
"""Float operations of the convolution, forward."""
CONV_BIAS = programs.BATCH * PIXELS * programs.FILTERS * BATCHES
MULTIPLIED = 2 * programs.BATCH * PIXELS * programs.FILTERS * programs.CLASSES * BATCHES
"""Float operations of the dense layer's product, forward."""
DENSE_BIAS = programs.BATCH * programs.CLASSES * BATCHES


@cache
def facts(program):
    return programs.facts(programs.profile_of(program))


def runs(program, *op_types):
    """Add up the runs of op types that are one and the same op, fused or not."""
    return sum(facts(program)["run_count"].get(op_type, 0) for op_type in op_types)


@pytest.mark.parametrize("program", programs.PROGRAMS)
def test_the_summary_adds_up_to_the_wall_time(program):
    shares = facts(program)["summary"].values()
    assert sum(shares) == pytest.approx(100, abs=0.01)
    assert all(0 <= share <= 100.001 for share in shares)


def test_eager_ops_are_counted_with_their_flops_bytes_and_lines():
    found = facts("eager")
    assert found["run_count"] == {"MatMul": 10, "AddV2": 5}
    assert found["float_ops"] == {"MatMul": 10 * 2 * 8 * 16 * 4, "AddV2": 5 * 8 * 4}
    assert found["bytes"] == {"MatMul": 10 * 8 * 4 * 4, "AddV2": 5 * 8 * 4 * 4}
    assert sorted(count for line, count in found["lines"].items() if "body" in line) == [5, 10]
    assert not [note for note in found["notes"] if "watching" not in note]


def test_every_turn_of_a_loop_is_counted_and_every_call_is_a_step():
    found = facts("function_with_loop")
    assert found["run_count"]["MatMul"] == 3 * 20
    assert found["float_ops"]["MatMul"] == 3 * 20 * 2 * 6**3
    assert found["nodes"]["while/MatMul"] == 3 * 20
    assert found["steps"] == [("power", False)] * 3
    assert 60 in (count for line, count in found["lines"].items() if "power" in line)


@pytest.mark.parametrize("program", ["fit", "warm_fit"])
def test_a_fit_counts_the_ops_of_every_batch(program):
    assert runs(program, "Conv2D", "_FusedConv2D") == BATCHES
    assert runs(program, "Conv2DBackpropFilter") == BATCHES
    assert runs(program, "MatMul", "_FusedMatMul") == 3 * BATCHES
    assert len(facts(program)["steps"]) == BATCHES


def test_only_the_first_batch_of_a_cold_fit_traces():
    assert [traced for _, traced in facts("fit")["steps"]] == [True] + [False] * (BATCHES - 1)


@pytest.mark.parametrize("program", ["fit", "warm_fit"])
def test_a_fit_has_its_layers_with_their_parameters_and_flops(program):
    found = facts(program)
    params = found["params"]
    conv, dense = 9 * programs.FILTERS, PIXELS * programs.FILTERS * programs.CLASSES
    assert params["net/conv"] == conv + programs.FILTERS
    assert params["net/dense"] == dense + programs.CLASSES
    assert params["net"] == params["net/conv"] + params["net/dense"]
    flops = found["layer_float_ops"]
    assert flops["net/conv/forward"] == CONVOLVED + CONV_BIAS
    assert flops["net/dense/forward"] == MULTIPLIED + DENSE_BIAS
    assert flops["net/conv/backward"] == CONVOLVED + CONV_BIAS - programs.FILTERS * BATCHES
    assert flops["net/dense/backward"] == 2 * MULTIPLIED + DENSE_BIAS - programs.CLASSES * BATCHES
    assert found["layers"]["net/flat"] >= BATCHES


def test_graphs_of_sessions_keep_their_equal_names_apart():
    found = facts("sessions")
    assert found["run_count"] == {"MatMul": 3 + 5}
    assert found["float_ops"] == {"MatMul": 3 * 2 * 4**3 + 5 * 2 * 7**3}
    assert found["nodes"]["session/scope/product"] == 3
    assert found["nodes"]["session_1/scope/product"] == 5


@pytest.mark.parametrize(("program", "calls"), [("compiled", 10), ("cold_compiled", 2)])
def test_calls_of_a_compiled_function_are_counted(program, calls):
    found = facts(program)
    assert found["run_count"]["XlaLaunch"] == calls
    assert found["nodes"]["gram"] == calls
    assert not any("no TensorFlow op ran" in note for note in found["notes"])


def test_a_compiled_function_inside_another_is_one_op_of_it():
    found = facts("compiled_inside")
    assert found["run_count"]["Mul"] == 5
    # A trace may end before an executor has written its last event.
    assert found["run_count"]["PartitionedCall"] in (4, 5)


def test_only_the_first_call_of_a_compiled_function_compiles():
    assert "compiling" not in facts("compiled")["summary"]
    assert facts("cold_compiled")["summary"]["compiling"] > 0


def test_calls_of_threads_that_ended_are_counted_or_said_to_be_missing():
    found = facts("threads")
    counts = re.findall(r"(\d+) calls of threads", " ".join(found["notes"]))
    missing = sum(map(int, counts))
    assert found["run_count"]["MatMul"] + missing == 10
