import subprocess
import sys
import time
from contextlib import closing
from functools import partial
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.xspace_bytes import (
    Unsigned,
    Written,
    event,
    fixed32,
    fixed64,
    line,
    number,
    payload,
    plane,
    space,
    varint,
)

from nbprof.errors import NbprofError
from nbprof.ingest.protobuf import long_file, long_messages, wire
from nbprof.ingest.protobuf.long_file import LongFile
from nbprof.ingest.xspace import event_search, events, xspace
from nbprof.ingest.xspace.xspace import read_xspace


@pytest.fixture(params=["plain", "vectors", "from a file", "as shipped"])
def reader(request, monkeypatch, tmp_path):
    """Read small files by each path of the reader; otherwise their size would choose one."""
    if request.param == "from a file":
        monkeypatch.setattr(long_file, "AHEAD", 1)
        monkeypatch.setattr(xspace, "LONG", 0)
        monkeypatch.setattr(event_search, "CHUNK", 100)
        monkeypatch.setattr(events, "BLOCK", 3)
        return partial(read_from_file, tmp_path / "written")
    if request.param == "plain":
        monkeypatch.setattr(wire, "FEW", 10**9)
    if request.param == "vectors":
        monkeypatch.setattr(wire, "FEW", 0)
        monkeypatch.setattr(long_messages, "LANE", 64)
        monkeypatch.setattr(long_messages, "WINDOW", 48)
    return read_xspace


def read_from_file(path, data, source="trace"):
    if not data:
        return read_xspace(data, source)
    path.write_bytes(data)
    with closing(LongFile(path.open("rb", buffering=0), source)) as trace:
        return xspace.read_space(trace, None)


def one_line(*events, timestamp_ns=0):
    return plane("/host:CPU", [line(1, "python", timestamp_ns, list(events))])


def stat_values(xspace, name):
    """Return the values of a stat by event row, texts as bytes."""
    stat = xspace.stat(name)
    values = [xspace.strings[i] for i in stat.value] if stat.is_text else stat.value.tolist()
    return dict(zip(stat.event.tolist(), values, strict=True))


def names(xspace):
    return [xspace.strings[i] for i in xspace.name]


def read_everything(data):
    xspace = read_xspace(data, "some.xplane.pb")
    for name in ("", "id", "addr", "ratio", "op", "raw"):
        xspace.stat(name)
    return xspace


# Events, lines and planes


def test_an_event_is_read_with_its_line_and_plane(reader):
    data = space(
        plane("/host:metadata"),
        plane(
            "/host:CPU",
            [line(-5, "worker", 2), line(9, "python", 3, [event("Relu:Relu", 40, 50)])],
        ),
    )

    xspace = reader(data)

    assert xspace.plane_names == ["/host:metadata", "/host:CPU"]
    assert xspace.line_plane.tolist() == [1, 1]
    assert xspace.line_id.tolist() == [-5, 9]
    assert xspace.line_name == ["worker", "python"]
    assert xspace.line.tolist() == [1]
    assert names(xspace) == [b"Relu:Relu"]
    assert xspace.start_ps.tolist() == [3040]
    assert xspace.duration_ps.tolist() == [50]


def test_columns_have_the_promised_types(reader):
    xspace = reader(space(one_line(event("a", 1, 2, {"id": 3, "op": "x", "ratio": 0.5}))))

    assert xspace.line_plane.dtype == xspace.line.dtype == np.int32
    assert xspace.name.dtype == xspace.display_name.dtype == np.int32
    assert xspace.line_id.dtype == xspace.start_ps.dtype == xspace.duration_ps.dtype == np.int64
    assert xspace.stat("id").event.dtype == np.int32
    assert xspace.stat("id").value.dtype == np.int64
    assert xspace.stat("ratio").value.dtype == np.float64
    assert xspace.stat("op").value.dtype == np.int32


def test_an_empty_file_is_an_empty_trace(reader):
    xspace = reader(b"")

    assert xspace.strings == [b""]
    assert len(xspace.line) == len(xspace.line_id) == len(xspace.plane_names) == 0
    assert len(xspace.stat("id").event) == 0


