"""Run the body of a cell magic exactly as the shell would run the bare cell.

The body is transformed, compiled and executed statement by statement as the shell does it, under
the cell's own number and with the lines as on the screen (the magic's line is line 1). The value
of a last expression is returned, so that it becomes the cell's `Out`; an exception leaves as it
would leave the bare cell.
"""

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, TracebackType
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

AWAIT_REFUSED = (
    "%%{magic} cannot run a top-level await; put `{instead}:` around it in a "
    "cell without %%{magic} and look at `{result}`."
)
INSTEAD = {
    "tfprof": ("with nbprof.profile() as run", "run.profile"),
    "memit": ("with nbprof.memory.measure() as run", "run.result"),
    "mprun": ("with nbprof.memory.measure() as run", "run.result"),
    "memobj": ("with nbprof.memory.measure() as run", "run.result"),
}
"""What does for a block what each magic does for a cell."""


@dataclass(frozen=True)
class Cell:
    """A compiled cell body."""

    shell: "InteractiveShell"
    statements: "tuple[CodeType | SyntaxError, ...]"
    """Code to execute; a statement that cannot be compiled fails when its turn comes."""
    last_expression: CodeType | None
    lines: tuple[int, ...]
    """Where each statement begins, and then the last expression."""
    raw: str
    """The text as the user sees it, with the magic's line."""

    def run(self, before: Callable[[int], None] | None = None) -> Any:
        """Execute the cell in the user's namespace; give the value of its last expression.

        `before` is called with the line of each statement when its turn has come.
        """
        __tracebackhide__ = True
        names = self.shell.user_global_ns, self.shell.user_ns
        for statement, line in zip(self.statements, self.lines, strict=False):
            if isinstance(statement, SyntaxError):
                raise statement
            if before:
                before(line)
            exec(statement, *names)
        if self.last_expression is None:
            return None
        if before:
            before(self.lines[-1])
        return eval(self.last_expression, *names)

    def run_and_drop(self, before: Callable[[int], None] | None = None) -> None:
        """Execute it; a last expression's value is let go, as nobody will see it."""
        __tracebackhide__ = True
        self.run(before)


def compile_cell(shell: "InteractiveShell", magic: str, line: str, body: str) -> Cell:
    """Compile a cell body; raise SyntaxError, or UsageError for a top-level await."""
    __tracebackhide__ = True
    source = _on_screen_lines(shell, magic, line, body)
    try:
        return _compiled(shell, magic, source, f"%%{magic} {line}".rstrip() + f"\n{body}")
    except SyntaxError as error:
        leave_like_bare(shell, error)
        raise


def compile_statement(shell: "InteractiveShell", magic: str, statement: str) -> Cell:
    """Compile what stands behind a line magic; raise as `compile_cell` does."""
    __tracebackhide__ = True
    try:
        return _compiled(shell, magic, shell.transform_cell(statement), statement)
    except SyntaxError as error:
        _show_bare(shell, error)
        raise


def _compiled(shell: "InteractiveShell", magic: str, source: str, raw: str) -> Cell:
    name = shell.compile.cache(source, number(shell), raw_code=raw)
    tree = shell.transform_ast(shell.compile.ast_parse(source, filename=name))
    executed, shown = _by_interactivity(tree.body, shell.ast_node_interactivity)

    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if shell.autoawait else 0
    with shell.compile.extra_flags(flags):
        statements, last = _compile(shell.compile, name, executed, shown)
    codes = [*statements, *([last] if last else [])]
    if any(isinstance(code, CodeType) and code.co_flags & inspect.CO_COROUTINE for code in codes):
        instead, result = INSTEAD[magic]
        raise UsageError(AWAIT_REFUSED.format(magic=magic, instead=instead, result=result))
    lines = tuple(node.lineno for node in [*executed, *shown])
    return Cell(shell, tuple(statements), last, lines, raw)


def number(shell: "InteractiveShell") -> int:
    """Give the number of the running cell, also where `execution_count` is already the next."""
    count: int = shell.displayhook.prompt_count
    return count


def cell_names(shell: "InteractiveShell") -> dict[str, str]:
    """Give the names of all cells run so far, by the files they were compiled as."""
    numbers: dict[str, int] = shell.compile._filename_map
    return {file: f"In [{number}]" for file, number in numbers.items()}


def _on_screen_lines(shell: "InteractiveShell", magic: str, line: str, body: str) -> str:
    """Transform the body, keeping every line where the user sees it."""
    blank = 0
    for text in body.splitlines():
        if text.strip():
            break
        blank += 1  # the shell's transformation drops leading blank lines
    transformed: str = shell.transform_cell(body)
    return f"# %%{magic} {line}".rstrip() + "\n" * (1 + blank) + transformed


def _by_interactivity(
    body: list[ast.stmt], interactivity: str
) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """Split a cell into what is executed and what is shown, by the shell's setting."""
    if interactivity == "all":
        return [], body
    if interactivity == "last_expr_or_assign" and body:
        body = body + _assigned(body[-1])
    shows_last = body and (interactivity == "last" or isinstance(body[-1], ast.Expr))
    if interactivity == "none" or not shows_last:
        return body, []
    return body[:-1], body[-1:]


