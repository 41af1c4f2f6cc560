"""Make a view of tfprof's inputs: nbprof beside the C++ engine, each in its own process.

A separate process writes the inputs to files; ways receive the bytes, so that their memory does not
include making them.
"""

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from ways import compare

TITLE = "From tfprof's inputs to a view"
SIZES = (1_000, 10_000, 100_000, 1_000_000)
WARM_UP = 20
VIEWS = ("op", "scope")
OPS = {"Mul": 2, "Sub": 2, "Relu": 1, "AddV2": 2, "VariableV2": 0, "Identity": 1, "Neg": 1}
"""Op types and their number of inputs; TensorFlow must be able to build the graph."""
FRAMES, TEXTS = 8, 400
FILES = ("graph", "run_meta", "op_log")


def inputs(count):
    """Return a GraphDef, a RunMetadata and an OpLogProto with `count` nodes, serialized."""
    import random

    from tensorflow.core.framework.graph_pb2 import GraphDef
    from tensorflow.core.profiler.tfprof_log_pb2 import OpLogProto
    from tensorflow.core.protobuf.config_pb2 import RunMetadata

    chance = random.Random(0)
    graph, run, log = GraphDef(), RunMetadata(), OpLogProto()
    device = run.step_stats.dev_stats.add(device="/job:localhost/replica:0/task:0/device:CPU:0")
    for number in range(TEXTS):
        log.id_to_string[number] = f"/home/u/file{number}.py"
    for number in range(count):
        name = f"tower_{number % 4}/layer_{number // 100}/block_{number // 10}/op_{number}"
        node = graph.node.add(
            name=name, op=list(OPS)[number % len(OPS)] if number else "VariableV2"
        )
        for _ in range(OPS[node.op]):
            node.input.append(graph.node[chance.randrange(max(0, number - 50), number)].name)
        node.attr["_output_shapes"].list.shape.add().dim.add(size=64)
        if node.op == "VariableV2":
            node.attr["dtype"].type = 1
            node.attr["shape"].shape.dim.add(size=64)
        else:
            node.attr["T"].type = 1
        record = device.node_stats.add(node_name=name, op_end_rel_micros=chance.randrange(100))
        record.all_start_micros = 1_500_000_000_000_000 + 10 * number
        record.memory.add(allocator_name="cpu", total_bytes=chance.randrange(10_000), peak_bytes=9)
        output = record.output.add()
        output.tensor_description.allocation_description.requested_bytes = 8192
        entry = log.log_entries.add(name=name, float_ops=chance.randrange(1000))
        for _ in range(FRAMES):
            trace = entry.code_def.traces.add(file_id=chance.randrange(TEXTS))
            trace.function_id, trace.lineno = chance.randrange(TEXTS), chance.randrange(200)
    return graph.SerializeToString(), run.SerializeToString(), log.SerializeToString()


def engine(view):
    """Return a call of the C++ engine alone: serialized messages in, nothing printed."""
    from tensorflow.core.profiler.tfprof_options_pb2 import OptionsProto
    from tensorflow.python.util import _pywrap_tfprof

    options = OptionsProto(
        max_depth=10_000,
        step=-1,
        order_by="micros",
        account_type_regexes=[".*"],
        start_name_regexes=[".*"],
        show_name_regexes=[".*"],
        select=["bytes", "micros", "occurrence"],
        output="none",
    ).SerializeToString()

    def ask(graph, run, log):
        _pywrap_tfprof.PrintModelAnalysis(graph, run, log, view.encode(), options)

    return ask


def profiler(view):
    """Return what a user would call: a tf.Graph, a Profiler, a step, a view."""
    import tensorflow as tf

    def ask(graph, run, _log):
        made = tf.Graph()
        with made.as_default():
            tf.import_graph_def(tf.compat.v1.GraphDef.FromString(graph), name="")
        asked = tf.compat.v1.profiler.Profiler(made)
        asked.add_step(0, tf.compat.v1.RunMetadata.FromString(run))
        options = tf.compat.v1.profiler.ProfileOptionBuilder.time_and_memory()
        options["output"] = "none"
        (asked.profile_operations if view == "op" else asked.profile_name_scope)(options)

    return ask


def ours(view):
    """Return the same call of nbprof."""
    import nbprof

    def ask(graph, run, log):
        nbprof.load_tfprof(graph, [run], log).view(view, max_depth=10_000)

    return ask


ENGINE, PROFILER, OURS = "C++ engine", "tf.compat.v1.profiler.Profiler", "nbprof.load_tfprof"
ASKED = {ENGINE: engine, PROFILER: profiler, OURS: ours}
LONGEST = {ENGINE: 100_000, PROFILER: 10_000, OURS: 1_000_000}
"""The largest graph for each way; beyond it a call takes minutes."""


def _way(ask, view):
    @contextmanager
    def way(folder):
        given = [(Path(folder) / name).read_bytes() for name in FILES]
        asked = ask(view)
        yield lambda: asked(*given)

    return way


WAYS = {f"{view} {name}": _way(ask, view) for name, ask in ASKED.items() for view in VIEWS}


def make(folder, count):
    """Write the inputs into a folder, in a separate process, unless they are there."""
    made = Path(folder) / f"tfprof_{count}"
    if not (made / FILES[-1]).exists():
        made.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [sys.executable, __file__, made, str(count)], check=True, capture_output=True
        )
    return made


def measure(asked):
    warm_up = make(asked.folder, WARM_UP)
    rows = []
    for count in SIZES:
        if count > asked.nodes:
            continue
        folder = make(asked.folder, count)
        rounds = asked.rounds if count <= 10_000 else 1
        for view in VIEWS:
            ways = [f"{view} {name}" for name in ASKED if count <= LONGEST[name]]
            found = compare("tfprof_inputs", ways, folder, warm_up, rounds)
            peer = found.get(f"{view} {ENGINE}")
            rows += [
                {
                    "nodes": count,
                    "view": view,
                    "way": way.partition(" ")[2],
                    "ratio": figures["seconds"] / peer["seconds"] if peer else None,
                    "seconds": figures["seconds"],
                    "megabytes": figures["megabytes"],
                }
                for way, figures in found.items()
                if figures
            ]
    return rows


if __name__ == "__main__":
    for name, written in zip(FILES, inputs(int(sys.argv[2])), strict=True):
        (Path(sys.argv[1]) / name).write_bytes(written)