def test_equal_texts_are_kept_once(reader):
    events = [event("a", 0, 0, {"op": "a"}), event("b", 0, 0, {"op": Written("a")})]
    xspace = reader(space(one_line(*events), one_line(*events)))

    assert names(xspace) == [b"a", b"b", b"a", b"b"]
    assert stat_values(xspace, "op") == {0: b"a", 1: b"a", 2: b"a", 3: b"a"}
    assert len(set(xspace.strings)) == len(xspace.strings)


def test_a_missing_display_name_is_the_empty_string(reader):
    data = space(one_line(event("a", 0, 0, display_name="A"), event("b", 0, 0)))

    xspace = reader(data)

    assert [xspace.strings[i] for i in xspace.display_name] == [b"A", b""]
    assert xspace.display_name[1] == 0


def test_events_without_metadata_have_the_empty_name(reader):
    unknown_id = payload(1, payload(3, payload(4, number(1, 77) + number(2, 5))))

    xspace = reader(unknown_id + space(one_line(event(None, 3, None))))

    assert xspace.name.tolist() == [0, 0]
    assert xspace.start_ps.tolist() == [5, 3]
    assert xspace.duration_ps.tolist() == [0, 0]


def test_an_aggregated_event_starts_with_its_line(reader):
    data = space(one_line(event("sum", None, 70, occurrences=12), timestamp_ns=4))

    xspace = reader(data)

    assert xspace.start_ps.tolist() == [4000]
    assert xspace.duration_ps.tolist() == [70]


def test_occurrences_after_an_offset_replace_it_as_in_a_oneof(reader):
    xspace = reader(space(one_line(event("sum", 5, 70, occurrences=12))))

    assert xspace.start_ps.tolist() == [0]


def test_names_that_are_not_utf8_stay_bytes_and_are_shown_with_a_replacement(reader):
    bad = b"caf\xe9"
    metadata = payload(4, number(1, 1) + payload(2, number(1, 1) + payload(2, bad)))
    events = payload(3, payload(2, bad) + payload(4, number(1, 1)))

    xspace = reader(payload(1, payload(2, bad) + metadata + events))

    assert names(xspace) == [bad]
    assert xspace.plane_names == xspace.line_name == ["caf\ufffd"]


def test_the_last_metadata_entry_of_an_id_wins(reader):
    def entry(name):
        return payload(4, number(1, 1) + payload(2, payload(2, name)))

    line_of_one = payload(3, payload(4, number(1, 1)))

    assert names(reader(payload(1, entry("old") + line_of_one + entry("new")))) == [b"new"]


def test_timestamps_since_1970_become_relative_to_the_first_line(reader):
    now_ns = 1_794_793_212_692_312_376
    lines = [
        line(1, "idle", 0),
        line(2, "late", now_ns + 7, [event("b", 1, 0)]),
        line(3, "early", now_ns, [event("a", 2, 0)]),
    ]

    xspace = reader(space(plane("/host:CPU", lines)))

    assert xspace.origin_ns == now_ns
    assert xspace.start_ps.tolist() == [7001, 2]


def test_timestamps_too_far_apart_are_refused(reader):
    lines = [line(1, "a", 0, [event("a", 0, 0)]), line(2, "b", 2**62, [event("b", 0, 0)])]

    with pytest.raises(NbprofError, match="106 days"):
        reader(space(plane("/host:CPU", lines)))


# Stats


def test_stats_are_sparse_and_ascending(reader):
    data = space(
        one_line(event("a", 0, 0, {"id": 5}), event("b", 0, 0), event("c", 0, 0, {"id": -6}))
    )

    xspace = reader(data)

    assert stat_values(xspace, "id") == {0: 5, 2: -6}
    assert stat_values(xspace, "nothing") == {}
    assert xspace.stat("id") is xspace.stat("id")


