"""Speedscope files and collapsed stacks, as other profilers write them, become samples."""

import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.paths import DATA
from support.python_by_hand import stacks_of

import nbprof
from nbprof.errors import NbprofError

REAL = DATA / "python"
A, B = {"name": "main", "file": "/p/x.py", "line": 3}, {"name": "work", "file": "/p/x.py"}
MAIN, WORK = ("/p/x.py", 3, "main"), ("/p/x.py", 0, "work")


def sampled(samples, weights, unit="seconds", name="MainThread", **more):
    times = {"startValue": 0, "endValue": sum(weights)}
    return {
        **{"type": "sampled", "name": name, "unit": unit, **times},
        **{"samples": samples, "weights": weights, **more},
    }


def evented(*events, unit="milliseconds"):
    listed = [{"type": kind, "frame": frame, "at": at} for kind, frame, at in events]
    at = [event["at"] for event in listed]
    return {
        **{"type": "evented", "name": "x", "unit": unit, "events": listed},
        **{"startValue": min(at), "endValue": max(at)},
    }


def whole(*profiles, frames=(A, B), **more):
    schema = "https://www.speedscope.app/file-format-schema.json"
    return {"$schema": schema, "shared": {"frames": [*frames]}, "profiles": [*profiles], **more}


def load(tmp_path, content, name="x.speedscope.json"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return nbprof.load(path)


def refusal(tmp_path, content, name="x.speedscope.json"):
    with pytest.raises(NbprofError) as refused:
        load(tmp_path, content, name)
    return str(refused.value)


# Speedscope


def test_a_file_by_py_spy_has_the_total_of_its_weights():
    path = REAL / "py-spy.speedscope.json"
    threads = json.loads(path.read_text())["profiles"]

    loaded = nbprof.load(path)

    totals = Counter()
    for (thread, _), ns in stacks_of(loaded).items():
        totals[thread] += ns
    in_file = [round(sum(thread["weights"]) * 1e9) for thread in threads]
    assert sorted(totals.values()) == sorted(in_file)
    assert loaded.recording.wall_ns == totals[0] == max(in_file)
    assert loaded.view("call").frame["total_wall_micros"].max() * 1e3 == max(in_file)
    assert "loop" in loaded.call().text
    assert "speedscope file by py-spy@" in loaded.headline


def test_a_file_by_pyinstrument_has_the_time_its_frames_were_open():
    path = REAL / "pyinstrument.speedscope.json"
    (thread,) = json.loads(path.read_text())["profiles"]

    loaded = nbprof.load(path)

    events = thread["events"]
    assert loaded.recording.wall_ns == round((events[-1]["at"] - events[0]["at"]) * 1e9)
    names = loaded.view("call", frames="all").frame["name"]
    assert names.str.contains("program.py:11:loop").any()
    assert names.str.contains("sleep").any()


def test_samples_follow_each_other_in_their_unit(tmp_path):
    loaded = load(tmp_path, whole(sampled([[0], [0, 1], [0]], [1, 2.5, 3], "milliseconds")))

    samples = loaded.samples_of_python
    assert samples["start_ns"].tolist() == [0, 1_000_000, 3_500_000]
    assert samples["duration_ns"].tolist() == [1_000_000, 2_500_000, 3_000_000]
    assert stacks_of(loaded) == {(0, (MAIN,)): 4_000_000, (0, (MAIN, WORK)): 2_500_000}
    assert loaded.recording.timed
    assert loaded.recording.watched == ("samples",)


@pytest.mark.parametrize(
    ("unit", "ns"),
    {"nanoseconds": 1, "microseconds": 10**3, "milliseconds": 10**6, "seconds": 10**9}.items(),
)
def test_every_unit_of_time_is_understood(tmp_path, unit, ns):
    assert load(tmp_path, whole(sampled([[0]], [7], unit))).recording.wall_ns == 7 * ns


def test_counts_of_samples_are_called_samples(tmp_path):
    loaded = load(tmp_path, whole(sampled([[0], [1]], [3, 4], "none")))

    assert loaded.headline == "nbprof x.speedscope.json · 7 samples · speedscope file"
    assert any("1 µs stands for a sample" in note for note in loaded.notes)
    assert loaded.call().frame["wall_micros"].sum() == 7


def test_a_sample_without_frames_is_time_between_statements(tmp_path):
    loaded = load(tmp_path, whole(sampled([[0], []], [1, 2])))

    assert "outside the cell's statements" in loaded.call().text
    assert loaded.recording.wall_ns == 3 * 10**9


def test_events_become_the_stacks_that_were_open_between_them(tmp_path):
    opened = evented(
        *(("O", 0, 5), ("O", 1, 6), ("C", 1, 8), ("O", 1, 8), ("C", 1, 9), ("C", 0, 12)),
        *(("O", 1, 13), ("C", 1, 14)),
    )

    loaded = load(tmp_path, whole(opened))

    ms = 10**6
    assert stacks_of(loaded) == {
        (0, (MAIN,)): 4 * ms,
        (0, (MAIN, WORK)): 3 * ms,
        (0, (WORK,)): 1 * ms,
    }
    assert loaded.samples_of_python["start_ns"].tolist() == [t * ms for t in (0, 1, 3, 4, 8)]


def test_events_in_seconds_since_1970_keep_their_microseconds(tmp_path):
    begin = 1_790_000_000.0
    loaded = load(tmp_path, whole(evented(("O", 0, begin), ("C", 0, begin + 0.25), unit="seconds")))

    assert loaded.recording.wall_ns == 250_000_000


def test_the_busiest_thread_is_shown_and_the_others_are_noted(tmp_path):
    threads = (
        sampled([[0]], [1], name="MainThread"),
        sampled([[1]], [5], name="worker"),
        sampled([], [], name="idle"),
    )

    loaded = load(tmp_path, whole(*threads))

    assert loaded.threads["name"].tolist() == ["worker", "MainThread", "idle"]
    assert stacks_of(loaded) == {(0, (WORK,)): 5 * 10**9, (1, (MAIN,)): 10**9}
    assert loaded.recording.wall_ns == 5 * 10**9
    assert (
        "the file has 3 threads; the call view shows the one with the most time, worker"
        in (loaded.notes[0])
    )


def test_frames_without_a_file_may_have_it_in_their_name(tmp_path):
    frames = [
        *({"name": "work (x.py:12)"}, {"name": "In [3]"}, {"name": "f", "file": None}),
        {"name": "g", "file": "y.py", "line": None, "col": None},
    ]
    loaded = load(tmp_path, whole(sampled([[0, 1, 2, 3]], [1]), frames=frames))

    ((_, stack),) = stacks_of(loaded)
    assert stack == (("x.py", 12, "work"), ("", 0, "In [3]"), ("", 0, "f"), ("y.py", 0, "g"))
    assert "work" in loaded.call().text


def test_a_file_without_profiles_is_empty(tmp_path):
    loaded = load(tmp_path, whole())

    assert loaded.recording.wall_ns == 0
    assert len(loaded.samples_of_python) == 0
    assert loaded.call().text


def test_a_file_is_recognised_whatever_key_comes_first(tmp_path):
    about = whole(sampled([[0]], [1]), exporter="speedscope@1.22.2", name="x")
    for key in about:
        first = {key: about[key], **about}
        assert load(tmp_path, first, "x.json").recording.wall_ns == 10**9
    assert load(tmp_path, b"\xef\xbb\xbf \n" + json.dumps(about).encode()).recording.wall_ns


def change(**changes):
    return whole({**sampled([[0]], [1]), **changes})


BAD = {
    "no JSON": (b'{"$schema": ', "it is not valid JSON"),
    "no UTF-8": (b'{"name": "\xff\xfe"}', "it is not valid JSON"),
    "a huge number": (b'{"name":' + b"9" * 10_000 + b"}", "it is not valid JSON"),
    "nested": (b'{"name":' + b"[" * 100_000, "it is not valid JSON"),
    "a Chrome trace": (b'{"name": 1}', '"shared" should be an object'),
    "no profiles": (json.dumps({"shared": {"frames": []}}).encode(), '"profiles" should be an arr'),
    "a frame without a name": (whole(frames=[{}]), "the name of a frame should be a text"),
    "a text for a line": (whole(frames=[{**A, "line": "3"}]), "the line of a frame"),
    "a number for a file": (whole(frames=[{**A, "file": 3}]), "the file of a frame"),
    "bytes": (change(unit="bytes"), "it holds bytes, not times or samples"),
    "mixed units": (
        whole(sampled([[0]], [1]), sampled([[0]], [1], "none")),
        "it holds times as well as counts of samples",
    ),
    "another type": (change(type="other"), "profile 0 is neither sampled nor evented"),
    "too few weights": (change(samples=[[0], [1]]), "2 samples but 1 weights"),
    "a frame beyond the last": (change(samples=[[2]]), "a frame that is not in the file"),
    "a negative frame": (change(samples=[[-1]]), "a frame that is not in the file"),
    "a huge frame": (change(samples=[[2**80]]), "a sample should be an array of whole numbers"),
    "a text for a frame": (change(samples=["a"]), "a sample should be an array of whole numbers"),
    "a float for a frame": (
        change(samples=[[0.5]]),
        "a sample should be an array of whole numbers",
    ),
    "a text for a weight": (change(weights=["1"]), "the weights should be numbers"),
    "a negative weight": (change(weights=[-1]), "a weight is negative"),
    "a huge weight": (change(weights=[10**400]), "times that are too long to be true"),
    "an infinite weight": (change(weights=[float("inf")]), "times that are too long to be true"),
    "no number as a weight": (change(weights=[float("nan")]), "too long to be true"),
    "weights without end": (
        change(samples=[[0]] * 9, weights=[4e9] * 9),
        "times that are too long to be true",
    ),
    "time runs backwards": (
        whole(evented(("O", 0, 2), ("C", 0, 1))),
        "an event is earlier than the one before",
    ),
    "another frame is closed": (
        whole(evented(("O", 0, 1), ("C", 1, 2))),
        "closes a frame other than the one opened last",
    ),
    "closed before opened": (whole(evented(("C", 0, 1))), "closes a frame other than"),
    "an event of no kind": (whole(evented(("X", 0, 1))), "closes a frame other than"),
    "an event without a time": (
        whole({"type": "evented", "unit": "none", "events": [{"type": "O", "frame": 0}]}),
        'an event should have "type", "at" and "frame"',
    ),
    "a frame of no event": (whole(evented(("O", 7, 1))), "an event has a frame that is not in"),
    "a time of no event": (
        whole(evented(("O", 0, 10**400), ("C", 0, 10**400))),
        "times that are too long to be true",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_damaged_speedscope_file_is_refused_in_one_sentence(tmp_path, case):
    content, reason = BAD[case]

    error = refusal(tmp_path, content)

    assert error.startswith("x.speedscope.json cannot be read as a speedscope file: ")
    assert reason in error
    assert error.endswith(".")
    assert "\n" not in error


def test_events_that_go_ever_deeper_are_refused_before_they_fill_the_memory(tmp_path):
    depth = 20_000  # each stack is new and has all frames of the one before: 200 million
    opened = [("O", 0, number) for number in range(depth)]

    error = refusal(tmp_path, whole(evented(*opened)))

    assert "its stacks are too deep for a file of this size" in error


def test_deep_recursion_is_read(tmp_path):
    depth = 1000
    opened = [("O", 0, number) for number in range(depth)]
    closed = [("C", 0, depth + number) for number in range(depth)]

    loaded = load(tmp_path, whole(evented(*opened, *closed)))

    assert loaded.recording.wall_ns == (2 * depth - 1) * 10**6


# Collapsed stacks


def test_collapsed_stacks_by_py_spy_have_the_total_of_its_counts():
    path = REAL / "py-spy.collapsed"
    counts = [int(line.rpartition(" ")[2]) for line in path.read_text().splitlines()]

    loaded = nbprof.load(path)

    assert loaded.headline == f"nbprof py-spy.collapsed · {sum(counts)} samples · collapsed stacks"
    assert loaded.call().frame["wall_micros"].sum() == sum(counts)
    assert ("program.py", 26, "main") in {
        place for _, stack in stacks_of(loaded) for place in stack
    }


def test_frames_may_be_any_text(tmp_path):
    text = (
        b"main;work with spaces;\xe2\x82\xac 3\r\n# a comment\n\nmain 1.5\n"
        b"f (C:\\Program Files (x86)\\a.py:7);g (<string>) 2\nmain;;h (x) 1"
    )

    loaded = load(tmp_path, text, "x.txt")

    assert stacks_of(loaded) == {
        (0, (("", 0, "main"), ("", 0, "work with spaces"), ("", 0, "€"))): 3000,
        (0, (("", 0, "main"),)): 1500,
        (0, (("C:\\Program Files (x86)\\a.py", 7, "f"), ("<string>", 0, "g"))): 2000,
        (0, (("", 0, "main"), ("", 0, "h (x)"))): 1000,
    }


def test_a_stack_longer_than_what_files_are_recognised_by_is_read(tmp_path):
    stack = ";".join(f"f{number}" for number in range(3000))

    loaded = load(tmp_path, f"{stack} 1\nmain 2\n".encode(), "x.collapsed")

    assert len(loaded.frames) == 3001


@pytest.mark.parametrize(
    ("text", "line"),
    {"main 1\n" + "a 1\n" * 2000 + "main\n": 2002, "a;" * 3000 + "b x\n": 1}.items(),
)
def test_a_line_without_a_number_is_named(tmp_path, text, line):
    assert refusal(tmp_path, text.encode(), "x.collapsed") == (
        "x.collapsed cannot be read as collapsed stacks: "
        f"line {line:,} does not end in a space and a number."
    )


@pytest.mark.parametrize(
    "text", ["a;b;c\n1;2;3\n", "\n\n# text\n", "x\x00y 3\n", "word", "a 1e5\n"]
)
def test_other_texts_are_no_collapsed_stacks(tmp_path, text):
    assert "its format is unknown" in refusal(tmp_path, text.encode(), "x.collapsed")


def test_counts_without_end_are_refused(tmp_path):
    error = refusal(tmp_path, b"main 9999999999999999999\n", "x.collapsed")

    assert "too long to be true" in error


# Both

FRAMES = st.lists(st.integers(0, 1), max_size=4)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(FRAMES, st.integers(0, 10**12)), max_size=8))
def test_every_stack_has_the_sum_of_its_weights(tmp_path_factory, samples):
    folder = tmp_path_factory.mktemp("speedscope")
    expected = Counter()
    for frames, ns in samples:
        expected[0, tuple((MAIN, WORK)[frame] for frame in frames)] += ns
    frames, weights = zip(*samples, strict=True) if samples else ((), ())

    loaded = load(folder, whole(sampled([*frames], [*weights], "nanoseconds")))

    assert stacks_of(loaded) == expected
    assert loaded.recording.wall_ns == sum(weights)
    assert int(loaded.spent["ns"].sum()) == sum(weights)


@pytest.mark.parametrize("file", sorted(REAL.glob("*.*[dn]")), ids=lambda file: file.name)
def test_a_loaded_file_has_every_face_and_can_be_saved(tmp_path, file):
    loaded = nbprof.load(file)

    assert loaded.call()._repr_mimebundle_()["text/html"]
    assert loaded.summary()["percent"].sum() == pytest.approx(100)
    loaded.to_html(tmp_path / "x.html")
    loaded.save(tmp_path / "x.nbprof")
    again = nbprof.load(tmp_path / "x.nbprof")
    assert stacks_of(again) == stacks_of(loaded)
    assert again.call().text == loaded.call().text
