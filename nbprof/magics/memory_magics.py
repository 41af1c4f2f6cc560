"""`%memit`, `%mprun` and `%memobj`, each for a line and for a cell.

A magic parses its line, runs the code and shows the result. It computes nothing.
"""

import dis
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand

from nbprof.errors import NbprofError
from nbprof.flags import MEMIT, MEMOBJ, MPRUN
from nbprof.magics.bare_traceback import leave_like_bare
from nbprof.magics.cell import Cell, compile_cell, compile_statement
from nbprof.magics.flag_parser import ParsedLine, parse
from nbprof.magics.host_shell import caller_of_magic, cell_names, cell_number
from nbprof.magics.named_code import functions_named
from nbprof.magics.reporting import or_usage_error, report_or_explain, write_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from IPython.core.interactiveshell import InteractiveShell

    from nbprof.memory.namespace import ObjectMemory
    from nbprof.memory.watched_code import Target

DEFAULT_ROWS = 15
"""Rows that `%memobj` shows without -n."""
DISPLAY_INSTRUCTIONS = (("PRINT_EXPR", None), ("CALL_INTRINSIC_1", 1))
"""The instruction that displays an expression's value: up to Python 3.11, and since."""
LINE_IS_FOR_OPTIONS = "%%{} takes only options on its line; put the code in the lines below."
"""Error for code on the line of a cell magic."""


@magics_class
class MemoryMagics(Magics):
    """nbprof's magics for memory."""

    @no_var_expand
    @line_cell_magic(MEMIT)
    def memit(self, line: str, cell: str | None = None) -> Any:
        """Overwritten with the help when the extension is loaded."""
        __tracebackhide__ = True
        parsed = or_usage_error(parse, MEMIT, line)
        code = _compiled(self.shell, MEMIT, line, parsed, cell)
        if cell is not None and parsed.rest:
            compile_statement(self.shell, MEMIT, parsed.rest).run()
        from nbprof.capture.step_watch import watch_steps
        from nbprof.memory.backends import backend

        measuring = or_usage_error(backend, parsed.flags, watch_steps)
        value = None
        try:
            for _ in range(parsed.get("r", 1)):
                value = None  # the previous run's value must not count as memory of this one
                value = measuring.run(code.run if cell is not None else code.run_and_drop)
        except BaseException as error:
            if cell is not None:
                leave_like_bare(self.shell, error)
            raise
        finally:
            shows_itself = "o" in parsed and _will_be_displayed(code)
            result = _report(
                MEMIT, lambda: measuring.result("v" in parsed), parsed, shows_itself=shows_itself
            )
        if "o" in parsed:
            return code.shown(result)
        return None if cell is None else code.shown(value)

    @no_var_expand
    @line_cell_magic(MPRUN)
    def mprun(self, line: str, cell: str | None = None) -> Any:
        """Overwritten with the help when the extension is loaded."""
        __tracebackhide__ = True
        parsed = or_usage_error(parse, MPRUN, line)
        code = _compiled(self.shell, MPRUN, line, parsed, cell)
        if cell is not None and parsed.rest:
            raise UsageError(LINE_IS_FOR_OPTIONS.format(MPRUN))
        targets = self._targets(parsed, code if cell is not None else None)
        from nbprof.memory.line_meter import LineTracer
        from nbprof.memory.line_result import line_memory

        tracer = LineTracer(targets)
        try:
            with tracer:
                value = code.run()
        except BaseException as error:
            if cell is not None:
                leave_like_bare(self.shell, error)
            raise
        finally:
            result = _report(MPRUN, lambda: line_memory(targets, tracer.notes), parsed)
        if "o" in parsed or "r" in parsed:
            return code.shown(result)
        return None if cell is None else code.shown(value)

    @no_var_expand
    @line_cell_magic(MEMOBJ)
    def memobj(self, line: str, cell: str | None = None) -> Any:
        """Overwritten with the help when the extension is loaded."""
        __tracebackhide__ = True
        parsed = or_usage_error(parse, MEMOBJ, line)
        if cell is None:
            held = or_usage_error(self._held, parsed)
            result = _report(MEMOBJ, lambda: held, parsed)
            return result if "o" in parsed else None
        if parsed.rest:
            raise UsageError(LINE_IS_FOR_OPTIONS.format(MEMOBJ))
        code = _compiled(self.shell, MEMOBJ, line, parsed, cell)
        from nbprof.memory.namespace import resident_bytes

        before = self._held(parsed)
        before = replace(before, resident=resident_bytes())  # measuring took memory itself
        try:
            value = code.run()
        except BaseException as error:
            leave_like_bare(self.shell, error)
            raise
        finally:
            result = _report(MEMOBJ, lambda: self._left_behind(before, parsed), parsed)
        return code.shown(result if "o" in parsed else value)

    def _held(self, parsed: ParsedLine, earlier: "ObjectMemory | None" = None) -> "ObjectMemory":
        """Measure what the notebook's names hold, or those on the line."""
        from nbprof.memory.namespace import size_names

        shell = self.shell
        names = {
            name: value
            for name, value in shell.user_ns.items()
            if name not in shell.user_ns_hidden and not name.startswith("_")
        }
        for cell, value in shell.user_ns.get("Out", {}).items():
            names[f"Out[{cell}]"] = value
        chosen = parsed.rest.replace(",", " ").split()
        for name in chosen:
            if name not in names:
                raise NbprofError(f"there is no variable {name} in this notebook.")
        measured = {name: names[name] for name in chosen} if chosen else names
        containers = shell, shell.user_ns, shell.user_ns.get("Out")
        return size_names(measured, parsed.get("n", DEFAULT_ROWS), containers, earlier)

    def _left_behind(self, before: "ObjectMemory", parsed: ParsedLine) -> "ObjectMemory":
        """Measure how much more the names hold now than before."""
        from nbprof.memory.namespace import difference

        return difference(before, self._held(parsed, before))

    def _targets(self, parsed: ParsedLine, cell: Cell | None) -> "list[Target]":
        """Find the functions that -f names; without -f, take the cell's own lines."""
        __tracebackhide__ = True
        from nbprof.memory.watched_code import cell_target, function_target

        if "f" not in parsed:
            if cell is None:
                raise UsageError("%mprun watches functions: name one with -f FUNCTION.")
            codes = [code for code in cell.statements if not isinstance(code, SyntaxError)]
            codes += [cell.last_expression] if cell.last_expression else []
            return [cell_target(codes, cell.raw, f"In [{cell_number(self.shell)}]")]
        names = cell_names(self.shell)
        targets = []
        for expression, function in functions_named(self.shell, parsed.get("f")).items():
            targets.append(or_usage_error(function_target, function, expression, names))
        return targets


