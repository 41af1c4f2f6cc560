"""The nodes of a Profile as tfprof saves them."""

import re
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import Ints, Mask, each_position
from nbprof.export.protobuf_writer import bytes_field
from nbprof.export.saved_profile.exec_columns import save_execs
from nbprof.protos.profile_fields import KEY, VALUE
from nbprof.protos.saved_profile import (
    Labels,
    NumberMap,
    SavedProfile,
    StringTable,
    Traces,
    TupleMap,
)
from nbprof.protos.texts import Texts, to_utf8

if TYPE_CHECKING:
    from nbprof._profile import Profile

GPU = re.compile(r"gpu:\d+")
DATA_FORMAT = b"data_format"
ATTR_TEXT = 2
"""Field number of the text in an AttrValue."""

SCALAR = "scalar"

Dims = tuple[int, ...]


def saved_profile(profile: "Profile") -> SavedProfile:
    """Describe each node as tfprof does; its number is its row."""
    nodes = profile.nodes
    number = np.arange(len(nodes))
    devices = [device.lower() for device in nodes["device"]]
    shapes = [_dims(text) for text in nodes["shape"]]
    inputs, outputs, output_shapes = _edges(profile)
    has_code, traces, strings = save_stacks(profile)
    return SavedProfile(
        key=number,
        id=number,
        name=Texts.of(_distinct(nodes["name"].tolist())),
        op=Texts.of(nodes["op_type"].tolist()),
        canonical_device=Texts.of(devices),
        host_device=Texts.of([GPU.sub("cpu:0", device) for device in devices]),
        float_ops=_float_ops(profile),
        inputs=inputs,
        src_output_index=outputs,
        shape=np.array([size for dims in shapes for size in dims], dtype=np.int64),
        shape_owner=np.repeat(number, [len(dims) for dims in shapes]),
        output_shapes=output_shapes,
        op_types=_types(profile, devices),
        attributes=_attributes(profile),
        has_code=has_code,
        traces=traces,
        execs=save_execs(profile),
        steps=profile.steps["step"].to_numpy(np.int64),
        id_to_string=strings,
        has_trace=profile.has_stacks and bool(has_code.any()),
        miss_accelerator_stream=False,
    )


def _dims(text: str) -> Dims:
    """Parse a shape of the tables; tfprof treats a scalar as one dimension of 1."""
    if text == SCALAR:
        return (1,)
    return tuple(map(int, text.split("x"))) if text and text != "unknown" else ()


def _distinct(names: list[str]) -> list[str]:
    """Append numbers to repeated names, since tfprof identifies nodes by name."""
    taken = set(names)
    seen: set[str] = set()
    found = []
    for name in names:
        new, number = name, 0
        while new in seen or (number and new in taken):
            number += 1
            new = f"{name}_{number}"
        seen.add(new)
        found.append(new)
    return found


def _float_ops(profile: "Profile") -> Ints:
    """Return the float operations of one run of each node; unknown is 0, as in tfprof."""
    if profile.recording.tfprof:
        return profile.float_ops.to_numpy().astype(np.int64)
    events, count = profile.events, len(profile.nodes)
    node = events["node"].to_numpy()
    known = np.nan_to_num(events["float_ops"].to_numpy(np.float64))
    total = np.bincount(node, weights=known, minlength=count)
    runs = np.bincount(node, weights=events["is_run"].to_numpy(), minlength=count)
    return np.rint(total / np.maximum(runs, 1)).astype(np.int64)


def _types(profile: "Profile", devices: list[str]) -> Labels:
    columns = zip(profile.nodes["op_type"], devices, profile.types, strict=True)
    lists = [
        sorted({op_type, *types, *filter(None, (device,))}) for op_type, device, types in columns
    ]
    return _labels([[*map(to_utf8, texts)] for texts in lists])


def _attributes(profile: "Profile") -> Labels:
    if "data_format" not in profile.nodes:
        return _labels([[] for _ in range(len(profile.nodes))])
    return _labels(
        [[_attribute(text)] if text else [] for text in profile.nodes["data_format"]],
    )


