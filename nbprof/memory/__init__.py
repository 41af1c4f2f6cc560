"""Measure the memory of the process: for a block of code, line by line, and name by name.

`with measure() as run:` measures a block; `run.result` is what `%memit` shows.
"""

from nbprof.memory.meter import Measurement as measure  # noqa: N813 the name reads as a verb

__all__ = ["measure"]
