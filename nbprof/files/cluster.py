"""`engine="dask"`: workers read the traces and send back only sums."""

from typing import TYPE_CHECKING, Any

from nbprof.errors import NbprofError
from nbprof.files.many_traces import read_one
from nbprof.progress import progress

if TYPE_CHECKING:
    from nbprof._profile import Profile
    from nbprof.files.many_traces import Job

NO_DASK = (
    "engine='dask' needs the package dask, which is not installed: pip install 'nbprof[dask]'."
)
"""Error if dask is not installed."""
READING = "reading traces"
"""Title of the progress bar."""


def read_on_cluster(jobs: "list[Job]") -> "list[Profile]":
    """Read traces on the cluster of the current `distributed.Client`, or with dask alone."""
    try:
        import dask
    except ImportError:
        raise NbprofError(NO_DASK) from None
    tasks = [dask.delayed(read_collapsed, pure=False)(job) for job in jobs]
    client = _current_client()
    with progress(READING, len(jobs), "file") as done:
        if client is None:
            return _compute(dask, tasks, done)
        return _gather(client, tasks, done)


def read_collapsed(job: "Job") -> "Profile":
    """Read one trace and reduce it to what the views need."""
    from nbprof.views.collapse import collapse

    return collapse(read_one(job))


def _current_client() -> Any:
    """Return the Client that dask would use now, or None."""
    import dask

    if dask.config.get("scheduler", None) not in ("dask.distributed", "distributed"):
        return None
    from distributed import get_client

    return get_client()


def _compute(dask: Any, tasks: list[Any], done: Any) -> "list[Profile]":
    from dask.callbacks import Callback

    # Not dask's default, threads, because an interrupt does not stop them.
    scheduler = dask.config.get("scheduler", None) or "synchronous"
    with Callback(posttask=lambda *_: done(1)):
        return list(dask.compute(*tasks, scheduler=scheduler))


def _gather(client: Any, tasks: list[Any], done: Any) -> "list[Profile]":
    from distributed import as_completed

    futures = client.compute(tasks)
    try:
        for _ in as_completed(futures):
            done(1)
        return list(client.gather(futures))
    finally:
        client.cancel(futures)
