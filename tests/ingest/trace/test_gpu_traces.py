"""Traces of real GPUs, old and new: ops, copies, devices and memory."""

import gzip
from collections import defaultdict
from random import Random

import numpy as np
import pytest
from support.paths import DATA, TOP
from support.trace_files import modern_gpu_trace, op, span
from support.xspace_bytes import Unsigned, Written, event, line, plane, space

import nbprof
from nbprof.errors import NbprofError
from nbprof.ingest.trace.work.allocations import device_of_allocator
from nbprof.ingest.trace.work.stream_texts import copied_bytes, copy_type, op_of

TRACE = DATA / "traces" / "gpu-bert-2020.xplane.pb.gz"
WHOLE = TOP.parent / "shared" / "data" / "traces" / "gpu-bert-2020.xplane.pb"
"""The trace that TRACE was cut from; not everyone has it."""

US = 1_000_000
COPIES = ("MemcpyH2D of constants", "MemcpyH2D", "MemcpyD2H")


@pytest.fixture(scope="module")
def bert():
    return nbprof.load(TRACE)


@pytest.fixture(scope="module")
def modern(tmp_path_factory):
    return loaded(modern_gpu_trace(), tmp_path_factory.mktemp("modern"))


def loaded(trace, tmp_path):
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(trace)
    return nbprof.load(path)


def by_name(view, *columns):
    return view.frame.set_index("name")[list(columns)]


# A real trace of 2020: BERT on eight GPUs, whose kernels have annotations instead of `tf_op`


def test_kernels_are_charged_to_the_ops_that_their_annotations_name(bert):
    micros = by_name(bert.op(), "accelerator_micros")["accelerator_micros"]

    assert {name: value for name, value in micros.items() if value} == pytest.approx(
        {
            "Cast": 12_725.211,
            "RandomUniform": 7_908.309,
            "GreaterEqual": 5_476.320,
            "Mul": 3_541.996,
            "MemcpyH2D of constants": 287.742,
            "MemcpyH2D": 106.655,
            "MemcpyD2H": 76.960,
            "BroadcastTo": 20.480,
            "Reciprocal": 9.216,
            "Tile": 9.216,
        },
        abs=1e-6,
    )


def test_kernels_belong_to_the_nodes_that_ran_on_the_host(bert):
    frame = by_name(bert.op(), "run_count", "defined_count", "cpu_micros")

    assert frame.loc["RandomUniform", ["run_count", "defined_count"]].tolist() == [194, 194]
    assert (frame.loc[["Cast", "GreaterEqual", "Mul"], "cpu_micros"] > 0).all()
    kernels = bert.events[bert.events["accelerator"]].groupby("node").size()
    types = bert.nodes["op_type"][kernels.index]
    assert kernels.groupby(types.to_numpy()).sum()[["Cast", "GreaterEqual", "Mul"]].tolist() == [
        *(784, 194, 152),
    ]


def test_copies_are_rows_of_their_own_with_their_bytes(bert):
    frame = by_name(bert.op(select="micros,output_bytes,occurrence"), "run_count", "output_bytes")

    assert frame.loc[list(COPIES)].to_numpy().tolist() == [[176, 6_812], [26, 74_306], [24, 73_888]]


def test_a_copy_stands_below_the_op_that_asked_for_it(bert):
    frame = by_name(bert.scope(max_depth=100), "accelerator_micros", "total_accelerator_micros")

    asked = frame.index[frame.index.str.endswith("OptionalGetValue/_98/MemcpyD2H")]
    assert len(asked) == 1
    assert frame.loc[asked[0].rpartition("/")[0]].tolist() == [
        0,
        frame.loc[asked[0], "accelerator_micros"],
    ]
    assert frame.loc["MemcpyH2D of constants", "accelerator_micros"] == pytest.approx(287.742)


def test_every_kernel_names_its_op_so_nothing_is_noted(bert):
    assert "kernels without an op" not in set(bert.nodes["op_type"])
    assert not any("accelerator" in note for note in bert.notes)


def test_devices_are_those_of_the_streams_and_of_the_threads_that_serve_one_gpu(bert):
    devices = bert.nodes.set_index("name")["device"]

    assert devices["replica_4/truediv_2"] == "/device:GPU:4"
    assert devices["replica_6/ReadVariableOp"] == "/device:GPU:6"  # has no kernel
    assert devices["MemcpyH2D of constants"] == "/device:GPU:1|/device:GPU:4|/device:GPU:6"
    assert set(devices.str.split("|").sum()) == {
        *("/device:CPU:0", "/device:GPU:1", "/device:GPU:4", "/device:GPU:6"),
    }


