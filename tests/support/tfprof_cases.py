"""Random inputs and options for tfprof: `case(seed)`, and tools for one that fails.

    small = shrink(case(17), fails)     # fails(case) -> bool
    print(repro(small))                 # a program that asks TensorFlow's engine about it

The same seed gives the same case in every process. No case crashes the C++ engine; those are in
tfprof_by_hand.CRASHES.
"""

import dataclasses
import re
from dataclasses import dataclass, field
from random import Random

from google.protobuf import text_format
from support.smaller import fewer, smaller
from support.tfprof_engine import CHECKERS, DEFAULTS
from tensorflow.core.framework.graph_pb2 import GraphDef
from tensorflow.core.profiler.tfprof_log_pb2 import OpLogProto
from tensorflow.core.protobuf.config_pb2 import RunMetadata

VIEWS = ("scope", "graph", "code", "op")
MINIMA = tuple(name for name in DEFAULTS if name.startswith("min_"))
REGEXES = tuple(name for name in DEFAULTS if name.endswith("_regexes"))
ORDERS = (
    *("name", "bytes", "peak_bytes", "residual_bytes", "output_bytes", "micros"),
    *("accelerator_micros", "cpu_micros", "params", "float_ops", "occurrence"),
)
COLUMNS = (*ORDERS[1:], "device", "op_types", "input_shapes", "tensor_value")
PPROF_COLUMNS = ORDERS[1:-1]
"""Columns for pprof output, which takes exactly one of them."""
INVALID_REGEXES = ("(", "a{2,1}", "(?=a).*")
"""Regexes that RE2 refuses; tfprof lets them match nothing."""

CPU, GPU = "/job:localhost/replica:0/task:0/device:CPU:0", "/job:j/replica:0/task:0/device:GPU:0"
DEVICES = {
    **{CPU: 6, GPU: 6, f"{GPU}/stream:all": 6, "/job:j/replica:0/task:0/gpu:1": 1},
    **{"/device:CPU:0": 1, "/device:GPU:0": 1, "/device:GPU:0/stream:all": 1, "/cpu:0": 1},
    **{f"{GPU}/stream:13": 2, f"{GPU}/memcpy": 1, "/job:j/gpu:sync": 1, "/host:CPU": 1},
    **{"cpu:0": 1, "/device:TPU:0": 1, "/device:TPU:0/stream:all": 1, "/device:SYCL:0": 1},
    **{"/device:CPU:0/stream:all": 1, "/device:XLA_GPU:0": 1},
}
"""Device names with the weight of each."""
ALLOCATORS = ("cpu", "GPU_0_bfc", "GPU_1_bfc", "gpu_host_bfc", "cuda_host_bfc")

PARTS = (
    *("a", "b", "c", "a0", "w", "Assign", "read", "mm", "relu", "conv1", "conv2", "conv10", "Z"),
    *("_x", "tower_0", "tower_1", "BatchNorm", "gradients", "mm_grad", "größe"),
)
OPS = (
    *("MatMul", "Conv2D", "Relu", "VariableV2", "VarHandleOp", "Placeholder", "Const", "Add"),
    *("NoOp", "FusedBatchNorm", "SparseSoftmaxCrossEntropyWithLogits", "Größe"),
)
RUNTIME_ONLY = (
    *("_arg_x_0", "_retval_y_0_1", "RecvTensor", "_SOURCE", "MEMCPYHtoD", "a/MEMCPYDtoH", "edge"),
    *("while/body/_1/add", "a/b/late", "gradients/a_grad/late"),
)
TYPES = ("_trainable_variables", "_layer", "MatMul", "UPPER", "_kTFScopeParent")
FILES = ("/home/u/train.py", "train.py", "lib/layers.py", "/other/layers.py", "<ipython-input-1>")
FUNCTIONS = (
    *("<module>", "f", "dense", "nineteen_characters", "twenty_characters_ok", "größe"),
    "a_function_of_thirty_characters",
)
STEPS = ((), (0,), (0,), (0,), (0, 1), (1, 0), (0, 0), (7,), (0, 1, 2), (2, 5, 2), (3, 3, 3))
DIMS = (1, 1, 2, 3, 3, 7, 64, 1000, 0, -1)
NUMBERS = (0, 1, 1, 2, 5, 47, 100, 999, 1000, 1005, 31_415, 999_999, 2_500_000, 1_234_567_890)


