"""What the names of a notebook hold (`%memobj`), and what a cell left behind (`%%memobj`)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import BuiltinFunctionType, ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

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
class Kind:
    """All objects of one type that a name, or all names, keep alive."""

    type: str
    count: int
    bytes: float


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
    kinds: tuple[Kind, ...] = ()
    """What it holds, by type."""

    @property
    def is_whole(self) -> bool:
        """Whether there was time to meet all of its objects."""
        return self.exact or self.late_at == math.inf


Sized = TypeVar("Sized", Name, Kind)


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
    unknown_names: tuple[str, ...] = ()
    """Names of which it is not known how much more they hold: there was no time to size them."""
    unknown_kinds: tuple[str, ...] = ()
    """Types of which, for that reason, it is not known how much more there is."""

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
        kinds = tuple(Kind(kind, *figures) for kind, figures in sizer.by_type.items())
        found[name] = size, exact, sizer.shares, sizer.late_at, kinds
    by_itself = Sizer(SHARED_SECONDS, beyond)
    sized = []
    for name, value in sizable.items():
        size, exact, shares, late_at, kinds = found[name]
        reached = max(size, by_itself.fresh().add(value)[0]) if shares else size
        kind = type_name(type(value))
        sized.append(Name(name, kind, size, reached, exact, id(value), late_at, kinds))
    return ObjectMemory(
        _largest_first(sized),
        _add_up(kind for each in sized for kind in each.kinds),
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


@dataclass(frozen=True)
class _Looks:
    """What a name held in two looks at it, None where there was no such name."""

    before: Name | None
    after: Name | None

    @property
    def state(self) -> str:
        """`new`, `gone`, `changed` (now another object) or, for the same object, nothing."""
        if self.before is None or self.after is None:
            return "new" if self.before is None else "gone"
        return "" if self.before.identity == self.after.identity else "changed"

    @property
    def change(self) -> Name:
        """The name with how much more it holds."""
        was, now = self.before or NOTHING, self.after or NOTHING
        name = self.after or self.before or NOTHING
        exact = was.exact and now.exact
        return Name(name.name, name.type, now.bytes - was.bytes, now.reached - was.reached, exact)

    @property
    def is_known(self) -> bool:
        """Whether the change is known: objects met before and no more do not mean it shrank."""
        was, now = self.before, self.after
        if self.state or was is None or now is None or now.is_whole:
            return True
        if was.is_whole:
            return sum(kind.bytes for kind in now.kinds) > was.bytes
        # As many objects were met in both looks. Estimates from other types of them mean nothing.
        return {k.type: k.count for k in was.kinds} == {k.type: k.count for k in now.kinds}

    def has_changed(self, others_are_unknown: bool) -> bool:
        """Return whether it holds more or less; what it shares may have counted for another."""
        if self.state:
            return True
        change = self.change
        return bool(change.reached if others_are_unknown else change.bytes)

    @property
    def kinds_are_known(self) -> bool:
        """Whether all objects were met both times; what is new or gone is at least what was met."""
        both = [name for name in (self.before, self.after) if name]
        return len(both) == 1 or all(name.is_whole for name in both)


NOTHING = Name("", "", 0, 0, exact=True)


def difference(before: ObjectMemory, after: ObjectMemory) -> ObjectMemory:
    """Return what changed between two measurements: names and types that hold more or less."""
    earlier = {each.name: each for each in before.names}
    looks = [_Looks(earlier.pop(now.name, None), now) for now in after.names]
    looks += [_Looks(was, None) for was in earlier.values()]
    unknown = tuple(each.change.name for each in looks if not each.is_known)
    names = [each.change for each in looks if each.is_known and each.has_changed(bool(unknown))]
    kinds, unknown_kinds = _changed_kinds(looks)
    return ObjectMemory(
        _largest_first(names),
        kinds,
        after.resident - before.resident if after.resident else math.nan,
        after.rows,
        change=True,
        states={each.change.name: each.state for each in looks if each.state},
        unknown_names=unknown,
        unknown_kinds=unknown_kinds,
    )


def _changed_kinds(looks: "Sequence[_Looks]") -> tuple[tuple[Kind, ...], tuple[str, ...]]:
    """Return how much more there is of each type, and the types of which that is not known."""
    changes: list[Kind] = []
    unknown: set[str] = set()
    for each in looks:
        now, was = each.after or NOTHING, each.before or NOTHING
        changed = _add_up((*now.kinds, *(Kind(k.type, -k.count, -k.bytes) for k in was.kinds)))
        changes += changed
        if not each.kinds_are_known:
            unknown.update(kind.type for kind in changed)
    known = tuple(kind for kind in _add_up(changes) if kind.type not in unknown)
    return known, tuple(sorted(unknown))


def _add_up(kinds: Iterable[Kind]) -> tuple[Kind, ...]:
    """Return one Kind per type, the largest first; leave out those that add up to nothing."""
    total: dict[str, tuple[int, float]] = {}
    for kind in kinds:
        count, size = total.get(kind.type, (0, 0.0))
        total[kind.type] = count + kind.count, size + kind.bytes
    return _largest_first(Kind(kind, *figures) for kind, figures in total.items() if any(figures))


def _largest_first(sized: Iterable[Sized]) -> tuple[Sized, ...]:
    return tuple(sorted(sized, key=lambda each: -abs(each.bytes)))
