"""What tfprof's inputs say of the memory of accelerators, moment by moment."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from nbprof.ingest.tfprof.joined_inputs import joined

if TYPE_CHECKING:
    from nbprof.arrays import Ints
    from nbprof.ingest.tfprof.joined_inputs import TfprofInputs

CPU = "cpu"
"""What tfprof knows the devices by whose memory it does not follow."""


def make_allocator(inputs: "TfprofInputs") -> pd.DataFrame:
    """Make the table of what the runs on accelerators say: changes first, then readings."""
    runs, records = inputs.runs, inputs.records
    is_cpu = np.array([CPU in device for device in inputs.devices], dtype=bool)
    told = np.append(records.is_run & ~is_cpu[records.device], False)  # the last: no record
    event = inputs.event_of_record
    first = np.cumsum([0, *map(len, runs)])[: len(runs)]
    place = joined(
        run.allocations.record + begin for run, begin in zip(runs, first.tolist(), strict=True)
    )
    end = joined(run.all_start_micros + run.op_end_rel_micros for run in runs)
    parts = {
        "change": (
            event[place],
            joined(run.allocations.micros for run in runs),
            joined(run.allocations.bytes for run in runs),
        ),
        "in use": (event, end, joined(run.memory.in_use for run in runs)),
        "persistent": (event, end, joined(run.memory.persistent for run in runs)),
    }
    return pd.concat(
        [_part(kind, told[part[0]], *part) for kind, part in parts.items()], ignore_index=True
    )


def _part(
    kind: str, told: "np.ndarray[tuple[int], np.dtype[np.bool_]]", *columns: "Ints"
) -> pd.DataFrame:
    event, micros, size = (column[told] for column in columns)
    return pd.DataFrame({"event": event, "kind": kind, "micros": micros, "bytes": size})
