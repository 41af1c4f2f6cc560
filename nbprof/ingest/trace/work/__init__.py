"""Stage 1: the op runs of a trace, their steps, callers and allocations."""
