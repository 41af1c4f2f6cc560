"""Traces of GPUs and TPUs: which op and step accelerator time is charged to."""

from random import Random

import numpy as np
import pytest
from support.trace_files import gpu_trace, tpu_trace

import nbprof
from nbprof.errors import NbprofError


def loaded(trace, tmp_path):
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(trace)
    return nbprof.load(path)


def rows(profile, *columns, **options):
    frame = profile.scope(select="micros,float_ops,occurrence", **options).frame
    return {
        name: values
        for name, *values in frame[["name", *columns]].itertuples(index=False, name=None)
    }


@pytest.fixture
def gpu(tmp_path):
    return loaded(gpu_trace(), tmp_path)


def test_kernels_are_charged_to_the_ops_that_launched_them_and_runs_count_on_the_host(gpu):
    found = rows(gpu, "accelerator_micros", "cpu_micros", "run_count")

    assert found["dense/MatMul"] == [64, 10, 2]
    assert found["dense/Relu"] == [6, 2, 1]


def test_consecutive_kernels_of_an_hlo_op_count_as_one_run(gpu):
    assert rows(gpu, "accelerator_micros", "run_count")["jit_f/fusion.3"] == [8, 2]


def test_derived_lines_are_ignored_and_a_copy_is_a_row_of_its_own(gpu):
    frame = gpu.op(select="micros,output_bytes").frame.set_index("name")

    assert frame["accelerator_micros"].sum() == 64 + 6 + 8 + 9
    assert frame.loc["MemcpyH2D", ["accelerator_micros", "output_bytes"]].tolist() == [9, 4096]
    assert not any("accelerator" in note for note in gpu.notes)


def test_a_kernel_belongs_to_the_step_that_launched_it(gpu):
    assert rows(gpu, "accelerator_micros", step=0)["dense/Relu"] == [6]
    assert rows(gpu, "accelerator_micros", step=0)["dense/MatMul"] == [34]
    assert rows(gpu, "accelerator_micros", step=1)["dense/MatMul"] == [30]


def test_streams_are_listed_as_threads_and_ops_name_their_device(gpu):
    threads = gpu.threads.set_index("name")["device"]

    assert threads["Stream #7(Compute)"] == threads["Stream #8(MemcpyH2D,Compute)"]
    device = gpu.scope(select="device").frame.set_index("name")["device"]
    assert device["dense/MatMul"] == "/device:GPU:0"


@pytest.fixture
def tpu(tmp_path):
    return loaded(tpu_trace(), tmp_path)


def test_an_hlo_op_is_not_charged_for_the_ops_inside_it(tpu):
    found = rows(tpu, "accelerator_micros", "cpu_micros", "run_count")

    assert found["jit(f)/jit(main)/while/while.7"] == [4 * 20, 0, 4]
    assert found["jit(f)/jit(main)/while/body/dot_general/fusion.3"] == [8 * 20, 0, 8]
    assert found["model/dense/MatMul/fusion.9"] == [4 * 4, 0, 4]
    assert found["jit_f/copy.12"] == [4 * 5, 0, 4]
    assert tpu.op().frame["micros"].sum() == 4 * (60 + 5 + 4)


def test_the_op_type_is_the_hlo_category_or_the_name_without_its_number(tpu):
    assert set(tpu.nodes["op_type"]) == {"while", "convolution fusion", "copy", "fusion"}


def test_float_ops_are_those_the_trace_states_and_unknown_otherwise(tpu):
    frame = tpu.op(select="float_ops").frame.set_index("name")["float_ops"]

    assert frame["convolution fusion"] == 8 * 4_000
    assert frame["fusion"] == 4 * 700
    assert np.isnan(frame["copy"])
    (note,) = [note for note in tpu.op(select="float_ops").notes if "float_ops" in note]
    assert note == (
        "float_ops leave out while (29% of the op time), copy (7%): there is no formula"
    )


def test_steps_that_the_cores_mark_are_the_steps(tpu):
    assert tpu.steps["function"].tolist() == ["0", "1"]
    assert tpu.steps["start_micros"].tolist() == [0, 100]
    assert tpu.steps["micros"].tolist() == [96, 96]
    assert rows(tpu, "accelerator_micros", step=1)["jit_f/copy.12"] == [10]


def test_steps_that_cores_mark_are_matched_with_those_of_the_host(tmp_path):
    profile = loaded(tpu_trace(host_steps=True), tmp_path)

    assert profile.steps["function"].tolist() == ["train", "train"]
    assert rows(profile, "run_count", step=0)["jit_f/copy.12"] == [2]
    assert rows(profile, "run_count", step=1)["jit_f/copy.12"] == [2]


def test_a_node_that_ran_on_several_cores_lists_them_all(tpu):
    devices = tpu.op(select="device").frame.set_index("name")["device"]

    assert devices["copy"] == "/device:TPU:0|/device:TPU:1"
    assert tpu.threads["name"].tolist() == ["XLA Ops", "XLA Ops"]


@pytest.mark.parametrize("make", [gpu_trace, tpu_trace])
def test_mutated_traces_are_read_or_refused_with_an_nbprof_error(make, tmp_path):
    whole, mix, outcomes = make(), Random(3), set()
    for _ in range(80):
        mutated = bytearray(whole)
        for _ in range(mix.choice((1, 1, 3))):
            mutated[mix.randrange(len(mutated))] ^= 1 << mix.randrange(8)
        try:
            assert loaded(bytes(mutated), tmp_path).op(select="micros,float_ops").text
            outcomes.add("read")
        except NbprofError:
            outcomes.add("refused")

    assert outcomes == {"read", "refused"}


@pytest.mark.parametrize("make", [gpu_trace, tpu_trace])
def test_every_view_and_export_works_for_accelerators(make, tmp_path):
    profile = loaded(make(), tmp_path)

    for view in ("op", "scope", "graph", "layer"):
        assert profile.view(view).text
    assert profile.summary()["micros"].sum() == profile.summary().attrs["wall_micros"]
    profile.advise()
    profile.export(tmp_path / "x.trace.json")
    profile.export(tmp_path / "x.tfprof")
