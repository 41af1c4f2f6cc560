"""Where HLO ops come from, according to the modules that JAX's profiler puts into a trace.

An instruction has a path in the program (`jit(train_step)/jvp()/dot_general`) and the Python stack
that made it, as indices into tables of its module.

The field numbers are those of ``xla/service/hlo.proto``.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import NONE
from nbprof.ingest.protobuf.wire import LENGTH, VARINT, Buffer, Spans, scan
from nbprof.ingest.trace.function_names import function_of_module
from nbprof.ingest.xspace.metadata_stats import read_event_metadata

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbprof.capture.capture import Frame, Stack
    from nbprof.ingest.trace.program.node_names import Resolved
    from nbprof.ingest.trace.work.op_runs import Executed
    from nbprof.ingest.xspace.xspace import XSpace

PLANE, PROTO = "/host:metadata", b"Hlo Proto"
MODULE = 1 << 3 | LENGTH
COMPUTATION, FRAME_INDEX = (number << 3 | LENGTH for number in (3, 17))
INSTRUCTION = 2 << 3 | LENGTH
NAME, METADATA = 1 << 3 | LENGTH, 7 << 3 | LENGTH
OP_NAME, FRAME = 2 << 3 | LENGTH, 15 << 3 | VARINT
FILES, FUNCTIONS, LOCATIONS, FRAMES = (number << 3 | LENGTH for number in (1, 2, 3, 4))
FIRST, SECOND, THIRD = (number << 3 | VARINT for number in (1, 2, 3))

_JAX_MODULE = re.compile(r"(jit|pjit|pmap|xmap|shard_map)_")
"""Matches the start of the names of modules that JAX compiles."""
_PROGRAM = re.compile(r"(?P<module>.*?)(\((?P<program>\d+)\))?", re.DOTALL)
"""Matches the names under which modules are stored."""
_JAX_PATH = re.compile(r"\w+\(")
"""Matches the start of the paths that JAX gives to ops."""
DEEPEST = 1_000
"""Maximum number of frames of a stack to follow, in case they form a cycle."""


@dataclass(frozen=True)
class HloOrigin:
    """The place in the program that made an HLO op."""

    path: str
    """Path in the program, such as `jit(train_step)/jvp()/dot_general`; empty if unknown."""
    stack: "Stack"


Modules = dict[str, dict[str, HloOrigin]]
"""`{function compiled into a module: {instruction: origin}}`."""


@dataclass(frozen=True)
class StoredModule:
    """A compiled function as the trace has it."""

    function: str
    program: int
    """The number that events state of the module they ran, NONE if unknown."""
    proto: bytes
    """An HloProto."""


def find_modules(
    space: "XSpace", data: bytes, source: str, nodes: "Sequence[Executed]"
) -> list[StoredModule]:
    """Find the modules of the compiled functions that ran."""
    ran = {node.function for node in nodes if node.name.startswith("/")}
    if not ran or PLANE not in space.plane_names:
        return []
    found = []
    for (_, event, _), stats in read_event_metadata(data, source, PLANE.__eq__).items():
        proto = stats.get(PROTO)
        name = _PROGRAM.fullmatch(event.decode(errors="replace"))
        if isinstance(proto, bytes) and name and function_of_module(name["module"]) in ran:
            program = int(name["program"]) if name["program"] else NONE
            found.append(StoredModule(function_of_module(name["module"]), program, proto))
    return found


def read_modules(stored: "Sequence[StoredModule]", source: str) -> Modules:
    """Read where the ops of the functions that JAX compiled come from."""
    found: Modules = {}
    for module in stored:
        if _JAX_MODULE.match(module.function):
            origins = _read_module(Buffer(module.proto, f"a module in {source}"))
            found[module.function] = origins | found.get(module.function, {})
    return found


def name_hlo_ops(nodes: "list[Resolved]", modules: Modules) -> "tuple[list[Resolved], list[Stack]]":
    """Rename HLO ops to their path in the program; also return the stack of each node."""
    stacks: list[Stack] = [()] * len(nodes)
    if not modules:
        return nodes, stacks
    roots = {function: _root(origins) for function, origins in modules.items()}
    named = list(nodes)
    for row, place in enumerate(nodes):
        op = place.node.removeprefix("/")
        if op == place.node or place.owner not in modules:
            continue
        origin = modules[place.owner].get(op, HloOrigin("", ()))
        stacks[row] = origin.stack
        path = origin.path or roots[place.owner]
        if path:
            named[row] = place._replace(node=f"{path}/{op}")
    return named, stacks


def _root(origins: dict[str, HloOrigin]) -> str:
    """Return the first part of all paths if they share it, else an empty text."""
    paths = (origin.path for origin in origins.values())
    firsts = {path.partition("/")[0] for path in paths if _JAX_PATH.match(path)}
    return next(iter(firsts)) if len(firsts) == 1 else ""


def _read_module(buffer: Buffer) -> dict[str, HloOrigin]:
    begins, sizes, index = [], [], (0, 0)
    for begin, end in _messages(buffer, 0, len(buffer.data), MODULE):
        position = begin
        while position < end:
            tag, value, at, position = buffer.field(position, end)
            if tag == COMPUTATION:
                begins.append(at)
                sizes.append(value)
            elif tag == FRAME_INDEX:
                index = (at, at + value)
    computations = Spans(np.arange(len(begins)), np.array(begins, int), np.array(sizes, int))
    return _read_instructions(buffer, computations, _stacks(buffer, *index))


def _messages(buffer: Buffer, position: int, end: int, wanted: int) -> "Iterator[tuple[int, int]]":
    for tag, size, begin in buffer.fields(position, end):
        if tag == wanted:
            yield begin, begin + size


def _read_instructions(
    buffer: Buffer, computations: Spans, stacks: "list[Stack]"
) -> dict[str, HloOrigin]:
    spans = scan(buffer, computations).messages(INSTRUCTION)
    count = len(spans)
    fields = scan(buffer, Spans(np.arange(count), spans.begin, spans.size))
    names = fields.texts(NAME, count, buffer.data)
    metadata = fields.last(count, METADATA)
    inner = scan(buffer, Spans(metadata.row, metadata.begin, metadata.value))
    paths = inner.texts(OP_NAME, count, buffer.data)
    frames = inner.numbers(FRAME, count).tolist()
    return {
        name.decode(errors="replace"): HloOrigin(
            _path(path), stacks[frame] if 0 < frame < len(stacks) else ()
        )
        for name, path, frame in zip(names, paths, frames, strict=True)
    }


def _path(text: bytes) -> str:
    """Return the path in a text, the first of several for merged ops; empty if there is none."""
    path = text.decode(errors="replace").partition(";")[0].rstrip(":/")
    return path if _JAX_PATH.match(path) else ""


def _stacks(buffer: Buffer, begin: int, end: int) -> "list[Stack]":
    """Read the stacks of a module; as in all its tables, index 0 stands for none."""
    texts: dict[int, list[str]] = {FILES: [""], FUNCTIONS: [""]}
    numbers: dict[int, list[dict[int, int]]] = {LOCATIONS: [{}], FRAMES: [{}]}
    for tag, size, at in buffer.fields(begin, end):
        if tag in texts:
            texts[tag].append(buffer.data[at : at + size].decode(errors="replace"))
        elif tag in numbers:
            numbers[tag].append({key: value for key, value, _ in buffer.fields(at, at + size)})
    locations = [
        (
            _at(texts[FILES], location.get(FIRST, 0)),
            location.get(THIRD, 0),
            _at(texts[FUNCTIONS], location.get(SECOND, 0)).rpartition(".")[2] or "<module>",
        )
        for location in numbers[LOCATIONS]
    ]
    return [_stack(number, numbers[FRAMES], locations) for number in range(len(numbers[FRAMES]))]


def _stack(number: int, frames: list[dict[int, int]], locations: "list[Frame]") -> "Stack":
    """Follow a frame to its callers; return the stack, outermost first."""
    stack: list[Frame] = []
    while 0 < number < len(frames) and len(stack) < DEEPEST:
        location = frames[number].get(FIRST, 0)
        # One line may open several scopes.
        if 0 < location < len(locations) and locations[location] not in stack[-1:]:
            stack.append(locations[location])
        number = frames[number].get(SECOND, 0)
    return tuple(stack[::-1])


def _at(texts: list[str], number: int) -> str:
    return texts[number] if number < len(texts) else ""
