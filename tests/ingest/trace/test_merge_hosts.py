"""Many hosts in one Profile: what is merged into one row, what adds up, how hosts compare."""

import shutil

import numpy as np
import pandas as pd
import pytest
from support.paths import DATA
from support.trace_files import environment, host_trace, op, span
from support.xspace_bytes import line, plane, space

import nbprof
from nbprof._profile import TABLES
from nbprof.errors import NbprofError
from nbprof.files.file_kinds import Source, read_trace
from nbprof.files.locations import Place
from nbprof.ingest.trace.merge_hosts import merge
from nbprof.views.collapse import collapse


@pytest.fixture
def folder(tmp_path):
    """Write the traces of four hosts, which begin 1 ms apart; the third is slower."""
    for number, slower in enumerate((0, 0, 30, 0)):
        path = tmp_path / f"host{number}.xplane.pb"
        path.write_bytes(host_trace(slower, start_ns=5_000_000 + 1_000_000 * number))
    return tmp_path


def each(folder):
    paths = sorted(folder.glob("*.xplane.pb"))
    return [read_trace(Source(Place(str(path)))) for path in paths]


def assert_same(one, other):
    for table in TABLES:
        pd.testing.assert_frame_equal(getattr(one, table), getattr(other, table))
    assert one.recording == other.recording
    assert one.notes == other.notes


def test_the_same_node_on_all_hosts_is_one_row_whose_numbers_add_up(folder):
    profile = nbprof.load(folder)

    frame = profile.scope().frame.set_index("name")
    assert frame.loc["dense/MatMul", ["micros", "run_count", "defined_count"]].tolist() == [
        *(4 * 60 + 3 * 30, 12, 1),
    ]
    assert profile.headline.startswith("nbprof 4 hosts · 3.4 ms wall · 3 steps · 24 op runs · ")


def test_a_merged_step_begins_with_the_first_host_and_lasts_as_the_longest(folder):
    steps = nbprof.load(folder).steps

    assert steps["step"].tolist() == [0, 1, 2]
    assert steps["start_micros"].tolist() == [0, 100, 200]
    assert steps["micros"].tolist() == [90, 90, 90]


def test_threads_name_their_host_and_times_count_from_the_first_host(folder):
    profile = nbprof.load(folder)

    assert profile.threads["host"].tolist() == [f"host{number}" for number in range(4)]
    first = profile.events.groupby("thread")["start_ns"].min()
    assert first.tolist() == [7_000, 1_007_000, 2_007_000, 3_007_000]


def test_hosts_are_listed_side_by_side(folder):
    frame = nbprof.load(folder).hosts().set_index("host")

    assert frame["micros"].tolist() == [75, 75, 165, 75]
    assert frame["run_count"].tolist() == [6, 6, 6, 6]
    assert frame["wall_micros"].tolist() == [400] * 4
    assert frame["slowest_step_micros"].tolist() == [60, 60, 90, 60]
    assert frame["peak_bytes"].isna().all()


def test_the_op_that_differs_most_between_hosts_comes_first(folder):
    frame = nbprof.load(folder).compare_hosts()

    first = frame.iloc[0]
    assert first["name"] == "MatMul"
    assert first[["host0", "host2", "least", "most", "ratio"]].tolist() == [60, 150, 60, 150, 2.5]
    assert first["highest"] == "host2"
    assert frame["name"].tolist() == ["MatMul", "BiasAdd"]


def test_any_view_and_column_can_be_compared_and_unknown_columns_are_refused(folder):
    profile = nbprof.load(folder)

    frame = profile.compare_hosts("scope", "total_micros", step=1).set_index("name")
    assert frame.loc["dense", "host2"] == 55
    assert profile.compare_hosts(column="bytes", select="bytes")["host0"].isna().all()
    with pytest.raises(NbprofError, match="no number column 'nothing'; choose one of micros"):
        profile.compare_hosts(column="nothing", select="micros")


def test_a_single_trace_has_one_host(folder):
    alone = nbprof.load(folder / "host2.xplane.pb")

    assert alone.hosts()["host"].tolist() == ["host2"]
    assert alone.compare_hosts()["ratio"].tolist() == [1, 1]


@pytest.mark.parametrize("groups", [[[0], [1, 2, 3]], [[0, 1], [2, 3]], [[3, 2], [1, 0]]])
def test_the_order_of_merging_does_not_matter(folder, groups):
    hosts = each(folder)
    whole = merge(hosts)

    grouped = merge([merge([hosts[number] for number in group]) for group in groups])

    assert_same(whole, grouped)


def test_hosts_that_run_jax_share_lines_and_paths(tmp_path):
    trace = DATA / "traces" / "jax.xplane.pb.gz"
    for host in ("a", "b", "c"):
        shutil.copy(trace, tmp_path / f"{host}.xplane.pb.gz")
    profile = nbprof.load(tmp_path)
    hosts = [nbprof.load(tmp_path / f"{host}.xplane.pb.gz") for host in ("a", "b", "c")]

    line = "train_with_jax.py:9:loss"
    alone, together = (
        one.code().frame.set_index("name").loc[line, "run_count"] for one in (hosts[0], profile)
    )
    assert together == 3 * alone
    assert_same(profile, merge([hosts[0], merge(hosts[1:])]))
    assert profile.code().text == merge(map(collapse, hosts)).code().text


