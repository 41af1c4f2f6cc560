"""What is said of profilers that the cell started itself; no TensorFlow is needed."""

import pytest

from nbprof.capture.given_way import GivenWay

NAME = "tf.profiler.experimental"
SECOND = 1_000_000_000


@pytest.fixture
def given_way():
    return GivenWay()


def test_a_stretch_that_the_tables_lack_is_named(given_way):
    given_way.to(NAME, "logs", SECOND, traced=True)
    assert given_way.waits
    given_way.resumed(3 * SECOND)

    assert not given_way.waits
    assert list(given_way.notes()) == [
        "the cell started a profiler of its own (tf.profiler.experimental) after 1.00 s; nbprof "
        "gave way to it until 3.00 s, and the tables lack that stretch; %tfprof -from 'logs' shows "
        "what that profiler recorded"
    ]


def test_a_profiler_that_nbprof_did_not_outlast_is_named(given_way):
    given_way.to("a Session.run with FULL_TRACE", "", SECOND, traced=True)

    assert list(given_way.notes()) == [
        "the cell started a profiler of its own (a Session.run with FULL_TRACE) after 1.00 s; "
        "nbprof gave way to it and recorded nothing from then on"
    ]


def test_what_a_profiler_recorded_while_nbprof_did_not_is_offered(given_way):
    given_way.to(NAME, "logs", SECOND, traced=False)

    assert not given_way.waits
    assert list(given_way.notes()) == [
        "the cell started a profiler of its own (tf.profiler.experimental) after 1.00 s, when "
        "nbprof was not tracing; %tfprof -from 'logs' shows what that profiler recorded"
    ]


def test_a_profiler_that_costs_no_table_anything_and_wrote_no_file_is_not_named(given_way):
    given_way.to("a Session.run with FULL_TRACE", "", SECOND, traced=False)

    assert not list(given_way.notes())


@pytest.mark.parametrize(("resumes", "some"), [(False, ""), (True, "some of ")])
def test_a_profiler_that_ran_instead_of_nbprof_is_the_reason(given_way, resumes, some):
    given_way.to(NAME, "", SECOND, traced=False)
    given_way.keeps_out()
    if resumes:
        given_way.resumed(2 * SECOND)

    assert list(given_way.notes()) == [
        "the cell started a profiler of its own (tf.profiler.experimental) after 1.00 s, which "
        f"kept nbprof from tracing {some}the steps that -steps asks for"
    ]


def test_a_profiler_that_starts_before_nbprof_resumes_is_given_way_to_likewise(given_way):
    given_way.to(NAME, "one", SECOND, traced=True)
    given_way.to(NAME, "two", 2 * SECOND, traced=False)
    assert given_way.waits
    given_way.resumed(3 * SECOND)

    assert all("gave way to it until 3.00 s" in note for note in given_way.notes())


def test_profilers_that_differ_only_in_time_are_one_note(given_way):
    for second in range(1, 41):
        given_way.to("a Session.run with FULL_TRACE", "", second * SECOND, traced=True)
        given_way.resumed(second * SECOND + 1)

    assert list(given_way.notes()) == [
        "the cell started a profiler of its own (a Session.run with FULL_TRACE) 40 times, first "
        "after 1.00 s; nbprof gave way each time, and the tables lack those stretches"
    ]
