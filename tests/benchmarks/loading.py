"""Start and exit IPython, with and without the extension."""

import subprocess
import sys

from ways import medians

TITLE = "Loading the extension"


def measure(settings):
    ways = {"IPython started": _start(), "and %load_ext nbprof": _start("%load_ext nbprof")}
    seconds = medians(ways, rounds=3 * settings.rounds)
    bare = seconds["IPython started"]
    return [{"way": way, "ratio": taken / bare, "seconds": taken} for way, taken in seconds.items()]


def _start(line="pass"):
    command = [sys.executable, "-m", "IPython", "--no-banner", "-c", line]
    return lambda: subprocess.run(command, check=True, capture_output=True)
