"""Register the magics with a shell, and take them back."""

from typing import TYPE_CHECKING, Any

from nbprof.magics.help_and_completion import completions, help_text
from nbprof.magics.magic_table import MAGICS
from nbprof.magics.memory_magics import MemoryMagics
from nbprof.magics.profiling_magics import NbprofMagics

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_KINDS = ("line", "cell")
_CLASSES = (NbprofMagics, MemoryMagics)
_replaced: dict[int, dict[tuple[str, str], Any]] = {}
"""For each shell, by its id, the magics that ours replaced, by kind and name."""


def load(shell: "InteractiveShell") -> None:
    """Register the magics and remember what they replace; loading twice does no harm."""
    table = shell.magics_manager.magics
    if id(shell) not in _replaced:
        _replaced[id(shell)] = {
            (kind, name): table[kind].get(name) for kind in _KINDS for name in MAGICS
        }
        for command in _commands():
            shell.set_hook("complete_command", _complete, str_key=command)
    for name in MAGICS:
        _function(name).__doc__ = help_text(name)
    shell.register_magics(*_CLASSES)


def unload(shell: "InteractiveShell") -> None:
    """Put back what our magics replaced; whatever was registered over them since stays."""
    table = shell.magics_manager.magics
    for (kind, name), before in _replaced.pop(id(shell), {}).items():
        if not isinstance(getattr(table[kind].get(name), "__self__", None), _CLASSES):
            continue
        if before is None:
            table[kind].pop(name, None)
        else:
            table[kind][name] = before
    for command in _commands():
        dispatcher = shell.strdispatchers["complete_command"].strs.get(command)
        if dispatcher is not None:
            dispatcher.chain[:] = [
                entry for entry in dispatcher.chain if getattr(entry[1], "__func__", 0) != _complete
            ]
    for registered in _CLASSES:
        shell.magics_manager.registry.pop(registered.__name__, None)


def _commands() -> list[str]:
    return [f"{percent}{name}" for name in MAGICS for percent in ("%", "%%")]


def _function(name: str) -> Any:
    """Return the method that is a magic."""
    return next(getattr(owner, name) for owner in _CLASSES if hasattr(owner, name))


def _complete(_shell: "InteractiveShell", event: Any) -> list[str]:
    return completions(event.line.lstrip(), event.symbol)
