"""What nbprof reads from hand-built traces that look like TensorFlow's."""

from random import Random

import numpy as np
import pytest
from support.xspace_bytes import Unsigned, event, line, plane, space

from nbprof import ingest
from nbprof.capture.capture import Capture, TraceWindow
from nbprof.errors import NbprofError

US = 1_000_000  # ps


def op(name, start, duration, **stats):
    """Return one run of a graph node; times in µs."""
    return event(name, start * US, duration * US, stats, display_name=name.rpartition(":")[2])


def span(name, start, duration, **stats):
    return event(name, start * US, duration * US, stats)


def eager(op_type, start, duration):
    """Return the events of one eager op: dispatch takes 2 µs before and after the kernel."""
    return [
        span("EagerExecute", start, duration + 4, eager_op=op_type, is_func=0),
        span("KernelAndDeviceFunc::Run", start + 2, duration),
    ]


def host_trace(*lines):
    threads = [line(number, name, 0, events) for number, (name, events) in enumerate(lines)]
    return space(
        plane("/host:CPU", lines=threads),
        plane("Task Environment", stats={"profile_start_time": Unsigned(5_000)}),
    )


def read(*lines, trace=None, has_memory=False):
    capture = Capture(
        windows=(TraceWindow(trace=trace or host_trace(*lines)),),
        what="In [1]",
        how="by hand",
        start_ns=4_000,
        wall_ns=1_000_000,
        cost_ns=0,
        has_memory=has_memory,
        traced_ns=1_000_000,
    )
    return ingest.read(capture)


def rows(profile):
    frame = profile.scope().frame.iloc[1:]
    return {
        name: (micros, runs)
        for name, micros, runs in zip(
            frame["name"], frame["micros"], frame["run_count"], strict=True
        )
    }


def test_an_eager_op_is_charged_for_its_kernel_but_not_its_dispatch():
    profile = read(("python", [*eager("MatMul", 0, 10), *eager("MatMul", 20, 5)]))

    assert rows(profile) == {"MatMul": (15, 2)}


def test_a_graph_op_counts_only_where_an_executor_runs_it():
    profile = read(
        (
            "tf_Compute",
            [
                span("ExecutorState::Process", 0, 100, id=7),
                op("dense/MatMul:MatMul", 10, 20),
                op("_send_x_0:_Send", 40, 1),
            ],
        ),
        ("collective_ops", [op("dense/MatMul:MatMul", 50, 30, step_id=7)]),
    )

    frame = profile.op().frame.set_index("name")
    assert frame["run_count"]["MatMul"] == 1
    assert frame["micros"]["MatMul"] == 50


def test_an_op_whose_executor_outlasts_the_trace_still_counts():
    profile = read(("tf_Compute", [op("dense/MatMul:MatMul", 10, 20)]))

    assert rows(profile)["dense/MatMul"] == (20, 1)


def test_work_outside_an_executor_belongs_to_the_run_that_its_id_names():
    profile = read(
        ("python", called("f", "__inference_f_1", -5, 0, 50)),
        ("tf_Compute", [span("ExecutorState::Process", 10, 20, id=-5), op("all:Reduce", 12, 8)]),
        ("collective_ops", [op("all:Reduce", 25, 10, step_id=-5)]),
    )

    assert rows(profile) == {"all": (18, 1)}


def test_constant_folding_belongs_to_the_function_being_prepared():
    profile = read(
        (
            "python",
            [
                span("EagerExecute", 0, 90, eager_op="__inference_f_1", is_func=1),
                span("ExecutorState::Process", 10, 20, id=99),
                op("Sin:Sin", 12, 8),
            ],
        ),
        ("other", [span("ExecutorState::Process", 40, 20, id=98), op("Sin:Sin", 42, 3)]),
    )

    assert rows(profile)["f/Sin"] == (8, 1)
    assert rows(profile)["unknown/Sin"] == (3, 1)


