"""Where the tests find the project and their data."""

from pathlib import Path

TOP = Path(__file__).parents[2]
PACKAGE = TOP / "nbprof"
DATA = TOP / "tests" / "data"
GOLDEN = TOP / "tests" / "golden"
