"""What the names of a notebook hold (`%memobj`), and what a cell left behind (`%%memobj`)."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import BuiltinFunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from nbprof.memory.object_sizes import Sizer, owns_data, type_name
from nbprof.memory.result_base import Result
from nbprof.memory.watermark import watermark

if TYPE_CHECKING:
    import pandas as pd

SIZING_SECONDS = 0.35
"""Time budget for sizing all names, in seconds."""
PATIENCE = 4
"""How many times longer to size again what was sized in time before."""
SHARED_SECONDS = 0.2
"""Time budget for sizing again, each by itself, the names that share memory, in seconds."""


@dataclass(frozen=True)
class Name:
    """One name; amounts are bytes."""

    name: str
    type: str
    bytes: float
    """What it holds; memory that several names share counts for the one that owns it."""
    reached: float
    """Everything it keeps alive, including what it shares with other names."""
    exact: bool
    """Whether the amounts are exact; otherwise they are estimates or lower bounds."""
    identity: int = 0
    """The object's id, to detect that a cell bound the name to another object."""
    late_at: float = math.inf
    """How many of its objects had been met when the time for sizing was up."""


@dataclass(frozen=True)
class Kind:
    """All objects of one type that the names keep alive."""

    type: str
    count: int
    bytes: float


@dataclass(frozen=True, eq=False, repr=False)
class ObjectMemory(Result):
    """What names hold or, with `change`, how much more they hold than before a cell."""

    names: tuple[Name, ...]
    kinds: tuple[Kind, ...]
    resident: float
    """Bytes the process holds in RAM."""
    rows: int = 15
    """Number of rows to show."""
    change: bool = False
    states: Mapping[str, str] | None = None
    """`new`, `gone` or `changed` (now another object), by name."""

    @property
    def total(self) -> float:
        """Bytes all names hold together."""
        return float(sum(name.bytes for name in self.names))

    @property
    def frame(self) -> "pd.DataFrame":
        """One row per name, the largest first, amounts in bytes."""
        import pandas as pd

        frame = pd.DataFrame(
            {
                "name": [each.name for each in self.names],
                "type": [each.type for each in self.names],
                "bytes": [each.bytes for each in self.names],
                "reached_bytes": [each.reached for each in self.names],
                "exact": [each.exact for each in self.names],
            }
        )
        if self.states is not None:
            frame["state"] = [self.states.get(each.name, "") for each in self.names]
        return frame

    @property
    def types(self) -> "pd.DataFrame":
        """One row per type, the largest first, amounts in bytes."""
        import pandas as pd

        return pd.DataFrame(
            {
                "type": [each.type for each in self.kinds],
                "count": [each.count for each in self.kinds],
                "bytes": [each.bytes for each in self.kinds],
            }
        )

    @property
    def text(self) -> str:
        """The names, then the types, in tables like Pympler's."""
        from nbprof.display.memory import object_table

        return object_table.text_report(self)

    def _repr_html_(self) -> str:
        from nbprof.display.memory import object_table

        return object_table.html_report(self)


def size_names(
    names: Mapping[str, Any],
    rows: int = 15,
    beyond: Iterable[Any] = (),
    earlier: ObjectMemory | None = None,
) -> ObjectMemory:
    """Size what each name holds, leaving out modules, classes and the objects in `beyond`.

    What an `earlier` measurement had no time to size in full is sized as far as it was then, so
    that the sizes of objects that have not changed are equal.
    """
    sizable = {
        name: value
        for name, value in names.items()
        if not isinstance(value, ModuleType | type | BuiltinFunctionType)
    }
    resident = resident_bytes()
    sizer = Sizer(SIZING_SECONDS * (1 if earlier is None else PATIENCE), beyond)
    most = {each.name: each.late_at for each in earlier.names} if earlier else {}
    found = {}
    for name in sorted(sizable, key=lambda name: _rank(sizable[name])):
        size, exact = sizer.add(sizable[name], most.get(name, math.inf))
        found[name] = size, exact, sizer.shares, sizer.late_at
    by_itself = Sizer(SHARED_SECONDS, beyond)
    sized = []
    for name, value in sizable.items():
        size, exact, shares, late_at = found[name]
        reached = max(size, by_itself.fresh().add(value)[0]) if shares else size
        sized.append(Name(name, type_name(type(value)), size, reached, exact, id(value), late_at))
    kinds = (Kind(kind, *figures) for kind, figures in sizer.by_type.items())
    return ObjectMemory(
        tuple(sorted(sized, key=lambda each: -each.bytes)),
        tuple(sorted(kinds, key=lambda each: -each.bytes)),
        resident,
        rows,
    )


def _rank(value: Any) -> int:
    """Return a sort key that puts owners of data before objects that only refer to it."""
    if getattr(value, "base", None) is not None or isinstance(value, list | tuple | dict | set):
        return 1
    return 0 if owns_data(value) else 2


def resident_bytes() -> float:
    """Return the bytes the process holds in RAM."""
    owner = watermark()
    stretch = owner.open()
    owner.close(stretch)
    return float(stretch.before)


def difference(before: ObjectMemory, after: ObjectMemory) -> ObjectMemory:
    """Return what changed between two measurements: names and types that hold more or less."""
    names, states = [], {}
    earlier = {each.name: each for each in before.names}
    for now in after.names:
        was = earlier.pop(now.name, None)
        if was is None:
            states[now.name] = "new"
        elif was.identity != now.identity:
            states[now.name] = "changed"
        grown = now.bytes - (was.bytes if was else 0)
        reached = now.reached - (was.reached if was else 0)
        # A lower bound may fall although nothing was released.
        is_known = now.exact or was is None or not was.exact or grown > 0
        if now.name in states or (grown and is_known):
            exact = now.exact and (was is None or was.exact)
            names.append(Name(now.name, now.type, grown, reached, exact))
    for was in earlier.values():
        states[was.name] = "gone"
        names.append(Name(was.name, was.type, -was.bytes, -was.reached, was.exact))
    return ObjectMemory(
        tuple(sorted(names, key=lambda each: -abs(each.bytes))),
        tuple(sorted(_changed_kinds(before, after), key=lambda each: -abs(each.bytes))),
        after.resident - before.resident if after.resident else math.nan,
        after.rows,
        change=True,
        states=states,
    )


def _changed_kinds(before: ObjectMemory, after: ObjectMemory) -> list[Kind]:
    was = {each.type: each for each in before.kinds}
    now = {each.type: each for each in after.kinds}
    nothing = Kind("", 0, 0)
    changed = []
    for kind in was.keys() | now.keys():
        old, new = was.get(kind, nothing), now.get(kind, nothing)
        if (old.count, old.bytes) != (new.count, new.bytes):
            changed.append(Kind(kind, new.count - old.count, new.bytes - old.bytes))
    return changed