def test_events_that_merely_resemble_ops_are_ignored():
    others = [
        "MakeIterator::TensorDataset",
        "EagerLocalExecute: MatMul",
        "end: MatMul.2",
        "_Send input 3 from /job:x/device:CPU:0 to /job:x/device:CPU:1",
        "BlockUntilReady",
    ]
    process = span("ExecutorState::Process", 0, 100, id=7)
    # A display name alone would make some of them ops.
    shown = [op(name, 10 * i, 5) for i, name in enumerate(others, 1)]

    profile = read(("t", [process, *shown, *(span(name, 80, 5) for name in others)]))

    assert rows(profile) == {}
    assert profile.notes == ("no TensorFlow op ran in this cell",)


def test_a_pipeline_stage_is_charged_for_its_own_work_but_not_for_waiting():
    profile = read(
        (
            "tf_data",
            [
                span("Iterator::Root::Prefetch", 0, 40),
                span("Iterator::Root::Prefetch::Batch", 50, 30),
                span("Iterator::Root::Prefetch::Batch::Range", 55, 10),
            ],
        )
    )

    assert rows(profile)["Iterator/Root/Prefetch/Batch"] == (20, 1)
    assert rows(profile)["Iterator/Root/Prefetch/Batch/Range"] == (10, 1)
    assert set(profile.op().frame["name"]) == {"Iterator::Batch", "Iterator::Range"}


def test_an_op_is_not_charged_for_the_ops_it_runs():
    inner = eager("Sin", 30, 6)
    profile = read(
        ("t", [span("ExecutorState::Process", 0, 100, id=7), op("py:EagerPyFunc", 10, 50), *inner])
    )

    assert rows(profile) == {"py": (44, 1), "Sin": (6, 1)}


@pytest.mark.parametrize(
    "name",
    [
        *("IteratorGetNextAsOptionalOp::DoCompute", "ReduceDatasetOp::DoCompute"),
        *("ToSingleElementOp::DoCompute", "InstantiatedCapturedFunction::Run"),
    ],
)
def test_waiting_for_an_input_pipeline_is_not_op_time(name):
    profile = read(("python", [*eager("ReduceDataset", 0, 50), span(name, 5, 40)]))

    assert rows(profile) == {"ReduceDataset": (10, 1)}


def test_waiting_for_input_or_for_a_called_function_is_not_op_time():
    profile = read(
        (
            "python",
            [
                *eager("IteratorGetNext", 0, 50),
                span("IteratorGetNextOp::DoCompute", 5, 40),
                *eager("EagerPyFunc", 100, 50),
                span("EagerExecute", 110, 30, eager_op="__inference_f_3", is_func=1),
                span("KernelAndDeviceFunc::Run", 112, 25),
            ],
        )
    )

    assert rows(profile) == {"IteratorGetNext": (10, 1), "EagerPyFunc": (25, 1)}


def called(name, function, step_id, start, duration, traced="notTraced-nonXla"):
    """Return the events of one call of a tf.function on the calling thread."""
    return [
        span(name, start, duration, tf_function_call=traced, tracing_count=1),
        span("EagerExecute", start + 1, duration - 2, eager_op=function, is_func=1),
        span("KernelAndDeviceFunc::Run", start + 2, duration - 4),
        span("FunctionRun", start + 3, 1, id=step_id),
    ]


def test_an_outermost_call_is_a_step_and_its_ops_may_run_on_any_thread():
    profile = read(
        (
            "python",
            [
                *called("f", "__inference_f_1", -5, 0, 50, traced="traced-nonXla"),
                *eager("Add", 60, 2),
                *called("f", "__inference_f_1", -6, 100, 50),
                *eager("Sub", 160, 2),
            ],
        ),
        ("tf_Compute", [span("ExecutorState::Process", 10, 20, id=-5), op("Sin:Sin", 12, 8)]),
        ("tf_Compute", [span("ExecutorState::Process", 110, 20, id=-6), op("Sin:Sin", 112, 6)]),
    )

    assert list(profile.steps["function"]) == ["f", "f"]
    assert list(profile.steps["micros"]) == [50, 50]
    assert list(profile.steps["traced"]) == [True, False]
    assert list(profile.steps["start_micros"]) == [1, 101]  # the trace began 1 µs after the cell
    steps = profile.events.groupby(profile.nodes["name"].to_numpy()[profile.events["node"]])["step"]
    # Ops between steps belong to the next step, those after the last to the last.
    assert steps.agg(list).to_dict() == {"Sin": [0, 1], "Add": [1], "Sub": [1]}


