"""Files of Python for other programs: they read them, and the numbers are the profile's."""

import cProfile
import io
import json
import marshal
import pstats
import re
import shutil
import subprocess
import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.by_hand import node, profile
from support.paths import DATA
from support.python_by_hand import counted, sampled, stacks_of
from support.speedscope_rules import check_speedscope

import nbprof
from nbprof.errors import NbprofError

MAIN, WORK, WAIT = ("In [3]", 2, "<module>"), ("/p/x.py", 9, "work"), ("/p/x.py", 20, "wait")
AGAIN = ("/p/x.py", 12, "work")
ODD = ('/p/a "b";c\\n.py', 7, 'f;g "<script>alert(1)</script>" \\l \udcff\n€')
SUFFIXES = (".prof", ".callgrind", ".speedscope.json", ".collapsed", ".dot")


def simple():
    """Return 10 µs: 1 in main itself, 6 in work, of which 2 wait, and 3 in a wait of main's."""
    return sampled(
        *(((MAIN,), 1000), ((MAIN, WORK), 4000), ((MAIN, AGAIN, WAIT), 2000)),
        ((MAIN, WAIT), 3000),
    )


def called():
    """Return main, which called work twice, which called itself once more and waited."""
    return counted(
        [(MAIN, 1, 1, 1000, 10_000), (WORK, 3, 2, 6000, 9000), (WAIT, 2, 2, 3000, 3000)],
        [(0, 1, 2, 2, 5000, 9000), (1, 1, 1, 0, 1000, 2000), (1, 2, 2, 2, 3000, 3000)],
    )


