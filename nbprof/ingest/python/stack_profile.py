"""Make a Profile of sampled stacks that a file holds."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from nbprof._profile import Profile
from nbprof.arrays import NONE, Floats, Ints, Mask
from nbprof.categories import Category
from nbprof.ingest.python.code_names import Place, is_framework, readable
from nbprof.ingest.python.damage import DamageError
from nbprof.ingest.python.without_ops import tables_without_ops
from nbprof.lazy_tables import lazily
from nbprof.recording import Recording

MOST_NS = 1 << 62
"""Most ns that a file may last: 146 years."""
TOO_LONG = "it has times that are too long to be true"

OTHER_THREADS = (
    "the file has {count} threads; the call view shows the one with the most time, {first}, and "
    "profile.samples_of_python has all"
)
COUNTED = "the file counts samples and does not say how long one lasts: 1 µs stands for a sample"


@dataclass(frozen=True, eq=False, kw_only=True)
class SampledStacks:
    """Samples of stacks, in order for each thread."""

    places: list[Place]
    """The distinct frames."""
    place: Ints
    """Index into `places` of every frame of the distinct stacks, outermost first."""
    depth: Ints
    """How many frames each distinct stack has."""
    start_ns: Ints
    duration_ns: Ints
    thread: Ints
    """Index into `threads` of each sample."""
    stack: Ints
    """The distinct stack of each sample, NONE for none."""
    threads: list[str]
    timed: bool
    """Whether durations are times; otherwise 1000 ns stand for a sample."""


def nanoseconds(amounts: "list[float] | Floats", unit_ns: float) -> Ints:
    """Return amounts of a unit in whole ns; refuse what is no amount of time."""
    try:
        with np.errstate(over="ignore"):
            exact = np.asarray(amounts, dtype=np.float64) * unit_ns
    except OverflowError:
        raise DamageError(TOO_LONG) from None
    if not (np.abs(exact) < MOST_NS).all():  # NaN is not less, either
        raise DamageError(TOO_LONG)
    return np.rint(exact).astype(np.int64)


def durations(amounts: "list[float] | Floats", unit_ns: float) -> Ints:
    """Return amounts of a unit in whole ns; refuse those that do not add up to a time."""
    ns = nanoseconds(amounts, unit_ns)
    if np.abs(ns.astype(np.float64)).sum() >= MOST_NS:
        raise DamageError(TOO_LONG)
    return ns


def profile_of_stacks(stacks: SampledStacks, what: str, how: str) -> Profile:
    """Make the Profile; its first thread is the one with the most time."""
    order, of_thread = _longest_first(stacks)
    names = [stacks.threads[thread] for thread in order.tolist()]
    samples = pd.DataFrame(
        {
            "start_ns": stacks.start_ns,
            "duration_ns": stacks.duration_ns,
            "thread": np.argsort(order)[stacks.thread],
            "stack": stacks.stack,
        }
    ).astype(np.int64)
    wall_ns = int(of_thread.max(initial=0))
    framework = np.array([is_framework(place.file) for place in stacks.places], dtype=bool)
    notes: tuple[str, ...] = () if stacks.timed else (COUNTED,)
    if len(names) > 1:
        notes += (OTHER_THREADS.format(count=len(names), first=names[0] or "the first"),)
    return Profile(
        **tables_without_ops(),
        frames=lazily(partial(_frames, stacks, framework)),
        threads=_threads(names),
        spent=_spent(stacks, framework, samples),
        samples_of_python=samples,
        recording=Recording(
            what=what,
            how=how,
            wall_ns=wall_ns,
            cost_ns=0,
            watched=("samples",),
            timed=stacks.timed,
        ),
        notes=notes,
    )


def _longest_first(stacks: SampledStacks) -> tuple[Ints, Ints]:
    """Return the threads, that with the most time first, and the ns of each thread."""
    of_thread = np.zeros(len(stacks.threads), dtype=np.int64)
    np.add.at(of_thread, stacks.thread, stacks.duration_ns)  # exact, unlike bincount's floats
    first = np.argmax(of_thread) if len(of_thread) else 0
    others = np.delete(np.arange(len(of_thread)), first) if len(of_thread) else np.arange(0)
    return np.append(first, others)[: len(of_thread)].astype(np.int64), of_thread


def _frames(stacks: SampledStacks, framework: Mask) -> pd.DataFrame:
    """List the frames; their lines of source may be from another time or machine."""
    files = np.array([readable(place.file) for place in stacks.places], dtype=object)
    functions = np.array([readable(place.function) for place in stacks.places], dtype=object)
    lines = np.array([place.line for place in stacks.places], dtype=np.int64)
    return pd.DataFrame(
        {
            "stack": np.repeat(np.arange(len(stacks.depth)), stacks.depth),
            "file": pd.Series(files[stacks.place], dtype=object),
            "line": lines[stacks.place],
            "function": pd.Series(functions[stacks.place], dtype=object),
            "source": pd.Series([""], dtype=object).repeat(len(stacks.place)).array,
            "framework": framework[stacks.place],
        }
    )


def _threads(names: list[str]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "name": pd.Series(list(map(readable, names)), dtype=object),
            "device": pd.Series([""] * len(names), dtype=object),
            "is_cell": np.arange(len(names)) == 0,
        }
    )


def _spent(stacks: SampledStacks, framework: Mask, samples: pd.DataFrame) -> pd.DataFrame:
    """Return whose innermost line the first thread's time was spent in."""
    own = samples[samples["thread"] == 0]
    ends = np.cumsum(stacks.depth) - 1
    innermost = np.append(framework, False)[np.append(stacks.place, NONE)[ends]]
    innermost &= stacks.depth > 0
    of_library = np.append(innermost, False)[own["stack"].to_numpy()]
    return spent_table(own["duration_ns"].to_numpy(), of_library)


def spent_table(ns: Ints, of_library: Mask) -> pd.DataFrame:
    """Add up the times of the user's Python and of libraries."""
    return pd.DataFrame(
        {
            "category": pd.Series(
                [Category.YOUR_PYTHON.title, Category.LIBRARY_PYTHON.title], dtype=object
            ),
            "ns": [int(ns[~of_library].sum()), int(ns[of_library].sum())],
        }
    )
