"""`%%tfprof` and `%%pyprof` profile a cell; without a cell they look at the last profile again.

A magic parses its line, runs the cell and shows the View. It computes nothing.
"""

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand

from nbprof.errors import NbprofError
from nbprof.flags import PYPROF, TFPROF, flags_of
from nbprof.magics.bare_traceback import leave_like_bare
from nbprof.magics.cell import compile_cell
from nbprof.magics.help_and_completion import help_text
from nbprof.magics.host_shell import cell_number
from nbprof.magics.magic_table import ADVISE, HELP, MAGICS, SET
from nbprof.magics.named_code import functions_named, modules_named
from nbprof.magics.profiling_line import Request, parse_line
from nbprof.magics.reporting import or_usage_error, report_or_explain, write_text
from nbprof.python_code import function_behind
from nbprof.run import ProfiledRun, give_back_memory, last
from nbprof.view_kinds import VIEWS, python_views

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from nbprof._profile import Profile


@magics_class
class NbprofMagics(Magics):
    """nbprof's magics for the ops of TensorFlow and for Python."""

    @no_var_expand
    @line_cell_magic(TFPROF)
    def tfprof(self, line: str, cell: str | None = None) -> Any:
        """Overwritten with the help when the extension is loaded."""
        __tracebackhide__ = True
        return self._do(TFPROF, line, cell)

    @no_var_expand
    @line_cell_magic(PYPROF)
    def pyprof(self, line: str, cell: str | None = None) -> Any:
        """Overwritten with the help when the extension is loaded."""
        __tracebackhide__ = True
        return self._do(PYPROF, line, cell)

    def _do(self, magic: str, line: str, cell: str | None) -> Any:
        __tracebackhide__ = True
        request = or_usage_error(parse_line, magic, line, self._kept_options(magic))
        if request.word == HELP:
            sys.stdout.write(f"{help_text(magic)}\n")
        elif request.word == SET:
            self._keep(magic, request)
        elif cell is not None:
            _check_placement(magic, request, "cell")
            return self._profile(magic, request, line, cell)
        else:
            _check_placement(magic, request, "line")
            profile = or_usage_error(_requested_profile, magic, request)
            or_usage_error(self._show, profile, _of_what_it_has(profile, magic, request))
        return None

    def _kept_options(self, magic: str) -> dict[str, str]:
        """Return the options that `set` keeps for later lines of this magic in this shell."""
        kept: dict[str, dict[str, str]] = self.__dict__.setdefault("_options_kept", {})
        return kept.setdefault(magic, {})

    def _keep(self, magic: str, request: Request) -> None:
        kept = self._kept_options(magic)
        if request.resets:
            kept.clear()
        kept.update(request.typed)
        options = " ".join(f"-{name} {value}" for name, value in kept.items())
        sys.stdout.write(f"%{magic} will use {options or 'its own defaults'}.\n")

    def _profile(self, magic: str, request: Request, line: str, body: str) -> Any:
        __tracebackhide__ = True
        shell = self.shell
        cell = compile_cell(shell, magic, line, body)
        run = ProfiledRun(
            f"In [{cell_number(shell)}]",
            tensorflow=magic == TFPROF,
            python=request.word if request.word in python_views() else None,
            threads="threads" in request,
            light="light" in request,
            limit=request.get("limit"),
            steps=request.get("steps"),
            functions=or_usage_error(_functions, shell, request),
            modules=modules_named(shell, request.get("m", ())),
        )
        raised: BaseException | None = None
        try:
            or_usage_error(run.begin)
            return cell.shown(cell.run(run.begin_statement, run.end_statement))
        except BaseException as error:
            raised = error
            leave_like_bare(shell, error)
            raise
        finally:
            if run.started:
                report_or_explain(
                    magic,
                    lambda: self._report(run, request, raised),
                    f"; %{magic} looks at its profile again",
                )
                run.abandon()
            raised = None  # otherwise its traceback would keep it alive

    def _report(self, run: ProfiledRun, request: Request, raised: BaseException | None) -> None:
        try:
            run.finish(raised)
            self._show(run.profile, request)
        finally:
            give_back_memory()

    def _show(self, profile: "Profile", request: Request) -> None:
        from IPython.display import display

        if request.word == ADVISE:
            self._advise(profile, request)
            return
        view = profile.view(request.word, request.options)
        self._bind(request, view)
        if "q" not in request and request.options.output.kind == "stdout":
            display(view.explore() if "explore" in request else view)
        for path in view.write_output():
            if "q" not in request:
                sys.stdout.write(f"Wrote {path}.\n")
        if "T" in request:
            write_text(request.get("T"), view.text)

    def _advise(self, profile: "Profile", request: Request) -> None:
        from IPython.display import display

        from nbprof.display import advice

        found = profile.advise()
        self._bind(request, found)
        if "q" not in request:
            faces = {"text/plain": advice.report(found), "text/html": advice.html_report(found)}
            display(faces, raw=True)
        if "T" in request:
            write_text(request.get("T"), advice.report(found))

    def _bind(self, request: Request, value: Any) -> None:
        """Assign the value to the variable that -o names."""
        if "o" in request:
            self.shell.user_ns[request.get("o")] = value


def _check_placement(magic: str, request: Request, kind: str) -> None:
    """Raise UsageError for a flag that only the other form of the magic has."""
    for name in request.flags:
        only_for = flags_of(magic)[name].only_for
        if only_for == "cell" != kind:
            raise UsageError(f"-{name} is for profiling a cell: use %%{magic} -{name} …")
        if only_for == "line" != kind:
            raise UsageError(f"-{name} runs no cell: use %{magic} -{name} …")
        if name in ("f", "m") and request.word != "line":
            raise UsageError(f"-{name} is for the line view: use %%{magic} line -{name} …")


def _functions(shell: "InteractiveShell", request: Request) -> list[Any]:
    """Return the functions whose lines -f asks to count."""
    return [
        function_behind(function, name)
        for name, function in functions_named(shell, request.get("f", ())).items()
    ]


def _of_what_it_has(profile: "Profile", magic: str, request: Request) -> Request:
    """Ask for the magic's first view that the profile has, if the line names none."""
    if request.named:
        return request
    views = MAGICS[magic].views()
    shown = (name for name in views if VIEWS[name].needs in profile.recording.watched)
    return replace(request, word=next(shown, request.word))


def _requested_profile(magic: str, request: Request) -> "Profile":
    """Load the file of -from, or return the last profile."""
    if "from" in request:
        from nbprof.files import load

        return load(request.get("from"))
    profile = last()
    if profile is None:
        raise NbprofError(
            "nothing has been profiled yet, or the last cell's profile could not be made: put "
            f"%%{magic} on the first line of a cell."
        )
    return profile