def test_each_gpu_has_its_own_utilization(bert):
    advice = bert.advise().set_index("check").loc[["accelerator utilization"]]

    assert [row[0] for row in advice["rows"]] == [
        *("/device:gpu:1", "/device:gpu:4", "/device:gpu:6"),
    ]
    assert "33.79us of" in advice["message"].iloc[0]
    assert "15.02ms of" in advice["message"].iloc[1]


def test_memory_is_that_of_devices_not_of_allocators(bert):
    assert set(bert.memory()["device"]) == {"GPU:1", "GPU:4", "GPU:6", "pinned host memory"}
    assert bert.memory().attrs["peak"]["GPU:4"]["live_bytes"] == 2_186_329_454
    assert set(bert.live_at_peak()["device"]) == set(bert.memory()["device"])


def test_memory_of_ops_that_launched_nothing_is_unknown_not_zero(bert):
    frame = by_name(bert.op(select="bytes,device"), "bytes", "device")

    assert frame.loc["ReadVariableOp", "device"] == "/device:GPU:4|/device:GPU:6"
    assert np.isnan(frame.loc[["RemoteCall", "ReadVariableOp"], "bytes"]).all()
    assert frame.loc["Cast", "bytes"] > 3e9


def test_the_real_trace_has_all_views_and_exports(bert, tmp_path):
    for view in ("op", "scope", "graph", "layer"):
        assert bert.view(view, select="micros,bytes,float_ops,output_bytes,device").text
    for name in ("x.trace.json", "x.tfprof", "x.nbprof"):
        bert.export(tmp_path / name) if name != "x.nbprof" else bert.save(tmp_path / name)
    again = nbprof.load(tmp_path / "x.nbprof")
    assert again.op(select="micros,output_bytes").text == bert.op(select="micros,output_bytes").text


@pytest.mark.tensorflow
@pytest.mark.parametrize("path", [TRACE, WHOLE], ids=["cut", "whole"])
def test_accelerator_time_equals_a_plain_sum_over_the_messages(path):
    if not path.exists():
        pytest.skip(f"{path.name} is not beside the project")
    theirs, total = summed_by_annotation(path)
    profile = nbprof.load(path)

    ours = by_name(profile.op(), "accelerator_micros")["accelerator_micros"]
    for op_type in ("Cast", "RandomUniform", "GreaterEqual", "Mul", "BroadcastTo", "Tile"):
        assert ours[op_type] == pytest.approx(theirs[op_type] / US, abs=1e-6)
    constants = theirs["MakeTensorFromProto"]
    assert ours["MemcpyH2D of constants"] == pytest.approx(constants / US, abs=1e-6)
    assert profile.events.loc[profile.events["accelerator"], "self_ns"].sum() * 1000 == total


def summed_by_annotation(path):
    """Add up the events on streams in ps with TensorFlow's classes: by op type, and in all."""
    xplane_pb2 = pytest.importorskip("tensorflow.tsl.profiler.protobuf.xplane_pb2")
    data = path.read_bytes()
    trace = xplane_pb2.XSpace.FromString(gzip.decompress(data) if path.suffix == ".gz" else data)
    found, total = defaultdict(int), 0
    for each in trace.planes:
        names = {key: metadata.name for key, metadata in each.stat_metadata.items()}
        for row in each.lines:
            if not (each.name.startswith("/device:GPU") and row.name.startswith("Stream #")):
                continue
            for run in row.events:
                stats = {names[stat.metadata_id]: stat for stat in run.stats}
                text = stats["annotation"].str_value if "annotation" in stats else ""
                text = text or (
                    names[stats["annotation"].ref_value] if "annotation" in stats else ""
                )
                found[text.partition("#")[0].rpartition(":")[2]] += run.duration_ps
                total += run.duration_ps
    return found, total


# What CUPTI's collector writes today


def test_accelerator_time_is_that_of_the_streams_and_no_moment_of_one_counts_twice(modern):
    events = modern.events[modern.events["accelerator"]]
    by_stream = events.groupby("thread")["self_ns"].sum() / 1e3
    names = modern.threads["device"] + " " + modern.threads["name"].str.partition("(")[0]

    assert {names[thread]: micros for thread, micros in by_stream.items()} == {
        "/device:GPU:0 Stream #13": 30 + 40,
        "/device:GPU:0 Stream #14": 27,
        "/device:GPU:1 Stream #13": 9,
    }


