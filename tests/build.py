"""Profiles made by hand: `profile(node("a/b", "MatMul", micros=10))`, no TensorFlow needed."""

import pandas as pd

from nbprof._profile import Profile, Recording


def node(name, op_type="NoOp", micros=0, accelerator_micros=0, runs=1, size=0, step=0):
    """Describe a node that ran `runs` times, the first time for all of `micros`."""
    return {
        "name": name,
        "op_type": op_type,
        "cpu_ns": round((micros - accelerator_micros) * 1000),
        "accelerator_ns": round(accelerator_micros * 1000),
        "runs": runs,
        "bytes": size,
        "step": step,
    }


def profile(*nodes, notes=(), steps=1):
    """Make a Profile of these nodes; a node given twice ran twice."""
    events = []
    names = list(dict.fromkeys((n["name"], n["op_type"]) for n in nodes))
    for described in nodes:
        number = names.index((described["name"], described["op_type"]))
        durations = [described["cpu_ns"]] + [0] * (described["runs"] - 1)
        events += [
            (
                number,
                described["step"],
                0,
                0,
                ns,
                ns,
                True,
                False,
                *[0 if run else described["bytes"]] * 3,
            )
            for run, ns in enumerate(durations)
        ]
        if described["accelerator_ns"]:
            ns = described["accelerator_ns"]
            events.append((number, 0, 1, 0, ns, ns, False, True, 0, 0, 0))
    columns = [
        *("node", "step", "thread", "start_ns", "duration_ns", "self_ns", "is_run", "accelerator"),
        *("bytes", "peak_bytes", "residual_bytes"),
    ]
    table = pd.DataFrame(events, columns=columns)
    return Profile(
        nodes=pd.DataFrame(
            {"name": [name for name, _ in names], "op_type": [op_type for _, op_type in names]},
            dtype=object,
        ),
        events=table.astype({"node": "int32", "is_run": bool, "accelerator": bool}),
        allocations=pd.DataFrame(
            columns=[
                *("event", "node", "device", "start_ns", "end_ns"),
                *("bytes", "region", "shape", "dtype"),
            ]
        ),
        threads=pd.DataFrame(
            {"name": ["python", "stream"], "device": ["/host:CPU", "/device:GPU:0"]}
        ),
        steps=pd.DataFrame(
            {
                "step": range(steps),
                "start_micros": 0.0,
                "micros": 1.0,
                "function": "train",
                "traced": False,
            }
        ),
        recording=Recording("In [1]", "a profile made by hand", 2_500_000, 1_000_000),
        notes=notes,
    )
