"""Report when steps begin and end, for measurements that record no trace."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import local
from typing import Any

from nbprof.capture import compat
from nbprof.capture.capture import session_group
from nbprof.capture.compat import doors, hooks


@contextmanager
def watch_steps(begin: Callable[[str], Callable[[], None]]) -> Iterator[Sequence[str]]:
    """Call `begin(name)` when a step begins in the block, and its result when the step ends.

    Yield what to say if steps cannot be seen. This never imports TensorFlow: until the user has,
    there are no steps.
    """
    if not compat.imported():
        yield ()
        return
    inside = local()

    def enter(name: str, _start_ns: int) -> None:
        if name == hooks.BUILDING:
            return
        inside.depth = getattr(inside, "depth", 0) + 1
        if inside.depth == 1:
            inside.end = begin(name)

    def leave(name: str) -> None:
        if name == hooks.BUILDING:
            return
        inside.depth -= 1
        if inside.depth == 0:
            inside.end()

    def run_session(_graph: Any) -> None:
        if not getattr(inside, "depth", 0):
            begin(session_group(0))  # its end is not visible

    with hooks.watch_calls(enter, leave), hooks.watch_sessions(lambda *_: None, run_session):
        yield doors.missing(doors.STEPS)