def _assigned(statement: ast.stmt) -> list[ast.stmt]:
    """Make the expression that shows the name a last statement assigned to."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
    elif isinstance(statement, ast.AugAssign | ast.AnnAssign):
        target = statement.target
    else:
        return []
    if not isinstance(target, ast.Name):
        return []
    shown = ast.Expr(ast.Name(target.id, ast.Load()))
    return [ast.fix_missing_locations(ast.copy_location(shown, statement))]


def _compile(
    compiler: Callable[[ast.AST, str, str], CodeType],
    name: str,
    executed: list[ast.stmt],
    shown: list[ast.stmt],
) -> tuple[list[CodeType | SyntaxError], CodeType | None]:
    compiled: list[CodeType | SyntaxError] = []
    last = shown[-1] if shown else None
    try:
        for node in executed:
            compiled.append(compiler(ast.Module([node], []), name, "exec"))
        if not isinstance(last, ast.Expr):
            last = None
        for node in shown[:-1] if last else shown:
            compiled.append(compiler(ast.Interactive([node]), name, "single"))
        return compiled, compiler(ast.Expression(last.value), name, "eval") if last else None
    except SyntaxError as error:
        return [*compiled, error], None


def _is_the_cell() -> bool:
    """Tell whether the magic that calls this is the running cell itself, not called by its code.

    The shell turns a cell magic into one call on the cell's first line.
    """
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_name != "run_cell_magic":
        frame = frame.f_back
    caller = frame and frame.f_back
    return caller is not None and caller.f_code.co_name == "<module>" and caller.f_lineno == 1


WATCHER = "record"
"""The name of the function that watches a call into TensorFlow (`capture/dispatch.py`)."""
LINE_WATCHER = "nbprof.memory.line_meter"
"""The module whose functions Python calls at the beginning of lines; they call nobody else's."""

_pending: list[Callable[[], None]] = []
"""What puts back the exception handler that the last failed cell has set."""


def leave_like_bare(shell: "InteractiveShell", error: BaseException) -> None:
    """Have the shell show `error`, when it leaves the cell, without the frames of the magic.

    Where the cell's own code called the magic, nothing is changed: there its frames belong.
    """
    if _is_the_cell():
        _show_bare(shell, error)


def _show_bare(shell: "InteractiveShell", error: BaseException) -> None:
    """Have the shell show `error` without the frames of the magic.

    The shell's own door for this, a custom exception handler, is set for this one exception and
    put back when it was used or when the cell has ended.
    """
    while _pending:
        _pending.pop()()
    drop_watchers(error)
    own = _first_user_frame(error)
    before = shell.custom_exceptions, shell.CustomTB

    def restore(*_: object) -> None:
        if restore in _pending:
            _pending.remove(restore)
            shell.events.unregister("post_run_cell", restore)
        if shell.CustomTB is ours:  # else the user's code has set its own since
            shell.custom_exceptions, shell.CustomTB = before

    def show(
        shell: "InteractiveShell",
        kind: type[BaseException],
        value: BaseException,
        traceback: TracebackType,
        tb_offset: int | None = None,
    ) -> None:
        restore()
        if value is error and own is None and isinstance(value, SyntaxError):
            indented = isinstance(value, IndentationError)
            shell.showindentationerror() if indented else shell.showsyntaxerror()
            return
        shown = own if value is error and own is not None else traceback
        if shown is own:
            value.__traceback__ = own  # groups are printed from there
        if issubclass(kind, before[0]):
            before[1](kind, value, shown, tb_offset=tb_offset)
        else:
            shell.showtraceback((kind, value, shown), tb_offset=0 if shown is own else tb_offset)

    shell.set_custom_exc((type(error),), show)
    ours = shell.CustomTB
    shell.events.register("post_run_cell", restore)
    _pending.append(restore)


def drop_watchers(error: BaseException) -> None:
    """Take the frames that watch calls into TensorFlow, or lines, off a traceback.

    They are hidden, but the innermost frame is shown even so, and an interrupt is often noticed
    in one of them.
    """
    above = error.__traceback__
    while above is not None:
        below = above.tb_next
        if below is not None and below.tb_frame.f_globals.get("__name__") == LINE_WATCHER:
            above.tb_next = None
        while above.tb_next is not None and above.tb_next.tb_frame.f_code.co_name == WATCHER:
            if "__tracebackhide__" not in above.tb_next.tb_frame.f_code.co_varnames:
                break
            above.tb_next = above.tb_next.tb_next
        above = above.tb_next


def _first_user_frame(error: BaseException) -> TracebackType | None:
    """Find the traceback from the cell's own code on, below the frames of nbprof."""
    traceback = error.__traceback__
    while traceback and _is_ours(traceback):
        traceback = traceback.tb_next
    return traceback


def _is_ours(traceback: TracebackType) -> bool:
    package = traceback.tb_frame.f_globals.get("__package__") or ""
    return package == __package__ or package.startswith(f"{__package__}.")