def test_numbers_keep_all_their_bits(reader):
    largest = {"int": 2**63 - 1, "uint": Unsigned(2**63 - 1), "double": 5e-324}
    smallest = {"int": -(2**63), "uint": Unsigned(2**64 - 1), "double": -1.5}

    xspace = reader(space(one_line(event("a", 0, 0, largest), event("b", 0, 0, smallest))))

    assert stat_values(xspace, "int") == {0: 2**63 - 1, 1: -(2**63)}
    assert stat_values(xspace, "uint") == {0: 2**63 - 1, 1: -1}
    assert stat_values(xspace, "double") == {0: 5e-324, 1: -1.5}


def test_references_texts_and_bytes_are_all_read_as_texts(reader):
    texts = [{"op": "x"}, {"op": Written("x")}, {"op": b"x"}, {"op": b"\xff"}]

    xspace = reader(space(one_line(*(event("e", 0, 0, each) for each in texts))))

    assert stat_values(xspace, "op") == {0: b"x", 1: b"x", 2: b"x", 3: b"\xff"}


def test_metadata_ids_are_local_to_their_plane(reader):
    one = plane("one", [line(1, "l", 0, [event("a", 0, 0, {"first": 1, "second": "x"})])])
    two = plane("two", [line(1, "l", 0, [event("b", 0, 0, {"second": "y", "first": 2})])])

    xspace = reader(space(one, two))

    assert names(xspace) == [b"a", b"b"]
    assert stat_values(xspace, "first") == {0: 1, 1: 2}
    assert stat_values(xspace, "second") == {0: b"x", 1: b"y"}


def test_metadata_ids_may_be_any_int64(reader):
    planes = [
        plane(str(first_id), one_line(event("a", 0, 0, {"op": "x"})).lines, first_id=first_id)
        for first_id in (-(2**63), -1, 0, 2**31, 2**63 - 9)
    ]

    xspace = reader(space(*planes))

    assert names(xspace) == [b"a"] * 5
    assert stat_values(xspace, "op") == dict.fromkeys(range(5), b"x")


def test_the_last_of_two_equal_stats_of_an_event_wins(reader):
    twice = event("a", 0, 0, {"id": 5}, extra=payload(4, number(1, 1) + number(4, 6)))

    xspace = reader(space(one_line(twice, event("b", 0, 0, {"id": 7}))))

    assert stat_values(xspace, "id") == {0: 6, 1: 7}


def test_a_stat_without_a_value_is_absent(reader):
    valueless = event("a", 0, 0, {"id": 5}, extra=payload(4, number(1, 1)))

    assert stat_values(reader(space(one_line(valueless))), "id") == {0: 5}


def test_numbers_among_texts_are_read_as_texts(reader):
    values = [{"v": "x"}, {"v": 12}, {"v": Unsigned(12)}, {"v": Written("12")}]

    xspace = reader(space(one_line(*(event("e", 0, 0, each) for each in values))))

    assert stat_values(xspace, "v") == {0: b"x", 1: b"12", 2: b"12", 3: b"12"}


def test_integers_among_doubles_are_read_as_doubles(reader):
    values = [{"v": 0.5}, {"v": -2}, {"v": Unsigned(2**63)}]

    xspace = reader(space(one_line(*(event("e", 0, 0, each) for each in values))))

    assert stat_values(xspace, "v") == {0: 0.5, 1: -2.0, 2: 2.0**63}


def test_the_stats_of_a_plane_keep_their_types(reader):
    stats = {"u": Unsigned(2**64 - 1), "i": -1, "d": 0.25, "r": "x", "t": Written("y"), "b": b"z"}

    xspace = reader(space(plane("none"), plane("Task Environment", stats=stats)))

    expected = {"u": 2**64 - 1, "i": -1, "d": 0.25, "r": b"x", "t": b"y", "b": b"z"}
    assert xspace.plane_stats == [{}, expected]


# Many events, in lanes

FAKE = payload(4, number(1, 1) + number(2, 9) + number(3, 9)) * 40