@dataclass(frozen=True)
class Case:
    """One question to tfprof."""

    graph: bytes
    """A serialized GraphDef."""
    runs: list[tuple[int, bytes]] = field(default_factory=list)
    """Pairs of step and serialized RunMetadata, in the order in which they are added."""
    op_log: bytes | None = None
    """A serialized OpLogProto."""
    view: str = "scope"
    """One of VIEWS, or "advise"."""
    options: dict = field(default_factory=dict)
    """Options in tfprof's spelling; tfprof_engine.DEFAULTS has those that are absent."""
    output: str = "text"
    """Output to compare: "text", "timeline" or "pprof"."""

    @classmethod
    def from_text(cls, graph="", runs=(), op_log=None, **rest):
        """Return a case of messages in protobuf's text format."""
        return cls(
            graph=_bytes(text_format.Parse(graph, GraphDef())),
            runs=[(step, _bytes(text_format.Parse(run, RunMetadata()))) for step, run in runs],
            op_log=None if op_log is None else _bytes(text_format.Parse(op_log, OpLogProto())),
            **rest,
        )


def _bytes(message):
    return message.SerializeToString(deterministic=True)


def case(seed, output="text", view=None):
    """Draw a case.

    Args:
        seed: any integer.
        output: "text", or "timeline" or "pprof" for cases that write such files.
        view: one of VIEWS or "advise"; drawn when absent.
    """
    draw = Draw(f"{seed} {output} {view}")
    views = {"text": VIEWS, "timeline": ("scope", "graph", "code"), "pprof": ("code",)}[output]
    view = view or draw.choice(views)
    graph = _graph(draw)
    names = [node.name for node in graph.node]
    steps = draw.choice(STEPS[1:] if output == "timeline" and draw.often(0.9) else STEPS)
    runs = [(step, _run(draw, names, negative=output == "text")) for step in steps]
    log = _op_log(draw, names, traced=0.95 if view == "code" else 0.5)
    drawn = _advice(draw) if view == "advise" else _options(draw, view, output, names, steps)
    return Case(
        graph=_bytes(graph),
        runs=[(step, _bytes(run)) for step, run in runs],
        op_log=_bytes(log) if log.ByteSize() or draw.often(0.5) else None,
        view=view,
        options=drawn,
        output=output,
    )


class Draw(Random):
    """A random generator with the draws used here."""

    def often(self, probability):
        return self.random() < probability

    def some(self, items, most):
        """Draw up to `most` items, with repetition."""
        return [self.choice(items) for _ in range(self.randint(0, most))] if items else []

    def number(self):
        """Draw a number of µs or bytes of any magnitude, limits included."""
        return self.choice(NUMBERS) if self.often(0.5) else int(10 ** self.uniform(0, 7))


# The graph


def _graph(draw):
    graph = GraphDef()
    names = _names(draw)
    for place, name in enumerate(names):
        node = graph.node.add(name=name, op=draw.choice(OPS))
        node.input.extend(_inputs(draw, names, place))
        _attributes(draw, node)
    if names and draw.often(0.05):
        graph.node.add(name=draw.choice(names), op="Twice")
    return graph


def _names(draw):
    """Draw nested names, so that some ops have the name of a scope."""
    names = []
    size = draw.choice((1, 3, 6, 8, 10, 12, 15, 20, 30, 50)) if draw.often(0.97) else 0
    for _ in range(size):
        above = draw.choice(names) + "/" if names and draw.often(0.5) else ""
        parts = draw.choice((1, 1, 2, 3))
        name = above + "/".join(draw.choice(PARTS) for _ in range(parts))
        if names and draw.often(0.15):
            prefix = draw.choice(("gradients/", "gradients/", "tower_0/gradients/", "a_grad/"))
            name = f"{prefix}{draw.choice((*names, 'nowhere'))}_grad/{draw.choice(PARTS)}"
        if draw.often(0.01):
            name = draw.choice((f"/{name}", f"{name}/", "a//b", "", "RecvTensor", "xMEMCPYx"))
        names.append(name[:200])
    return list(dict.fromkeys(names))


