"""The traces of the benchmarks are sound, and their page shows what is measured."""

import importlib
import re

import pytest
from support.paths import TOP

import nbprof

pytestmark = pytest.mark.tensorflow

SMALL = TOP / "tests" / "data" / "traces" / "small.xplane.pb"
FIGURES = (
    *("ratio", "with_pauses", "seconds_to_report", "not_watched_percent"),
    *("grown_megabytes", "peak_megabytes", "kept_megabytes"),
)
COLUMNS = "bytes,peak_bytes,residual_bytes,micros,occurrence"


@pytest.fixture
def benchmark_module(monkeypatch):
    monkeypatch.syspath_prepend(TOP / "tests" / "benchmarks")
    return importlib.import_module


def test_a_trace_repeated_three_times_has_three_times_of_everything(benchmark_module, tmp_path):
    pytest.importorskip("tensorflow")
    longer = tmp_path / "longer.xplane.pb"

    longer.write_bytes(benchmark_module("traces").repeat(SMALL.read_bytes(), times=3))

    once, thrice = nbprof.load(SMALL), nbprof.load(longer)
    assert len(thrice.steps) == 3 * len(once.steps)
    for of_once, of_thrice in (
        (once.allocations["bytes"], thrice.allocations["bytes"]),
        (once.allocations["end_ns"].dropna(), thrice.allocations["end_ns"].dropna()),
    ):
        assert len(of_thrice) == 3 * len(of_once)
    ops = [profile.op(select=COLUMNS).frame.set_index("name") for profile in (once, thrice)]
    for column in ("run_count", "micros", "bytes", "peak_bytes", "residual_bytes"):
        assert ops[1][column].to_dict() == pytest.approx((3 * ops[0][column]).to_dict())


def test_the_page_shows_exactly_the_figures_that_are_measured(benchmark_module):
    page = (TOP / "docs" / "benchmarks.md").read_text(encoding="utf-8")

    shown = re.findall(r"<!-- figures: (.+?) -->", page)

    assert sorted(shown) == sorted(benchmark_module("report").FIGURES)


def test_a_limit_that_does_not_hold_is_said_and_makes_the_benchmark_fail(benchmark_module):
    long_cells = benchmark_module("long_cells")
    rows = [
        {"cell": cell, "way": way, **dict.fromkeys(FIGURES, 0.5), "steps": 2000, "in_detail": 20}
        for cell, ways in long_cells.WAYS.items()
        for way in ways
    ]
    rows[1]["seconds_to_report"] = 2.25
    failed = benchmark_module("ways").FAILED
    failed.clear()

    broken = [row for row in long_cells.judge(rows) if row["holds"] == "no"]

    assert broken == [
        {
            "cell": "fit of 2,000 steps", "way": "nbprof", "limited": "end to report, s",
            "limit": "2.00", "found": "2.25", "holds": "no",
        }
    ]  # fmt: skip
    assert failed == ["seconds_to_report of nbprof, fit of 2,000 steps"]
    failed.clear()
