"""engine="dask": the workers of a cluster make exactly the views of one process."""

import sys
import threading

import pandas as pd
import pytest
from support.trace_files import host_trace

import nbprof
from nbprof.errors import NbprofError

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
fsspec = pytest.importorskip("fsspec")

HOSTS = 16


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    for number in range(HOSTS):
        trace = host_trace(number % 5, steps=3 + number % 3, start_ns=10**15 + 1_234_567 * number)
        (folder / f"worker-{number}.xplane.pb").write_bytes(trace)
    return folder


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, processes=True, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def assert_same_views(one, other):
    for view in ("op", "scope", "graph", "layer"):
        for step in ("all", -1, 1):
            left, right = (profile.view(view, step=step) for profile in (one, other))
            pd.testing.assert_frame_equal(left.frame, right.frame, check_exact=True)
            assert left.text == right.text
    pd.testing.assert_frame_equal(one.summary(), other.summary(), check_exact=True)
    pd.testing.assert_frame_equal(one.steps, other.steps, check_exact=True)
    pd.testing.assert_frame_equal(one.hosts(), other.hosts(), check_exact=True)
    pd.testing.assert_frame_equal(one.compare_hosts(), other.compare_hosts(), check_exact=True)
    assert one.notes == other.notes


def test_two_workers_make_the_views_of_one_process(folder, client):
    assert_same_views(nbprof.load(folder), nbprof.load(folder, engine="dask"))


@pytest.mark.parametrize("scheduler", [None, "threads"])
def test_without_a_cluster_dask_works_in_this_process(folder, scheduler):
    before = set(threading.enumerate())
    with dask.config.set(scheduler=scheduler):
        profile = nbprof.load(str(folder / "worker-1*.xplane.pb"), engine="dask")

    if scheduler is None:  # an interrupt does not stop threads
        assert set(threading.enumerate()) <= before
    assert_same_views(nbprof.load(str(folder / "worker-1*.xplane.pb")), profile)


def test_dask_reads_a_single_trace_like_one_process_does(folder):
    path = folder / "worker-3.xplane.pb"

    assert_same_views(nbprof.load(path), nbprof.load(path, engine="dask"))


def test_an_error_on_a_worker_reaches_the_caller(folder, client, tmp_path):
    bad = tmp_path / "bad.xplane.pb"
    bad.write_bytes(b"not a trace")

    with pytest.raises(NbprofError, match=r"bad\.xplane\.pb cannot be read"):
        nbprof.load([folder / "worker-0.xplane.pb", bad], engine="dask")


@pytest.fixture
def in_memory(folder):
    system = fsspec.filesystem("memory")
    for path in folder.iterdir():
        system.pipe(f"/bucket/plugins/profile/run/{path.name}", path.read_bytes())
    yield "memory://bucket"
    system.rm("/bucket", recursive=True)


@pytest.mark.parametrize("engine", [None, "dask"])
def test_urls_of_folders_patterns_and_files_are_read(in_memory, folder, engine):
    with dask.config.set(scheduler="synchronous"):
        whole = nbprof.load(in_memory, engine=engine)
        some = nbprof.load(f"{in_memory}/plugins/profile/*/worker-1?.xplane.pb", engine=engine)
        one = nbprof.load(f"{in_memory}/plugins/profile/run/worker-3.xplane.pb", engine=engine)

    assert_same_views(nbprof.load(folder), whole)
    assert len(some.machines) == 6
    assert one.op().text == nbprof.load(folder / "worker-3.xplane.pb").op().text


def test_a_file_url_loads_the_file(folder):
    path = folder / "worker-3.xplane.pb"

    assert nbprof.load(f"file://{path}").op().text == nbprof.load(path).op().text


@pytest.mark.parametrize("engine", [None, "dask"])
@pytest.mark.parametrize("url", ["memory://bucket/none.xplane.pb", "nosuch://x/y.xplane.pb"])
def test_a_url_that_does_not_exist_is_refused(url, engine):
    with pytest.raises(NbprofError, match="cannot be read"):
        nbprof.load(url, engine=engine)


def test_without_fsspec_or_dask_the_error_names_the_package_to_install(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(
        NbprofError, match=r"needs the package fsspec: pip install 'nbprof\[dask\]'"
    ):
        nbprof.load("memory://bucket/x.xplane.pb")
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(NbprofError, match=r"needs the package dask.*pip install 'nbprof\[dask\]'"):
        nbprof.load(folder, engine="dask")


def test_unknown_engines_and_empty_lists_are_refused(folder):
    with pytest.raises(NbprofError, match="unknown engine 'spark': leave it out, or use 'dask'"):
        nbprof.load(folder, engine="spark")
    with pytest.raises(NbprofError, match="needs at least one path"):
        nbprof.load([])
