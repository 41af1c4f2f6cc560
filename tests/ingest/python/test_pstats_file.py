"""Dumps of cProfile and pstats become tables of functions and calls, with nothing unmarshalled."""

import cProfile
import gzip
import io
import marshal
import profile
import pstats

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.paths import DATA

import nbprof
from nbprof.errors import NbprofError
from nbprof.ingest.python.damage import DamageError
from nbprof.ingest.python.marshal_reader import read_marshalled

DUMPS = sorted((DATA / "python").glob("*.prof"))
MAIN, WORK = ("a.py", 1, "main"), ("a.py", 5, "work")


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def work():
    fib(9)
    return sorted(range(50), key=lambda number: -number)


def dumped(path, stats):
    path.write_bytes(marshal.dumps(stats))
    return path


def as_pstats(loaded):
    """Return what pstats calls `stats`, with times in ns, made of the tables of a profile."""
    functions = loaded.functions
    keys = list(zip(functions["file"], functions["line"], functions["function"], strict=True))
    stats = {
        key: (row.primitive_calls, row.calls, row.self_ns, row.total_ns, {})
        for key, row in zip(keys, functions.itertuples(), strict=True)
    }
    for row in loaded.calls.itertuples():
        costs = (row.calls, row.primitive_calls, row.self_ns, row.total_ns)
        stats[keys[row.function]][4][keys[row.caller]] = costs
    return stats


def in_ns(stats):
    """Round the seconds of what pstats calls `stats`; Pythons differ in the last bit."""

    def rounded(one, other, own, cumulative):
        return one, other, round(own * 1e9), round(cumulative * 1e9)

    return {
        key: (*rounded(*costs), {caller: rounded(*cost) for caller, cost in callers.items()})
        for key, (*costs, callers) in stats.items()
    }


def refusal(path, content):
    path.write_bytes(content)
    with pytest.raises(NbprofError) as refused:
        nbprof.load(path)
    return str(refused.value)


def test_there_are_dumps_of_several_pythons():
    assert len(DUMPS) >= 3


@pytest.mark.parametrize("path", DUMPS, ids=lambda path: path.stem)
def test_a_dump_of_any_python_has_the_numbers_that_pstats_reads(path):
    loaded = nbprof.load(path)
    stats = pstats.Stats(str(path), stream=io.StringIO())

    assert as_pstats(loaded) == in_ns(stats.stats)
    assert loaded.recording.wall_ns == round(stats.total_tt * 1e9)
    assert loaded.functions["calls"].sum() == stats.total_calls
    assert loaded.functions["primitive_calls"].sum() == stats.prim_calls


def test_the_same_program_has_the_same_calls_in_every_python():
    counted = [
        loaded.functions[loaded.functions["file"].str.endswith("program.py")]
        for loaded in map(nbprof.load, DUMPS)
    ]

    fib_calls = [list(table[table["function"] == "fib"]["calls"]) for table in counted]
    assert fib_calls == [[465]] * len(DUMPS)


def test_a_dump_of_this_python_is_loaded(tmp_path):
    profiler = cProfile.Profile()
    profiler.runcall(work)
    path = tmp_path / "x.prof"
    profiler.dump_stats(path)

    loaded = nbprof.load(path)

    fib_row = loaded.functions[loaded.functions["function"] == "fib"].iloc[0]
    assert (fib_row["calls"], fib_row["primitive_calls"]) == (109, 1)
    assert not fib_row["framework"]
    assert as_pstats(loaded).keys() == profiler.stats.keys()
    assert loaded.recording.watched == ("calls",)
    assert loaded.headline.startswith("nbprof x.prof · ")
    assert loaded.headline.endswith(" calls · pstats of cProfile")


def test_functions_in_c_are_not_the_users(tmp_path):
    cost = (1, 1, 0.5, 0.5, {})
    path = dumped(tmp_path / "x.prof", {("~", 0, "<built-in method time.sleep>"): cost, MAIN: cost})

    loaded = nbprof.load(path)

    assert loaded.functions["framework"].tolist() == [True, False]
    assert dict(zip(*loaded.summary()[["category", "micros"]].to_numpy().T, strict=True)) == {
        "your Python": 500_000,
        "library Python": 500_000,
    }