def test_a_call_during_tracing_is_not_a_step():
    profile = read(
        (
            "python",
            [
                span("tf.function-graph_building", 1, 50),
                span("inner", 10, 20, tf_function_call="traced-nonXla", tracing_count=1),
                span("outer", 60, 100, tf_function_call="notTraced-nonXla", tracing_count=1),
            ],
        )
    )

    assert list(profile.steps["function"]) == ["outer"]


def test_a_function_called_by_an_op_belongs_to_the_step_of_that_op():
    profile = read(
        (
            "python",
            called("f", "__inference_f_1", -5, 0, 90) + called("f", "__inference_f_1", -7, 400, 9),
        ),
        (
            "tf_Compute",
            [
                span("ExecutorState::Process", 10, 60, id=-5),
                op("py:EagerPyFunc", 12, 50),
                *called("g", "__inference_g_2", -6, 20, 30),
            ],
        ),
        ("tf_Compute", [span("ExecutorState::Process", 300, 20, id=-6), op("Sin:Sin", 302, 8)]),
    )

    assert list(profile.steps["function"]) == ["f", "f"]
    assert rows(profile)["Sin"] == (8, 1)
    assert set(profile.events["step"]) == {0}


def test_a_cell_without_function_calls_is_one_step():
    profile = read(("python", eager("MatMul", 0, 10)))

    assert profile.steps.to_dict("records") == [
        {
            **{"step": 0, "start_micros": 0, "micros": 1000},
            **{"function": "In [1]", "traced": False, "in_detail": True},
        }
    ]


def test_session_runs_and_outermost_trace_blocks_are_steps():
    profile = read(
        (
            "python",
            [
                span("SessionRun", 0, 10, id=1),
                span("train", 20, 50, step_num=0, _r=1),
                *called("f", "__inference_f_1", -5, 30, 20),
            ],
        )
    )

    assert list(profile.steps["function"]) == ["Session.run", "train"]


def test_a_trace_block_traces_if_a_function_is_traced_inside_it():
    profile = read(
        (
            "python",
            [
                span("train", 0, 50, step_num=0, _r=1),
                span("f", 10, 30, tf_function_call="traced-nonXla"),
                span("train", 60, 50, step_num=1, _r=1),
                span("f", 70, 30, tf_function_call="notTraced-nonXla"),
            ],
        )
    )

    assert list(profile.steps["function"]) == ["train", "train"]
    assert list(profile.steps["traced"]) == [True, False]


def test_hlo_ops_are_listed_under_the_function_that_xla_compiled():
    module = "a_inference_fast_12__XlaMustCompile_true_config_proto_3_.2"
    cluster = "__inference_fast_12:__inference_fast_12"
    profile = read(
        (
            "python",
            [
                event(cluster, 0, 1000 * US, display_name="__inference_fast_12"),
                span("CpuExecutable::ExecuteAsyncOnStream", 900, 50),
                span("MatMul.2", 905, 30, hlo_op="MatMul.2", hlo_module=module),
                span("end: MatMul.2", 934, 1, hlo_op="MatMul.2", hlo_module=module),
            ],
        ),
        # Another pool thread works alone from 935 to 945 µs, while the caller waits.
        ("pool", [span("add.1", 920, 25, hlo_op="add.1", hlo_module=module)]),
    )

    # Compilation, here 900 µs, is not op time.
    assert rows(profile) == {
        **{"fast": (10, 1), "fast/MatMul.2": (30, 1)},
        "fast/add.1": (25, 1),
    }
    assert set(profile.nodes["op_type"]) == {"XlaLaunch", "MatMul", "add"}


