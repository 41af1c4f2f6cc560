"""The front door: `%%tfprof` profiles a cell, `%tfprof` looks at the last profile again.

A magic parses its line, runs the cell, hands over, and shows the View. It computes nothing.
"""

import sys
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
from nbprof.magics.cell import compile_cell, leave_like_bare, number
from nbprof.magics.conventions import or_usage_error, write_text
from nbprof.magics.memory_line import MAGICS as MEMORY_MAGICS
from nbprof.magics.memory_line import completions as memory_completions
from nbprof.magics.memory_magics import MemoryMagics
from nbprof.magics.tfprof_line import (
    ADVISE,
    HELP,
    MAGIC,
    RESET,
    SET,
    Request,
    completions,
    help_text,
    parse_line,
)
from nbprof.run import ProfiledRun, last

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from nbprof._profile import Profile

NAMES = (MAGIC, *MEMORY_MAGICS)
COMMANDS = tuple(f"{percent}{name}" for name in NAMES for percent in ("%", "%%"))


@magics_class
class NbprofMagics(Magics):
    """nbprof's magics."""

    @no_var_expand
    @output_can_be_silenced
    @line_cell_magic(MAGIC)
    def tfprof(self, line: str, cell: str | None = None) -> Any:
        """Filled from the tables of options below."""
        __tracebackhide__ = True
        request = or_usage_error(parse_line, line, self._kept())
        if request.word == HELP:
            sys.stdout.write(f"{help_text()}\n")
            return None
        if request.word == SET:
            self._keep(request)
            return None
        if cell is not None:
            if request.source is not None:
                raise UsageError(f"-from views a file and runs no cell: %{MAGIC} -from PATH …")
            return self._profile(request, line, cell)
        if request.light or request.limit is not None:
            raise UsageError(f"-light and -limit are for cells that are profiled: %%{MAGIC} …")
        or_usage_error(self._show, or_usage_error(_profile_of, request), request)
        return None

    def _kept(self) -> dict[str, str]:
        """The options that `%tfprof set` gave to all later lines of this shell."""
        kept: dict[str, str] = self.__dict__.setdefault("_options_kept", {})
        return kept

    def _keep(self, request: Request) -> None:
        kept = self._kept()
        if RESET in request.given:
            kept.clear()
        else:
            kept.update(request.given)
        options = " ".join(f"-{name} {value}" for name, value in kept.items())
        sys.stdout.write(f"%{MAGIC} will use {options or 'its own defaults'}.\n")

    def _profile(self, request: Request, line: str, body: str) -> Any:
        __tracebackhide__ = True
        shell = self.shell
        cell = compile_cell(shell, MAGIC, line, body)
        run = ProfiledRun(f"In [{number(shell)}]", request.light, request.limit)
        try:
            or_usage_error(run.__enter__)
            return cell.run(run.mark_line)
        except BaseException as error:
            leave_like_bare(shell, error)
            raise
        finally:
            if run.started:
                self._report(run, request)

    def _report(self, run: ProfiledRun, request: Request) -> None:
        try:
            run.__exit__(None, None, None)
            self._show(run.profile, request)
        except KeyboardInterrupt:
            sys.stderr.write("nbprof's report was interrupted; the cell itself had ended.\n")
        except NbprofError as error:
            sys.stderr.write(f"{error} The cell ran, and %{MAGIC} looks at its profile again.\n")
        except Exception as error:  # noqa: BLE001 the user's cell must not fail by our fault
            sys.stderr.write(
                f"nbprof could not report on this cell ({type(error).__name__}: {error}); "
                "the cell itself ran as usual.\n"
            )

    def _show(self, profile: "Profile", request: Request) -> None:
        from IPython.display import display

        if request.word == ADVISE:
            self._advise(profile, request)
            return
        view = profile.view(request.word, request.options)
        if request.name:
            self.shell.user_ns[request.name] = view
        if not request.quiet and request.options.output.kind == "stdout":
            display(view.explore() if request.explore else view)
        written = view.write_output()
        for path in () if request.quiet else written:
            sys.stdout.write(f"{path} is written.\n")
        if request.text_file:
            write_text(request.text_file, view.text)

    def _advise(self, profile: "Profile", request: Request) -> None:
        from IPython.display import display

        from nbprof.display import advice

        given = profile.advise()
        if request.name:
            self.shell.user_ns[request.name] = given
        if not request.quiet:
            faces = {"text/plain": advice.report(given), "text/html": advice.html_report(given)}
            display(faces, raw=True)
        if request.text_file:
            write_text(request.text_file, advice.report(given))


def _profile_of(request: Request) -> "Profile":
    """Find the profile that a line is about: a file's, or the last."""
    if request.source is not None:
        from nbprof.files import load

        return load(request.source)
    profile = last()
    if profile is None:
        raise NbprofError("nothing has been profiled yet: make %%tfprof a cell's first line.")
    return profile


NbprofMagics.tfprof.__doc__ = help_text()


_KINDS = ("line", "cell")
_CLASSES = (NbprofMagics, MemoryMagics)
_replaced: dict[int, dict[tuple[str, str], Any]] = {}
"""For each shell, by its id, the magics that stood under our names before."""


def load(shell: "InteractiveShell") -> None:
    """Register the magics, remembering what they replace; twice does no harm."""
    table = shell.magics_manager.magics
    if id(shell) not in _replaced:
        _replaced[id(shell)] = {
            (kind, name): table[kind].get(name) for kind in _KINDS for name in NAMES
        }
        for command in COMMANDS:
            shell.set_hook("complete_command", _complete, str_key=command)
    shell.register_magics(*_CLASSES)


def unload(shell: "InteractiveShell") -> None:
    """Put back what stood under our names, or nothing; what was put there since stays."""
    table = shell.magics_manager.magics
    for (kind, name), before in _replaced.pop(id(shell), {}).items():
        if not isinstance(getattr(table[kind].get(name), "__self__", None), _CLASSES):
            continue
        if before is None:
            table[kind].pop(name, None)
        else:
            table[kind][name] = before
    for command in COMMANDS:
        dispatcher = shell.strdispatchers["complete_command"].strs.get(command)
        if dispatcher is not None:
            dispatcher.chain[:] = [
                entry for entry in dispatcher.chain if getattr(entry[1], "__func__", 0) != _complete
            ]
    for registered in _CLASSES:
        shell.magics_manager.registry.pop(registered.__name__, None)


def _complete(_shell: "InteractiveShell", event: Any) -> list[str]:
    of_memory = event.line.lstrip().lstrip("%").split(maxsplit=1)[0] in MEMORY_MAGICS
    return (memory_completions if of_memory else completions)(event.line, event.symbol)
