"""The functions and modules that a user names on the line of a magic."""

import sys
from collections.abc import Iterable
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def functions_named(shell: "InteractiveShell", names: Iterable[str]) -> dict[str, Any]:
    """Return what each name of -f stands for in the notebook."""
    __tracebackhide__ = True
    found = {}
    for name in names:
        try:
            found[name] = eval(name, shell.user_global_ns, shell.user_ns)
        except Exception as error:  # noqa: BLE001 whatever the user's expression raises
            raise UsageError(
                f"-f {name} cannot be found ({type(error).__name__}: {error})."
            ) from None
    return found


def modules_named(shell: "InteractiveShell", names: Iterable[str]) -> list[ModuleType]:
    """Return the module that each name of -m stands for, in the notebook or to import."""
    __tracebackhide__ = True
    found = []
    for name in dict.fromkeys(names):
        module = shell.user_ns.get(name) or sys.modules.get(name)
        try:
            module = module if isinstance(module, ModuleType) else import_module(name)
        except Exception as error:  # noqa: BLE001 a module may raise anything while it is imported
            raise UsageError(
                f"-m {name} cannot be imported ({type(error).__name__}: {error})."
            ) from None
        if not str(getattr(module, "__file__", None)).endswith(".py"):
            raise UsageError(f"-m {name} has no lines: the module is not written in Python.")
        found.append(module)
    return found
