"""Where HLO ops come from: the modules that JAX' profiler puts into a trace know their makers.

An instruction has the path of the program that made it (`jit(train_step)/jvp()/dot_general`) and
the Python stack of that moment, as numbers into tables of its module.

The field numbers are those of ``xla/service/hlo.proto``.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import NONE, Rows
from nbprof.ingest.protobuf.wire import LENGTH, VARINT, Buffer, Spans, scan
from nbprof.ingest.trace.node_names import Resolved, function_of_module
from nbprof.ingest.xspace.metadata_stats import read_event_metadata

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbprof.capture.capture import Frame, Stack
    from nbprof.ingest.trace.op_runs import Runs
    from nbprof.ingest.xspace.xspace import XSpace

PLANE, PROTO = "/host:metadata", b"Hlo Proto"
MODULE = 1 << 3 | LENGTH
MODULE_NAME, COMPUTATION, FRAME_INDEX = (number << 3 | LENGTH for number in (1, 3, 17))
INSTRUCTION = 2 << 3 | LENGTH
NAME, METADATA = 1 << 3 | LENGTH, 7 << 3 | LENGTH
OP_NAME, FRAME = 2 << 3 | LENGTH, 15 << 3 | VARINT
FILES, FUNCTIONS, LOCATIONS, FRAMES = (number << 3 | LENGTH for number in (1, 2, 3, 4))
FIRST, SECOND, THIRD = (number << 3 | VARINT for number in (1, 2, 3))

_OF_JAX = re.compile(r"(jit|pjit|pmap|xmap|shard_map)_")
"""How the modules are named that JAX compiles."""
_PATH = re.compile(r"\w+\(")
"""How the paths begin that JAX gives to ops."""
DEEPEST = 1_000


@dataclass(frozen=True)
class Made:
    """How an HLO op came about."""

    path: str
    """Where in the program, or an empty text."""
    stack: "Stack"


Modules = dict[str, dict[str, Made]]
"""By module, spelled as a function, and instruction."""


def read_modules(
    space: "XSpace", data: bytes, source: str, nodes: "Sequence[tuple[str, str, str]]"
) -> Modules:
    """Read the modules of the functions that JAX compiled and that ran."""
    ran = {function for function, node, _ in nodes if node.startswith("/")}
    ran = {function for function in ran if _OF_JAX.match(function)}
    if not ran or PLANE not in space.plane_names:
        return {}
    found: Modules = {}
    for stats in read_event_metadata(data, source, PLANE.__eq__).values():
        proto = stats.get(PROTO)
        if isinstance(proto, bytes):
            name, made = _read_module(Buffer(proto, f"a module in {source}"))
            function = function_of_module(name)
            if function in ran:
                found[function] = made | found.get(function, {})
    return found


def place_hlo_ops(
    resolved: list[Resolved], modules: Modules
) -> "tuple[list[Resolved], list[Stack]]":
    """Name HLO ops by the path that made them; give that, and the stack of each node."""
    stacks: list[Stack] = [()] * len(resolved)
    if not modules:
        return resolved, stacks
    roots = {function: _root(made) for function, made in modules.items()}
    placed = list(resolved)
    for row, place in enumerate(resolved):
        op = place.node.removeprefix("/")
        if op == place.node or place.owner not in modules:
            continue
        made = modules[place.owner].get(op, Made("", ()))
        stacks[row] = made.stack
        path = made.path or roots[place.owner]
        if path:
            placed[row] = place._replace(node=f"{path}/{op}")
    return placed, stacks


def add_stacks(
    stack: Rows, first: int, of_node: "list[Stack]", runs: "Runs"
) -> "tuple[Rows, list[Stack]]":
    """Give the runs the stacks of their nodes; give these, too, the numbers of which begin there.

    The files of a trace are of another time or machine: their lines are not looked up here.
    """
    distinct = list(dict.fromkeys(one for one in of_node if one))
    if not distinct:
        return stack, []
    number = {one: first + place for place, one in enumerate(distinct)}
    known = np.array([number.get(one, NONE) for one in of_node], dtype=np.intp)[runs.node]
    return np.where(stack == NONE, known, stack), distinct


def _root(made: dict[str, Made]) -> str:
    """Give the first part of all paths, if it is one."""
    firsts = {one.path.partition("/")[0] for one in made.values() if _PATH.match(one.path)}
    return next(iter(firsts)) if len(firsts) == 1 else ""


def _read_module(buffer: Buffer) -> tuple[str, dict[str, Made]]:
    name, begins, sizes, index = "", [], [], (0, 0)
    for begin, end in _messages(buffer, 0, len(buffer.data), MODULE):
        position = begin
        while position < end:
            tag, value, at, position = buffer.field(position, end)
            if tag == MODULE_NAME:
                name = buffer.data[at : at + value].decode(errors="replace")
            elif tag == COMPUTATION:
                begins.append(at)
                sizes.append(value)
            elif tag == FRAME_INDEX:
                index = (at, at + value)
    computations = Spans(np.arange(len(begins)), np.array(begins, int), np.array(sizes, int))
    return name, _read_instructions(buffer, computations, _stacks(buffer, *index))


def _messages(buffer: Buffer, position: int, end: int, wanted: int) -> "Iterator[tuple[int, int]]":
    for tag, size, begin in buffer.fields(position, end):
        if tag == wanted:
            yield begin, begin + size


def _read_instructions(
    buffer: Buffer, computations: Spans, stacks: "list[Stack]"
) -> dict[str, Made]:
    spans = scan(buffer, computations).messages(INSTRUCTION)
    count = len(spans)
    fields = scan(buffer, Spans(np.arange(count), spans.begin, spans.size))
    names = fields.texts(NAME, count, buffer.data)
    metadata = fields.last(count, METADATA)
    inner = scan(buffer, Spans(metadata.row, metadata.begin, metadata.value))
    paths = inner.texts(OP_NAME, count, buffer.data)
    frames = inner.numbers(FRAME, count).tolist()
    return {
        name.decode(errors="replace"): Made(
            _path(path), stacks[frame] if 0 < frame < len(stacks) else ()
        )
        for name, path, frame in zip(names, paths, frames, strict=True)
    }


def _path(text: bytes) -> str:
    """Give the first of the paths of ops that were made one; other texts are no paths."""
    path = text.decode(errors="replace").partition(";")[0].rstrip(":/")
    return path if _PATH.match(path) else ""


def _stacks(buffer: Buffer, begin: int, end: int) -> "list[Stack]":
    """Spell the stacks of a module by their numbers, which count from 1."""
    texts: dict[int, list[str]] = {FILES: [""], FUNCTIONS: [""]}
    pairs: dict[int, list[dict[int, int]]] = {LOCATIONS: [{}], FRAMES: [{}]}
    for tag, size, at in buffer.fields(begin, end):
        if tag in texts:
            texts[tag].append(buffer.data[at : at + size].decode(errors="replace"))
        elif tag in pairs:
            pairs[tag].append({key: value for key, value, _ in buffer.fields(at, at + size)})
    files, functions = texts[FILES], texts[FUNCTIONS]
    locations = [
        (
            _at(files, one.get(FIRST, 0)),
            one.get(THIRD, 0),
            _at(functions, one.get(SECOND, 0)).rpartition(".")[2] or "<module>",
        )
        for one in pairs[LOCATIONS]
    ]
    stacks: list[Stack] = [()]
    for number in range(1, len(pairs[FRAMES])):
        frames: list[Frame] = []
        while 0 < number < len(pairs[FRAMES]) and len(frames) < DEEPEST:
            frame = pairs[FRAMES][number]
            location = frame.get(FIRST, 0)
            # One line may open several scopes.
            if 0 < location < len(locations) and locations[location] not in frames[-1:]:
                frames.append(locations[location])
            number = frame.get(SECOND, 0)
        stacks.append(tuple(frames[::-1]))
    return stacks


def _at(texts: list[str], number: int) -> str:
    return texts[number] if number < len(texts) else ""
