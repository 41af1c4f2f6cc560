"""tfprof inputs made by hand: the worked examples, and cases that crash the C++ engine."""

from google.protobuf import text_format
from support.tfprof_cases import Case
from tensorflow.core.framework.graph_pb2 import GraphDef
from tensorflow.core.profiler.tfprof_log_pb2 import OpLogProto
from tensorflow.core.protobuf.config_pb2 import RunMetadata

G, C = "/job:j/device:GPU:0", "/job:j/device:CPU:0"


def graph(*nodes):
    """Return a GraphDef of nodes in protobuf's text format, or as "name Op input input"."""
    made = GraphDef()
    for node in nodes:
        if "{" in node or ":" in node:
            text_format.Parse(node, made.node.add())
        else:
            name, op, *inputs = node.split()
            made.node.add(name=name, op=op, input=inputs)
    return made.SerializeToString(deterministic=True)


def run(*records):
    """Return a RunMetadata of (device, node_name, start, op_end_rel[, (total, peak, live)])."""
    made = RunMetadata()
    made.step_stats.SetInParent()
    for device in dict.fromkeys(record[0] for record in records):
        stats = made.step_stats.dev_stats.add(device=device)
        for _, name, start, duration, *memory in (r for r in records if r[0] == device):
            record = stats.node_stats.add(
                node_name=name, all_start_micros=start, op_end_rel_micros=duration
            )
            for total, peak, live in memory:
                record.memory.add(
                    allocator_name="GPU_0_bfc", total_bytes=total, peak_bytes=peak, live_bytes=live
                )
    return made.SerializeToString(deterministic=True)


def op_log(entries, strings=True):
    """Return an OpLogProto of {name: {"types": ..., "float_ops": ..., "stack": ...}}."""
    made = OpLogProto()
    ids = {"none": 0}
    for name, entry in entries.items():
        logged = made.log_entries.add(name=name, float_ops=entry.get("float_ops", 0))
        logged.types.extend(entry.get("types", ()))
        if "stack" in entry:
            logged.code_def.SetInParent()
        for file, line, function in entry.get("stack", ()):
            logged.code_def.traces.add(
                file_id=ids.setdefault(file, len(ids)),
                lineno=line,
                function_id=ids.setdefault(function, len(ids)),
                func_start_line=-1,
            )
    for text, number in ids.items() if strings else ():
        made.id_to_string[number] = text
    return made.SerializeToString(deterministic=True)


def _shapes(*dims):
    sizes = " ".join(f"dim {{ size: {size} }}" for size in dims)
    return f'attr {{ key: "_output_shapes" value {{ list {{ shape {{ {sizes} }} }} }} }}', sizes


def _variable(name, op, *dims):
    outputs, sizes = _shapes(*dims)
    own = f'attr {{ key: "shape" value {{ shape {{ {sizes} }} }} }}'
    return f'name: "{name}" op: "{op}" {outputs} {own}'


def _node(name, op, inputs, *dims):
    listed = " ".join(f'input: "{name}"' for name in inputs)
    return f'name: "{name}" op: "{op}" {listed} {_shapes(*dims)[0]}'


GRADIENT = "gradients/l/mm_grad/MatMul"
STREAM = f"{G}/stream:all"
MODULE, BUILD = ("train.py", 9, "<module>"), "build_the_whole_model"
MODEL = {
    "graph": graph(
        _variable("x", "Placeholder", -1, 2),
        _variable("w", "VariableV2", 2, 3),
        _node("l/mm", "MatMul", ["x", "w"], -1, 3),
        _node("l/relu", "Relu", ["l/mm"], -1, 3),
        _node(GRADIENT, "MatMul", ["l/relu", "w"], -1, 3),
    ),
    "runs": [
        (
            0,
            run(
                (C, "_arg_x_0", 100, 0),
                (G, "w", 100, 2, (24, 24, 24)),
                (G, "l/mm", 110, 40, (2000, 1500, 96)),
                (G, "l/relu:Relu", 160, 5),
                (G, GRADIENT, 170, 30, (500, 500, 0)),
                (STREAM, "l/mm", 120, 900),
                (STREAM, "l/mm", 1030, 300),
                (f"{G}/stream:12", "l/mm", 120, 900),
                (STREAM, GRADIENT, 1400, 77),
            ),
        ),
        (
            1,
            run(
                (G, "w", 5100, 3, (24, 24, 24)),
                (G, "l/mm", 5110, 45, (2000, 1500, 96)),
                (STREAM, "l/mm", 5120, 1000),
            ),
        ),
    ],
    "op_log": op_log(
        {
            "w": {
                "types": ["_trainable_variables"],
                "stack": [MODULE, ("train.py", 4, BUILD), ("layers.py", 7, "dense")],
            },
            "l/mm": {
                "float_ops": 48,
                "stack": [MODULE, ("train.py", 4, BUILD), ("layers.py", 8, "dense")],
            },
            "l/relu": {"stack": [MODULE, ("train.py", 5, BUILD)]},
            GRADIENT: {"float_ops": 48, "stack": [("train.py", 12, "<module>")]},
            "x": {"stack": [("train.py", 3, "<module>")]},
        }
    ),
}
"""A layer that ran twice on a GPU: tfprof-reference.md, section 16."""

