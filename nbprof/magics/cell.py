"""Run the body of a cell magic exactly as the shell would run the bare cell.

The body is transformed, compiled and executed statement by statement, as the shell does it, under
the cell's own number and with line numbers as on the screen (the magic's line is line 1). The value
of a last expression is returned, so that it becomes the cell's `Out`; exceptions propagate as from
the bare cell.
"""

import ast
import inspect
import io
import tokenize
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import CodeType
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from nbprof.magics.bare_traceback import leave_like_bare, show_bare
from nbprof.magics.host_shell import name_cell
from nbprof.magics.magic_table import MAGICS

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

AWAIT_REFUSED = (
    "%%{magic} cannot run a top-level await; put `{block}:` around it in a "
    "cell without %%{magic} and look at `{result}`."
)
"""Error for a cell that awaits at its top level."""
NOT_CODE = (tokenize.ENDMARKER, tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT)
"""Tokens that may follow the last one of a cell's code."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A compiled cell body."""

    shell: "InteractiveShell"
    statements: "tuple[CodeType | SyntaxError, ...]"
    """Code to execute; a SyntaxError is raised when its turn comes."""
    last_expression: CodeType | None
    lines: tuple[int, ...]
    """The first line of each statement and of the last expression."""
    raw: str
    """The source as the user sees it, with the magic's line."""
    is_silenced: bool
    """Whether a semicolon at its end keeps its value from being shown."""

    def run(
        self,
        before: Callable[[int], None] | None = None,
        after: Callable[[], object] = bool,
    ) -> Any:
        """Execute the cell in the user's namespace and return the value of its last expression.

        `before` is called before each statement, with its line, and `after` when it has ended.
        """
        __tracebackhide__ = True
        names = self.shell.user_global_ns, self.shell.user_ns
        for statement, line in zip(self.statements, self.lines, strict=False):
            if isinstance(statement, SyntaxError):
                raise statement
            # Not exec itself, which would be a call of the cell's to whoever counts calls.
            execute = partial(exec, statement, *names)
            try:
                if before:
                    before(line)
                execute()
            finally:
                after()
        if self.last_expression is None:
            return None
        evaluate = partial(eval, self.last_expression, *names)
        try:
            if before:
                before(self.lines[-1])
            return evaluate()
        finally:
            after()

    def run_and_drop(self, before: Callable[[int], None] | None = None) -> None:
        """Execute the cell without returning its value, so that nothing keeps it alive."""
        __tracebackhide__ = True
        self.run(before)

    def shown(self, value: Any) -> Any:
        """Return what the magic returns to the shell: the value, or None if it is silenced."""
        return None if self.is_silenced else value


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
    """Compile the statement after a line magic; raise as `compile_cell` does."""
    __tracebackhide__ = True
    try:
        return _compiled(shell, magic, shell.transform_cell(statement), statement)
    except SyntaxError as error:
        show_bare(shell, error)
        raise


def _compiled(shell: "InteractiveShell", magic: str, source: str, raw: str) -> Cell:
    name = name_cell(shell, source, raw)
    tree = shell.transform_ast(shell.compile.ast_parse(source, filename=name))
    executed, shown = _split_by_interactivity(tree.body, shell.ast_node_interactivity)

    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if shell.autoawait else 0
    with shell.compile.extra_flags(flags):
        statements, last = _compile(shell.compile, name, executed, shown)
    codes = [*statements, *([last] if last else [])]
    if any(isinstance(code, CodeType) and code.co_flags & inspect.CO_COROUTINE for code in codes):
        block, result = MAGICS[magic].block, MAGICS[magic].block_result
        raise UsageError(AWAIT_REFUSED.format(magic=magic, block=block, result=result))
    lines = tuple(node.lineno for node in [*executed, *shown])
    return Cell(
        shell=shell,
        statements=tuple(statements),
        last_expression=last,
        lines=lines,
        raw=raw,
        is_silenced=_ends_in_semicolon(source),
    )


def _on_screen_lines(shell: "InteractiveShell", magic: str, line: str, body: str) -> str:
    """Transform the body, keeping the line numbers that the user sees."""
    blank = 0
    for text in body.splitlines():
        if text.strip():
            break
        blank += 1  # transform_cell drops leading blank lines
    transformed: str = shell.transform_cell(body)
    return f"# %%{magic} {line}".rstrip() + "\n" * (1 + blank) + transformed


def _ends_in_semicolon(source: str) -> bool:
    """Return whether the last token of transformed source, comments aside, is a semicolon."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    try:
        words = [token.string for token in tokens if token.type not in NOT_CODE]
    except (tokenize.TokenError, SyntaxError):  # whether it compiles is for the compiler to say
        return False
    return words[-1:] == [";"]


def _split_by_interactivity(
    body: list[ast.stmt], interactivity: str
) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """Split a cell into statements to execute and statements to show, by the shell's setting."""
    if interactivity == "all":
        return [], body
    if interactivity == "last_expr_or_assign" and body:
        body = body + _assigned(body[-1])
    shows_last = body and (interactivity == "last" or isinstance(body[-1], ast.Expr))
    if interactivity == "none" or not shows_last:
        return body, []
    return body[:-1], body[-1:]


def _assigned(statement: ast.stmt) -> list[ast.stmt]:
    """Return an expression that shows the name the last statement assigns to, if there is one."""
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