def _inputs(draw, names, place):
    """Draw inputs from earlier nodes; sometimes any node, an unknown one, or a control edge."""
    for name in draw.some(names[:place], 3):
        if draw.often(0.06):
            name = draw.choice((*names, "nowhere"))
        prefix = "^" if draw.often(0.15) else ""
        suffix = draw.choice((":0", ":1", ":x")) if not prefix and draw.often(0.2) else ""
        yield prefix + name + suffix


def _attributes(draw, node):
    if draw.often(0.4):
        _shape(draw, node.attr["shape"].shape)
    elif draw.often(0.05):
        node.attr["shape"].i = 3
    if draw.often(0.7):
        node.attr["_output_shapes"].list.SetInParent()
        for _ in range(draw.choice((0, 1, 1, 1, 2))):
            _shape(draw, node.attr["_output_shapes"].list.shape.add())
    if draw.often(0.1):
        node.attr["data_format"].s = draw.choice((b"NHWC", b"NCHW"))


def _shape(draw, shape):
    shape.SetInParent()
    if draw.often(0.1):
        shape.unknown_rank = True
        return
    for _ in range(draw.choice((0, 1, 2, 2, 3, 4))):
        shape.dim.add(size=draw.choice(DIMS))


# The runs


def _run(draw, names, negative):
    run = RunMetadata()
    if draw.often(0.02):
        run.partition_graphs.add().node.add(name="a", op="A")
        return run
    run.step_stats.SetInParent()
    devices = draw.choices(list(DEVICES), list(DEVICES.values()), k=draw.choice((0, 1, 2, 3, 4, 6)))
    if draw.often(0.5):
        devices = [CPU, *devices]
    kinds = {"negative": negative and draw.often(0.03), "memory": draw.choice((0.0, 0.5, 0.9))}
    for device in devices:
        stats = run.step_stats.dev_stats.add(device=device)
        for name in draw.some([*names, *names, draw.choice(RUNTIME_ONLY)], 2 * len(names) + 1):
            _record(draw, stats.node_stats.add(), name, **kinds)
    return run


def _record(draw, record, name, negative, memory):
    record.node_name = name + (draw.choice((":MatMul", ":", ":a:b")) if draw.often(0.15) else "")
    record.all_start_micros = 0 if draw.often(0.1) else draw.randint(1, 3000)
    record.op_end_rel_micros = 0 if draw.often(0.15) else draw.number()
    if negative and draw.often(0.3):
        record.op_end_rel_micros = -draw.number()
    record.all_end_rel_micros = draw.number()
    if draw.often(memory):
        for allocator in draw.some(ALLOCATORS, 3):
            _memory(draw, record.memory.add(allocator_name=allocator), negative)
    if draw.often(memory / 3):
        record.memory_stats.temp_memory_size = draw.number()
        record.memory_stats.persistent_memory_size = draw.number()
    if draw.often(memory / 2):
        for slot in range(draw.randint(1, 3)):
            _output(draw, record.output.add(slot=slot))


def _memory(draw, memory, negative):
    memory.total_bytes, memory.peak_bytes, memory.live_bytes = (draw.number() for _ in range(3))
    if negative:
        memory.live_bytes = -memory.live_bytes
    memory.allocator_bytes_in_use = draw.number()
    for _ in range(draw.randint(0, 3)):
        sign = draw.choice((1, 1, -1))
        memory.allocation_records.add(
            alloc_micros=draw.randint(0, 3000), alloc_bytes=sign * draw.number()
        )


