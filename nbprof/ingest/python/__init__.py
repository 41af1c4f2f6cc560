"""Read what other profilers of Python write: pstats, speedscope and collapsed stacks."""
