"""Make a Profile from tfprof's inputs, table by table."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import pandas as pd

from nbprof._profile import Profile, no_allocator
from nbprof.arrays import NONE, Ints
from nbprof.errors import NbprofError
from nbprof.ingest.tfprof.checkpoint import Checkpoint, value_table
from nbprof.ingest.tfprof.joined_inputs import TfprofInputs, joined
from nbprof.ingest.tfprof.profile_source import Dims, Source
from nbprof.lazy_tables import lazily
from nbprof.recording import Recording

CHECKPOINTED = "_checkpoint_variables"
"""Type that tfprof gives to nodes that are variables of the checkpoint."""

CPU = "cpu"
"""Part of the names of devices whose memory tfprof does not track over time."""

NO_RUNS = "no run metadata: time and memory are unknown"
NO_LOG = (
    "no op log, or an empty one: float_ops, trainable variables and lines of Python are unknown "
    "(tf.compat.v1.profiler.write_op_log writes one)"
)
NO_STREAMS = (
    "a GPU was used, but the run metadata has no records of its streams: accelerator times are "
    "missing (check that TensorFlow finds CUPTI)"
)


def make_profile(inputs: Source, what: str, checkpoint: Checkpoint | None = None) -> Profile:
    """Make the Profile; `what` names the source in its headline."""
    saved = frozenset(checkpoint.variables) if checkpoint is not None else frozenset[str]()
    how = f"tfprof's inputs, {len(inputs.names):,} nodes"
    notes: tuple[str, ...] = () if inputs.steps else (NO_RUNS,)
    if not inputs.has_log:
        notes += (NO_LOG,)
    return Profile(
        nodes=_nodes(inputs),
        logged=lazily(lambda: _logged(inputs, saved)),
        events=_events(inputs),
        layers=lazily(_no_layers),
        inputs=lazily(lambda: _inputs(inputs)),
        shapes=lazily(lambda: pd.DataFrame({"shapes": [()]}, dtype=object)),
        allocations=lazily(_no_allocations),
        values=lazily(lambda: value_table(inputs.names, checkpoint)),
        allocator=lazily(lambda: _allocator(inputs)),
        frames=lazily(lambda: _frames(inputs)),
        threads=lazily(lambda: _threads(inputs)),
        steps=lazily(lambda: _steps(inputs)),
        traces=lazily(_no_traces),
        spent=lazily(lambda: pd.DataFrame({"category": [], "ns": []})),
        recording=Recording(what=what, how=how, wall_ns=0, cost_ns=0, tfprof=True),
        notes=(*notes, NO_STREAMS) if inputs.misses_streams else notes,
    )


def _allocator(inputs: Source) -> pd.DataFrame:
    """Return the accelerators' memory over time: changes, then readings.

    A saved profile has none.
    """
    if not isinstance(inputs, TfprofInputs):
        return no_allocator()
    runs, event = inputs.runs, inputs.event_of_record
    first = np.cumsum([0, *map(len, runs)])[: len(runs)].tolist()
    record = joined(run.allocations.record + begin for run, begin in zip(runs, first, strict=True))
    end = joined(run.all_start_micros + run.op_end_rel_micros for run in runs)
    changed_at = joined(run.allocations.micros for run in runs)
    changes = joined(run.allocations.bytes for run in runs)
    parts = [
        _allocator_part("change", event[record], changed_at, changes),
        _allocator_part("in use", event, end, joined(run.memory.in_use for run in runs)),
        _allocator_part("persistent", event, end, joined(run.memory.persistent for run in runs)),
    ]
    table = pd.concat(parts, ignore_index=True)
    is_cpu = np.array([CPU in device for device in inputs.devices], dtype=bool)
    records = inputs.records
    is_tracked = np.append(records.is_run & ~is_cpu[records.device], False)  # the last is for NONE
    kept: pd.DataFrame = table[is_tracked[table["event"].to_numpy()]]
    return kept.reset_index(drop=True)


def _allocator_part(kind: str, event: Ints, micros: Ints, size: Ints) -> pd.DataFrame:
    return pd.DataFrame({"event": event, "kind": kind, "micros": micros, "bytes": size})


def _logged(inputs: Source, saved: frozenset[str]) -> pd.DataFrame:
    types = inputs.types
    if saved:
        types = [
            (*known, CHECKPOINTED) if name in saved else known
            for name, known in zip(inputs.names, types, strict=True)
        ]
    return pd.DataFrame(
        {
            "types": pd.Series(types, dtype=object),
            "float_ops": inputs.float_ops.astype(np.float64),
            "has_stack": inputs.has_stack,
        }
    )


def _no_layers() -> pd.DataFrame:
    return pd.DataFrame({"name": ["outside layers"], "kind": [""], "parent": [NONE]})


def _nodes(inputs: Source) -> pd.DataFrame:
    names, shapes = inputs.names, inputs.shapes()
    device_names = [*inputs.devices, ""]  # the last one, at NONE, for nodes without a device
    devices = [device_names[device] for device in inputs.device_of_node.tolist()]
    return pd.DataFrame(
        {
            "name": pd.Series(names, dtype=object),
            "op_type": pd.Series(inputs.ops, dtype=object),
            "device": pd.Series(devices, dtype=object),
            "shape": pd.Series(_each_once(_spell, shapes), dtype=object),
            "params": np.array(_each_once(_elements, shapes), dtype=np.float64),
            "layer": np.zeros(len(names), dtype=np.int32),
            "data_format": pd.Series(inputs.data_formats(), dtype=object),
        }
    )


def _spell(dims: Dims) -> str:
    """Return a shape as tfprof writes it; unknown dimensions are -1."""
    return "x".join(map(str, dims))


def _elements(dims: Dims) -> float:
    """Return the number of parameters; 0 if the shape is not fully known."""
    return float(prod(dims)) if dims and min(dims) >= 0 else 0.0


def _each_once(function: Callable[[Dims], Any], shapes: list[Dims]) -> list[Any]:
    """Map a function over shapes, calling it once per distinct shape."""
    known = {dims: function(dims) for dims in set(shapes)}
    return list(map(known.__getitem__, shapes))


def _events(inputs: Source) -> pd.DataFrame:
    records = inputs.records
    count = len(records.node)
    return pd.DataFrame(
        {
            "node": records.node.astype(np.int32),
            "step": records.step,
            "thread": records.device.astype(np.int32),
            "start_ns": records.start * 1000,
            "duration_ns": records.duration * 1000,
            "self_ns": records.micros * 1000,
            "is_run": records.is_run,
            "accelerator": records.accelerator,
            "stack": np.full(count, NONE, dtype=np.int32),
            "layer": np.zeros(count, dtype=np.int32),
            "backward": np.zeros(count, dtype=bool),
            "input_shapes": np.zeros(count, dtype=np.int32),
            "output_shapes": np.zeros(count, dtype=np.int32),
            "float_ops": np.zeros(count),
            "output_bytes": records.output_bytes.astype(np.float64),
            "bytes": records.bytes.astype(np.float64),
            "peak_bytes": records.peak_bytes.astype(np.float64),
            "residual_bytes": records.residual_bytes.astype(np.float64),
        }
    )


def _inputs(inputs: Source) -> pd.DataFrame:
    edges = inputs.edges()
    return pd.DataFrame(
        {
            "node": edges.node,
            "position": edges.position,
            "source": edges.source,
            "shape": pd.Series([_spell(dims) or "unknown" for dims in edges.shapes], dtype=object),
        }
    )


def _frames(inputs: Source) -> pd.DataFrame:
    """Return the frames of all stacks; the number of a stack is that of its node."""
    columns = ["stack", "file", "line", "function", "source", "framework", "function_line"]
    traces, texts = inputs.traces, inputs.texts()
    node_of_entry = {entry: node for node, entry in inputs.stack_entries()}
    rows: list[tuple[Any, ...]] = []
    if traces is not None:
        texts_of = (traces.file_id, traces.function_id, traces.line_id)
        numbers = (traces.owner, *texts_of, traces.lineno, traces.func_start_line)
        frames = zip(*(column.tolist() for column in numbers), strict=True)
        rows = [
            (
                *(node_of_entry[entry], _text(texts, file), line, _text(texts, function)),
                *(texts.get(source, ""), False, function_line),
            )
            for entry, file, function, source, line, function_line in frames
            if entry in node_of_entry
        ]
    return pd.DataFrame(rows, columns=columns).astype({"framework": bool})


def _text(texts: dict[int, str], number: int) -> str:
    if number not in texts:
        raise NbprofError(
            f"the op log is incomplete: its call stacks use text {number}, which is missing from "
            "its table of texts. Write the log again to see the code view."
        )
    return texts[number]


def _threads(inputs: Source) -> pd.DataFrame:
    devices = pd.Series(inputs.devices, dtype=object)
    return pd.DataFrame({"name": devices, "device": devices})


def _steps(inputs: Source) -> pd.DataFrame:
    records = inputs.records
    timed = records.start > 0
    found = []
    for step in sorted(set(inputs.steps)):
        chosen = timed & (records.step == step)
        start = records.start[chosen]
        end = start + records.micros[chosen]
        began, ended = (int(start.min()), int(end.max())) if len(start) else (0, 0)
        found.append((step, float(began), float(ended - began), "Session.run", False))
    return pd.DataFrame(found, columns=["step", "start_micros", "micros", "function", "traced"])


def _no_allocations() -> pd.DataFrame:
    texts = dict.fromkeys(("device", "region", "shape", "dtype"), object)
    numbers = {**dict.fromkeys(("event", "node", "start_ns", "bytes"), np.int64), "end_ns": float}
    order = ("event", "node", "device", "start_ns", "end_ns", "bytes", "region", "shape", "dtype")
    kinds: dict[str, Any] = {**texts, **numbers}
    return pd.DataFrame({name: pd.Series(dtype=kinds[name]) for name in order})


def _no_traces() -> pd.DataFrame:
    columns = ["function", "count", "step", "start_micros", "micros", "changed"]
    return pd.DataFrame({name: pd.Series(dtype=object) for name in columns})