def test_kernels_that_overlap_on_a_stream_are_charged_until_the_next_one_begins(modern):
    frame = by_name(modern.scope(max_depth=9), "accelerator_micros")["accelerator_micros"]

    assert frame["f/left.1"] == 10
    assert frame["f/right.1"] == 20 - 3
    assert frame["f/inner.1"] == 3
    assert frame["f/last.1"] == 10


def test_how_long_memory_was_held_is_no_work(modern):
    assert modern.op().frame["accelerator_micros"].sum() == 30 + 40 + 27 + 9
    assert not modern.nodes["name"].str.contains("Memory|power").any()


def test_modern_kernels_belong_to_tf_ops_and_hlo_ops(modern):
    frame = by_name(modern.scope(max_depth=9), "accelerator_micros", "run_count")

    assert frame.loc["model/dense/MatMul"].tolist() == [20 + 9, 1]
    assert frame.loc["f/fusion.2"].tolist() == [5, 1]


def test_modern_copies_have_a_row_for_each_kind(modern):
    frame = by_name(
        modern.op(select="micros,output_bytes,occurrence"),
        *("accelerator_micros", "run_count", "output_bytes"),
    )

    assert frame.loc["MemcpyH2D of constants"].tolist() == [4, 1, 4096]
    assert frame.loc["MemcpyH2D"].tolist() == [6 + 3, 2, 65536]
    assert frame.loc["MemcpyD2D"].tolist() == [2 + 2, 2, 512 + 256]
    assert frame.loc["MemcpyD2H"].tolist() == [3, 1, 8]
    assert frame.loc["MemcpyP2P"].tolist() == [5, 1, 1024]
    assert frame.loc["MemcpyOther"].tolist() == [1, 1, 2]
    assert frame.loc["Memset"].tolist() == [1, 1, 2048]


def test_a_copy_of_unknown_size_is_unknown_not_empty(modern):
    copies = modern.events[modern.nodes["name"].eq("MemcpyH2D")[modern.events["node"]].to_numpy()]

    assert np.isnan(copies["output_bytes"]).tolist() == [True]
    note = next(note for note in modern.op(select="output_bytes").notes if "output_bytes" in note)
    assert "MemcpyH2D" in note


def test_modern_copies_stand_below_the_op_or_the_function_that_asked(modern):
    assert set(modern.nodes["name"]) >= {
        *("model/recv/MemcpyH2D", "model/dense/MatMul/MemcpyD2D", "f/MemcpyD2D"),
        *("MemcpyD2H", "MemcpyP2P", "Memset", "MemcpyH2D of constants"),
    }


def test_kernels_count_under_the_shapes_that_they_ran_with(modern):
    (row,) = by_name(modern.op(select="input_shapes,micros"), "input_shapes").loc["MatMul"]

    assert [(each["shapes"], each["run_count"], each["micros"]) for each in row] == [
        (["8x4", "4x2"], 1, 3 + 20 + 9),
    ]


def test_copies_do_no_float_ops_and_those_of_kernels_are_unknown_not_zero(modern):
    frame = by_name(modern.op(select="float_ops"), "float_ops")["float_ops"]

    assert frame["MemcpyD2D"] == 0
    assert np.isnan(frame["kernels without an op"])
    assert np.isnan(frame["MatMul"])  # the trace does not say whether it transposes


def test_kernels_without_an_op_are_one_row_and_noted_if_they_matter(modern):
    frame = by_name(modern.op(), "accelerator_micros", "run_count")

    assert frame.loc["kernels without an op"].tolist() == [5, 1]
    assert '5 µs of accelerator work (5%) carry no op\'s name: the row "kernels without an op"' in (
        modern.notes
    )


def test_a_few_kernels_without_an_op_are_not_worth_a_note(tmp_path):
    kernels = [event("sgemm", 0, 1000 * US, {"tf_op": "a:MatMul"}), event("x", 1000 * US, 9 * US)]
    stream = line(7, "Stream #7(Compute)", 0, kernels)
    profile = loaded(space(plane("/device:GPU:0", [stream])), tmp_path)

    assert by_name(profile.op(), "accelerator_micros").loc["kernels without an op"].tolist() == [9]
    assert not any("accelerator" in note for note in profile.notes)


