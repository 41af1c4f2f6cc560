"""LineTracer: hits, growth and peaks of lines, without a magic around it."""

import sys

import pytest
from support.memory_cases import of_this_process
from support.memory_spikes import MIB

from nbprof.memory import line_meter
from nbprof.memory.line_meter import LineTracer
from nbprof.memory.line_result import line_memory
from nbprof.memory.watched_code import function_target

# Amounts are above 32 MiB, which glibc never serves from memory it kept.


def measured(code, *functions):
    """Run `code` and return, for each function, its lines below the `def`."""
    targets = [function_target(function, function.__name__, {}) for function in functions]
    with LineTracer(targets) as tracer:
        kept = code()
    del kept
    return [table.lines[1:] for table in line_memory(targets, tracer.notes).tables]


def growth(lines):
    return [line.growth / MIB for line in lines]


def make_40():
    return bytearray(40 * MIB)


def call_make():
    return make_40()


def recurse(depth):
    mine = bytearray(40 * MIB)
    return [mine, recurse(depth - 1)] if depth else mine


def make_and_free():
    a = bytearray(60 * MIB)
    b = bytearray(40 * MIB)
    del a
    for _ in range(2):
        c = bytearray(80 * MIB)
        del c
    del b


@of_this_process
def test_a_line_includes_what_it_calls():
    inner, outer = measured(call_make, make_40, call_make)

    assert growth(inner) == pytest.approx([40], abs=1)
    assert growth(outer) == pytest.approx([40], abs=1)


@of_this_process
def test_recursive_calls_count_once():
    (lines,) = measured(lambda: recurse(4), recurse)

    assert [line.hits for line in lines] == [5, 5]
    assert growth(lines) == pytest.approx([200, 160], abs=2)


@of_this_process
def test_a_line_that_frees_memory_shows_what_is_held_after_it(monkeypatch):
    monkeypatch.setattr(line_meter, "LONG_LINE_NS", 0)  # freeing may take less than 20 µs
    target = function_target(make_and_free, "make_and_free", {})

    with LineTracer([target]) as tracer:
        make_and_free()

    (table,) = line_memory([target], tracer.notes).tables
    risen = [(line.usage - table.lines[0].usage) / MIB for line in table.lines]
    assert risen == pytest.approx([0, 60, 100, 40, 40, 120, 40, 0], abs=1)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with Python 3.12")
def test_the_tool_id_of_sys_monitoring_is_freed():
    before = [sys.monitoring.get_tool(number) for number in range(6)]

    def counted():
        return 1

    target = function_target(counted, "counted", {})
    for _ in range(10):
        with LineTracer([target]):
            counted()

    assert [sys.monitoring.get_tool(number) for number in range(6)] == before
    assert target.calls == 10
