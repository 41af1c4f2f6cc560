"""The tables of a Profile about the thread that ran the cell."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from nbprof.ingest.trace.attribution.python_calls import dispatch_table
from nbprof.ingest.trace.cell_time.input_waits import InputWaits
from nbprof.ingest.trace.cell_time.other_samples import samples_of_others
from nbprof.ingest.trace.cell_time.wall_time import spent

if TYPE_CHECKING:
    from nbprof.ingest.trace.attribution.python_lines import Sources
    from nbprof.ingest.trace.cell_time.long_steps import LongSteps
    from nbprof.ingest.trace.stages import Attribution, RecordedTrace
    from nbprof.ingest.trace.work.op_runs import Runs


def cell_tables(
    trace: "RecordedTrace", runs: "Runs", attribution: "Attribution", long_steps: "LongSteps"
) -> dict[str, Any]:
    """Return what the cell's thread spent time on, and the samples of its Python stack."""
    waits = InputWaits(trace, runs, attribution.placed)
    return {
        "spent": spent(trace, runs, waits, long_steps),
        "samples_of_python": partial(sample_table, trace, attribution.sources),
        "dispatches": partial(
            dispatch_table,
            attribution.python_calls,
            _first_sampled(attribution.sources) + len(trace.samples.stacks),
        ),
        "threads_of_python": partial(_thread_table, attribution.python_calls.threads),
    }


def _first_sampled(sources: "Sources") -> int:
    """Return the number of the first sampled stack; those of calls come after them."""
    return len(sources.stacks) + len(sources.module_stacks)


def _thread_table(names: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"name": pd.Series(names, dtype=object)})


def sample_table(trace: "RecordedTrace", sources: "Sources") -> pd.DataFrame:
    """List the samples, those of other threads last.

    The numbers of their stacks come after those of all stacks of ops.
    """
    own, others = trace.samples, samples_of_others(trace.capture)
    first = _first_sampled(sources)
    columns = {
        "start_ns": (own.start, others.start),
        "duration_ns": (own.end - own.start, others.end - others.start),
        "thread": (np.zeros(len(own.time), dtype=np.int64), others.thread),
        "stack": (own.stack + first, others.stack + first),
        "held_ns": (own.held, np.zeros(len(others.start), dtype=np.int64)),
    }
    return pd.DataFrame({name: np.concatenate(parts) for name, parts in columns.items()})
