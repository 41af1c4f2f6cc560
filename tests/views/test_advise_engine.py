"""Advice on tfprof's inputs has the numbers that TensorFlow's own engine reports."""

import dataclasses
import os
import re

import pytest
from support import real_graphs
from support import tfprof_by_hand as by_hand
from support import tfprof_cases as cases
from support.tfprof_engine import Engine

import nbprof

pytestmark = pytest.mark.tensorflow

pytest.importorskip("tensorflow")

SEEDS = range(int(os.environ.get("NBPROF_CASES", "400")))

TIMES = r"cpu: (\S+), accelerator: (\S+), total: (\S+)"
THEIRS = {
    "expensive op types": re.compile(rf"top \d+ operation type: (.*), {TIMES} \((\S+)%\)"),
    "expensive scopes": re.compile(rf"top \d+ graph node: (.*), {TIMES}"),
    "expensive lines": re.compile(rf" *(.*), {TIMES}"),
}
UTILIZATION = re.compile(r"device: (\S+) (?:low )?utilization: (\S+)")
OUR_TIMES = r"(\S+) \(cpu (\S+), accelerator (\S+)\)"


@pytest.fixture(scope="module")
def engine():
    with Engine() as engine:
        yield engine


def theirs(proto):
    """Return the numbers in the engine's reports by our name for the check."""
    found = {}
    for report in filter(None, proto.checkers["ExpensiveOperationChecker"].reports):
        lines = report.split("\n")
        check = next(name for name, pattern in THEIRS.items() if pattern.fullmatch(lines[0]))
        found[check] = [THEIRS[check].fullmatch(line).groups() for line in lines]
    for report in proto.checkers["AcceleratorUtilizationChecker"].reports:
        device, share = UTILIZATION.fullmatch(report).groups()
        found.setdefault("accelerator utilization", {})[device] = share
    for report in proto.checkers["OperationChecker"].reports:
        found["NHWC on a GPU" if "NCHW" in report else "unfused batch norm"] = True
    return found


def ours(advice):
    """Return the numbers in our messages by check."""
    found = {}
    for check, message, rows in zip(
        advice["check"], advice["message"], advice["rows"], strict=True
    ):
        if check == "expensive op types":
            figures = re.findall(rf" takes (\S+)% of the op time, {OUR_TIMES}", message)
            found[check] = [
                (row, cpu, accelerator, total, percent)
                for row, (percent, total, cpu, accelerator) in zip(rows, figures, strict=True)
            ]
        elif check in ("expensive scopes", "expensive lines"):
            figures = re.findall(rf" takes {OUR_TIMES}", message)
            found[check] = [
                (row, cpu, accelerator, total)
                for row, (total, cpu, accelerator) in zip(rows, figures, strict=True)
            ]
        elif check == "accelerator utilization":
            share = re.search(r"utilization (\d+\.\d\d)", message)[1]
            found.setdefault(check, {})[rows[0]] = share
        elif check in ("unfused batch norm", "NHWC on a GPU"):
            found[check] = True
    return found


def advised(case, engine):
    """Return the engine's numbers and ours."""
    answer = engine.ask(dataclasses.replace(case, view="advise", options={}))
    profile = nbprof.load_tfprof(case.graph, case.runs, case.op_log)
    return theirs(answer.proto), ours(profile.advise())


def is_negative(case):
    """Return whether a time or an amount is negative, which the engine reads as a huge one."""
    return any(
        record.op_end_rel_micros < 0 or any(memory.live_bytes < 0 for memory in record.memory)
        for _, run in case.runs
        for stats in cases.RunMetadata.FromString(run).step_stats.dev_stats
        for record in stats.node_stats
    )


def test_random_cases_have_the_engines_numbers(engine):
    drawn = [(seed, cases.case(seed, view="advise")) for seed in SEEDS]
    drawn = [(seed, case) for seed, case in drawn if not is_negative(case)]
    checks = [*THEIRS, "accelerator utilization", "unfused batch norm", "NHWC on a GPU"]
    different, seen = [], dict.fromkeys(checks, 0)

    for seed, case in drawn:
        expected, found = advised(case, engine)
        if expected != found:
            different.append(seed)
        for check in expected:
            seen[check] += 1

    assert different == []
    assert len(drawn) > 0.9 * len(SEEDS)
    assert min(seen.values()) > 0.05 * len(SEEDS), seen


@pytest.mark.parametrize("name", real_graphs.GRAPHS)
def test_real_graphs_have_the_engines_numbers(name, engine):
    expected, found = advised(cases.Case(*real_graphs.real_graph(name)), engine)

    # The engine does not know that FusedBatchNormV3 is fused.
    assert expected.pop("unfused batch norm", None) is (True if name == "cnn" else None)
    assert found == expected
    assert found["expensive op types"]  # which lines are expensive depends on the run


def test_the_worked_example_has_the_engines_numbers(engine):
    expected, found = advised(by_hand.Case(**by_hand.MODEL), engine)

    assert found == expected
    assert found["expensive op types"][0] == ("MatMul", "72us", "1.18ms", "1.25ms", "99.36")
