"""Profiles of Python for other programs: pstats, callgrind, speedscope, collapsed stacks, dot."""
