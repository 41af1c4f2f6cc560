"""Profiles made by hand: `profile(node("a/b", "MatMul", micros=10))`, no TensorFlow needed."""

import math

import pandas as pd

from nbprof._profile import Profile
from nbprof.recording import Recording

EVENT = {
    **{"step": 0, "thread": 0, "start_ns": 0, "duration_ns": 0, "self_ns": 0, "is_run": True},
    **{"accelerator": False, "stack": -1, "bytes": 0.0, "peak_bytes": 0.0, "residual_bytes": 0.0},
    **{"layer": -1, "backward": False, "input_shapes": 0, "output_shapes": 0, "float_ops": 0.0},
    **{"output_bytes": 0.0, "live_bytes": 0.0},
}
ALLOCATION = ("event", "node", "device", "start_ns", "end_ns", "bytes", "region", "shape", "dtype")
NODE = ("name", "op_type", "device", "shape", "params", "trainable", "layer", "types")
TRACE = ("function", "count", "step", "start_micros", "micros", "changed")
FRAME = ("stack", "file", "line", "function", "source", "framework")


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
    layer="outside layers",
    backward=False,
    device="/device:CPU:0",
):
    """Describe a node that ran `runs` times; the first run has all of `micros` and `size`."""
    return {
        "layer": layer,
        "backward": backward,
        "device": device,
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


def variable(name, shape, trainable=True, layer="outside layers"):
    """Describe a variable, which never runs."""
    return {"name": name, "shape": shape, "trainable": trainable, "layer": layer}


def layer_rows(described):
    """Number the layers by name, outer ones before those inside them."""
    rows = {}
    for one in described:
        parts = one["layer"].split("/")
        for end in range(1, len(parts) + 1):
            rows.setdefault("/".join(parts[:end]), len(rows))
    return rows


def profile(*nodes, notes=(), steps=1, variables=()):
    """Make a Profile of these nodes; a node listed twice ran twice."""
    names = list(dict.fromkeys((n["name"], n["op_type"]) for n in nodes))
    layers = layer_rows([*nodes, *variables])
    shapes = list(dict.fromkeys(n["shapes"] for n in nodes)) or [()]
    stacks = list(dict.fromkeys(n["stack"] for n in nodes if n["stack"]))
    events = [
        event for described in nodes for event in _events(described, names, stacks, shapes, layers)
    ]
    frames = [
        (number, *frame, f"line {frame[1]}", "/keras/" in frame[0])
        for number, stack in enumerate(stacks)
        for frame in stack
    ]
    types = {name: type(value) for name, value in EVENT.items()}
    return Profile(
        nodes=_node_table(nodes, names, variables, layers),
        layers=pd.DataFrame(
            {
                "name": list(layers),
                "kind": "Dense",
                "parent": [layers.get(name.rpartition("/")[0], -1) for name in layers],
            }
        ),
        events=pd.DataFrame(events, columns=["node", *EVENT]).astype({"node": int, **types}),
        inputs=pd.DataFrame(columns=["node", "position", "source", "shape"]),
        shapes=pd.DataFrame({"shapes": shapes}, dtype=object),
        allocations=pd.DataFrame(columns=ALLOCATION),
        frames=pd.DataFrame(frames, columns=FRAME, dtype=object).astype(
            {"stack": int, "line": int, "framework": bool}
        ),
        threads=pd.DataFrame(
            {
                "name": ["python", "stream"],
                "device": ["/host:CPU", "/device:GPU:0"],
                "is_cell": [True, False],
            }
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
        traces=pd.DataFrame(columns=TRACE),
        spent=pd.DataFrame({"category": ["Python"], "ns": [2_500_000]}),
        recording=Recording("In [1]", "a profile made by hand", 2_500_000, 1_000_000),
        notes=notes,
    )


def _node_table(nodes, names, variables, layers):
    devices = {(n["name"], n["op_type"]): n["device"] for n in nodes}
    rows = [(*name, devices[name], "", 0.0, False, -1, ()) for name in names]
    for one in variables:
        count = math.prod(map(int, one["shape"].split("x")))
        row = (one["name"], "VarHandleOp", "", one["shape"], float(count), one["trainable"])
        types = ("_trainable_variables",) if one["trainable"] else ()
        rows.append((*row, layers[one["layer"]], types))
    kinds = {"params": float, "trainable": bool, "layer": int}
    return pd.DataFrame(rows, columns=NODE, dtype=object).astype(kinds)


def _events(described, names, stacks, shapes, layers):
    """Make the events of one described node."""
    common = {
        **EVENT,
        "node": names.index((described["name"], described["op_type"])),
        "step": described["step"],
        "layer": layers[described["layer"]],
        "backward": described["backward"],
        "input_shapes": shapes.index(described["shapes"]),
        "stack": stacks.index(described["stack"]) if described["stack"] else -1,
    }
    cpu_ns, size = described["cpu_ns"], described["bytes"]
    yield {
        **common,
        **{"bytes": size, "peak_bytes": size, "residual_bytes": size, "live_bytes": size},
        **{"duration_ns": cpu_ns, "self_ns": cpu_ns, "float_ops": described["float_ops"]},
    }
    yield from [common] * (described["runs"] - 1)
    if described["accelerator_ns"]:
        ns = described["accelerator_ns"]
        yield {
            **common,
            **{"thread": 1, "duration_ns": ns, "self_ns": ns, "is_run": False, "accelerator": True},
        }
