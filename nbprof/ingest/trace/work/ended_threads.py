"""What is missing of threads that ended, in traces that do not keep their events.

Before TensorFlow 2.18, a new thread that takes the place of one that ended also takes its events.
"""

from typing import TYPE_CHECKING

import numpy as np

from nbprof.ingest.trace.work.event_kinds import Kind

if TYPE_CHECKING:
    from nbprof.ingest.trace.stages import RecordedTrace
    from nbprof.ingest.trace.work.host_events import HostEvents

WHY = "TensorFlow before 2.18 loses what a thread recorded once the thread has ended"
MISSING_CALLS = f"{{:,}} calls of threads that ended are missing: {WHY}"
"""Note on calls into TensorFlow that left nothing in the trace."""
MISSING_STAGES = f"counts and times of the input pipeline's stages are lower bounds: {WHY}"
"""Note on input pipelines whose threads may have ended."""

NEW_ITERATOR = b"MakeIterator"
"""The op that starts an input pipeline, and with it the pipeline's threads."""


def notes_on_ended_threads(trace: "RecordedTrace") -> tuple[str, ...]:
    """Return notes on what is missing."""
    calls = _missing_calls(trace)
    notes = (MISSING_CALLS.format(calls),) if calls else ()
    return (*notes, MISSING_STAGES) if _pipelines_ended(trace.host) else notes


def _missing_calls(trace: "RecordedTrace") -> int:
    """Count the calls that ran an op or a function without leaving an event in the trace.

    Only calls that took and returned tensors count: constants need not leave one, nor calls that
    failed. An event of another thread at the same time counts as the call's own.
    """
    host, capture, log = trace.host, trace.capture, trace.capture.dispatches
    took = np.array([bool(shapes) for shapes in log.shapes], dtype=bool)
    returned = np.array([shapes[:1] not in ((), (None,)) for shapes in log.shapes], dtype=bool)
    call = np.flatnonzero(capture.traced(log.start_ns, log.end_ns))
    call = call[took[log.shape[call]] & returned[log.output_shape[call]]]
    event = np.flatnonzero(host.of(Kind.EAGER))
    start = np.sort(host.start[event] // 1000 + trace.began_ns)
    before, after = (np.searchsorted(start, column[call]) for column in (log.start_ns, log.end_ns))
    return int(np.count_nonzero(before == after))


def _pipelines_ended(host: "HostEvents") -> bool:
    """Return whether several input pipelines ran, of which all but one may have ended."""
    event = np.flatnonzero(host.of(Kind.EAGER))
    started = host.space.strings.index(NEW_ITERATOR) if NEW_ITERATOR in host.space.strings else -1
    made = int(np.count_nonzero(host.text("eager_op")[event] == started))
    return made > 1 and bool(host.of(Kind.ITERATOR).any())
