"""Hand-built trace files: what hosts, GPUs and TPUs write, in miniature."""

from support.xspace_bytes import Unsigned, Written, event, line, plane, space

US = 1_000_000  # ps
DERIVED = 0xDEADBEEF
"""Id of the first line that the profiler derives from other lines."""


def span(name, start, duration, **stats):
    """Return an event; times in µs."""
    return event(name, start * US, duration * US, stats)


def op(name, start, duration, **stats):
    """Return one run of a graph node; times in µs."""
    return event(name, start * US, duration * US, stats, display_name=name.rpartition(":")[2])


def environment(start_ns, stop_ns):
    return plane(
        "Task Environment",
        stats={"profile_start_time": Unsigned(start_ns), "profile_stop_time": Unsigned(stop_ns)},
    )


def step(number, start, duration, slower=0):
    """Return one training step: its block on Python's thread and its ops on another."""
    call = [
        span("train", start, duration, step_num=number),
        span("EagerExecute", start + 1, duration - 2, eager_op="__inference_f_1", is_func=1),
        span("FunctionRun", start + 2, 3, id=-number - 5),
    ]
    ops = [
        span("ExecutorState::Process", start + 6, duration - 8, id=-number - 5),
        op("dense/MatMul:MatMul", start + 7, 20 + slower),
        op("dense/BiasAdd:BiasAdd", start + 30 + slower, 5),
    ]
    return call, ops


def host_trace(slower=0, steps=3, start_ns=5_000_000, extra=()):
    """Return the trace of a training host whose products take `slower` µs longer."""
    python, compute = [], []
    for number in range(steps):
        call, ops = step(number, 100 * number, 60 + slower, slower)
        python += call
        compute += ops
    return space(
        plane(
            "/host:CPU", lines=[line(1, "python", 0, python), line(2, "tf_Compute/7", 0, compute)]
        ),
        *extra,
        environment(start_ns, start_ns + 400_000),
    )


def gpu_trace():
    """Return two steps on a GPU with two streams: kernels, a copy, and derived lines."""
    launches = [
        span("cuLaunchKernel", 8, 1, correlation_id=11),
        span("cuLaunchKernel", 10, 1, correlation_id=12),
        span("cuMemcpyHtoDAsync", 12, 1, correlation_id=13),
        span("cuLaunchKernel", 70, 1, correlation_id=14),
    ]
    host = [
        span("train", 0, 40, step_num=0),
        span("ExecutorState::Process", 5, 30, id=7),
        op("dense/MatMul:MatMul", 7, 5),
        op("dense/Relu:Relu", 13, 2),
        span("train", 60, 30, step_num=1),
        span("ExecutorState::Process", 65, 20, id=8),
        op("dense/MatMul:MatMul", 69, 5),
    ]
    matmul, relu = {"tf_op": "dense/MatMul:MatMul"}, {"tf_op": "dense/Relu:Relu"}
    compute = [
        span("volta_sgemm_128x64", 20, 30, correlation_id=11, **matmul),
        span("splitKreduce_kernel", 50, 4, correlation_id=12, **matmul),
        # Launched in step 0, but runs after step 1 has begun.
        span("relu_kernel", 61, 6, correlation_id=15, **relu),
        span("volta_sgemm_128x64", 80, 30, correlation_id=14, **matmul),
    ]
    fused = {"hlo_op": "fusion.3", "hlo_module": "jit_f", "program_id": 5}
    other = [
        span("MemcpyH2D", 22, 9, correlation_id=13, memcpy_details="kind:pinned size:4096"),
        span("fusion_3", 31, 2, **fused),
        span("fusion_3", 33, 3, **fused),
        span("fusion_3", 90, 3, **fused),
    ]
    launches.append(span("cuLaunchKernel", 14, 1, correlation_id=15))
    derived = [
        line(DERIVED + number, name, 0, [span("again", 20, 90, **matmul)])
        for number, name in enumerate(
            (
                *("XLA Modules", "XLA Ops", "TensorFlow Ops", "TensorFlow Name Scope"),
                *("Source code", "Framework Ops", "XLA TraceMe", "Launch Stats"),
            )
        )
    ]
    return space(
        plane("/host:CPU", lines=[line(1, "python", 0, host), line(2, "cuda", 0, launches)]),
        plane(
            "/device:GPU:0",
            lines=[
                line(7, "Stream #7(Compute)", 0, compute),
                line(8, "Stream #8(MemcpyH2D,Compute)", 0, other),
                *derived,
            ],
        ),
        environment(5_000_000, 5_200_000),
    )


