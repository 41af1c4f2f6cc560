"""Python stacks: where in the user's code a node was made or an eager op was run."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from os import sep
from pathlib import Path

import numpy as np

from nbprof.capture.capture import Frame, Stack
from nbprof.ingest.wire import FIXED64, LENGTH, VARINT, Buffer, Fields, Spans, scan

RUNNERS = (f"{Path(__file__).parents[1]}{sep}", f"{sep}IPython{sep}core{sep}")
"""Parts of the paths of files that run the user's code: a stack begins after them."""

FRAMEWORKS = re.compile(
    r"""[/\\](?:site|dist)-packages[/\\](?:tensorflow|keras|tf_keras|numpy)[/\\]
    | [/\\]tensorflow[/\\]python[/\\] | [/\\]keras[/\\]src[/\\]  # where they are built or edited
    | [/\\]lib[/\\]python3\.\d+[/\\](?!(?:site|dist)-packages[/\\])  # Python's own library
    | ^<frozen\ """,
    re.VERBOSE,
)
"""The paths of files whose frames are not the user's."""

INFO_FILE = 1 << 3 | LENGTH
INFO_FRAME = 4 << 3 | LENGTH
INFO_NAME = 5 << 3 | LENGTH
INFO_TRACE = 6 << 3 | LENGTH
KEY_NUMBER, KEY_TEXT = 1 << 3 | FIXED64, 1 << 3 | LENGTH
VALUE_NUMBER, VALUE_MESSAGE = 2 << 3 | FIXED64, 2 << 3 | LENGTH
FRAME_FILE, FRAME_LINE, FRAME_FUNCTION = 1 << 3 | VARINT, 2 << 3 | VARINT, 4 << 3 | LENGTH
TRACE_FRAMES = 2 << 3 | LENGTH


def read_stacks(info: bytes, function: str) -> dict[str, Stack]:
    """Read a GraphDebugInfo: the stack of each node of a function, by the node's name."""
    buffer = Buffer(info, f"the debug information of {function}")
    top = scan(buffer, buffer.all())
    files = [path.decode("utf-8", "replace") for path in top.where(INFO_FILE).payloads(info)]
    frames = _read_frames(buffer, top.messages(INFO_FRAME), files)
    traces = _read_traces(buffer, top.messages(INFO_TRACE), frames)

    names = top.messages(INFO_NAME)
    entries = scan(buffer, names)
    keys = entries.texts(KEY_TEXT, len(names), info)
    ids = entries.numbers(VALUE_NUMBER, len(names)).tolist()
    return {
        name.decode("utf-8", "replace").removesuffix("@"): traces[trace]
        for name, trace in zip(keys, ids, strict=True)
        if trace in traces
    }


def _values(buffer: Buffer, entries: Spans) -> tuple[list[int], Fields]:
    """Read the keys and the value messages of a map."""
    fields = scan(buffer, entries)
    values = fields.last(len(entries), VALUE_MESSAGE)
    inner = scan(buffer, Spans(values.row, values.begin, values.value))
    return fields.numbers(KEY_NUMBER, len(entries)).tolist(), inner


def _read_frames(buffer: Buffer, entries: Spans, files: list[str]) -> dict[int, Frame]:
    keys, inner = _values(buffer, entries)
    count = len(entries)
    functions = inner.texts(FRAME_FUNCTION, count, buffer.data)
    places = zip(
        inner.numbers(FRAME_FILE, count).tolist(),
        inner.numbers(FRAME_LINE, count).tolist(),
        functions,
        strict=True,
    )
    return {
        key: (files[file] if 0 <= file < len(files) else "", line, _function(name))
        for key, (file, line, name) in zip(keys, places, strict=True)
    }


def _function(name: bytes) -> str:
    """Name a function; AutoGraph leaves lambdas nameless."""
    return name.decode("utf-8", "replace") or "<lambda>"


def _read_traces(buffer: Buffer, entries: Spans, frames: Mapping[int, Frame]) -> dict[int, Stack]:
    keys, inner = _values(buffer, entries)
    packed = inner.last(len(entries), TRACE_FRAMES).payloads(buffer.data)
    numbers = (np.frombuffer(ids[: len(ids) // 8 * 8], "<i8").tolist() for ids in packed)
    return {
        key: tuple(frames[number] for number in ids if number in frames)
        for key, ids in zip(keys, numbers, strict=True)
    }


def below_runners(stack: Iterable[Frame], cells: Mapping[str, str]) -> Stack:
    """Keep the frames below what runs cells; those in cells get the cell's name for a file."""
    kept: list[Frame] = []
    for file, line, function in stack:
        if _is_runner(file):
            kept.clear()
        else:
            kept.append((cells.get(file, file), line, function))
    return tuple(kept)


@cache
def _is_runner(file: str) -> bool:
    return any(part in file for part in RUNNERS)


@cache
def is_framework(file: str) -> bool:
    """Tell whether a file is of a library that works for the user's code."""
    return FRAMEWORKS.search(file) is not None