@pytest.mark.parametrize("launches", ["/host:CPU", "/host:CUPTI"])
def test_nodes_of_one_name_in_two_functions_get_the_kernels_they_launched(launches, tmp_path):
    tf_op = {"tf_op": "dense/MatMul:MatMul"}
    host, launched, kernels = [], [], []
    for number, function in enumerate(("train", "test")):
        begin, name = 100 * number, f"__inference_{function}_1"
        host += [
            span("EagerExecute", begin, 90, eager_op=name, is_func=1),
            span("FunctionRun", begin + 1, 3, id=number),
            span("ExecutorState::Process", begin + 5, 80, id=number),
            op("dense/MatMul:MatMul", begin + 10, 20),
        ]
        launched.append(span("cuLaunchKernel", begin + 15, 1, correlation_id=number))
        kernels.append(
            span("sgemm", 500 + begin, 7 + number, correlation_id=number, **tf_op),
        )
    threads = {"/host:CPU": host}
    threads[launches] = sorted(threads.get(launches, []) + launched, key=lambda e: e.offset_ps)
    trace = space(
        *(plane(name, [line(5, "thread", 0, events)]) for name, events in threads.items()),
        plane("/device:GPU:0", [line(7, "Stream #7(Compute)", 0, kernels)]),
    )
    frame = by_name(loaded(trace, tmp_path).scope(max_depth=9), "accelerator_micros", "run_count")

    assert frame.loc["train/dense/MatMul"].tolist() == [7, 1]
    assert frame.loc["test/dense/MatMul"].tolist() == [8, 1]


def test_every_view_and_export_works_for_modern_traces(modern, tmp_path):
    for view in ("op", "scope", "graph", "layer"):
        assert modern.view(view).text
    assert modern.summary()["micros"].sum() == modern.summary().attrs["wall_micros"]
    modern.advise()
    modern.to_html(tmp_path / "x.html")
    modern.export(tmp_path / "x.trace.json")


# Texts


@pytest.mark.parametrize(
    ("annotation", "op"),
    [
        (b"model/dense/MatMul:MatMul#shape=(float[8,4])#", ("model/dense/MatMul", "MatMul")),
        (b"r:RemoteCall#shape=(string[])#::#edge_name=arg_1#", ("r", "RemoteCall")),
        (b"cond:If#id=1#::cond/then/_0/add:AddV2#shape=()#", ("cond/then/_0/add", "AddV2")),
        (b"MakeTensorFromProto", ("MakeTensorFromProto", "")),
        (b"a:Add::my own range", ("a", "Add")),
        (b"XlaModule:#hlo_module=f,program_id=3#::Thunk:#hlo_op=x#", ("", "")),
        (b"#edge_name=ret_0#", ("", "")),
        (b"", ("", "")),
        (b"::::", ("", "")),
        (b"??", ("", "")),
        (b"\xff\xfe", ("��", "")),
    ],
)
def test_the_innermost_op_of_an_annotation_counts(annotation, op):
    assert op_of(annotation) == op


@pytest.mark.parametrize(
    ("details", "size"),
    [
        (b"size:112 dest:4 async:0", 112),
        (b"kind_src:pinned kind_dst:device size:4096 dest:0 async:1", 4096),
        (b"kind:Unknown size:7 dest:0 async:0", 7),
        (b"kind:device num_bytes:2048 async:1", 2048),
        (b"size: dest:4", np.nan),
        (b"size:-5", np.nan),
        (b"oversize:3", np.nan),
        (b"size:" + b"9" * 400, np.nan),
        (b"", np.nan),
    ],
)
def test_the_bytes_of_a_copy_are_read_from_its_details(details, size):
    assert copied_bytes(details) == pytest.approx(size, nan_ok=True)


@pytest.mark.parametrize(
    ("name", "op_type"),
    [
        (b"MemcpyH2D", "MemcpyH2D"),
        (b"MemcpyOther", "MemcpyOther"),
        (b"MemcpyA2A", "MemcpyOther"),
        (b"Memset 3", "Memset"),
        (b"UM_BYTES_TRANSFER_HTOD", "MemcpyH2D"),
        (b"UM_BYTES_TRANSFER_DTOD", "MemcpyD2D"),
        (b"UM_BYTES_TRANSFER_XTOY", "MemcpyOther"),
        (b"volta_sgemm_128x64", ""),
        (b"MemsetKernel", ""),
    ],
)
def test_copies_are_recognised_by_name(name, op_type):
    assert copy_type(name) == op_type


def test_a_copy_that_is_named_differently_is_recognised_by_its_details(tmp_path):
    details = {"memcpy_details": "kind:Unknown size:64 dest:0 async:0"}
    stream = line(7, "Stream #7", 0, [event("CopyHostToDevice", 0, 5 * US, details)])
    profile = loaded(space(plane("/device:GPU:0", [stream])), tmp_path)

    frame = profile.op(select="micros,output_bytes").frame
    assert frame[["name", "output_bytes"]].to_numpy().tolist() == [["MemcpyOther", 64]]