def _output(draw, output):
    if draw.often(0.8):
        description = output.tensor_description.allocation_description
        description.requested_bytes, description.allocated_bytes = draw.number(), draw.number()
        description.ptr = draw.randint(1, 1000)


# The log


def _op_log(draw, names, traced):
    log = OpLogProto()
    if draw.often(0.15 if traced < 0.9 else 0.03):
        return log
    stacks = _stacks(draw) if draw.often(traced) else []
    strings = {"none": 0}
    runtime = [name for name in RUNTIME_ONLY if draw.often(0.1)]
    for name in (*names, *draw.some(names, 2), *runtime, "nowhere"):
        if draw.often(0.85):
            entry = log.log_entries.add(name=name, types=draw.some(TYPES, 2))
            entry.float_ops = draw.number() if draw.often(0.5) else 0
            if stacks and draw.often(0.9):
                _trace(entry, draw.choice(stacks) if draw.often(0.98) else (), strings)
    _keep_a_root(log, names)
    for text, number in strings.items() if stacks else ():
        log.id_to_string[number] = text
    return log


def _stacks(draw):
    """Draw call stacks with common outer frames, some a prefix of another."""
    stacks = [()]
    for _ in range(draw.randint(1, 8)):
        frame = (draw.choice(FILES), draw.choice((1, 2, 9, 10)), draw.choice(FUNCTIONS))
        stacks.append((*draw.choice(stacks), frame))
    return stacks[1:]


def _trace(entry, stack, strings):
    entry.code_def.SetInParent()
    for file, line, function in stack:
        entry.code_def.traces.add(
            file_id=strings.setdefault(file, len(strings)),
            lineno=line,
            function_id=strings.setdefault(function, len(strings)),
            func_start_line=-1,
        )


def _keep_a_root(log, names):
    """Drop all stacks if only gradients have one, which would crash the engine."""
    logged = [entry for entry in log.log_entries if entry.HasField("code_def")]
    stacks = {entry.name: entry.code_def.traces for entry in reversed(logged)}  # the first wins
    if not any(stacks[name] for name in names if name in stacks and not is_gradient(name)):
        for entry in log.log_entries:
            entry.ClearField("code_def")


def is_gradient(name):
    """Return whether tfprof takes a name for the gradient of another op."""
    return "gradients/" in name and "_grad/" in name


# The options


def _options(draw, view, output, names, steps):
    limits = (1, 1, 1, 2, 5, 100, draw.number())
    limited = draw.some(MINIMA, draw.choice((0, 0, 0, 0, 1, 3)))
    options = {name: draw.choice(limits) for name in limited}
    if draw.often(0.5):
        least = 1 if view == "code" else 0
        options["max_depth"] = draw.choice((least, 1, 2, 3, 4, 5, 6, 100, 100, 10_000))
    if draw.often(0.7):
        options["order_by"] = draw.choice(ORDERS) if draw.often(0.98) else ""
    if steps and draw.often(0.3):
        options["step"] = draw.choice(steps)
    elif draw.often(0.05):
        options["step"] = draw.choice((0, 1, 11, -2))
    if draw.often(0.3):
        options["account_displayed_op_only"] = draw.often(0.8)
    options.update(_regexes(draw, view, names))
    if output == "pprof":
        options["select"] = [draw.choice(PPROF_COLUMNS)]
    elif draw.often(0.95):
        options["select"] = draw.sample(COLUMNS, draw.choice((0, 1, 2, 3, 5, len(COLUMNS))))
    return options


def _regexes(draw, view, names):
    """Draw regexes that match some of the names this view shows."""
    files = [f"{file.rpartition('/')[2]}:.*" for file in FILES]
    functions = [f".*:{name}" for name in FUNCTIONS[:3]]
    shown = {"code": (*files, *functions, ".* .gradient."), "op": OPS}.get(view, names or ["a"])
    types = (*OPS, *TYPES, ".*gpu:0", ".*cpu.*", ".*GPU.*", "[A-Z].*", "Mat.*|Conv.*")
    options = {}
    for option, probability in zip(REGEXES, (0.3, 0.1, 0.12, 0.15, 0.2), strict=True):
        if draw.often(probability):
            pool = types if option.startswith("account") else shown
            length = draw.choice((0, 1, 1, 1, 2, 2, 3, 3))
            options[option] = [_regex(draw, pool) for _ in range(length)]
    if view == "code" and "trim_name_regexes" in options:
        options["trim_name_regexes"] = [
            regex for regex in options["trim_name_regexes"] if not _may_match_root(regex)
        ]
    return options