def modern_gpu_trace():
    """Return what CUPTI's collector writes today on two GPUs, with lines derived by xprof.

    Times in µs; on GPU 0, stream 13 is busy from 10 to 40 and from 50 to 90, stream 14 for 27.
    """
    dense = {"tf_op": "model/dense/MatMul:MatMul", "shape": "(float[8,4];float[4,2])"}
    compiled = {"tf_op": "XlaModule:", "hlo_module": "a_inference_f_12__.44", "program_id": 7}
    graph = {**compiled, "cuda_graph_id": 3}
    details = {"kernel_details": "regs:32 static_shared:0 grid:1,1,1 block:32,1,1 occ_pct:50"}

    def kernel(name, start, duration, number, **stats):
        ids = {"correlation_id": number, "scope_range_id": 5, "context_id": Written("$$1")}
        occupancy = {"theoretical_occupancy_pct": 50.0, "occupancy_min_grid_size": 80}
        return span(name, start, duration, **ids, **occupancy, **details, **stats)

    def copy(name, start, duration, number, size, **stats):
        text = f"kind_src:pageable kind_dst:device size:{size} dest:0 async:1"
        return span(name, start, duration, correlation_id=number, memcpy_details=text, **stats)

    compute = [
        kernel("ampere_sgemm_32x32", 10, 20, 1, **dense),
        kernel("void cub::DeviceReduce<float>", 30, 5, 2),  # nobody says for which op
        kernel("loop_fusion", 35, 5, 3, **compiled, hlo_op="fusion.2"),
        # Branches of a CUDA graph run at the same time and are shown on one stream.
        kernel("left", 50, 20, 4, **graph, hlo_op="left.1"),
        kernel("right", 60, 20, 4, **graph, hlo_op="right.1"),
        kernel("inner", 62, 3, 4, **graph, hlo_op="inner.1"),
        kernel("last", 80, 10, 4, **graph, hlo_op="last.1"),
    ]
    copies = [
        copy("MemcpyH2D", 0, 4, 11, 4096, tf_op="MakeTensorFromProto"),
        copy("MemcpyH2D", 4, 6, 12, 65536, tf_op="model/recv:_Recv", edge_name="edge_3_x"),
        copy("MemcpyD2D", 12, 2, 13, 512, **dense),
        copy("MemcpyD2H", 20, 3, 14, 8),
        copy("MemcpyP2P", 30, 5, 15, 1024),
        copy("MemcpyOther", 36, 1, 16, 2),
        copy("MemcpyD2D", 38, 2, 17, 256, **compiled),
        span(
            *("Memset 3", 40, 1),
            memset_details="kind:device num_bytes:2048 async:1",
            correlation_id=18,
        ),
        span("MemcpyH2D", 44, 3, correlation_id=19),  # its size is not known
    ]
    held = "kind:device num_bytes:1073741824 addr:0x00007f0000000000"
    not_work = [
        span("Memory device", 0, 5_000, memory_residency_details=held),
        span("power_mw", 9, 0),
    ]
    again = [span("again", 10, 80, **dense)]
    derived = [
        line(DERIVED + number, name, 0, again)
        for number, name in enumerate(
            (
                *("Steps", "Framework Ops", "Framework Name Scope", "XLA Modules", "XLA Ops"),
                *("Source code", "XLA Ops - from #13", "Framework Ops - from #13", "_counters_"),
                "CUPTI overhead",
            )
        )
    ]
    launches = [
        span("cuLaunchKernel", 5, 1, correlation_id=1, device_id=0, context_id=Written("$$1")),
        span("cuMemcpyHtoDAsync_v2", 3, 1, correlation_id=12, device_id=0),
    ]
    return space(
        plane(
            "/host:CPU",
            lines=[
                line(
                    *(77, "tf_Compute/77", 0),
                    [op("model/dense/MatMul:MatMul", 4, 3, shape="(float[8,4];float[4,2])")],
                )
            ],
        ),
        plane("/host:CUPTI", lines=[line(77, "Host Threads/77", 0, launches)]),
        plane(
            "/device:GPU:0",
            lines=[
                line(0, "Stream #0(MemoryResidency,Environment)", 0, not_work),
                line(13, "Stream #13(Compute)", 0, compute),
                line(14, "Stream #14(MemcpyH2D,MemcpyD2D,MemcpyP2P,Memset)", 0, copies),
                *derived,
            ],
            stats={"device_type_string": Written("NVIDIA H100")},
        ),
        plane(
            "/device:GPU:1",
            lines=[
                line(13, "Stream #13(Compute)", 0, [kernel("other_gemm", 15, 9, 21, **dense)]),
            ],
        ),
        environment(5_000_000, 5_200_000),
    )