def test_callers_counted_without_times_have_no_times(tmp_path):
    profiler = profile.Profile()  # the pure Python one only counts them
    profiler.runcall(work)
    path = tmp_path / "x.prof"
    profiler.dump_stats(path)

    loaded = nbprof.load(path)

    assert loaded.functions["calls"].sum() == sum(cost[1] for cost in profiler.stats.values())
    assert loaded.calls["calls"].sum() > 100
    assert loaded.calls["self_ns"].isna().all()


def test_a_caller_that_never_returned_is_a_function_without_calls(tmp_path):
    path = dumped(tmp_path / "x.prof", {WORK: (2, 2, 1.0, 1.0, {MAIN: (2, 2, 1.0, 1.0)})})

    loaded = nbprof.load(path)

    assert loaded.functions["function"].tolist() == ["work", "main"]
    assert loaded.functions["calls"].tolist() == [2, 0]


def test_times_of_samples_without_counts_say_so(tmp_path):
    path = dumped(tmp_path / "x.prof", {MAIN: (0, 0, 1.0, 1.0, {})})

    loaded = nbprof.load(path)

    assert loaded.functions["calls"].isna().all()
    assert loaded.notes == ("the file has times, made of samples, but no counts of calls",)
    assert "calls ·" not in loaded.headline


def test_an_empty_dump_is_an_empty_profile(tmp_path):
    loaded = nbprof.load(dumped(tmp_path / "x.prof", {}))

    assert len(loaded.functions) == len(loaded.calls) == 0
    assert loaded.recording.wall_ns == 0


def test_a_dump_can_be_packed_and_have_any_name(tmp_path):
    path = tmp_path / "x.bin"
    path.write_bytes(gzip.compress(DUMPS[0].read_bytes()))

    assert len(nbprof.load(path).functions) == len(nbprof.load(DUMPS[0]).functions)


def test_a_loaded_dump_can_be_saved_in_nbprofs_own_file(tmp_path):
    loaded = nbprof.load(DUMPS[0])
    loaded.save(tmp_path / "x.nbprof")

    again = nbprof.load(tmp_path / "x.nbprof")

    assert as_pstats(again) == as_pstats(loaded)
    assert again.headline == loaded.headline


NAMES = st.text(max_size=20)
TIMES = st.integers(0, 10**15).map(lambda ns: ns / 1e9)
COUNTS = st.integers(1, 2**40)
COST = st.tuples(COUNTS, COUNTS, TIMES, TIMES)
KEY = st.tuples(NAMES, st.integers(-(2**31), 2**31 - 1), NAMES)


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(KEY, COST, max_size=6).flatmap(
        lambda costs: st.fixed_dictionaries(
            {
                key: st.dictionaries(st.sampled_from([*costs]), COST, max_size=3).map(
                    lambda callers, cost=cost: (*cost, callers)
                )
                for key, cost in costs.items()
            }
        )
    ),
    st.integers(0, marshal.version),
)
def test_any_names_and_numbers_are_read_as_marshal_reads_them(tmp_path_factory, stats, version):
    path = tmp_path_factory.mktemp("dump") / "x.prof"
    path.write_bytes(marshal.dumps(stats, max(version, 2)))

    assert as_pstats(nbprof.load(path)) == in_ns(stats)


def as_pairs(value):
    """Return a value as the reader of marshal does, with lists of pairs for dicts."""
    if isinstance(value, dict):
        return [(as_pairs(key), as_pairs(item)) for key, item in value.items()]
    return tuple(map(as_pairs, value)) if isinstance(value, tuple) else value


VALUES = st.recursive(
    st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | st.text(max_size=300),
    lambda inner: (
        st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=5), inner, max_size=4)
        | inner.map(lambda one: (one, one))
        | inner.map(lambda one: (one,) * 260)
    ),
    max_leaves=6,
).filter(lambda value: depth(value) < 8)


