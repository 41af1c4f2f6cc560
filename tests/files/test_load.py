"""nbprof.load: the files it takes, the traces it finds, and how it refuses everything else."""

import gzip
import os
import pickle
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
from support.trace_files import host_trace, op, span
from support.xspace_bytes import event, line, payload, plane, space

import nbprof
from nbprof.errors import NbprofError

pytestmark = pytest.mark.core("files")

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
GRAPH_DEF = payload(1, payload(1, "x") + payload(2, "Placeholder") + payload(5, b""))
SAVED_MODEL = b"\x08\x01\x12\x04\x0a\x02\x08\x01"
OP_STATS = payload(1, payload(10, payload(1, "MatMul")))
TRACE_EVENTS = payload(1, b"\x08\x01" + payload(2, payload(1, "/host:CPU") + b"\x10\x01"))


def written(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def run_folder(logdir, run, *hosts):
    folder = logdir / "plugins" / "profile" / run
    for number, host in enumerate(hosts):
        written(folder / f"{host}.xplane.pb", host_trace(slower=10 * number))
    return folder


def op_micros(profile):
    frame = profile.op().frame
    return dict(zip(frame["name"], frame["micros"], strict=True))


def refusal(path, **options):
    with pytest.raises(NbprofError) as refused:
        nbprof.load(path, **options)
    return str(refused.value)


def test_a_trace_is_recognised_by_its_content_compressed_or_not(tmp_path):
    plain = written(tmp_path / "a.xplane.pb", host_trace())
    packed = written(tmp_path / "b.xplane.pb.gz", gzip.compress(host_trace()))
    renamed = written(tmp_path / "c.bin", gzip.compress(host_trace()))

    assert op_micros(nbprof.load(plain)) == {"MatMul": 60, "BiasAdd": 15}
    assert op_micros(nbprof.load(packed)) == op_micros(nbprof.load(plain))
    assert op_micros(nbprof.load(renamed)) == op_micros(nbprof.load(plain))


def test_the_headline_of_a_trace_names_its_host_but_no_overhead(tmp_path):
    profile = nbprof.load(written(tmp_path / "worker-3.xplane.pb", host_trace()))

    assert profile.headline == (
        "nbprof worker-3 · 400 µs wall · 3 steps · 6 op runs · TensorFlow trace"
    )


def test_without_stated_times_a_trace_lasts_from_its_first_to_its_last_event(tmp_path):
    events = [event("a/MatMul:MatMul", 7_000_000, 3_000_000, display_name="MatMul")]
    trace = space(plane("/host:CPU", lines=[line(1, "t", 2_000, events)]))
    profile = nbprof.load(written(tmp_path / "x.xplane.pb", trace))

    assert profile.recording.wall_ns == 3_000
    assert profile.events["start_ns"].tolist() == [0]
    assert profile.machines["start_ns"].tolist() == [0]


def test_a_trace_that_counts_from_1970_has_its_start_time(tmp_path):
    began = 1_700_000_000_000_000_000
    events = [event("a/MatMul:MatMul", 7_000_000, 3_000_000, display_name="MatMul")]
    trace = space(plane("/host:CPU", lines=[line(1, "t", began, events)]))
    profile = nbprof.load(written(tmp_path / "x.xplane.pb", trace))

    assert profile.recording.wall_ns == 3_000
    assert profile.machines["start_ns"].tolist() == [began + 7_000]


@pytest.mark.parametrize(
    "content",
    [
        *(PNG, GRAPH_DEF, SAVED_MODEL, OP_STATS, TRACE_EVENTS, b"", b"{}", b"\n\n# text\n"),
        *(
            gzip.compress(GRAPH_DEF, mtime=0),
            gzip.compress(b"", mtime=0),
            b"\x1f\x8bnot gzip at all",
        ),
    ],
)
def test_a_foreign_file_is_refused_with_its_name(tmp_path, content):
    error = refusal(written(tmp_path / "x.xplane.pb", content))

    assert "x.xplane.pb cannot be read" in error
    assert "*.xplane.pb" in error


def test_damaged_gzip_is_refused(tmp_path):
    truncated = gzip.compress(host_trace(steps=400))[:-20]

    assert "gzip data is damaged" in refusal(written(tmp_path / "x.gz", truncated))


def test_a_gzip_bomb_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("nbprof.files.gunzip.SMALL", 1 << 20)
    bomb = gzip.compress(host_trace() + payload(1, bytes(30 << 20)), 9)

    assert "unpacks to more than" in refusal(written(tmp_path / "x.gz", bomb))


def test_a_truncated_trace_is_refused_with_its_name(tmp_path):
    whole = host_trace()

    assert "x.xplane.pb" in refusal(written(tmp_path / "x.xplane.pb", whole[: len(whole) // 2]))


def test_only_the_traces_of_a_run_folder_are_read(tmp_path):
    folder = run_folder(tmp_path, "2026_01_02_03_04_05", "vm")
    for name in ("ALL_HOSTS.op_stats.pb", "vm.trace.json.gz", "vm.hlo_proto.pb", "vm.memory.json"):
        written(folder / name, OP_STATS)

    assert nbprof.load(folder).recording.what == "vm"


def test_a_logdir_loads_its_newest_run_and_notes_the_others(tmp_path):
    run_folder(tmp_path / "train", "2026_01_02_03_04_05", "old")
    newest = run_folder(tmp_path, "2026_01_03_03_04_05", "new")
    run_folder(tmp_path, "2025_12_31_03_04_05", "older")
    os.utime(newest / "new.xplane.pb", (0, 0))  # copying a folder loses the times

    profile = nbprof.load(tmp_path)

    assert profile.recording.what == "new"
    assert "newest run, 2026_01_03_03_04_05; 2 other runs are in" in profile.notes[0]


def test_runs_not_named_after_a_time_are_ordered_by_file_time(tmp_path):
    first, second = run_folder(tmp_path, "warm", "a"), run_folder(tmp_path, "cold", "b")
    os.utime(first / "a.xplane.pb", (2_000, 2_000))
    os.utime(second / "b.xplane.pb", (1_000, 1_000))

    assert nbprof.load(tmp_path).recording.what == "a"


def test_a_folder_without_traces_is_refused(tmp_path):
    written(tmp_path / "ALL_HOSTS.op_stats.pb", OP_STATS)

    assert "no trace (*.xplane.pb)" in refusal(tmp_path)


@pytest.mark.parametrize("given", [None, 3, b"abc", [3], ["x", None], {7: 8}])
def test_anything_but_a_path_is_refused(given):
    wrong = given if not hasattr(given, "__len__") or isinstance(given, bytes) else [*given][-1]

    assert refusal(given) == (
        f"nbprof.load takes the path of a file or folder, or a list of paths, not {wrong!r}."
    )


@pytest.mark.parametrize("given", ["", [""]])
def test_an_empty_path_is_refused(given):
    assert refusal(given).endswith("or a list of paths, not an empty string.")


def test_traces_of_one_folder_recorded_far_apart_are_not_merged(tmp_path):
    hour = 3_600_000_000_000
    for number in range(5):
        written(tmp_path / f"x{number}.xplane.pb", host_trace(start_ns=hour * (1 + number % 2)))

    error = refusal(tmp_path)

    assert f"{tmp_path} has traces that were recorded at different times (x0.xplane.pb, " in error
    assert len(nbprof.load(str(tmp_path / "*")).machines) == 5
    assert len(nbprof.load([tmp_path / "x0.xplane.pb", tmp_path / "x1.xplane.pb"]).machines) == 2


def test_hosts_of_a_profiler_run_are_merged_whatever_their_clocks(tmp_path):
    folder = run_folder(tmp_path, "mine", "a")
    written(folder / "b.xplane.pb", host_trace(start_ns=10**18))
    (tmp_path / "2026_01_02_03_04_05").symlink_to(folder)

    assert len(nbprof.load(folder).machines) == 2
    assert len(nbprof.load(tmp_path / "2026_01_02_03_04_05").machines) == 2


def test_hosts_in_any_folder_are_merged_if_they_ran_together(tmp_path):
    for name, second in (("a", 100), ("b", 101), ("c", 130)):
        written(tmp_path / f"{name}.xplane.pb", host_trace(start_ns=second * 10**9))

    assert len(nbprof.load(tmp_path).machines) == 3
    assert not [note for note in nbprof.load(tmp_path).notes if "traces come from" in note]


def test_a_note_names_the_folder_where_traces_were_found(tmp_path):
    place = tmp_path / "tests" / "data"
    written(place / "a.xplane.pb", host_trace())

    assert nbprof.load(tmp_path).notes[0] == f"these traces come from {place}"

    other = written(tmp_path / "elsewhere" / "b.xplane.pb", host_trace())
    os.utime(other, (1_000, 1_000))
    assert f"this is the newest run, {place}; 1 other run is in" in nbprof.load(tmp_path).notes[0]


def test_a_trace_given_twice_is_read_once(tmp_path, monkeypatch):
    folder = run_folder(tmp_path / "logs", "2026_01_31_09_00_00", "vm")
    trace = folder / "vm.xplane.pb"
    once = op_micros(nbprof.load(trace))
    (tmp_path / "link.xplane.pb").symlink_to(trace)
    monkeypatch.chdir(tmp_path)

    assert op_micros(nbprof.load("./logs/**")) == once
    assert op_micros(nbprof.load(["logs", tmp_path / "logs"])) == once
    assert op_micros(nbprof.load(["link.xplane.pb", trace])) == once
    written(folder / "vm.xplane.pb.gz", gzip.compress(trace.read_bytes()))
    assert op_micros(nbprof.load(folder)) == once
    assert op_micros(nbprof.load(str(folder / "*"))) == once


def test_a_trace_given_as_a_path_and_as_a_url_is_read_once(tmp_path):
    pytest.importorskip("fsspec")
    trace = run_folder(tmp_path / "logs", "2026_01_31_09_00_00", "vm") / "vm.xplane.pb"

    twice = nbprof.load([tmp_path / "logs", trace.as_uri()])

    assert op_micros(twice) == op_micros(nbprof.load(trace))


def test_a_folder_may_repeat_traces_given_before_it(tmp_path, monkeypatch):
    for number, host in enumerate(("a", "b")):
        written(tmp_path / "both" / f"{host}.xplane.pb", host_trace(slower=10 * number))
    monkeypatch.chdir(tmp_path)

    profile = nbprof.load(["both/a.xplane.pb", "both/b.xplane.pb", tmp_path / "both"])

    assert op_micros(profile) == op_micros(nbprof.load("both"))


def test_links_to_folders_are_followed_even_in_circles(tmp_path):
    run = run_folder(tmp_path / "elsewhere", "2026_01_31_09_00_00", "vm")
    profiles = tmp_path / "logs" / "plugins" / "profile"
    profiles.mkdir(parents=True)
    (profiles / run.name).symlink_to(run)
    (profiles / "round").symlink_to(tmp_path / "logs")

    profile = nbprof.load(tmp_path / "logs")

    assert op_micros(profile) == op_micros(nbprof.load(run))
    assert not any("other run" in note for note in profile.notes)


def test_an_unreadable_folder_is_noted(tmp_path, monkeypatch):
    run_folder(tmp_path, "2026_01_31_09_00_00", "vm")
    locked = str(run_folder(tmp_path, "2026_02_01_09_00_00", "vm"))
    scandir = os.scandir  # tests may run as root, who can read every folder

    def refuse_locked(path):
        if os.fspath(path) == locked:
            raise PermissionError(13, "Permission denied", locked)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse_locked)

    note = f"{locked} could not be read (Permission denied)"
    assert note in nbprof.load(tmp_path).notes
    with pytest.raises(NbprofError, match=re.escape(f"cannot be read: {note}.")):
        nbprof.load(locked)


def test_an_impossible_file_name_is_refused():
    for name in ("x" * 5000, "x" * 5000 + "*"):
        with pytest.raises(NbprofError, match=r"cannot be read: File name too long|nothing match"):
            nbprof.load(name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_trace_is_read_from_a_pipe(tmp_path, pack):
    pipe, whole = tmp_path / "pipe", host_trace()
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(pack(whole),))
    writer.start()

    profile = nbprof.load(pipe)

    writer.join()
    assert op_micros(profile) == op_micros(nbprof.load(written(tmp_path / "file", whole)))


@pytest.mark.skipif(sys.platform != "linux", reason="file names are valid text elsewhere")
def test_a_file_name_that_is_not_valid_text_is_loaded_saved_and_shown(tmp_path):
    path = written(tmp_path / "\udcff.xplane.pb", host_trace())

    profile = nbprof.load(path)

    profile.save(tmp_path / "saved")
    for loaded in (profile, nbprof.load(tmp_path / "saved"), nbprof.load(tmp_path)):
        assert loaded.hosts()["host"].tolist() == ["\ufffd"]
        assert loaded.op().text


def test_a_profile_can_be_pickled(tmp_path):
    profile = nbprof.load(written(tmp_path / "x.xplane.pb", host_trace()))

    unpickled = pickle.loads(pickle.dumps(profile))

    assert unpickled.scope().text == profile.scope().text
    assert unpickled.summary().equals(profile.summary())


def test_a_pattern_without_matches_is_refused(tmp_path):
    assert "nothing matches" in refusal(str(tmp_path / "*.xplane.pb"))
    assert "No such file" in refusal(tmp_path / "none.xplane.pb")


def test_loading_a_trace_does_not_import_tensorflow(tmp_path):
    path = written(tmp_path / "a.xplane.pb", host_trace())
    code = (
        "import sys, nbprof; nbprof.load(sys.argv[1]).op().text; print('tensorflow' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )

    assert ran.stdout.strip() == "False"


def test_what_a_trace_lacks_is_noted_and_not_shown_as_zero(tmp_path):
    profile = nbprof.load(written(tmp_path / "a.xplane.pb", host_trace()))

    view = profile.op(select=["bytes", "params", "micros"])
    assert view.frame["bytes"].isna().all()
    assert view.frame["params"].isna().all()
    assert any("memory was not recorded" in note for note in view.notes)
    assert any("run counts are lower bounds" in note for note in view.notes)
    assert any("does not know parameters" in note for note in view.notes)
    assert any("which nodes use which" in note for note in profile.graph().notes)
    assert any("Keras layers" in note for note in profile.layer().notes)
    with pytest.raises(NbprofError, match="a trace has none"):
        profile.code()


def one_allocation(tmp_path, allocator, size):
    """Load a trace of two ops in which only the MatMul allocates."""
    stats = {"allocator_name": allocator, "addr": 7, "requested_bytes": size, "data_type": 1}
    events = [
        op("a/MatMul:MatMul", 0, 5),
        span("MemoryAllocation", 2, 0, **stats),
        op("b/Add:Add", 10, 5),
    ]
    trace = space(plane("/host:CPU", lines=[line(1, "t", 0, events)]))
    profile = nbprof.load(written(tmp_path / "x.xplane.pb", trace))
    return profile, profile.op(order_by="name", select="bytes").frame.set_index("name")["bytes"]


def test_cpu_memory_is_unknown_if_only_a_gpu_allocator_was_recorded(tmp_path):
    profile, known = one_allocation(tmp_path, "GPU_0_bfc", 64)

    assert known["MatMul"] == 64
    assert np.isnan(known["Add"])
    assert any("only that of GPU:0" in note for note in profile.notes)


def test_cpu_memory_is_known_for_large_allocations_made_by_onednn(tmp_path):
    profile, known = one_allocation(tmp_path, "mklcpu", 262144)

    assert known["MatMul"] == 262144
    assert set(profile.memory()["device"]) == {"cpu"}
    assert np.isnan(known["Add"])
    (note,) = [note for note in profile.notes if "memory" in note]
    assert "leaves out tensors below 256 KiB" in note


def test_the_profilers_own_messages_become_notes(tmp_path):
    error = payload(2, "no GPU was found:\n  CUPTI is missing")
    warning = payload(3, "events were dropped")
    profile = nbprof.load(written(tmp_path / "x.xplane.pb", host_trace() + error + warning))

    assert "the profiler says: no GPU was found: CUPTI is missing" in profile.notes
    assert "the profiler says: events were dropped" in profile.notes


def test_a_trace_has_all_tables_and_exports(tmp_path):
    profile = nbprof.load(written(tmp_path / "a.xplane.pb", host_trace()))

    assert profile.summary()["micros"].sum() == profile.summary().attrs["wall_micros"] == 400
    assert len(profile.advise()) >= 0
    assert len(profile.memory()) == len(profile.live_at_peak()) == 0
    assert profile.steps["step"].tolist() == [0, 1, 2]
    profile.export(tmp_path / "x.trace.json")
    profile.export(tmp_path / "x.tfprof")
    with pytest.raises(NbprofError, match="a trace has none"):
        profile.export(tmp_path / "x.pb.gz")
    profile.save(tmp_path / "x.nbprof")
    assert nbprof.load(tmp_path / "x.nbprof").op().text == profile.op().text


def test_without_a_python_thread_no_time_is_attributed_to_python(tmp_path):
    events = [event("a/MatMul:MatMul", 7_000_000, 3_000_000, display_name="MatMul")]
    trace = space(plane("/host:CPU", lines=[line(1, "t", 0, events)]))
    profile = nbprof.load(written(tmp_path / "x.xplane.pb", trace))

    assert profile.summary()["category"].tolist() == ["not known"]
    assert any("no Python thread" in note for note in profile.notes)


def test_names_lose_the_call_prefixes_of_the_runtime(tmp_path):
    names = [
        "StatefulPartitionedCall/StatefulPartitionedCall_1/dense/MatMul:MatMul",
        "while/body/_12/while/add:AddV2",
        "cond/then/_3/cond/mul:Mul",
    ]
    events = [event(name, 0, 5, display_name=name.rpartition(":")[2]) for name in names]
    trace = space(plane("/host:CPU", lines=[line(1, "t", 0, events)]))
    profile = nbprof.load(written(tmp_path / "x.xplane.pb", trace))

    assert set(profile.nodes["name"]) == {"dense/MatMul", "while/add", "cond/mul"}