def hlo(name, start, duration, tf_op=None, category=None, flops=None, program=5):
    """Return one run of an HLO op on a TPU; times in µs."""
    kind = {"program_id": Unsigned(program), "symbol_id": Unsigned(sum(map(ord, name)))}
    kind |= {"tf_op": tf_op} if tf_op else {}
    kind |= {"hlo_category": category} if category else {}
    kind |= {"flops": Unsigned(flops)} if flops is not None else {}
    return event(
        f"%{name} = f32[128,128]{{1,0}} {name.partition('.')[0]}(%a, %b)",
        *(start * US, duration * US),
        display_name=name,
        of_kind=kind,
    )


def tpu_trace(cores=2, host_steps=False):
    """Return two steps on the cores of a TPU, each with a loop, and the planes' other lines."""
    planes = []
    for core in range(cores):
        ops = []
        for number in range(2):
            begin = 100 * number + core
            ops += [
                hlo("while.7", begin + 10, 60, "jit(f)/jit(main)/while:", "while"),
                hlo(
                    *("fusion.3", begin + 12, 20, "jit(f)/jit(main)/while/body/dot_general:"),
                    *("convolution fusion", 4_000),
                ),
                hlo(
                    *("fusion.3", begin + 40, 20, "jit(f)/jit(main)/while/body/dot_general:"),
                    *("convolution fusion", 4_000),
                ),
                hlo("copy.12", begin + 75, 5, program=5),
                hlo("fusion.9", begin + 80, 4, "model/dense/MatMul:MatMul", None, 700),
            ]
        modules = [span("jit_f(5)", 100 * number + core + 5, 85) for number in range(2)]
        steps = [span(str(number), 100 * number + core, 95, group_id=number) for number in range(2)]
        again = [span("again", 10, 150)]
        planes.append(
            plane(
                f"/device:TPU:{core}",
                lines=[
                    line(1, "Steps", 0, steps),
                    line(2, "XLA Modules", 0, modules),
                    line(3, "XLA Ops", 0, ops),
                    line(4, "Async XLA Ops", 0, again),
                    line(5, "XLA TraceMe", 0, again),
                    line(6, "Framework Name Scope", 0, again),
                    line(7, "Framework Ops", 0, again),
                    line(8, "Source code", 0, again),
                ],
            )
        )
    # The host runs ahead: it has launched step 1 by the time the device begins step 0.
    python = [span("train", 4 * number, 3, step_num=number) for number in range(2)]
    host = plane("/host:CPU", lines=[line(1, "python", 0, python if host_steps else [])])
    return space(host, *planes, environment(5_000_000, 5_250_000))