def test_levels_name_the_op_where_there_is_no_annotation(tmp_path):
    levels = {"level 0": "outer:If", "level 1": "outer/then/_0/x:Exp"}
    stream = line(7, "Stream #7(Compute)", 0, [event("exp_kernel", 0, 5 * US, levels)])
    profile = loaded(space(plane("/device:GPU:0", [stream])), tmp_path)

    assert profile.nodes["op_type"].tolist() == ["Exp"]


@pytest.mark.parametrize(
    ("allocator", "device"),
    [
        ("cpu", "cpu"),
        ("mklcpu", "cpu"),
        ("GPU_4_bfc", "GPU:4"),
        ("gpu_async_0", "GPU:0"),
        ("gpu_host_bfc", "pinned host memory"),
        ("cuda_host_bfc", "pinned host memory"),
        ("xla_gpu_host_bfc", "pinned host memory"),
        ("bfc_allocator", "bfc_allocator"),
        ("", "unnamed allocator"),
    ],
)
def test_allocators_are_named_by_the_memory_they_hand_out(allocator, device):
    assert device_of_allocator(allocator) == device


def test_an_allocator_without_a_name_is_a_device_of_its_own(tmp_path):
    events = [
        event("MemoryAllocation", 5, 0, {"addr": 1, "requested_bytes": 64}),
        event("MemoryAllocation", 6, 0, {"addr": 1, "requested_bytes": 8, "allocator_name": "cpu"}),
    ]
    profile = loaded(space(plane("/host:CPU", [line(1, "t", 0, events)])), tmp_path)

    peak = profile.memory().attrs["peak"]
    assert {name: each["live_bytes"] for name, each in peak.items()} == {
        "unnamed allocator": 64,
        "cpu": 8,
    }


# Damage


ODD_VALUES = (
    *("", "::", "#", "a:b:c#", ":", "x:Y", "size:", "num_bytes:1e9", "%s", "\x00", "ü" * 300),
    *(0, -1, 2**63 - 1, Unsigned(2**64 - 1), 0.5, float("nan"), b"", b"\xff\xfe", Written("")),
)
STATS = (
    *("tf_op", "annotation", "level 0", "level 3", "hlo_op", "hlo_module", "memcpy_details"),
    *("memset_details", "kernel_details", "correlation_id", "group_id", "shape", "edge_name"),
)


def test_odd_values_of_all_stats_are_read(tmp_path):
    mix = Random(11)
    names = ("sgemm", "MemcpyH2D", "Memset", "MemcpyX", "Memory device", "", None, "UM_GPU_FAULT")
    for _ in range(120):
        events = [
            event(
                mix.choice(names),
                mix.randrange(0, 50 * US),
                mix.choice((0, 1, 5 * US, 20 * US)),
                {stat: mix.choice(ODD_VALUES) for stat in mix.sample(STATS, mix.randrange(6))},
            )
            for _ in range(mix.randrange(12))
        ]
        cut = mix.randrange(len(events) + 1)
        lines = [line(1, "Stream #1", 0, events[:cut]), line(2, "Stream", 3, events[cut:])]
        profile = loaded(space(plane("/device:GPU:0", lines, {})), tmp_path)

        assert profile.op(select="micros,output_bytes,bytes,float_ops,device").text
        assert profile.scope().text
        own = profile.events.groupby("thread")["self_ns"].sum()
        spans = profile.events.groupby("thread").agg({"start_ns": "min", "duration_ns": "sum"})
        assert (own <= spans["duration_ns"]).all()


def test_a_damaged_real_trace_is_read_or_refused_with_an_nbprof_error(tmp_path):
    whole = gzip.decompress(TRACE.read_bytes())
    mix, outcomes = Random(5), set()
    path = tmp_path / "x.xplane.pb"
    for round_ in range(24):
        mutated = bytearray(whole)
        for _ in range(mix.choice((1, 3, 30))):
            mutated[mix.randrange(len(mutated))] = mix.randrange(256)
        end = len(mutated) if round_ % 4 else mix.randrange(len(mutated))
        path.write_bytes(mutated[:end])
        try:
            assert nbprof.load(path).op(select="micros,output_bytes").text
            outcomes.add("read")
        except NbprofError:
            outcomes.add("refused")

    assert outcomes == {"read", "refused"}


def test_a_note_on_missing_memory_names_an_allocator_without_a_name(tmp_path):
    events = [event("MemoryAllocation", 5, 0, {"addr": 1, "requested_bytes": 64})]
    profile = loaded(space(plane("/host:CPU", [line(1, "t", 0, events)])), tmp_path)

    assert "memory of the CPU was not recorded, only that of unnamed allocator" in profile.notes
