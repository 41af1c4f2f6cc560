"""Show an exception of the user's code without the frames of the magic that ran it."""

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from nbprof.magics.host_shell import caller_of_magic, is_cell_body

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

WATCHER = "record"
"""The function in `capture/dispatch.py` that watches a call into TensorFlow."""
OURS = __name__.partition(".")[0]
"""The package whose frames are not shown."""
LINE_WATCHERS = (
    "nbprof.memory.line_meter",
    "nbprof.capture.python.line_hooks",
    "nbprof.capture.python.line_engines",
)
"""The modules whose hooks Python calls for every line; they call no code of the user's."""

_pending: list[Callable[[], None]] = []
"""Functions that restore the exception handler which the last failed cell replaced."""


def leave_like_bare(shell: "InteractiveShell", error: BaseException) -> None:
    """Make the shell show `error`, which leaves the cell, without the frames of the magic.

    If the cell's own code called the magic, nothing changes: its frames belong there.
    """
    if _is_the_cell():
        show_bare(shell, error)


def show_bare(shell: "InteractiveShell", error: BaseException) -> None:
    """Make the shell show `error` without the frames of the magic.

    This sets a custom exception handler for this one exception; the previous one returns after use
    or when the cell has ended.
    """
    while _pending:
        _pending.pop()()
    drop_watchers(error)
    user_traceback = _first_user_frame(error)
    before = shell.custom_exceptions, shell.CustomTB

    def restore(*_: object) -> None:
        if restore in _pending:
            _pending.remove(restore)
            shell.events.unregister("post_run_cell", restore)
        if shell.CustomTB is ours:  # otherwise the user's code has set another one since
            shell.custom_exceptions, shell.CustomTB = before

    def show(
        shell: "InteractiveShell",
        kind: type[BaseException],
        value: BaseException,
        traceback: TracebackType,
        tb_offset: int | None = None,
    ) -> None:
        restore()
        if value is error and user_traceback is None and isinstance(value, SyntaxError):
            indented = isinstance(value, IndentationError)
            shell.showindentationerror() if indented else shell.showsyntaxerror()
            return
        shown = user_traceback if value is error and user_traceback is not None else traceback
        if shown is user_traceback:
            value.__traceback__ = user_traceback  # exception groups are printed from it
            tb_offset = 0  # it has no frame of IPython's to skip
        if issubclass(kind, before[0]):
            before[1](kind, value, shown, tb_offset=tb_offset)
        else:
            shell.showtraceback((kind, value, shown), tb_offset=tb_offset)

    shell.set_custom_exc((type(error),), show)
    ours = shell.CustomTB
    shell.events.register("post_run_cell", restore)
    _pending.append(restore)


def _is_the_cell() -> bool:
    """Return whether the calling magic is the running cell itself, not called by the cell's code.

    The shell turns a cell magic into one call on the cell's first line.
    """
    caller = caller_of_magic()
    return caller is not None and is_cell_body(caller) and caller.f_lineno == 1


def drop_watchers(error: BaseException) -> None:
    """Remove the frames that watch lines or calls into TensorFlow from a traceback.

    They are hidden, but IPython shows the innermost frame even so, and interrupts often arrive in
    one of them.
    """
    above = error.__traceback__
    while above is not None:
        below = above.tb_next
        if below is not None and below.tb_frame.f_globals.get("__name__") in LINE_WATCHERS:
            above.tb_next = None
        while above.tb_next is not None and above.tb_next.tb_frame.f_code.co_name == WATCHER:
            if "__tracebackhide__" not in above.tb_next.tb_frame.f_code.co_varnames:
                break
            above.tb_next = above.tb_next.tb_next
        above = above.tb_next


def _first_user_frame(error: BaseException) -> TracebackType | None:
    """Return the traceback from the cell's own code on, below the frames of nbprof."""
    traceback = error.__traceback__
    while traceback and _is_ours(traceback):
        traceback = traceback.tb_next
    return traceback


def _is_ours(traceback: TracebackType) -> bool:
    package = str(traceback.tb_frame.f_globals.get("__package__") or "")
    return package.partition(".")[0] == OURS