WORKED = {
    "w1": ("scope", {"select": ["params", "float_ops", "micros", "bytes", "occurrence"]}),
    "w2": (
        "scope",
        {
            "account_type_regexes": ["_trainable_variables"],
            "account_displayed_op_only": True,
            "select": ["params"],
        },
    ),
    "w3": (
        "scope",
        {
            "min_float_ops": 1,
            "order_by": "float_ops",
            "account_displayed_op_only": True,
            "step": 0,
            "select": ["float_ops"],
        },
    ),
    "w4": (
        "graph",
        {"order_by": "micros", "step": 0, "select": ["micros", "device", "input_shapes"]},
    ),
    "w5": ("code", {"order_by": "micros", "select": ["micros", "params", "occurrence"]}),
    "w6": (
        "op",
        {
            "order_by": "micros",
            "select": ["micros", "bytes", "device", "occurrence", "input_shapes"],
        },
    ),
    "w7": (
        "op",
        {
            "order_by": "cpu_micros",
            "max_depth": 1,
            "account_displayed_op_only": True,
            "step": 1,
            "select": ["cpu_micros"],
        },
    ),
}
WORKED = {
    name: Case(**MODEL, view=view, options=options) for name, (view, options) in WORKED.items()
}
"""Cases with reports in golden/tfprof/<name>.txt."""

TRACED = {"a": {"stack": [("f.py", 1, "f")]}}
ONLY_GRADIENT = {
    "graph": graph("a A", "gradients/a_grad/b B"),
    "op_log": op_log({"gradients/a_grad/b": {"stack": [("f.py", 1, "f")]}}),
}
CRASHES = {
    "a code view of depth 0": Case(
        graph("a A"), op_log=op_log(TRACED), view="code", options={"max_depth": 0}
    ),
    "a code view whose root is trimmed": Case(
        graph("a A"), op_log=op_log(TRACED), view="code", options={"trim_name_regexes": [".*"]}
    ),
    "a code view with call stacks of gradients only": Case(**ONLY_GRADIENT, view="code"),
    "advice with call stacks of gradients only": Case(**ONLY_GRADIENT, view="advise"),
    "a code view with empty call stacks only": Case(
        graph("a A"), op_log=op_log({"a": {"stack": []}}), view="code"
    ),
    "a string number that is not in the log's table": Case(
        graph("a A"), op_log=op_log(TRACED, strings=False), view="code"
    ),
    "a run of no bytes": Case(graph("a A"), runs=[(0, b"")]),
    "a graph that is no GraphDef": Case(b"\xff\xff"),
    "a log that is no OpLogProto": Case(graph("a A"), op_log=b"\xff\xff"),
    "a scope view of a node named like the root": Case(graph("_TFProfRoot A")),
    "a scope view of a node below one named like the root": Case(graph("_TFProfRoot/a A")),
    "a graph view of a node named like the root": Case(graph("_TFProfRoot A"), view="graph"),
    "a timeline of children that take longer than their parent": Case(
        graph("a/b B", "a/c C"),
        runs=[(0, run((C, "a/b", 1, 3), (C, "a/c", 1, -5)))],
        output="timeline",
    ),
}
"""Cases that crash the C++ engine or make it raise an IndexError."""
