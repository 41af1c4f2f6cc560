"""Turn stacks into paths of a call tree: the user's lines, and the packages that they call."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import pandas as pd

from nbprof.library_frames import called
from nbprof.views.stack_rows import Path, label


class Frame(NamedTuple):
    """A frame of a stack, as far as rows depend on it."""

    stack: int
    file: str
    line: int
    function: str
    framework: bool


def call_paths(frames: pd.DataFrame, unfolded: bool = False) -> dict[int, Path]:
    """Return the path of each stack, outermost row first.

    Frames of installed packages that follow each other are one row, unless they are to be unfolded.
    What starts the user's code is left out.
    """
    columns = frames[list(Frame._fields)].itertuples(index=False, name=None)
    of_stack = groupby(map(Frame._make, columns), key=itemgetter(0))
    return {
        stack: tuple(map(_text, found) if unfolded else _folded(list(found)))
        for stack, found in of_stack
    }


def _folded(frames: list[Frame]) -> Iterator[str]:
    if not all(frame.framework for frame in frames):
        while frames[0].framework:
            frames = frames[1:]
    for place, frame in enumerate(frames):
        if not frame.framework:
            yield _text(frame)
        elif place == 0 or not frames[place - 1].framework:
            run = [*_run(frames[place:])]
            inside = frames[place + len(run) : place + len(run) + 1]
            name = called(_places(run), next(_places(inside), None))
            if name:
                yield name


def _run(frames: Iterable[Frame]) -> Iterator[Frame]:
    for frame in frames:
        if not frame.framework:
            return
        yield frame


def _places(frames: Iterable[Frame]) -> Iterator[tuple[str, str]]:
    return ((frame.file, frame.function) for frame in frames)


def _text(frame: Frame) -> str:
    return label(frame.file, frame.line, frame.function) if frame.file else frame.function