def written(profile, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        profile.export(path)
    return path


def read_stats(path):
    return pstats.Stats(str(path), stream=io.StringIO())


def needs(program, package):
    found = shutil.which(program)
    return pytest.mark.skipif(not found, reason=f"{program} is missing: install {package}")


# pstats


def test_pstats_reads_the_counts_and_times_of_counted_calls(tmp_path):
    stats = read_stats(written(called(), tmp_path / "x.prof"))

    assert stats.stats == {
        MAIN: (1, 1, 1e-6, 1e-5, {}),
        WORK: (2, 3, 6e-6, 9e-6, {MAIN: (2, 2, 5e-6, 9e-6), WORK: (1, 0, 1e-6, 2e-6)}),
        WAIT: (2, 2, 3e-6, 3e-6, {WORK: (2, 2, 3e-6, 3e-6)}),
    }
    assert (stats.total_calls, stats.prim_calls) == (6, 5)


def test_what_cprofile_dumped_is_written_with_equal_numbers(tmp_path):
    profiler = cProfile.Profile()
    profiler.runcall(sorted, range(2000), key=lambda number: -number)
    profiler.dump_stats(tmp_path / "theirs.prof")

    written(nbprof.load(tmp_path / "theirs.prof"), tmp_path / "ours.prof")

    theirs, ours = (read_stats(tmp_path / f"{whose}.prof").stats for whose in ("theirs", "ours"))
    assert list(ours) == list(theirs)
    for function, (primitive, calls, own, total, callers) in theirs.items():
        assert ours[function][:2] == (primitive, calls)
        assert ours[function][2:4] == pytest.approx((own, total), rel=1e-12)
        assert ours[function][4].keys() == callers.keys()
        for caller, cost in callers.items():
            assert ours[function][4][caller] == pytest.approx(cost, rel=1e-12)


def test_pstats_reads_the_times_of_samples_with_recursion_counted_once(tmp_path):
    recursive = sampled(
        *(((MAIN, WORK), 3000), ((MAIN, WORK, AGAIN), 4000), ((MAIN, WORK, WAIT, AGAIN), 5000)),
    )

    stats = read_stats(written(recursive, tmp_path / "x.prof")).stats

    times = {function: (own, total) for function, (_, _, own, total, _) in stats.items()}
    assert times == {MAIN: (0, 12e-6), WORK: (12e-6, 12e-6), WAIT: (0, 5e-6)}
    callers = {caller: cost[3] for caller, cost in stats[WORK][4].items()}
    assert callers == {MAIN: 12e-6, WORK: 4e-6, WAIT: 5e-6}


def test_counts_that_are_unknown_are_no_calls_and_a_warning_says_so(tmp_path):
    with pytest.warns(UserWarning, match="calls were not counted, only sampled") as warned:
        simple().export(tmp_path / "x.prof")

    stats = read_stats(tmp_path / "x.prof")
    assert warned[0].filename == __file__
    assert stats.total_calls == 0
    stats.print_stats()
    assert re.search(
        r"^ +0    0\.000             0\.000          In \[3\]:2", stats.stream.getvalue(), re.M
    )
    assert nbprof.load(tmp_path / "x.prof").functions["calls"].isna().all()


def test_counted_calls_come_before_samples(tmp_path):
    both = called().with_values(
        frames=simple().frames,
        samples_of_python=simple().samples_of_python,
        recording=nbprof.load(DATA / "python" / "cprofile-3.8.prof").recording.__class__(
            "In [3]", "by hand", 10_000, 0, watched=("samples", "calls")
        ),
    )

    assert read_stats(written(both, tmp_path / "x.prof")).total_calls == 6
    assert len(written(both, tmp_path / "x.collapsed").read_text().splitlines()) == 4


def test_functions_of_one_name_are_added_up(tmp_path):
    twice = counted(
        [(WORK, 1, 1, 1000, 2000), (WORK, 2, 2, 3000, 4000)], [(0, 1, 2, 2, 3000, 4000)]
    )

    stats = read_stats(written(twice, tmp_path / "x.prof")).stats

    assert stats == {WORK: (3, 3, 4e-6, 6e-6, {WORK: (2, 2, 3e-6, 4e-6)})}


# callgrind


def annotated(path, *options):
    """Return {function: cost} as callgrind_annotate prints it."""
    done = subprocess.run(
        ["callgrind_annotate", "--threshold=100", *options, path],
        capture_output=True,
        text=True,
        check=True,
        errors="replace",
    )
    assert "malformed" not in done.stderr
    rows = re.findall(r"^ *([\d,]+) \( *[\d.]+%\)  (.*)$", done.stdout, re.M)
    return {name: int(cost.replace(",", "")) for cost, name in rows}


@needs("callgrind_annotate", "valgrind")
@pytest.mark.parametrize("make", [simple, called])
def test_callgrind_annotate_reads_own_and_total_costs(tmp_path, make):
    path = written(make(), tmp_path / "x.callgrind")

    own, total = annotated(path), annotated(path, "--inclusive=yes")

    assert own.pop("PROGRAM TOTALS") == 10_000
    expected = {
        simple: {"In [3]:<module>": 1000, "/p/x.py:work": 4000, "/p/x.py:wait": 5000},
        called: {"In [3]:<module>": 1000, "/p/x.py:work": 6000, "/p/x.py:wait": 3000},
    }
    assert own == expected[make]
    assert total["In [3]:<module>"] == 10_000


@needs("callgrind_annotate", "valgrind")
def test_callgrind_annotate_reads_the_calls(tmp_path):
    path = written(called(), tmp_path / "x.callgrind")

    tree = subprocess.run(
        ["callgrind_annotate", "--tree=both", path], capture_output=True, text=True, check=True
    ).stdout

    assert re.search(r"9,000 .*<.*In \[3\]:<module> \(2x\)", tree)
    assert re.search(r"3,000 .*>.*/p/x.py:wait \(2x\)", tree)


def test_callgrind_has_the_lines_of_samples(tmp_path):
    text = written(simple(), tmp_path / "x.callgrind").read_text()

    work = re.search(r"fn=\(\d+\)(?: work)?\n(.*?)\n\n", text[text.index("work") :], re.S)[1]
    assert "9 4000" in work
    assert "\n12 2000" in work  # the call of wait, on line 12


def test_functions_of_one_name_in_a_file_are_told_apart_for_callgrind(tmp_path):
    first, second = ("x.py", 3, "__init__"), ("x.py", 9, "__init__")
    both = counted([(first, 1, 1, 10, 10), (second, 1, 1, 20, 20)])

    text = written(both, tmp_path / "x.callgrind").read_text()

    assert {"__init__:3", "__init__:9"} <= set(re.findall(r"fn=\(\d+\) (\S+)", text))


def test_callgrind_of_counted_samples_counts_samples(tmp_path):
    loaded = nbprof.load(DATA / "python" / "py-spy.collapsed")

    text = written(loaded, tmp_path / "x.callgrind").read_text()

    assert "\nevents: samples\n" in text
    assert f"\nsummary: {loaded.recording.wall_ns // 1000}\n" in text


# speedscope and collapsed stacks


def test_speedscope_has_every_sample_in_order(tmp_path):
    whole = json.loads(written(simple(), tmp_path / "x.speedscope.json").read_text())

    check_speedscope(whole)
    (thread,) = whole["profiles"]
    assert thread["unit"] == "nanoseconds"
    assert thread["weights"] == [1000, 4000, 2000, 3000]
    frames = whole["shared"]["frames"]
    named = [[frames[number]["name"] for number in sample] for sample in thread["samples"]]
    assert named == [["<module>"], ["<module>", "work"], ["<module>", "work", "wait"],
                     ["<module>", "wait"]]  # fmt: skip
    assert {"name": "work", "file": "/p/x.py", "line": 12} in frames


def threads():
    return sampled(
        *(((MAIN,), 1000, 0), ((MAIN, WORK), 5000, 0), ((), 500, 0), ((WAIT,), 3000, 1)),
        threads=("main", "a; b"),
    )


def test_speedscope_has_a_profile_for_each_thread(tmp_path):
    whole = json.loads(written(threads(), tmp_path / "x.speedscope.json").read_text())

    check_speedscope(whole)
    assert [thread["name"] for thread in whole["profiles"]] == ["main", "a; b"]
    assert [sum(thread["weights"]) for thread in whole["profiles"]] == [6500, 3000]


def test_collapsed_stacks_have_a_line_for_each_stack_in_micros(tmp_path):
    samples = sampled(((MAIN,), 1000), ((MAIN, WORK), 1500), ((MAIN,), 2000), ((WAIT,), 100))

    assert written(samples, tmp_path / "x.collapsed").read_text() == (
        "<module> (In [3]:2) 3\n<module> (In [3]:2);work (/p/x.py:9) 2\n"
    )


def test_collapsed_stacks_begin_with_the_thread_if_there_are_several(tmp_path):
    assert written(threads(), tmp_path / "x.collapsed").read_text().splitlines() == [
        "main;(no code of the cell) 1",
        "main;<module> (In [3]:2) 1",
        "main;<module> (In [3]:2);work (/p/x.py:9) 5",
        "a: b;wait (/p/x.py:20) 3",
    ]  # rounded such that they add up


@pytest.mark.parametrize("suffix", [".speedscope.json", ".collapsed"])
def test_stacks_need_samples(tmp_path, suffix):
    for lacking in (called(), profile(node("a", "MatMul", micros=1))):
        with pytest.raises(NbprofError, match=f"^{suffix} holds stacks of Python, and this"):
            lacking.export(tmp_path / f"x{suffix}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".prof", ".callgrind", ".dot"])
def test_functions_need_calls_or_samples(tmp_path, suffix):
    with pytest.raises(NbprofError, match=f"^{suffix} holds functions of Python, and this"):
        profile(node("a", "MatMul", micros=1)).export(tmp_path / f"x{suffix}")


# Graphviz


def test_the_call_graph_has_shares_and_calls(tmp_path):
    text = written(called(), tmp_path / "x.dot").read_text()

    assert r'0 [label="<module>\nIn [3]:2\n100.00%\n(10.00%)\n1×"' in text
    assert r'1 [label="work\nx.py:9\n90.00%\n(60.00%)\n3×"' in text
    assert r'0 -> 1 [label="90.00%\n2×"' in text
    assert r'1 -> 1 [label="20.00%\n1×"' in text


def test_the_call_graph_of_samples_has_no_calls(tmp_path):
    text = written(simple(), tmp_path / "x.dot").read_text()

    assert r'label="work\nx.py:9\n60.00%\n(40.00%)"' in text
    assert "×" not in text


def test_small_functions_are_left_out_of_the_call_graph(tmp_path):
    large, small = [(WORK, 1, 1, 10**9, 10**9)], [(WAIT, 1, 1, 1000, 1000)]
    many = [(("y.py", line, f"f{line}"), 1, 1, 10**7, 10**8) for line in range(300)]

    text = written(counted(large + small + many), tmp_path / "x.dot").read_text()

    assert "202 functions left out" in text
    assert text.count("[label=") == 1 + 100
    assert "wait" not in text


@needs("dot", "graphviz")
@pytest.mark.parametrize(
    "make", [simple, called, lambda: counted([]), lambda: sampled(((ODD,), 9))]
)
def test_graphviz_draws_the_call_graph(tmp_path, make):
    path = written(make(), tmp_path / "x.dot")

    drawn = subprocess.run(["dot", "-Tsvg", path], capture_output=True, check=True)

    assert b"</svg>" in drawn.stdout
    assert b"<script" not in drawn.stdout
    assert drawn.stderr == b""


# All


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("empty", [sampled, lambda: counted([])], ids=["samples", "calls"])
def test_an_empty_profile_is_written(tmp_path, suffix, empty):
    path = tmp_path / f"x{suffix}"
    if empty is sampled or suffix in (".prof", ".callgrind", ".dot"):
        assert written(empty(), path).exists()
    if suffix == ".prof":
        assert marshal.loads(path.read_bytes()) == {}  # pstats refuses it, as it does cProfile's


def test_names_with_every_character_survive_where_the_format_allows(tmp_path):
    odd = sampled(((ODD, WORK), 7000))

    assert ODD in read_stats(written(odd, tmp_path / "x.prof")).stats
    whole = json.loads(written(odd, tmp_path / "x.speedscope.json").read_text())
    check_speedscope(whole)
    assert whole["shared"]["frames"][0] == {
        "name": ODD[2].replace("\udcff", "\ufffd"), "file": ODD[0], "line": 7
    }  # fmt: skip
    (line,) = written(odd, tmp_path / "x.collapsed").read_text().splitlines()
    assert line == (
        'f:g "<script>alert(1)</script>" \\l \ufffd € (/p/a "b":c\\n.py:7);work (/p/x.py:9) 7'
    )
    for suffix in (".callgrind", ".dot"):
        assert written(odd, tmp_path / f"x{suffix}").read_text(encoding="utf-8")


@needs("callgrind_annotate", "valgrind")
def test_callgrind_annotate_reads_odd_names(tmp_path):
    odd = sampled(((ODD, WORK), 7000), ((("", 0, "(1) f"),), 1000))

    costs = annotated(written(odd, tmp_path / "x.callgrind"))

    assert sorted(costs.values()) == [1000, 7000, 8000]


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=12)
PLACES = st.tuples(st.just("") | TEXTS, st.integers(1, 10**6), TEXTS).map(
    lambda place: place if place[0] else ("", 0, place[2])
)
NS = st.integers(0, 10**13)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.lists(PLACES, min_size=1, max_size=4).map(tuple), NS), max_size=8))
def test_samples_are_loaded_from_speedscope_as_they_were_written(tmp_path_factory, samples):
    path = tmp_path_factory.mktemp("round") / "x.speedscope.json"
    # A function without a file is taken apart if it looks like one with a file.
    samples = [
        (tuple(place if place[0] else ("", 0, place[2].replace("(", "[")) for place in stack), ns)
        for stack, ns in samples
    ]
    before = sampled(*samples)

    loaded = nbprof.load(written(before, path))

    check_speedscope(json.loads(path.read_text()))
    assert stacks_of(loaded) == stacks_of(before)
    for column in ("start_ns", "duration_ns"):
        ours = before.samples_of_python[column].tolist()
        assert loaded.samples_of_python[column].tolist() == ours


