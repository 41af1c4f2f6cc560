"""The columns of the events that are kept, filled block by block."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nbprof.arrays import Ints, Letters, Words
from nbprof.ingest.protobuf.growable import GrowableColumn
from nbprof.ingest.xspace.id_tables import Ids


@dataclass(frozen=True, slots=True)
class Values:
    """The values of one stat, sorted by event."""

    event: Ids
    tag: Letters
    """How the value was written; inline texts count as references."""
    value: Words
    """The bits of a number; for a reference, its row in the table of texts."""


@dataclass(frozen=True, slots=True)
class Events:
    """The events kept, in file order."""

    line: Ids
    kind: npt.NDArray[np.int8]
    name: Ids
    """Row of the table of texts."""
    display_name: Ids
    """Row of the table of texts."""
    offset_ps: Ints
    duration_ps: Ints
    values: dict[int, Values]
    """The values of each stat, by the row of its name in the table of texts."""


EVENT_DTYPES = {
    **{"line": np.int32, "kind": np.int8, "name": np.int32, "display_name": np.int32},
    **{"offset_ps": np.int64, "duration_ps": np.int64},
}
"""Types of the columns of Events."""
VALUE_DTYPES = {"event": np.int32, "tag": np.uint8, "value": np.uint64}
"""Types of the columns of Values."""


class KeptEvents:
    """The events kept from the blocks so far."""

    def __init__(self, total: int, room: int) -> None:
        """Reserve room for `room` of the trace's `total` events."""
        self._total = total
        self._seen = 0
        self._events = _reserve(EVENT_DTYPES, room)
        self._values: dict[int, dict[str, GrowableColumn]] = {}

    def __len__(self) -> int:
        return len(self._events["line"])

    def add(self, block: Events, seen: int) -> None:
        """Append the events kept from the next `seen` events of the trace."""
        self._seen += seen
        for name, column in self._events.items():
            column.append(getattr(block, name))
        for stat, values in block.values.items():
            if stat not in self._values:
                expected = len(values.event) * self._total // self._seen
                self._values[stat] = _reserve(VALUE_DTYPES, expected)
            for name, column in self._values[stat].items():
                column.append(getattr(values, name))

    def events(self) -> Events:
        """Return all events kept."""
        return Events(
            **{name: column.array for name, column in self._events.items()},
            values={
                stat: Values(**{name: column.array for name, column in columns.items()})
                for stat, columns in self._values.items()
            },
        )


def _reserve(dtypes: Mapping[str, type[object]], room: int) -> dict[str, GrowableColumn]:
    return {name: GrowableColumn(dtype, room) for name, dtype in dtypes.items()}