def many_events(count, text=b""):
    stats = [{"id": i % 7, "text": text + b"%d" % (i % 3)} for i in range(count)]
    return [event(f"op{i % 11}:Op", i * 1000, i % 13, each) for i, each in enumerate(stats)]


def assert_is(xspace, events):
    assert names(xspace) == [each.name.encode() for each in events]
    assert xspace.start_ps.tolist() == [each.offset_ps for each in events]
    assert xspace.duration_ps.tolist() == [each.duration_ps for each in events]
    for name in ("id", "text"):
        expected = {row: each.stats[name] for row, each in enumerate(events)}
        assert stat_values(xspace, name) == expected


def test_a_long_line_is_read_in_lanes(monkeypatch):
    events = many_events(20_000)
    data = space(one_line(*events))
    monkeypatch.setattr(wire.Buffer, "fields", limit_calls(wire.Buffer.fields, 300))

    assert_is(read_xspace(data), events)


def limit_calls(function, limit):
    calls = []

    def limited(*args):
        calls.append(args)
        assert len(calls) <= limit, "the plain reader had too much to do"
        return function(*args)

    return limited


def test_texts_full_of_fake_events_do_not_mislead_the_lanes():
    honest = many_events(4_000)
    deceitful = many_events(4_000, FAKE)
    lines = [line(1, "honest", 0, honest), line(2, "deceitful", 0, deceitful)]

    assert_is(read_xspace(space(plane("/host:CPU", lines))), honest + deceitful)


def test_a_text_longer_than_many_lanes_stays_one_event():
    events = [*many_events(500), *many_events(1, FAKE * 100), *many_events(500)]

    assert_is(read_xspace(space(one_line(*events))), events)


def test_ten_byte_numbers_are_read_in_parallel():
    events = [event("a", -i, -(2**63) + i, {"id": -i, "text": b""}) for i in range(3_000)]

    assert_is(read_xspace(space(one_line(*events))), events)


def test_events_of_many_lines_and_planes_are_not_mixed_up():
    planes = [
        plane(f"plane {i}", [line(j, f"line {j}", j, many_events(20)) for j in range(20)])
        for i in range(20)
    ]

    xspace = read_xspace(space(*planes))

    assert xspace.line.tolist() == [row for row in range(400) for _ in range(20)]
    assert xspace.line_plane.tolist() == [i for i in range(20) for _ in range(20)]
    assert (
        xspace.start_ps.tolist() == [j * 1000 + k * 1000 for j in range(20) for k in range(20)] * 20
    )


# Any trace

int64 = st.integers(-(2**63), 2**63 - 1)
small_or_any = st.integers(0, 300) | int64
short_text = st.text(max_size=5)
stat_strategy = st.fixed_dictionaries(
    {},
    optional={
        "int": small_or_any,
        "uint": st.integers(0, 2**64 - 1).map(Unsigned),
        "double": st.floats(allow_nan=False),
        "text": short_text | short_text.map(Written) | st.binary(max_size=9) | st.just(FAKE),
    },
)
event_strategy = st.builds(
    event,
    st.none() | short_text,
    st.none() | st.integers(0, 2**62),
    st.none() | small_or_any,
    stat_strategy,
    display_name=short_text,
)
line_strategy = st.builds(
    line,
    st.none() | int64,
    st.none() | short_text,
    st.none() | st.integers(0, 2**50),
    st.lists(event_strategy, max_size=8),
)
plane_strategy = st.builds(
    plane,
    short_text,
    st.lists(line_strategy, max_size=3),
    first_id=st.sampled_from((-(2**40), 1, 2**40)),
)


def described(planes):
    """Yield each event of a trace as it was written."""
    for each_plane in planes:
        for each_line in each_plane.lines:
            for each in each_line.events:
                yield (
                    each_plane.name,
                    each_line.id or 0,
                    each_line.name or "",
                    (each.name or "").encode(),
                    each.display_name.encode() if each.name is not None else b"",
                    (each_line.timestamp_ns or 0) * 1000 + (each.offset_ps or 0),
                    each.duration_ps or 0,
                    {name: expected_value(value) for name, value in each.stats.items()},
                )


