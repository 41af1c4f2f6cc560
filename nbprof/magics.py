"""The front door: `%%tfprof` profiles a cell, `%tfprof` looks at the last profile again.

A magic parses its line, runs the cell, hands over, and shows the View. It computes nothing.
"""

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import (
    Magics,
    line_cell_magic,
    magics_class,
    no_var_expand,
    output_can_be_silenced,
)

from nbprof.cell import compile_cell, is_the_cell, leave_like_bare, number
from nbprof.errors import NbprofError
from nbprof.options import OPTIONS, ViewOptions, check_output, lookup, suggest
from nbprof.run import ProfiledRun, last

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from nbprof._profile import Profile

MAGIC = "tfprof"
COMMANDS = (f"%{MAGIC}", f"%%{MAGIC}")
VIEWS = ("op", "scope", "graph", "code", "layer")
NOT_YET = ("advise", "set", "explore", "from")
HELP = ("help", "h")
OWN_FLAGS = {
    "o": ("NAME", "bind the View to this name and still show it"),
    "q": ("", "show nothing"),
    "T": ("FILE", "save the text report to this file"),
    "limit": ("SECONDS", "end tracing after so long while the cell runs on; 60 if not given"),
    "light": ("", "a cheaper trace: no memory, no lines, cheap ops not counted once warm"),
}


SWITCHES = tuple(name for name, (value, _) in OWN_FLAGS.items() if not value)


@dataclass(frozen=True)
class Request:
    """What a line of `%tfprof` asks for."""

    view: str
    options: ViewOptions
    name: str | None
    quiet: bool
    text_file: Path | None
    light: bool
    limit: float | None


@magics_class
class NbprofMagics(Magics):
    """nbprof's magics."""

    @no_var_expand
    @output_can_be_silenced
    @line_cell_magic(MAGIC)
    def tfprof(self, line: str, cell: str | None = None) -> Any:
        """Filled from the tables of options below."""
        __tracebackhide__ = True
        request = _or_usage_error(parse_line, line)
        if cell is not None:
            return self._profile(request, line, cell)
        profile = last()
        if profile is None:
            raise UsageError("nothing has been profiled yet: make %%tfprof a cell's first line.")
        _or_usage_error(self._show, profile, request)
        return None

    def _profile(self, request: Request, line: str, body: str) -> Any:
        __tracebackhide__ = True
        shell = self.shell
        try:
            cell = compile_cell(shell, MAGIC, line, body)
        except SyntaxError as error:
            if is_the_cell():
                leave_like_bare(shell, error)
            raise
        run = ProfiledRun(f"In [{number(shell)}]", request.light, request.limit)
        try:
            _or_usage_error(run.__enter__)
            return cell.run()
        except BaseException as error:
            if is_the_cell():
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

        view = profile.view(request.view, request.options)
        if request.name:
            self.shell.user_ns[request.name] = view
        if not request.quiet and request.options.output.kind == "stdout":
            display(view)
        for path in () if request.quiet else view.written:
            sys.stdout.write(f"{path} is written.\n")
        if request.text_file:
            try:
                request.text_file.write_text(view.text, encoding="utf-8")
            except OSError as error:
                sys.stderr.write(f"-T could not write {request.text_file}: {error.strerror}.\n")


def _or_usage_error(function: Callable[..., Any], *arguments: Any) -> Any:
    __tracebackhide__ = True
    try:
        return function(*arguments)
    except NbprofError as error:
        raise UsageError(str(error)) from None


def parse_line(line: str) -> Request:
    """Read a magic's line in tfprof's spelling: one or two dashes, `-name value` or `-name=value`.

    argparse would read the mistyped `-orderby` as `-o rderby`; here a flag is known or refused.
    """
    try:
        words = shlex.split(line, comments=False)
    except ValueError as error:
        raise NbprofError(f"the line cannot be read: {error}.") from error
    view = "op"
    if words and not words[0].startswith("-"):
        view = _check_view(words.pop(0))
    given = _pair_up(words)
    own = {flag: given.pop(flag) for flag in OWN_FLAGS if flag in given}
    options = ViewOptions.parse(given)
    check_output(view, options)
    return Request(
        view,
        options,
        _check_name(own.get("o")),
        "q" in own,
        _check_file(own.get("T")),
        "light" in own,
        _check_limit(own.get("limit")),
    )