LETTERS = st.characters(codec="utf-8", exclude_categories=("C", "Z"), exclude_characters=";(:#")
SAFE = st.text(LETTERS, min_size=1, max_size=12)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.tuples(SAFE, st.integers(1, 10**6), SAFE), min_size=1, max_size=4).map(
                tuple
            ),
            st.integers(1, 10**9),
        ),
        min_size=1,
        max_size=8,
        unique_by=lambda sample: sample[0],
    )
)
def test_stacks_are_loaded_from_collapsed_as_they_were_written(tmp_path_factory, samples):
    path = tmp_path_factory.mktemp("round") / "x.collapsed"
    before = sampled(*((stack, micros * 1000) for stack, micros in samples))

    assert stacks_of(nbprof.load(written(before, path))) == stacks_of(before)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_counted_calls_are_loaded_from_pstats_as_they_were_written(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("round") / "x.prof"
    numbers = st.tuples(st.integers(1, 2**50), st.integers(0, 2**50), NS, NS)
    places = data.draw(st.lists(PLACES, min_size=1, max_size=5, unique=True))
    functions = [(place, *data.draw(numbers)) for place in places]
    rows = st.integers(0, len(places) - 1)
    pairs = data.draw(st.lists(st.tuples(rows, rows), max_size=8, unique=True))
    calls = [(*pair, *data.draw(numbers)) for pair in sorted(pairs, key=lambda pair: pair[1])]
    before = counted(functions, calls)

    loaded = nbprof.load(written(before, path))

    assert loaded.functions.drop(columns="framework").equals(
        before.functions.drop(columns="framework")
    )
    assert loaded.calls.equals(before.calls)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_long_profile_is_written_without_an_object_per_sample(tmp_path, suffix):
    stacks = [(MAIN, ("/p/x.py", line, f"f{line % 7}")) for line in range(1, 100)]
    few = sampled(*((stack, 1000) for stack in stacks))
    count = 200_000
    many = few.with_values(
        samples_of_python=few.samples_of_python.iloc[np.arange(count) % 99].reset_index(drop=True)
    )
    written(few, tmp_path / f"few{suffix}")

    tracemalloc.start()
    written(many, tmp_path / f"x{suffix}")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 120 * count  # a few columns of 8 bytes, and some text
