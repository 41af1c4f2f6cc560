"""A trace read part by part from its file gives the same result as one in memory."""

from contextlib import closing
from random import Random

import numpy as np
import pytest
from support import damaged_traces
from support.xspace_bytes import event, line, plane, space

import nbprof
from nbprof.errors import NbprofError
from nbprof.files import file_kinds
from nbprof.ingest.protobuf import long_file
from nbprof.ingest.protobuf.long_file import LongFile
from nbprof.ingest.protobuf.wire import Buffer
from nbprof.ingest.trace.work.event_kinds import WANTED
from nbprof.ingest.xspace import event_search, events, xspace

COLUMNS = ("line_plane", "line_id", "line", "kind", "name", "display_name", "start_ps")


@pytest.fixture
def small_parts(monkeypatch):
    """Read short files as if they were long."""
    monkeypatch.setattr(file_kinds, "SMALL", 0)
    monkeypatch.setattr(xspace, "LONG", 0)
    monkeypatch.setattr(long_file, "AHEAD", 1)
    monkeypatch.setattr(event_search, "CHUNK", 200)
    monkeypatch.setattr(events, "BLOCK", 8)


def open_trace(tmp_path, data):
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(data)
    return LongFile(path.open("rb", buffering=0), "host.xplane.pb")


def read(trace, wanted=None):
    """Return everything that was read, or the error."""
    try:
        with closing(trace):
            read = xspace.read_space(trace, wanted)
    except NbprofError as error:
        return str(error)
    columns = [getattr(read, name).tolist() for name in (*COLUMNS, "duration_ps")]
    stats = [read.stat(text.decode(errors="replace")) for text in read.strings]
    values = [(stat.event.tolist(), stat.value.tobytes()) for stat in stats]
    return read.strings, read.plane_names, str(read.plane_stats), read.line_name, columns, values


def many(count, **more):
    stats = [{"id": i % 7, "text": f"some text {i % 3}"} for i in range(count)]
    return [event(f"op{i % 11}", i * 1000, i % 13, each, **more) for i, each in enumerate(stats)]


def test_a_trace_reads_the_same_from_a_file_and_from_memory(small_parts, tmp_path):
    for whole in damaged_traces.wholes():
        for wanted in (None, WANTED):
            in_memory = read(Buffer(whole.data, "host.xplane.pb"), wanted)
            assert read(open_trace(tmp_path, whole.data), wanted) == in_memory


@pytest.mark.parametrize("seed", range(6))
def test_damage_is_reported_the_same_from_a_file_and_from_memory(small_parts, tmp_path, seed):
    chance = Random(seed)
    wholes = damaged_traces.wholes()[:2]
    outcomes = set()
    for place in range(60):
        data = damaged_traces.damaged(wholes[place % 2], chance) or b"\n"
        in_memory = read(Buffer(data, "host.xplane.pb"))
        assert read(open_trace(tmp_path, data)) == in_memory
        outcomes.add(type(in_memory))
    assert outcomes == {str, tuple}


def test_long_names_and_unusual_events_are_read_from_a_file(small_parts, tmp_path):
    long = "a name that is longer than the beginning of a field" * 4
    lines = [
        line(1, long, 5, [*many(20), event(long, None, 3, {"text": long}, occurrences=2)]),
        line(
            2, "aggregated", 5, [event("a", None, i, {"id": i}, occurrences=2) for i in range(99)]
        ),
    ]
    data = space(plane("/host:CPU", lines))

    from_file = read(open_trace(tmp_path, data))

    assert from_file == read(Buffer(data, "host.xplane.pb"))
    assert from_file[3][:2] == [long, "aggregated"]


def test_only_the_beginning_of_a_long_line_is_kept_in_memory(tmp_path):
    data = space(plane("/host:CPU", [line(1, "python", 5, many(120_000))]))

    with closing(open_trace(tmp_path, data)) as trace:
        read = xspace.read_space(trace, None)
        held = np.count_nonzero(np.frombuffer(trace.data, np.uint8))

    assert len(read.line) == 120_000
    assert held < len(data) / 50


def test_a_file_truncated_during_reading_is_refused_with_its_name(small_parts, tmp_path):
    data = space(plane("/host:CPU", [line(1, "python", 5, many(2_000))]))
    trace = open_trace(tmp_path, data)

    def cut(_count):
        (tmp_path / "host.xplane.pb").write_bytes(data[:-1000])

    with closing(trace), pytest.raises(NbprofError, match=r"^host\.xplane\.pb .* truncated"):
        xspace.read_space(trace, None, cut)


def test_a_long_trace_is_loaded_from_its_file_and_the_file_is_closed(tmp_path, monkeypatch):
    data = space(plane("/host:CPU", [line(1, "python", 5, many(60_000))]))
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(data)
    files = []
    original = LongFile.__init__

    def remember_file(self, file, source):
        files.append(file)
        original(self, file, source)

    monkeypatch.setattr(LongFile, "__init__", remember_file)

    profile = nbprof.load(path)
    assert len(files) == 1
    assert files[0].closed
    assert profile.recording.what == "host"

    path.write_bytes(data[:-1000])
    with pytest.raises(NbprofError, match="is not a readable XSpace trace: at byte"):
        nbprof.load(path)
    assert files[1].closed