def expected_value(value):
    if isinstance(value, Unsigned):
        return value if value < 2**63 else value - 2**64
    return value.encode() if isinstance(value, str) else value


def described_as_read(xspace):
    """Yield each event of a trace as it was read."""
    stats = {name: stat_values(xspace, name) for name in ("int", "uint", "double", "text")}
    for row, line_row in enumerate(xspace.line):
        yield (
            xspace.plane_names[xspace.line_plane[line_row]],
            xspace.line_id[line_row],
            xspace.line_name[line_row],
            xspace.strings[xspace.name[row]],
            xspace.strings[xspace.display_name[row]],
            xspace.start_ps[row],
            xspace.duration_ps[row],
            {name: values[row] for name, values in stats.items() if row in values},
        )


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(planes=st.lists(plane_strategy, max_size=3), seed=st.none() | st.integers(0, 2**32))
def test_any_trace_is_read_as_it_was_written(reader, planes, seed):
    data = space(*planes, mix=None if seed is None else Random(seed))

    assert list(described_as_read(reader(data))) == list(described(planes))


@settings(max_examples=200, deadline=None)
@given(numbers=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=60))
def test_vectors_and_plain_python_read_the_same_numbers(numbers):
    messages = [number(3, each) + fixed32(4, 7) + fixed64(5, 0.5) for each in numbers]
    data = b"".join(messages) + bytes(wire.REACH)
    buffer = wire.Buffer(data, "trace")
    size = np.array([len(each) for each in messages])
    begin = np.cumsum(size) - size

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire, "FEW", 0)
        fields = wire.scan(buffer, wire.Spans(np.arange(len(size)), begin, size)).in_file_order()

    plain = [
        (row, *each)
        for row in range(len(size))
        for each in buffer.fields(int(begin[row]), int(begin[row] + size[row]))
    ]
    columns = (fields.row, fields.tag, fields.value, fields.begin)
    assert list(zip(*(each.tolist() for each in columns), strict=True)) == plain


# Damaged and hostile files

QUADRATIC = 60
"""CPU seconds that only quadratic work takes: over a hundred times what the files below need."""


@pytest.fixture(scope="module")
def small_file():
    stats = {"id": -5, "addr": Unsigned(2**47), "ratio": 0.5, "op": "MatMul", "raw": Written("x")}
    events = [event(f"op{i}:MatMul", i, 2**i, stats, display_name="MatMul") for i in range(4)]
    return space(
        plane("/host:CPU", [line(2**40, "python", 5, events), line(-1, "pool", 6, events)]),
        plane("Task Environment", stats={"profile_start_time": Unsigned(2**60)}),
        mix=Random(1),
    )


def test_a_truncated_file_is_refused_wherever_it_ends(reader, small_file):
    borders = {
        0,
        *(
            begin + size
            for _, size, begin in wire.Buffer(small_file, "").fields(0, len(small_file))
        ),
    }
    for end in range(len(small_file)):
        if end not in borders:
            with pytest.raises(
                NbprofError, match=rf"^some\.xplane\.pb .* at byte \d+ of {end}, .*\.$"
            ):
                reader(small_file[:end], "some.xplane.pb")


def test_files_with_flipped_bits_are_read_or_refused(reader, small_file):
    chance = Random(2)
    outcomes = set()
    for _ in range(250):
        damaged = bytearray(small_file)
        for _ in range(chance.randint(1, 3)):
            damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        outcomes.add(outcome(bytes(damaged)))

    assert outcomes == {"read", "refused"}


def test_files_with_random_bytes_or_absurd_numbers_are_read_or_refused(reader, small_file):
    chance = Random(3)
    absurd = [varint(2**64 - 1), varint(2**63), varint(2**31), b"\xff" * 11, b"\x80" * 9, b"\0" * 9]
    for _ in range(250):
        at = chance.randrange(len(small_file))
        inserted = chance.choice([*absurd, chance.randbytes(12)])
        rest = small_file[at + chance.choice((0, len(inserted))) :]

        assert outcome(small_file[:at] + inserted + rest) in ("read", "refused")