def _compiled(
    shell: "InteractiveShell", magic: str, line: str, parsed: ParsedLine, cell: str | None
) -> Cell:
    """Compile the cell, or the statement on the line."""
    __tracebackhide__ = True
    if cell is not None:
        return compile_cell(shell, magic, line, cell)
    if not parsed.rest:
        raise UsageError(f"%{magic} needs a statement after it; to run a cell, use %%{magic}.")
    return compile_statement(shell, magic, parsed.rest)


def _report(
    magic: str, measure: "Callable[[], Any]", parsed: ParsedLine, *, shows_itself: bool = False
) -> Any:
    """Make, show and return a result; return None if that fails."""

    def make_and_show() -> Any:
        result = measure()
        if result is not None:
            _show(result, parsed, shows_itself)
        return result

    return report_or_explain(magic, make_and_show)


def _show(result: Any, parsed: ParsedLine, shows_itself: bool) -> None:
    from IPython.display import display

    is_returned = "o" in parsed or parsed.get("r") is True
    if "q" not in parsed:
        if not is_returned:
            display(result)
        elif not shows_itself:
            sys.stdout.write(result.in_a_line)
    file = parsed.get("T")
    if file is not None and write_text(file, f"{result.text}\n") and "q" not in parsed:
        sys.stdout.write(f"Wrote {file}.\n")


def _will_be_displayed(code: Cell) -> bool:
    """Return whether the shell displays the running magic's value, rather than binding it."""
    caller = caller_of_magic()
    if caller is None or code.is_silenced:
        return False
    instructions = dis.get_instructions(caller.f_code)
    following = next((later for later in instructions if later.offset > caller.f_lasti), None)
    return following is not None and (following.opname, following.arg) in DISPLAY_INSTRUCTIONS
