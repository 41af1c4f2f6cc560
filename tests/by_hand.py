"""Profiles made by hand: `profile(node("a/b", "MatMul", micros=10))`, no TensorFlow needed."""

import pandas as pd

from nbprof._profile import Profile, Recording

EVENT = {
    **{"step": 0, "thread": 0, "start_ns": 0, "duration_ns": 0, "self_ns": 0, "is_run": True},
    **{"accelerator": False, "stack": -1, "bytes": 0.0, "peak_bytes": 0.0, "residual_bytes": 0.0},
    **{"shapes": 0, "float_ops": 0.0},
}
ALLOCATION = ("event", "node", "device", "start_ns", "end_ns", "bytes", "region", "shape", "dtype")
FRAME = ("stack", "file", "line", "function", "source")


def node(
    name,
    op_type="NoOp",
    micros=0,
    accelerator_micros=0,
    runs=1,
    size=0,
    step=0,
    stack=(),
    flops=0,
    shapes=(),
):
    """Describe a node that ran `runs` times, the first time for all of `micros` and `size`."""
    return {
        "name": name,
        "op_type": op_type,
        "cpu_ns": round((micros - accelerator_micros) * 1000),
        "accelerator_ns": round(accelerator_micros * 1000),
        "runs": runs,
        "bytes": float(size),
        "step": step,
        "stack": stack,
        "float_ops": float(flops),
        "shapes": shapes,
    }


def profile(*nodes, notes=(), steps=1):
    """Make a Profile of these nodes; a node given twice ran twice."""
    names = list(dict.fromkeys((n["name"], n["op_type"]) for n in nodes))
    shapes = list(dict.fromkeys(n["shapes"] for n in nodes)) or [()]
    stacks = list(dict.fromkeys(n["stack"] for n in nodes if n["stack"]))
    events = [event for described in nodes for event in _events(described, names, stacks, shapes)]
    frames = [
        (number, *frame, f"line {frame[1]}")
        for number, stack in enumerate(stacks)
        for frame in stack
    ]
    types = {name: type(value) for name, value in EVENT.items()}
    return Profile(
        nodes=pd.DataFrame(names, columns=["name", "op_type"], dtype=object),
        events=pd.DataFrame(events, columns=["node", *EVENT]).astype({"node": int, **types}),
        shapes=pd.DataFrame({"inputs": shapes}, dtype=object),
        allocations=pd.DataFrame(columns=ALLOCATION),
        frames=pd.DataFrame(frames, columns=FRAME),
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
        spent=pd.DataFrame({"category": ["Python"], "ns": [2_500_000]}),
        recording=Recording("In [1]", "a profile made by hand", 2_500_000, 1_000_000),
        notes=notes,
    )


def _events(described, names, stacks, shapes):
    """Make the events of one described node."""
    common = {
        **EVENT,
        "node": names.index((described["name"], described["op_type"])),
        "step": described["step"],
        "shapes": shapes.index(described["shapes"]),
        "stack": stacks.index(described["stack"]) if described["stack"] else -1,
    }
    cpu_ns, size = described["cpu_ns"], described["bytes"]
    yield {
        **common,
        **{"bytes": size, "peak_bytes": size, "residual_bytes": size},
        **{"duration_ns": cpu_ns, "self_ns": cpu_ns, "float_ops": described["float_ops"]},
    }
    yield from [common] * (described["runs"] - 1)
    if described["accelerator_ns"]:
        ns = described["accelerator_ns"]
        yield {
            **common,
            **{"thread": 1, "duration_ns": ns, "self_ns": ns, "is_run": False, "accelerator": True},
        }