def outcome(data):
    try:
        read_everything(data)
    except NbprofError as error:
        return "refused" if "some.xplane.pb is not a readable" in str(error) else str(error)
    return "read"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\x0a", "at byte 1 of 1, a number is cut off"),
        (b"\x0a\x05abc", "at byte 0 of 5, a field claims 7 bytes where 5 are left"),
        (b"\x0a" + b"\xff" * 9 + b"\x01", "bytes where 11 are left"),
        (b"\x08" + b"\xff" * 11, "at byte 11 of 12, a number has more than 10 bytes"),
        (b"\x0b\x01", "at byte 0 of 2, a field has the invalid tag 11"),
        (b"\x00\x01", "at byte 0 of 2, a field has the invalid tag 0"),
        (b"\x09\x01", "at byte 0 of 2, a field claims 9 bytes where 2 are left"),
        (b"PK\x03\x04 a zip file", "at byte "),
    ],
)
def test_an_error_names_the_file_the_byte_and_the_problem(data, expected):
    with pytest.raises(NbprofError) as caught:
        read_xspace(data, "host.xplane.pb")

    assert expected in str(caught.value)
    assert str(caught.value).startswith("host.xplane.pb is not a readable XSpace trace: ")


def test_damage_inside_a_stat_is_reported(reader):
    data = space(one_line(event("a", 0, 0, {"id": 1}, extra=payload(4, b"\x08"))))

    with pytest.raises(NbprofError, match=r"host\.xplane\.pb .* at byte \d+"):
        reader(data, "host.xplane.pb")


def test_damage_in_a_long_line_is_reported():
    data = space(one_line(*many_events(5_000)))
    middle = data.index(b"\x22", len(data) // 3)
    damaged = data[:middle] + b"\x07" + data[middle + 1 :]

    with pytest.raises(NbprofError, match=r"at byte \d+"):
        read_everything(damaged)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(payload(1, payload(3, b"\x22\x00" * 100_000)), id="empty events"),
        pytest.param(payload(1, b"\x1a\x00" * 100_000), id="empty lines"),
        pytest.param(b"\x0a\x00" * 100_000, id="empty planes"),
        pytest.param(payload(1, payload(3, payload(4, b"\x22\x00" * 100_000))), id="one event"),
        pytest.param(payload(1, payload(3, FAKE * 500 + b"\x22")), id="false end"),
        pytest.param(payload(1, b"\x1a\x04\x22\x02\x08\x01") * 20_000, id="planes of one event"),
        pytest.param(payload(1, payload(3, payload(12, FAKE) * 500)), id="fake lanes"),
    ],
)
def test_hostile_files_are_read_or_refused_in_linear_time(data):
    start = time.thread_time()

    assert outcome(data) in ("read", "refused")

    assert time.thread_time() - start < QUADRATIC


def test_reading_imports_neither_tensorflow_nor_protobuf():
    code = (
        "import sys; from nbprof.ingest.xspace.xspace import read_xspace; read_xspace(b''); "
        "assert not {'tensorflow', 'google.protobuf'} & set(sys.modules)"
    )

    subprocess.run([sys.executable, "-c", code], check=True)


def test_reading_reports_its_progress():
    data = space(one_line(*many_events(150_000)))
    counts = []

    read_xspace(data, done=counts.append)

    assert len(counts) > 10
    assert sum(counts) == pytest.approx(len(data), rel=0.05)


def test_a_line_of_unusual_events_is_read():
    events = [event("a", None, i, {"id": i}, occurrences=2) for i in range(3_000)]

    xspace = read_xspace(space(one_line(*events)))

    assert xspace.duration_ps.tolist() == list(range(3_000))
    assert stat_values(xspace, "id") == {i: i for i in range(3_000)}
