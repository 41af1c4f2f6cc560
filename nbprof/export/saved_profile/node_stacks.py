"""The call stacks of nodes, with their texts in a numbered table."""

from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import Ints, Mask, each_position
from nbprof.protos.saved_profile import StringTable, Traces
from nbprof.protos.texts import Texts

if TYPE_CHECKING:
    from nbprof._profile import Profile

START_NOT_KNOWN = -1
"""Line where a function begins; TensorFlow 2 always writes this."""


def save_stacks(profile: "Profile") -> tuple[Mask, Traces, StringTable]:
    """Return which nodes have a stack, the frames of the first each ran with, and their texts."""
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
