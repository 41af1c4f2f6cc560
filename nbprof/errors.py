"""The one exception nbprof raises on purpose."""


class NbprofError(Exception):
    """A sentence for the user: what is wrong, where, and what to do."""
