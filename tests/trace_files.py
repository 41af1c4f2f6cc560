"""Trace files made by hand: what hosts, GPUs and TPUs write, in miniature."""

from xspace_bytes import Unsigned, event, line, plane, space

US = 1_000_000  # ps


def span(name, start, duration, **stats):
    """An event, times in µs."""
    return event(name, start * US, duration * US, stats)


def op(name, start, duration, **stats):
    """One run of a graph node, times in µs."""
    return event(name, start * US, duration * US, stats, display_name=name.rpartition(":")[2])


def environment(start_ns, stop_ns):
    return plane(
        "Task Environment",
        stats={"profile_start_time": Unsigned(start_ns), "profile_stop_time": Unsigned(stop_ns)},
    )


def step(number, start, duration, slower=0):
    """The events of one training step: its block on Python's thread, its ops on another."""
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
    """The trace of a host of a training; `slower` is how much longer its products take, in µs."""
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