def test_a_compiled_function_in_a_graph_is_charged_for_its_execution_only():
    profile = read(
        (
            "t",
            [
                span("ExecutorState::Process", 0, 1000, id=7),
                op("call:StatefulPartitionedCall", 10, 900),
                span("CpuExecutable::ExecuteAsyncOnStream", 800, 50),
            ],
        )
    )

    assert rows(profile) == {"call": (50, 1)}


def test_gpu_kernels_are_accelerator_time_of_the_op_that_launched_them():
    process = span("ExecutorState::Process", 0, 100, id=7)
    kernels = [
        span("gemm_f32", 20, 60, tf_op="dense/MatMul:MatMul"),
        span("copy", 90, 5, tf_op="dense/Copy:_Send"),
        span("MemcpyH2D", 100, 4),
    ]
    gpu = plane("/device:GPU:0", lines=[line(3, "Stream #7(Compute)", 0, kernels)])
    derived = plane("/device:GPU:0", lines=[line(4, "TensorFlow Ops", 0, kernels)])
    host = plane("/host:CPU", lines=[line(1, "t", 0, [process, op("dense/MatMul:MatMul", 10, 5)])])

    profile = read(trace=space(host, gpu, derived))

    frame = profile.scope().frame.set_index("name")
    assert frame.loc["dense/MatMul", ["cpu_micros", "accelerator_micros", "micros"]].tolist() == [
        *(5, 60, 65),
    ]
    assert frame.loc["dense/MatMul", "run_count"] == 1
    assert frame.loc["dense/Copy", "accelerator_micros"] == 5
    assert set(profile.threads["device"]) == {"/host:CPU", "/device:GPU:0"}
    assert frame.loc["MemcpyH2D", "accelerator_micros"] == 4
    assert profile.notes == ()


def allocate(start, address, size, **stats):
    return span(
        "MemoryAllocation",
        start,
        0,
        **{
            "allocator_name": "cpu",
            "addr": address,
            "requested_bytes": size,
            "data_type": 1,
            **stats,
        },
    )


def free(start, address):
    return span("MemoryDeallocation", start, 0, allocator_name="cpu", addr=address)


def test_memory_is_charged_to_the_run_that_allocated_it():
    profile = read(
        (
            "t",
            [
                span("ExecutorState::Process", 0, 100, id=7),
                op("a:A", 10, 20),
                allocate(12, 1, 1000, region_type="temp"),
                allocate(14, 2, 500, region_type="output", shape="[125]"),
                free(16, 1),
                allocate(18, 3, 700),
                free(20, 3),
                op("b:B", 40, 10),
                allocate(42, 1, 64),
            ],
        ),
        ("u", [free(60, 2)]),
        has_memory=True,
    )

    frame = profile.scope(select="bytes,peak_bytes,residual_bytes").frame.set_index("name")
    assert frame.loc["a", ["bytes", "peak_bytes", "residual_bytes"]].tolist() == [2200, 1500, 500]
    assert frame.loc["b", ["bytes", "peak_bytes", "residual_bytes"]].tolist() == [64, 64, 64]
    curve = profile.memory()
    assert list(curve["live_bytes"]) == [0, 1000, 1500, 500, 1200, 500, 564, 64]
    assert curve["micros"][0] == 0
    assert curve.attrs["peak"] == {"cpu": {"micros": 15, "live_bytes": 1500}}
    alive = profile.live_at_peak()
    assert list(alive["op"]) == ["a", "a"]
    assert list(alive["bytes"]) == [1000, 500]
    assert list(alive["shape"]) == ["", "[125]"]
    assert set(alive["dtype"]) == {"float32"}


def test_float_ops_follow_from_the_shapes_of_each_run():
    shaped = [
        span("ExecutorState::Process", 0, 100, id=7),
        op("mm:MatMul", 10, 5, shape="(float[5,7];float[7,3])"),
        allocate(12, 1, 60, region_type="output", shape="[5,3]"),
        op("fused:_FusedMatMul", 20, 5, shape="(float[5,7];float[7,3];float[3])"),
        allocate(22, 2, 60, region_type="output", shape="[5,3]"),
        op("add:AddV2", 30, 5, shape="(float[5,3];float[3])"),
        op("relu:Relu", 40, 5, shape="(float[5,3])"),
        op("lost:MatMul", 50, 5, shape="(float[5,7];float[7,3])"),
    ]

    profile = read(("t", shaped), has_memory=True)

    frame = profile.scope(select="float_ops").frame.set_index("name")["float_ops"]
    assert frame["mm"] == 2 * 5 * 7 * 3
    assert frame["fused"] == 2 * 5 * 7 * 3 + 5 * 3
    assert frame["add"] == 5 * 3  # written over its input: nothing was allocated
    assert frame["relu"] == 5 * 3
    assert np.isnan(frame["lost"])


