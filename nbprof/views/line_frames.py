"""The frames of Python stacks behind the rows of the code view, whose labels are cut short."""

from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Sequence

Path = tuple[str, ...]
Frame = tuple[Any, ...]

GRADIENT = " (gradient)"
COLUMNS = ("file", "line", "function", "function_line")


def frames_of_rows(
    rows: "Sequence[Path]",
    of_member: "Sequence[Path]",
    stacks: "Sequence[int]",
    frames: pd.DataFrame,
) -> pd.DataFrame:
    """Give the frame of each row: of the first member that the row is of or above."""
    by_stack = _by_stack(frames)
    found: dict[Path, Frame] = {}
    for path, stack in zip(of_member, stacks, strict=True):
        known = by_stack.get(stack, [("", 0, path[-1], 0)])
        for end in range(len(path), 0, -1):
            if path[:end] in found:
                break
            found[path[:end]] = known[end - 1]
    # Of any object: Arrow's texts cannot hold half a character.
    listed = pd.DataFrame([found[path] for path in rows], columns=list(COLUMNS), dtype=object)
    suffix = [GRADIENT if path[-1].endswith(GRADIENT) else "" for path in rows]
    return listed.assign(function=listed["function"] + pd.Series(suffix, dtype=object))


def _by_stack(frames: pd.DataFrame) -> dict[int, list[Frame]]:
    if "function_line" not in frames:
        frames = frames.assign(function_line=0)
    found: dict[int, list[Frame]] = {}
    columns = (frames[name].tolist() for name in ("stack", *COLUMNS))
    for stack, *frame in zip(*columns, strict=True):
        found.setdefault(stack, []).append(tuple(frame))
    return found
