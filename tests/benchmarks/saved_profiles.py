"""Save and load nbprof's own file, beside reading the trace it was made from.

A separate process writes the file, so that the memory of the loading process means something.
"""

import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from reading_traces import COLUMNS, LARGEST, OURS, WARM_UP
from reading_traces import WAYS as READERS
from ways import TOP, compare

TITLE = "Saving a profile and loading it"
SAVE = "import sys, nbprof; nbprof.load(sys.argv[1]).save(sys.argv[2])"


def measure(settings):
    rows = []
    warm_up = shutil.copy(WARM_UP, settings.folder)
    _save(warm_up)
    for name in settings.sizes:
        path = settings.trace(name)
        size = _save(path)
        found = compare(
            "saved_profiles", WAYS, path, warm_up, 1 if name == LARGEST else settings.rounds
        )
        rows += [
            {
                "trace": name,
                "way": way,
                "ratio": figures["seconds"] / found[OURS]["seconds"],
                "seconds": figures["seconds"],
                "megabytes": figures["megabytes"],
                "own_megabytes": size / 1e6,
                "of_trace": size / path.stat().st_size,
            }
            for way, figures in found.items()
            if figures
        ]
    return rows


def _own(path):
    return Path(path).with_suffix(".nbprof")


def _save(path):
    """Write nbprof's own file beside a trace and return its size in bytes."""
    subprocess.run([sys.executable, "-c", SAVE, path, _own(path)], check=True, cwd=TOP)
    return _own(path).stat().st_size


@contextmanager
def _saving(path):
    import nbprof

    profile = nbprof.load(path)
    with tempfile.TemporaryDirectory() as folder:
        yield lambda: profile.save(Path(folder) / "host.nbprof")


@contextmanager
def _loading(path):
    import nbprof

    yield lambda: nbprof.load(_own(path))


@contextmanager
def _viewing(path):
    import nbprof

    yield lambda: nbprof.load(_own(path)).op(select=COLUMNS).frame


WAYS = {
    OURS: READERS[OURS],
    "profile.save(…)": _saving,
    "nbprof.load(the saved)": _loading,
    "nbprof.load(the saved).op(…).frame": _viewing,
}
