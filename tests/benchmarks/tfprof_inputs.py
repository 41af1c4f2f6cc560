"""Make a view of tfprof's inputs: nbprof beside the C++ engine, each in its own process.

A separate process writes the inputs to files; the ways receive their bytes, so that the memory of a
way does not include making them.
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
FRAMES = 8
"""Frames of each call stack in the op log."""
TEXTS = 400
"""Distinct strings in the op log."""
FILES = ("graph", "run_meta", "op_log")


def inputs(count):
    """Return a GraphDef, a RunMetadata and an OpLogProto with `count` nodes, serialized."""
    import random

    from tensorflow.core.framework.graph_pb2 import GraphDef
    from tensorflow.core.profiler.tfprof_log_pb2 import OpLogProto
    from tensorflow.core.protobuf.config_pb2 import RunMetadata

    rng = random.Random(0)
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
            node.input.append(graph.node[rng.randrange(max(0, number - 50), number)].name)
        node.attr["_output_shapes"].list.shape.add().dim.add(size=64)
        if node.op == "VariableV2":
            node.attr["dtype"].type = 1
            node.attr["shape"].shape.dim.add(size=64)
        else:
            node.attr["T"].type = 1
        record = device.node_stats.add(node_name=name, op_end_rel_micros=rng.randrange(100))
        record.all_start_micros = 1_500_000_000_000_000 + 10 * number
        record.memory.add(allocator_name="cpu", total_bytes=rng.randrange(10_000), peak_bytes=9)
        output = record.output.add()
        output.tensor_description.allocation_description.requested_bytes = 8192
        entry = log.log_entries.add(name=name, float_ops=rng.randrange(1000))
        for _ in range(FRAMES):
            trace = entry.code_def.traces.add(file_id=rng.randrange(TEXTS))
            trace.function_id, trace.lineno = rng.randrange(TEXTS), rng.randrange(200)
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

    def call(graph, run, log):
        _pywrap_tfprof.PrintModelAnalysis(graph, run, log, view.encode(), options)

    return call


def v1_profiler(view):
    """Return what a user would call: a tf.Graph, a Profiler, a step, a view."""
    import tensorflow as tf

    def call(graph, run, _log):
        tf_graph = tf.Graph()
        with tf_graph.as_default():
            tf.import_graph_def(tf.compat.v1.GraphDef.FromString(graph), name="")
        profiler = tf.compat.v1.profiler.Profiler(tf_graph)
        profiler.add_step(0, tf.compat.v1.RunMetadata.FromString(run))
        options = tf.compat.v1.profiler.ProfileOptionBuilder.time_and_memory()
        options["output"] = "none"
        (profiler.profile_operations if view == "op" else profiler.profile_name_scope)(options)

    return call


def ours(view):
    """Return the same call of nbprof."""
    import nbprof

    def call(graph, run, log):
        nbprof.load_tfprof(graph, [run], log).view(view, max_depth=10_000)

    return call


ENGINE, PROFILER, OURS = "C++ engine", "tf.compat.v1.profiler.Profiler", "nbprof.load_tfprof"
CALLS = {ENGINE: engine, PROFILER: v1_profiler, OURS: ours}
MAX_NODES = {ENGINE: 100_000, PROFILER: 10_000, OURS: 1_000_000}
"""Nodes of the largest graph for each way; beyond it a call takes minutes."""


def _way(make_call, view):
    @contextmanager
    def way(folder):
        messages = [(Path(folder) / name).read_bytes() for name in FILES]
        call = make_call(view)
        yield lambda: call(*messages)

    return way


WAYS = {f"{view} {name}": _way(make, view) for name, make in CALLS.items() for view in VIEWS}


def make(folder, count):
    """Write the inputs in a separate process, unless they exist; return their folder."""
    made = Path(folder) / f"tfprof_{count}"
    if not (made / FILES[-1]).exists():
        made.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [sys.executable, __file__, made, str(count)], check=True, capture_output=True
        )
    return made


def measure(settings):
    warm_up = make(settings.folder, WARM_UP)
    rows = []
    for count in SIZES:
        if count > settings.nodes:
            continue
        folder = make(settings.folder, count)
        rounds = settings.rounds if count <= 10_000 else 1
        for view in VIEWS:
            ways = [f"{view} {name}" for name in CALLS if count <= MAX_NODES[name]]
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
