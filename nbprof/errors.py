"""The one exception nbprof raises on purpose."""


class NbprofError(Exception):
    """A sentence for the user: what was wrong, where, and what to do."""