def depth(value):
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    return 1 + max(map(depth, value), default=0) if isinstance(value, tuple) else 0


@settings(max_examples=40, deadline=None)
@given(VALUES)
def test_the_reader_reads_what_marshal_writes(value):
    assert read_marshalled(marshal.dumps(value)) == as_pairs(value)


@pytest.mark.parametrize(
    "value",
    [None, True, [1], {1}, b"bytes", 1j, 2**100, compile("1", "", "eval")],
    ids=lambda value: type(value).__name__,
)
def test_the_reader_refuses_everything_else_that_marshal_knows(value):
    with pytest.raises(DamageError):
        read_marshalled(marshal.dumps(value))


def test_a_name_that_is_no_text_is_made_readable(tmp_path):
    path = dumped(tmp_path / "x.prof", {("caf\udce9.py", 1, "\ud800"): (1, 1, 0.0, 0.0, {})})

    loaded = nbprof.load(path)

    assert loaded.functions[["file", "function"]].iloc[0].tolist() == ["caf\ufffd.py", "\ufffd"]


BAD = {
    "cut off": (marshal.dumps({MAIN: (1, 1, 0.0, 0.0, {})})[:-9], "it is cut off"),
    "goes on": (marshal.dumps({MAIN: (1, 1, 0.0, 0.0, {})}) + b"x", "goes on after its end"),
    "code": (
        marshal.dumps({MAIN: (1, 1, 0.0, compile("1", "x", "eval"), {})}),
        "it has a value of the type b'c'",
    ),
    "too few values": (marshal.dumps({MAIN: (1, 1, 0.0)}), "does not have five values"),
    "a text as a time": (marshal.dumps({MAIN: (1, 1, "0", 0.0, {})}), "not counted and timed"),
    "not a number": (marshal.dumps({MAIN: (1, 1, float("nan"), 0.0, {})}), "not counted and timed"),
    "a huge time": (marshal.dumps({MAIN: (1, 1, 1e300, 0.0, {})}), "too long to be true"),
    "a negative count": (marshal.dumps({MAIN: (-1, 1, 0.0, 0.0, {})}), "not counted and timed"),
    "a huge count": (marshal.dumps({MAIN: (1, 2**60, 0.0, 0.0, {})}), "not counted and timed"),
    "a list for callers": (
        marshal.dumps({MAIN: (1, 1, 0.0, 0.0, (1, 2))}),
        "something else where a dict should be",
    ),
    "a key without a line": (b"{)\x03z\x01az\x01bz\x01c" + b"i\0\0\0\x000", "five values"),
    "a text for the line": (
        marshal.dumps({("a", "b", "c"): (1, 1, 0.0, 0.0, {})}),
        "not named by its file, line and name",
    ),
    "itself": (b"{\xa9\x03r\0\0\0\0", "refers to a value that it does not have"),
    "nested": (b"{)\x03" + b"(\x01\0\0\0" * 5000, "nested too deeply"),
    "a length beyond its end": (b"{)\x03u\xff\xff\xff\x7f", "it is cut off"),
    "a negative length": (b"{)\x03u\xff\xff\xff\xff", "it is cut off"),
    "a tuple beyond its end": (b"{)\x03(\xff\xff\xff\x7f", "it is cut off"),
    "text that is not ASCII": (b"{)\x03z\x01\xff", "a text that is not ascii"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_damaged_dump_is_refused_in_one_sentence(tmp_path, case):
    content, reason = BAD[case]

    error = refusal(tmp_path / "x.prof", content)

    assert error.startswith("x.prof cannot be read as pstats of cProfile: ")
    assert reason in error
    assert error.endswith(".")
    assert "\n" not in error


def test_callers_that_many_functions_share_cannot_make_a_small_file_endless(tmp_path):
    callers = {("a.py", number, "f"): (1, 1, 0.0, 0.0) for number in range(1500)}
    stats = {("b.py", number, "g"): (1, 1, 0.0, 0.0, callers) for number in range(1500)}

    assert "more calls than bytes" in refusal(tmp_path / "x.prof", marshal.dumps(stats))
