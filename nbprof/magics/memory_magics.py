"""The front door of the memory magics: `%memit`, `%mprun`, `%memobj`, and each for a cell.

A magic parses its line, runs the code, hands over, and shows the result. It computes nothing.
"""

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import (
    Magics,
    line_cell_magic,
    magics_class,
    no_var_expand,
    output_can_be_silenced,
)

from nbprof.errors import NbprofError
from nbprof.magics.cell import (
    Cell,
    cell_names,
    compile_cell,
    compile_statement,
    leave_like_bare,
    number,
)
from nbprof.magics.conventions import or_usage_error, will_be_displayed, write_text
from nbprof.magics.memory_line import MAGICS, Given, help_text, parse

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from IPython.core.interactiveshell import InteractiveShell

    from nbprof.memory.namespace import ObjectMemory
    from nbprof.memory.watched_code import Target


@magics_class
class MemoryMagics(Magics):
    """nbprof's magics for memory."""

    @no_var_expand
    @output_can_be_silenced
    @line_cell_magic
    def memit(self, line: str, cell: str | None = None) -> Any:
        """Filled from the table of flags below."""
        __tracebackhide__ = True
        given = _parsed("memit", line)
        code = _compiled(self.shell, "memit", line, given, cell)
        if cell is not None and given.rest:
            compile_statement(self.shell, "memit", given.rest).run()
        from nbprof.capture.step_watch import steps_told
        from nbprof.memory.backends import backend

        measuring = or_usage_error(backend, given.flags, steps_told)
        value = None
        try:
            for _ in range(given.get("r", 1)):
                value = None  # what the run before returned is not memory of this one
                value = measuring.run(code.run if cell is not None else code.run_and_drop)
        except BaseException as error:
            if cell is not None:
                leave_like_bare(self.shell, error)
            raise
        finally:
            told_later = "o" in given and will_be_displayed(line if cell is None else cell)
            result = _reported("memit", lambda: measuring.result("v" in given), given, told_later)
        if "o" in given:
            return result
        return None if cell is None else value

    @no_var_expand
    @output_can_be_silenced
    @line_cell_magic
    def mprun(self, line: str, cell: str | None = None) -> Any:
        """Filled from the table of flags below."""
        __tracebackhide__ = True
        given = _parsed("mprun", line)
        code = _compiled(self.shell, "mprun", line, given, cell)
        if cell is not None and given.rest:
            raise UsageError("%%mprun takes options on its line; the code stands below it.")
        targets = self._targets(given, code if cell is not None else None)
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
            result = _reported("mprun", lambda: line_memory(targets, tracer.notes), given)
        if "o" in given or "r" in given:
            return result
        return None if cell is None else value

    @no_var_expand
    @output_can_be_silenced
    @line_cell_magic
    def memobj(self, line: str, cell: str | None = None) -> Any:
        """Filled from the table of flags below."""
        __tracebackhide__ = True
        given = _parsed("memobj", line)
        if cell is None:
            held = or_usage_error(self._held, given)
            result = _reported("memobj", lambda: held, given)
            return result if "o" in given else None
        if given.rest:
            raise UsageError("%%memobj takes options on its line; the code stands below it.")
        code = _compiled(self.shell, "memobj", line, given, cell)
        from nbprof.memory.namespace import resident_bytes

        before = self._held(given)
        before = replace(before, resident=resident_bytes())  # looking has taken memory, too
        try:
            value = code.run()
        except BaseException as error:
            leave_like_bare(self.shell, error)
            raise
        finally:
            result = _reported("memobj", lambda: self._left_behind(before, given), given)
        return result if "o" in given else value

    def _held(self, given: Given) -> "ObjectMemory":
        from nbprof.memory.namespace import look

        shell = self.shell
        names = {
            name: value
            for name, value in shell.user_ns.items()
            if name not in shell.user_ns_hidden and not name.startswith("_")
        }
        for cell, value in shell.user_ns.get("Out", {}).items():
            names[f"Out[{cell}]"] = value
        asked = given.rest.replace(",", " ").split()
        for name in asked:
            if name not in names:
                raise NbprofError(f"there is no name {name} in this notebook.")
        wanted = {name: names[name] for name in asked} if asked else names
        return look(wanted, given.get("n", 15), (shell, shell.user_ns, shell.user_ns.get("Out")))

    def _left_behind(self, before: "ObjectMemory", given: Given) -> "ObjectMemory":
        from nbprof.memory.namespace import difference

        return difference(before, self._held(given))

    def _targets(self, given: Given, cell: Cell | None) -> "list[Target]":
        """Find the functions that -f names, or else take the cell's own lines."""
        __tracebackhide__ = True
        from nbprof.memory.watched_code import of_cell, of_function

        if "f" not in given:
            if cell is None:
                raise UsageError("%mprun watches functions: name one with -f FUNCTION.")
            codes = [code for code in cell.statements if not isinstance(code, SyntaxError)]
            codes += [cell.last_expression] if cell.last_expression else []
            return [of_cell(codes, cell.raw, f"In [{number(self.shell)}]")]
        names = cell_names(self.shell)
        targets = []
        for expression in dict.fromkeys(given.get("f")):
            try:
                function = eval(expression, self.shell.user_global_ns, self.shell.user_ns)
            except Exception as error:  # noqa: BLE001 whatever the user's expression raises
                raise UsageError(
                    f"-f {expression} cannot be found ({type(error).__name__}: {error})."
                ) from None
            targets.append(or_usage_error(of_function, function, expression, names))
        return targets


def _parsed(magic: str, line: str) -> Given:
    __tracebackhide__ = True
    given: Given = or_usage_error(parse, magic, line)
    return given


def _compiled(
    shell: "InteractiveShell", magic: str, line: str, given: Given, cell: str | None
) -> Cell:
    __tracebackhide__ = True
    if cell is None:
        if not given.rest:
            raise UsageError(f"%{magic} needs a statement behind it; %%{magic} takes a cell.")
        return compile_statement(shell, magic, given.rest)
    return compile_cell(shell, magic, line, cell)


def _reported(
    magic: str, make: "Callable[[], Any]", given: Given, told_later: bool = False
) -> "Any | None":
    """Make and show a result; a fault of ours costs the report, not the user's value."""
    try:
        result = make()
        if result is not None:
            _show(result, given, told_later)
    except KeyboardInterrupt:
        sys.stderr.write(f"%{magic}'s report was interrupted; the code itself had ended.\n")
    except NbprofError as error:
        sys.stderr.write(f"{error} The code itself ran as usual.\n")
    except Exception as error:  # noqa: BLE001 the user's code must not fail by our fault
        sys.stderr.write(
            f"%{magic} could not report ({type(error).__name__}: {error}); the code itself ran as "
            "usual.\n"
        )
    else:
        return result
    return None


def _show(result: Any, given: Given, told_later: bool) -> None:
    from IPython.display import display

    if "q" not in given:
        if "o" in given or given.get("r") is True:
            # It shows itself where it lands, which may be at once.
            sys.stdout.write("" if told_later else result.in_a_line)
        else:
            display(result)
    file: Path | None = given.get("T")
    if file is not None and write_text(file, f"{result.text}\n") and "q" not in given:
        sys.stdout.write(f"{file} is written.\n")


for _magic in MAGICS:
    getattr(MemoryMagics, _magic).__doc__ = help_text(_magic)
