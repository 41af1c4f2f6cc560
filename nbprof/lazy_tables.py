"""The tables of a Profile as its class declares them: made when they are first asked for."""

from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd


class _Once:
    """Makes a table when first called, for all profiles that share it."""

    def __init__(
        self, make: "Callable[[], pd.DataFrame]", part: "pd.DataFrame | None" = None
    ) -> None:
        self._make: Callable[[], pd.DataFrame] | None = make
        self.part = part

    def __call__(self) -> "pd.DataFrame":
        if self._make is not None:
            self._table = self._make()
            self._make = self.part = None  # and what it was made of can go
        return self._table


def lazily(make: "Callable[[], pd.DataFrame]", part: "pd.DataFrame | None" = None) -> Any:
    """Give a table that is made when it is first asked for; `part` has some columns of it."""
    return _Once(make, part)


class _Table:
    """A table of a Profile, given as it is or as a function that makes it when first asked for."""

    def __init__(self, default: "Callable[[], pd.DataFrame] | None" = None) -> None:
        self._default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, profile: Any, owner: type | None = None) -> Any:
        if profile is None:
            if self._default is None:
                raise AttributeError(self._name)  # so the field has no default
            return self._default
        table = vars(profile)[self._name]
        if callable(table):
            table = vars(profile)[self._name] = table()
        return table

    def __set__(self, profile: Any, table: Any) -> None:
        made = not callable(table) or isinstance(table, _Once)
        vars(profile)[self._name] = table if made else _Once(table)


def table(default: "Callable[[], pd.DataFrame] | None" = None) -> Any:
    """Declare a table; one without a default must be given."""
    return _Table(default)


def empty(**dtypes: str) -> "Callable[[], pd.DataFrame]":
    """Give what makes a table of these columns that has no rows."""
    return partial(_empty, dtypes)  # no closure: a profile can be pickled before it is made


def _empty(dtypes: dict[str, str]) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in dtypes.items()})