def _pair_up(words: list[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    waiting = iter(words)
    for word in waiting:
        name, equals, value = word.lstrip("-").partition("=")
        if word in VIEWS:
            raise NbprofError(f"a view comes before the options: %%{MAGIC} {word} …")
        if not word.startswith("-") or not name:
            raise NbprofError(f"{word!r} stands where an option was expected; {_known()}")
        _check_flag(name)
        if name in SWITCHES:
            if equals:
                raise NbprofError(f"-{name} takes no value.")
        elif not equals:
            value = next(waiting, "")
            if not value:
                raise NbprofError(f"-{name} needs a value behind it.")
        if name in given:
            raise NbprofError(f"-{name} is given twice.")
        given[name] = value
    return given


def _known() -> str:
    return "options are " + ", ".join(f"-{name}" for name in (*OWN_FLAGS, *OPTIONS)) + "."


def _check_flag(name: str) -> None:
    if name in OWN_FLAGS or name in OPTIONS:
        return
    if name in HELP:
        raise NbprofError(f"%{MAGIC}? prints the help.")
    if name in NOT_YET:
        raise NbprofError(f"nbprof does not have -{name} yet; {_known()}")
    raise NbprofError(f"there is no option -{name}; {suggest(name, (*OWN_FLAGS, *OPTIONS))}")


def _check_view(name: str) -> str:
    if name in HELP:
        raise NbprofError(f"%{MAGIC}? prints the help.")
    if name in NOT_YET:
        raise NbprofError(f"nbprof does not have {name!r} yet; there is {', '.join(VIEWS)}.")
    if name not in VIEWS:
        raise NbprofError(f"there is no view {name!r}; there is {', '.join(VIEWS)}.")
    return name


def _check_name(name: str | None) -> str | None:
    if name is not None and (not name.isidentifier() or iskeyword(name) or name[:2] == "__"):
        raise NbprofError(f"-o takes a Python name of your own, not {name!r}.")
    return name


def _check_limit(seconds: str | None) -> float | None:
    if seconds is None:
        return None
    try:
        limit = float(seconds)
    except ValueError:
        limit = 0.0
    if not 0 < limit < float("inf"):
        raise NbprofError(f"-limit takes a number of seconds above 0, not {seconds!r}.")
    return limit


def _check_file(file: str | None) -> Path | None:
    if file is None:
        return None
    path = Path(file).expanduser().absolute()  # the cell may change the working folder
    if path.is_dir() or not path.parent.is_dir():
        raise NbprofError(f"-T cannot write {file!r}: there is no such folder, or it is one.")
    return path


def _help() -> str:
    lines = [
        "Profile a TensorFlow cell, or look at the last profile again.",
        "",
        f"    %%{MAGIC} [{' | '.join(VIEWS)}] [options]     profile the cell below",
        f"    %{MAGIC}  [{' | '.join(VIEWS)}] [options]     view the last profile, run nothing",
        "",
        "The cell runs as if bare; the report is shown after it. Options, with one dash or two:",
        "",
    ]
    flags = [(name, value, help_) for name, (value, help_) in OWN_FLAGS.items()]
    flags += [(name, option.value, option.help) for name, option in OPTIONS.items()]
    lines += [f"    {f'-{name} {value}':<28} {help_}" for name, value, help_ in flags]
    defaults = ViewOptions()
    lines += [
        "",
        f"Defaults: view op, -order_by {defaults.order_by}, -select {','.join(defaults.select)}, "
        f"-max_depth {defaults.max_depth}.",
    ]
    return "\n".join(lines)


NbprofMagics.tfprof.__doc__ = _help()


def completions(line: str, symbol: str) -> list[str]:
    """List what may stand where `symbol` ends `line`: views, options, or an option's values."""
    words = line[: len(line) - len(symbol)].split()
    before = words[-1].lstrip("-").partition("=")[0] if len(words) > 1 else ""
    flags = [f"-{name}" for name in (*OWN_FLAGS, *OPTIONS)]
    if before in OPTIONS and words[-1].startswith("-"):
        candidates = list(OPTIONS[before].choices)
    elif "," in line[len(line) - len(symbol) - 1 :] and len(words) > 2:
        candidates = list(lookup(words[-2].lstrip("-")).choices)
    else:
        candidates = [*(VIEWS if len(words) == 1 else ()), *flags]
    return [candidate for candidate in candidates if candidate.startswith(symbol)]


_KINDS = ("line", "cell")
_replaced: dict[int, dict[str, Any]] = {}
"""For each shell, by its id, the magics that stood under our name before."""


def load(shell: "InteractiveShell") -> None:
    """Register the magics, remembering what they replace; twice does no harm."""
    table = shell.magics_manager.magics
    if id(shell) not in _replaced:
        _replaced[id(shell)] = {kind: table[kind].get(MAGIC) for kind in _KINDS}
        for command in COMMANDS:
            shell.set_hook("complete_command", _complete, str_key=command)
    shell.register_magics(NbprofMagics)


def unload(shell: "InteractiveShell") -> None:
    """Put back what stood under our names, or nothing."""
    table = shell.magics_manager.magics
    for kind, before in _replaced.pop(id(shell), {}).items():
        if before is None:
            table[kind].pop(MAGIC, None)
        else:
            table[kind][MAGIC] = before
    for command in COMMANDS:
        dispatcher = shell.strdispatchers["complete_command"].strs.get(command)
        if dispatcher is not None:
            dispatcher.chain[:] = [
                entry for entry in dispatcher.chain if getattr(entry[1], "__func__", 0) != _complete
            ]
    shell.magics_manager.registry.pop(NbprofMagics.__name__, None)


def _complete(_shell: "InteractiveShell", event: Any) -> list[str]:
    return completions(event.line, event.symbol)