def test_the_order_of_the_files_does_not_matter(folder):
    paths = sorted(folder.glob("*.xplane.pb"))

    assert_same(nbprof.load(paths), nbprof.load(paths[::-1]))
    assert_same(nbprof.load(paths), nbprof.load(str(folder / "*.xplane.pb")))


def test_times_of_hosts_without_clocks_count_from_their_own_start(folder):
    trace = space(
        plane("/host:CPU", lines=[line(1, "t", 0, [op("a/MatMul:MatMul", 50, 5)])]),
    )
    (folder / "host9.xplane.pb").write_bytes(trace)
    profile = nbprof.load(folder)

    assert any("count from its own start" in note for note in profile.notes)
    assert profile.events["start_ns"].min() == 0
    assert profile.machines["start_ns"].tolist() == [0] * 5


def test_a_note_about_one_host_names_it(folder):
    (folder / "host9.xplane.pb").write_bytes(space(plane("/host:CPU"), environment(1, 2)))
    profile = nbprof.load(folder)

    assert "host9: this trace contains no op runs" in profile.notes
    assert profile.hosts()["micros"].tolist()[-1] == 0


def test_runs_of_one_host_are_distinguished_by_their_folders(folder):
    for run in ("monday", "tuesday"):
        (folder / run).mkdir()
        (folder / run / "vm.xplane.pb").write_bytes(host_trace())
    profile = nbprof.load([folder / "monday", folder / "tuesday"])

    assert profile.machines["host"].tolist() == ["monday/vm", "tuesday/vm"]


def test_memory_is_listed_per_host_and_device(tmp_path):
    for number, size in enumerate((100, 700)):
        stats = {"allocator_name": "cpu", "addr": 7, "requested_bytes": size, "data_type": 1}
        events = [
            op("a/MatMul:MatMul", 0, 50),
            span("MemoryAllocation", 5, 0, **stats),
            span("MemoryDeallocation", 9, 0, **stats),
        ]
        trace = space(plane("/host:CPU", lines=[line(1, "t", 0, events)]), environment(5000, 90000))
        (tmp_path / f"host{number}.xplane.pb").write_bytes(trace)
    profile = nbprof.load(tmp_path)

    assert profile.hosts()["peak_bytes"].tolist() == [100, 700]
    assert profile.memory().attrs["peak"]["host1 cpu"]["live_bytes"] == 700
    assert profile.live_at_peak()["device"].tolist() == ["host1 cpu", "host0 cpu"]
    assert profile.op(select="bytes").frame["bytes"].tolist() == [800]
    assert profile.op().frame["live_bytes"].tolist() == [800]


def test_memory_of_a_host_that_did_not_record_it_is_unknown_not_zero(tmp_path):
    stats = {"allocator_name": "cpu", "addr": 7, "requested_bytes": 64, "data_type": 1}
    matmul, add = op("a/MatMul:MatMul", 0, 50), op("b/Add:Add", 60, 5)
    recorded = [matmul, span("MemoryAllocation", 5, 0, **stats), op("c/Relu:Relu", 80, 5)]
    for name, events in (("one", recorded), ("silent", [matmul, add])):
        trace = space(plane("/host:CPU", lines=[line(1, "t", 0, events)]), environment(5000, 90000))
        (tmp_path / f"{name}.xplane.pb").write_bytes(trace)

    for column in ("bytes", "live_bytes"):
        compared = nbprof.load(tmp_path).compare_hosts(column=column).set_index("name")

        assert compared["one"][["MatMul", "Relu", "Add"]].tolist() == [64, 0, 0]
        assert compared["silent"].isna().all()
        assert compared["highest"]["MatMul"] == "one"


def test_a_merged_node_lists_the_devices_of_all_hosts(folder):
    hosts = each(folder)
    nodes = hosts[0].nodes
    nodes["device"] = np.array(["/device:GPU:0"] * len(nodes), dtype=object)
    profile = merge(hosts)

    devices = profile.op(select="device,op_types").frame.set_index("name")
    assert devices.loc["MatMul", "device"] == "/device:CPU:0|/device:GPU:0"


def test_every_view_and_export_works_for_many_hosts(folder, tmp_path):
    profile = nbprof.load(folder)

    for view in ("op", "scope", "graph", "layer"):
        assert profile.view(view).text
    assert profile.summary()["micros"].sum() == profile.summary().attrs["wall_micros"] == 4 * 400
    profile.advise()
    profile.export(tmp_path / "x.trace.json")
    profile.export(tmp_path / "x.tfprof")
    profile.save(tmp_path / "x.nbprof")
    loaded = nbprof.load(tmp_path / "x.nbprof")
    assert loaded.op().text == profile.op().text
    pd.testing.assert_frame_equal(loaded.hosts(), profile.hosts())
