"""Tables of a Profile that are made when first used."""

from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd


class _Once:
    """Makes a table on the first call, for all profiles that share it."""

    def __init__(
        self, make: "Callable[[], pd.DataFrame]", part: "pd.DataFrame | None" = None
    ) -> None:
        self._make: Callable[[], pd.DataFrame] | None = make
        self.part = part

    def __call__(self) -> "pd.DataFrame":
        if self._make is not None:
            self._table = self._make()
            self._make = self.part = None  # free what it was made of
        return self._table


def lazily(make: "Callable[[], pd.DataFrame]", part: "pd.DataFrame | None" = None) -> Any:
    """Return a table that is made when first used; `part` already has some of its columns."""
    return _Once(make, part)


class _Table:
    """A table of a Profile, set as it is or as a function that makes it on first use."""

    def __init__(self, default: "Callable[[], pd.DataFrame] | None" = None) -> None:
        self._default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, profile: Any, owner: type | None = None) -> Any:
        if profile is None:
            if self._default is None:
                raise AttributeError(self._name)  # tells dataclass that there is no default
            return self._default
        table = vars(profile)[self._name]
        if callable(table):
            table = vars(profile)[self._name] = table()
        return table

    def __set__(self, profile: Any, table: Any) -> None:
        is_ready = not callable(table) or isinstance(table, _Once)
        vars(profile)[self._name] = table if is_ready else _Once(table)


def table(default: "Callable[[], pd.DataFrame] | None" = None) -> Any:
    """Declare a table; without a default it is required."""
    return _Table(default)


def empty(**dtypes: str) -> "Callable[[], pd.DataFrame]":
    """Return a function that makes a table with these columns and no rows."""
    return partial(_empty, dtypes)  # unlike a closure, it can be pickled


def _empty(dtypes: dict[str, str]) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in dtypes.items()})
