"""From tfprof's inputs to the tables of a Profile."""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import pandas as pd

from nbprof._profile import Profile, Recording, no_allocator
from nbprof.arrays import NONE
from nbprof.errors import NbprofError
from nbprof.ingest.tfprof.allocator import make_allocator
from nbprof.ingest.tfprof.checkpoint import Checkpoint
from nbprof.ingest.tfprof.checkpoint_values import value_table
from nbprof.ingest.tfprof.joined_inputs import TfprofInputs
from nbprof.ingest.tfprof.profile_source import Dims, Source
from nbprof.lazy_tables import lazily

CHECKPOINTED = "_checkpoint_variables"

NO_RUNS = "no run metadata: nothing is known of time and memory"
NO_LOG = (
    "no op log, or an empty one: float_ops, what is trainable and lines of Python are not known "
    "(tf.compat.v1.profiler.write_op_log writes one)"
)
NO_STREAMS = (
    "a GPU was used, but the run metadata has no records of its streams: accelerator times are "
    "missing (was CUPTI found?)"
)


def spell(dims: Dims) -> str:
    """Write a shape as tfprof does; unknown dimensions are -1."""
    return "x".join(map(str, dims))


def _each_once(function: Callable[[Dims], Any], shapes: list[Dims]) -> list[Any]:
    """Call a function for each distinct shape only."""
    known = {dims: function(dims) for dims in set(shapes)}
    return list(map(known.__getitem__, shapes))


def make_profile(inputs: Source, what: str, checkpoint: Checkpoint | None = None) -> Profile:
    """Make the Profile of a graph, its runs and its log."""
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
        recording=Recording(what, how, 0, 0, tfprof=True),
        notes=(*notes, NO_STREAMS) if inputs.misses_streams else notes,
    )


def _allocator(inputs: Source) -> pd.DataFrame:
    """Give what runs say of accelerators' memory; a saved profile is not read for it."""
    if isinstance(inputs, TfprofInputs):
        return make_allocator(inputs)
    return no_allocator()


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
    own = inputs.device_of_node.tolist()
    devices = [inputs.devices[device] if device != NONE else "" for device in own]
    return pd.DataFrame(
        {
            "name": pd.Series(names, dtype=object),
            "op_type": pd.Series(inputs.ops, dtype=object),
            "device": pd.Series(devices, dtype=object),
            "shape": pd.Series(_each_once(spell, shapes), dtype=object),
            "params": np.array(_each_once(_elements, shapes), dtype=np.float64),
            "layer": np.zeros(len(names), dtype=np.int32),
            "data_format": pd.Series(inputs.data_formats(), dtype=object),
        }
    )


def _elements(dims: Dims) -> float:
    """Count the parameters: those of a shape that is not fully known are none."""
    return float(prod(dims)) if dims and min(dims) >= 0 else 0.0


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
    node, position, source, shapes = inputs.edges()
    return pd.DataFrame(
        {
            "node": node,
            "position": position,
            "source": source,
            "shape": pd.Series([spell(dims) or "unknown" for dims in shapes], dtype=object),
        }
    )


def _frames(inputs: Source) -> pd.DataFrame:
    """List the frames of all stacks; the stack of a node has the node's number."""
    traces = inputs.traces
    columns = ["stack", "file", "line", "function", "source", "framework", "function_line"]
    if traces is None:
        return pd.DataFrame(columns=columns).astype({"framework": bool})
    node_of_entry = {entry: node for node, entry in inputs.stack_entries()}
    texts = inputs.texts()
    rows: list[tuple[Any, ...]] = []
    fields = (traces.owner, traces.file_id, traces.lineno, traces.function_id, traces.line_id)
    numbers = (field.tolist() for field in (*fields, traces.func_start_line))
    for entry, file, line, function, source, function_line in zip(*numbers, strict=True):
        node = node_of_entry.get(entry)
        if node is not None:
            rows.append(
                (
                    node,
                    _text(texts, file),
                    line,
                    _text(texts, function),
                    texts.get(source, ""),
                    False,
                    function_line,
                )
            )
    return pd.DataFrame(rows, columns=columns).astype({"framework": bool})


def _text(texts: dict[int, str], number: int) -> str:
    if number not in texts:
        raise NbprofError(
            f"the op log's call stacks use text {number}, which its table of texts does not have; "
            "the code view needs a whole op log."
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