def _attribute(text: str) -> bytes:
    """Return the encoded map entry of a data format."""
    value = bytes_field(ATTR_TEXT, to_utf8(text)[:100])
    return bytes_field(KEY, DATA_FORMAT) + bytes_field(VALUE, value)


def _labels(lists: list[list[bytes]]) -> Labels:
    owner = np.repeat(np.arange(len(lists)), [len(texts) for texts in lists])
    return Labels(owner, Texts.of([text for texts in lists for text in texts]))


def _edges(profile: "Profile") -> tuple[NumberMap, NumberMap, TupleMap]:
    """Return the inputs of known nodes, which output each takes, and the shapes of those outputs.

    A node's outputs are numbered by the distinct shapes that its consumers see.
    """
    table = profile.inputs
    known = table[table["source"] >= 0].sort_values(["node", "position"], kind="stable")
    node, position, source = (
        known[name].to_numpy(np.int64) for name in ("node", "position", "source")
    )
    outputs: dict[int, dict[str, int]] = {}
    taken: dict[tuple[int, int], int] = {}
    edges = zip(node.tolist(), source.tolist(), known["shape"], strict=True)
    for consumer, producer, shape in edges:
        if shape != "unknown":
            numbers = outputs.setdefault(producer, {})
            taken[consumer, producer] = numbers.setdefault(shape, len(numbers))
    pairs = np.array(list(taken), dtype=np.int64).reshape(-1, 2)
    return (
        NumberMap(node, position, source),
        NumberMap(pairs[:, 0], pairs[:, 1], np.array(list(taken.values()), dtype=np.int64)),
        _output_shapes(outputs),
    )


def _output_shapes(outputs: dict[int, dict[str, int]]) -> TupleMap:
    """Return the shapes, given the number of each node's outputs by shape."""
    rows = sorted(
        (producer, number, _dims(text))
        for producer, numbers in outputs.items()
        for text, number in numbers.items()
    )
    length = np.array([len(dims) for *_, dims in rows], dtype=np.int64)
    return TupleMap(
        owner=np.array([producer for producer, *_ in rows], dtype=np.int64),
        key=np.array([number for _, number, _ in rows], dtype=np.int64),
        start=np.cumsum(length) - length,
        length=length,
        values=np.array([size for *_, dims in rows for size in dims], dtype=np.int64),
    )


START_NOT_KNOWN = -1
"""Stands for a function whose first line is unknown; TensorFlow 2 always writes this."""


def save_stacks(profile: "Profile") -> tuple[Mask, Traces, StringTable]:
    """Return which nodes have a stack, the frames of each node's first one, and their texts."""
    frames = profile.frames
    of_frame = frames["stack"].to_numpy(np.int64)
    order = np.argsort(of_frame, kind="stable")
    stack = _stack_of_node(profile)
    first = np.searchsorted(of_frame[order], stack)
    length = np.searchsorted(of_frame[order], stack, side="right") - first
    length[stack < 0] = 0
    frame = order[each_position(first, length)]

    number: dict[str, int] = {"": 0}
    ids = {
        name: np.array([number.setdefault(text, len(number)) for text in frames[name]], np.int64)
        for name in ("file", "function", "source")
    }
    traces = Traces(
        owner=np.repeat(np.arange(len(stack)), length),
        file_id=ids["file"][frame],
        lineno=frames["line"].to_numpy(np.int64)[frame],
        function_id=ids["function"][frame],
        line_id=ids["source"][frame],
        func_start_line=np.full(len(frame), START_NOT_KNOWN),
    )
    return length > 0, traces, StringTable(np.arange(len(number)), Texts.of(list(number)))


def _stack_of_node(profile: "Profile") -> Ints:
    """Return the stack of each node, -1 for none; in tfprof's inputs both have the same number."""
    if profile.recording.tfprof:
        return np.arange(len(profile.nodes))
    found = np.full(len(profile.nodes), -1)
    stack = profile.events["stack"].to_numpy(np.int64)
    known = np.flatnonzero(stack >= 0)[::-1]  # reversed, so that the first one wins
    found[profile.events["node"].to_numpy()[known]] = stack[known]
    return found
