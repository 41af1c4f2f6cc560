"""What records something about Python for a view."""

from typing import Any, Protocol, runtime_checkable


class CannotWatchError(Exception):
    """Nothing can be recorded; the message is a sentence that says why and what to do."""


class Watch(Protocol):
    """Records something about Python between `start` and `stop`."""

    def start(self) -> None:
        """Begin to record what the calling thread does; may raise CannotWatchError."""

    def stop(self) -> None:
        """Switch off what `start` switched on; does nothing if that has been done."""

    def log(self) -> Any:
        """Return what was recorded."""


@runtime_checkable
class StatementWatch(Watch, Protocol):
    """A watch that is on only while the cell's statements run, so that it sees nothing of ours."""

    def resume(self, line: int) -> None:
        """Record from here on: the statement on this line of the cell, or 0 for a block."""

    def pause(self) -> None:
        """Record no more until the next `resume`."""


def where(line: int) -> str:
    """Say who did something: the statement on this line of the cell, or 0 for a block."""
    return f"by the statement on line {line}" if line else "in the block"