def _regex(draw, pool):
    if draw.often(0.02):
        return draw.choice((*INVALID_REGEXES, "", "_TFProfRoot"))
    if draw.often(0.2):
        return ".*"
    text = draw.choice(pool)
    cut = draw.randint(0, len(text))
    forms = (text, text, f"{text}.*", f"{text[:cut]}.*", f".*{text[cut:]}", f"(?i){text.upper()}")
    return draw.choice(forms if text.isidentifier() else (text, f"{text}.*", f".*{text}"))


def _may_match_root(regex):
    try:
        return re.fullmatch(regex, "_TFProfRoot") is not None
    except re.error:
        return False


def _advice(draw):
    return {checker: {} for checker in CHECKERS if draw.often(0.7)}


# Failing cases


def shrink(case, fails):
    """Remove records, nodes, fields and options as long as fails(case) stays true."""
    if not fails(case):
        raise ValueError("this case does not fail")
    before = None
    while before != case:
        before = case
        for reduced in (_fewer_runs, _fewer_options, _smaller_messages):
            case = reduced(case, fails)
    return case


def _fewer_runs(case, fails):
    def with_runs(runs):
        return dataclasses.replace(case, runs=runs)

    return with_runs(fewer(case.runs, lambda runs: fails(with_runs(runs))))


def _fewer_options(case, fails):
    def with_options(items):
        return dataclasses.replace(case, options=dict(items))

    case = with_options(fewer(list(case.options.items()), lambda kept: fails(with_options(kept))))
    for name, value in case.options.items():
        if isinstance(value, list):

            def with_value(value, case=case, name=name):
                return dataclasses.replace(case, options={**case.options, name: value})

            case = with_value(fewer(value, lambda kept, new=with_value: fails(new(kept))))
    return case


def _smaller_messages(case, fails):
    for place, (step, run) in enumerate(case.runs):

        def with_run(run, case=case, place=place, step=step):
            runs = [*case.runs[:place], (step, run), *case.runs[place + 1 :]]
            return dataclasses.replace(case, runs=runs)

        case = with_run(smaller(RunMetadata, run, lambda run, new=with_run: fails(new(run))))
    for name, kind in (("graph", GraphDef), ("op_log", OpLogProto)):
        if getattr(case, name) is not None:

            def with_message(content, case=case, name=name):
                return dataclasses.replace(case, **{name: content})

            content = smaller(kind, getattr(case, name), lambda c, new=with_message: fails(new(c)))
            case = with_message(content)
    return case


def repro(case):
    """Return a program that asks TensorFlow's engine about a case; it needs tests/ on its path."""

    def text(kind, content):
        return text_format.MessageToString(kind.FromString(content), as_utf8=True)

    runs = [(step, text(RunMetadata, run)) for step, run in case.runs]
    log = None if case.op_log is None else text(OpLogProto, case.op_log)
    lines = [
        "from support.tfprof_cases import Case",
        "from support.tfprof_engine import Engine",
        "",
        "case = Case.from_text(",
        f"    graph='''\n{text(GraphDef, case.graph)}''',",
        "    runs=[",
        *(f"        ({step}, '''\n{run}'''),\n" for step, run in runs),
        "    ],",
        "    op_log=None," if log is None else f"    op_log='''\n{log}''',",
        f"    view={case.view!r},",
        f"    options={case.options!r},",
        f"    output={case.output!r},",
        ")",
        "with Engine() as engine:",
        "    answer = engine.ask(case, case.output)",
        "print(answer.text if case.output == 'text' else answer)",
    ]
    return "\n".join(lines) + "\n"
