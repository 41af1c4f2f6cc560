"""The tables of a Profile about the thread that ran the cell."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from nbprof.ingest.trace.cell_time.input_waits import InputWaits
from nbprof.ingest.trace.cell_time.wall_time import spent

if TYPE_CHECKING:
    from nbprof.ingest.trace.attribution.python_lines import Sources
    from nbprof.ingest.trace.cell_time.long_steps import LongSteps
    from nbprof.ingest.trace.cell_time.sampled_stacks import Samples
    from nbprof.ingest.trace.stages import Attribution, RecordedTrace
    from nbprof.ingest.trace.work.op_runs import Runs


def cell_tables(
    trace: "RecordedTrace", runs: "Runs", attribution: "Attribution", long_steps: "LongSteps"
) -> dict[str, Any]:
    """Return what the cell's thread spent time on, and the samples of its Python stack."""
    waits = InputWaits(trace, runs, attribution.placed)
    return {
        "spent": spent(trace, runs, waits, long_steps),
        "samples_of_python": partial(sample_table, trace.samples, attribution.sources),
    }


def sample_table(samples: "Samples", sources: "Sources") -> pd.DataFrame:
    """List the samples; the numbers of their stacks come after those of all other stacks."""
    first = len(sources.stacks) + len(sources.module_stacks)
    return pd.DataFrame(
        {
            "start_ns": samples.start,
            "duration_ns": samples.end - samples.start,
            "thread": np.zeros(len(samples.time), dtype=np.int64),
            "stack": samples.stack + first,
        }
    )
