"""Which events and stats of a trace to keep: most events record the runtime's own housekeeping."""

from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from nbprof.arrays import Mask
from nbprof.ingest.xspace.id_tables import IdTables
from nbprof.ingest.xspace.xplane_fields import STAT_METADATA_ID
from nbprof.protos.varint_writer import write_varint

Kinds = npt.NDArray[np.int8]
Bits = npt.NDArray[np.uint32]

KINDS = 32
"""Upper bound of the kinds of events, which are numbered from 0."""
NEVER = -1
"""Kind of events that are always dropped."""
PERHAPS = 0
"""Kind of events that are kept only if they carry a telling stat."""

BIT_OF_KIND = np.left_shift(1, np.arange(KINDS)).astype(np.uint32)
"""The bit that stands for each kind."""
ALL_KINDS = 2**KINDS - 1
"""The bits of all kinds."""


@dataclass(frozen=True)
class Wanted:
    """Which events and stats to keep."""

    kind: Callable[[str, bytes, bytes], int]
    """Returns the kind of events by the plane's name, their own name and their display name."""
    telling: Set[bytes]
    """Stats that make any event worth keeping, unless its kind is NEVER."""
    stats: Mapping[bytes, Collection[int]]
    """The stats to keep, each with the kinds of events it is kept for."""

    @cached_property
    def bits(self) -> Mapping[bytes, int]:
        """The stats to keep, each with the bits of the kinds of events it is kept for."""
        return {name: sum(1 << kind for kind in kinds) for name, kinds in self.stats.items()}


@dataclass(frozen=True, slots=True)
class Selection:
    """The events and stats to keep, in terms of the metadata of one trace."""

    everything: bool
    kind: Kinds
    """The kind of events, by row of the event metadata."""
    kinds_of_stat: Bits
    """The bits of the kinds of events a stat is kept for, by row of the stat metadata."""
    tells: Mask
    """Whether a stat makes any event worth keeping, by row of the stat metadata."""
    telling_heads: frozenset[bytes]
    """The first bytes of such stats."""


def select(wanted: Wanted | None, tables: IdTables, plane_names: list[str]) -> Selection:
    """Look up what is wanted in the metadata of a trace; None keeps everything."""
    events, stats = tables.events, tables.stats
    kind = np.full(len(events.id), PERHAPS, np.int8)
    kinds_of_stat = np.full(len(stats.id), ALL_KINDS, np.uint32)
    tells = np.zeros(len(stats.id), np.bool_)
    if wanted is not None:
        texts = tables.strings.texts
        rows = zip(events.plane.tolist(), events.name, events.display_name, strict=True)
        kind[:-1] = [
            wanted.kind(plane_names[plane], texts[name], texts[display_name])
            for plane, name, display_name in list(rows)[:-1]
        ]
        stat_names = [texts[name] for name in stats.name]
        tells[:] = [name in wanted.telling for name in stat_names]
        kinds_of_stat[:] = [wanted.bits.get(name, 0) for name in stat_names]
    return Selection(
        everything=wanted is None,
        kind=kind,
        kinds_of_stat=kinds_of_stat,
        tells=tells,
        telling_heads=frozenset(
            bytes([STAT_METADATA_ID]) + write_varint(number) for number in stats.id[tells].tolist()
        ),
    )
