"""From tfprof's inputs to a view: nbprof beside the C++ engine, each in a process of its own.

A process is asked for one way and size; it gives seconds (the best of a few rounds; the inputs are
bytes in memory) and how far its memory rose above what it had before the first round.
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

SIZES = (1_000, 10_000, 100_000)
OURS_ALONE = 1_000_000
VIEWS = ("op", "scope")
OPS = {"Mul": 2, "Sub": 2, "Relu": 1, "AddV2": 2, "VariableV2": 0, "Identity": 1, "Neg": 1}
"""Op types and how many inputs they have, for TensorFlow must be able to build the graph."""
FRAMES, TEXTS = 8, 400


def inputs(count):
    """Make a GraphDef, a RunMetadata and an OpLogProto of so many nodes, serialized."""
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
    """Ask the C++ engine alone: serialized messages in, nothing printed."""
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
    """Ask as a user does: a tf.Graph, a Profiler, a step, a view."""
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
    """Ask nbprof."""
    import nbprof

    def ask(graph, run, log):
        nbprof.load_tfprof(graph, [run], log).view(view, max_depth=10_000)

    return ask


WAYS = {"C++ engine": engine, "Profiler": profiler, "nbprof": ours}
LONGEST = {"C++ engine": 100_000, "Profiler": 10_000, "nbprof": 1_000_000}
"""The size up to which each is asked: beyond, minutes pass."""


def measure(way, view, count):
    """Time one way in this process."""
    given = inputs(count)
    ask = WAYS[way](view)
    ask(*inputs(20))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    taken = []
    for _ in range(5 if count <= 10_000 else 1):
        began = time.perf_counter()
        ask(*given)
        taken.append(time.perf_counter() - began)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": min(taken), "megabytes": (after - before) / 1024}


def compare():
    """Run every way and size in a process of its own; give and print the figures."""
    found = {}
    print(f"\nFrom tfprof's inputs to a view\n{'':32}{'ratio':>8}{'best':>12}{'memory':>12}")
    for count in (*SIZES, OURS_ALONE):
        for view in VIEWS:
            for way in WAYS:
                if count > LONGEST[way]:
                    continue
                command = [sys.executable, __file__, way, view, str(count)]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                found[f"{count} {view} {way}"] = json.loads(done.stdout.splitlines()[-1])
            peer = found.get(f"{count} {view} C++ engine")
            for way in WAYS:
                figures = found.get(f"{count} {view} {way}")
                if figures:
                    ratio = figures["seconds"] / peer["seconds"] if peer else float("nan")
                    print(
                        f"  {count:>9,} {view:6}{way:14}{ratio:7.2f}×"
                        f"{figures['seconds'] * 1000:9.0f} ms{figures['megabytes']:9.0f} MB"
                    )
    return found


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    print(json.dumps(measure(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
