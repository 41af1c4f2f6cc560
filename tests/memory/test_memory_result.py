"""A MemoryResult as numbers: frames in bytes and seconds, and tables of a Profile."""

from support.memory_cases import marked_by_hand, result_by_hand
from support.memory_spikes import MIB


def test_marks_are_a_frame():
    marks = marked_by_hand().marks

    assert list(marks["kind"]) == ["line", "line", "step", "op", "step"]
    assert list(marks["label"][:3]) == ["line 2", "line 3", "step 0: <f>"]
    assert marks["end_seconds"].notna().tolist() == [False, False, True, True, False]
    assert marks["bytes"].max() == 200 * MIB


def test_samples_and_statements_are_moved_to_the_clock_of_a_profile():
    samples, statements = marked_by_hand().largest.tables(lambda since_ns: since_ns + 5)

    assert samples["start_ns"].tolist() == [5, 10_000_005, 200_000_005, 210_000_005]
    assert samples["gap"].tolist() == [False, False, True, False]
    assert statements.to_dict("list") == {"start_ns": [5, 10_000_005], "line": [2, 3]}


def test_the_summary_has_peak_and_increment():
    assert result_by_hand().summary == "peak memory 300 MiB, +200 MiB"