def test_a_release_without_an_allocation_in_the_trace_is_ignored():
    profile = read(("t", [free(5, 9), allocate(10, 9, 8), free(20, 9)]), has_memory=True)

    assert list(profile.memory()["live_bytes"]) == [0, 8, 0]
    assert list(profile.allocations["node"]) == [-1]


def test_memory_is_unknown_without_allocation_events():
    profile = read(("python", eager("MatMul", 0, 10)))

    assert profile.op(select="bytes").frame["bytes"].isna().all()
    assert profile.op().frame["live_bytes"].isna().all()
    assert profile.memory().empty
    assert profile.live_at_peak().empty


def test_nodes_of_an_input_pipeline_are_kept_apart_from_the_models():
    profile = read(
        ("python", called("f", "__inference_f_1", -5, 0, 50)),
        ("tf_Compute", [span("ExecutorState::Process", 10, 20, id=-5), op("Cast:Cast", 12, 8)]),
        ("tf_data", [span("InstantiatedCapturedFunction::RunAsync", 5, 2, id=-9)]),
        ("tf_data", [span("ExecutorState::Process", 10, 20, id=-9), op("Cast:Cast", 12, 3)]),
    )

    assert rows(profile)["f/Cast"] == (8, 1)
    assert rows(profile)["tf.data/Cast"] == (3, 1)


def test_no_moment_of_a_thread_is_counted_twice():
    profile = read(
        (
            "t",
            [
                span("ExecutorState::Process", 0, 100, id=7),
                op("a:A", 0, 100),
                op("b:B", 10, 80),
                op("c:C", 20, 60),
            ],
        )
    )

    assert profile.events["self_ns"].sum() == 100_000


def test_a_capture_without_a_trace_becomes_a_profile_without_rows():
    capture = Capture(
        what="In [1]",
        how="nothing recorded",
        start_ns=0,
        wall_ns=5,
        cost_ns=0,
        notes=("why",),
    )

    profile = ingest.read(capture)

    assert profile.op().frame.empty
    assert profile.notes == ("why",)
    assert "nothing recorded" in profile.headline


def test_stats_of_unexpected_types_count_as_absent():
    profile = read(
        (
            "python",
            [
                span("EagerExecute", 0, 20, eager_op=7, is_func="yes"),
                span("KernelAndDeviceFunc::Run", 2, 10),
                span("ExecutorState::Process", 30, 20, id=2.5),
                op("a:A", 35, 5),
            ],
        )
    )

    assert profile.events["is_run"].all()


def test_mutated_traces_are_read_or_refused_with_an_nbprof_error():
    whole = host_trace(
        ("python", called("f", "__inference_f_1", -5, 0, 50) + eager("Add", 60, 2)),
        ("tf_Compute", [span("ExecutorState::Process", 10, 20, id=-5), op("Sin:Sin", 12, 8)]),
    )
    random, outcomes = Random(1), set()
    for _ in range(1500):
        mutated = bytearray(whole)
        for _ in range(random.randint(1, 4)):
            mutated[random.randrange(len(mutated))] = random.randrange(256)
        try:
            assert read(trace=bytes(mutated)).op().text
            outcomes.add("read")
        except NbprofError:
            outcomes.add("refused")

    assert outcomes == {"read", "refused"}


def test_a_damaged_trace_is_refused_with_its_name():
    with pytest.raises(NbprofError, match="the trace of this cell"):
        read(trace=b"\x0a\xff\xff\xff\xff\x7fgarbage")
