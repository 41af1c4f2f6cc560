"""What a reader wants to know of a trace: most events of a trace tell it nothing."""

from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import dataclass
from functools import cached_property

KINDS = 32
"""Kinds are smaller numbers."""
NEVER, PERHAPS = -1, 0
"""The kinds of events that are left out, whatever stats they have, or unless a stat tells more."""


@dataclass(frozen=True)
class Wanted:
    """Which events and stats to keep."""

    kind: Callable[[str, bytes, bytes], int]
    """Gives the kind of the events with a plane's name, an own name and a display name."""
    telling: Set[bytes]
    """Stats that make any event worth keeping, if its kind is not NEVER."""
    stats: Mapping[bytes, Collection[int]]
    """The stats to keep, each with the kinds of events it is wanted of."""

    @cached_property
    def bits(self) -> Mapping[bytes, int]:
        """The stats to keep, each with a bit set for every kind it is wanted of."""
        return {name: sum(1 << kind for kind in kinds) for name, kinds in self.stats.items()}
