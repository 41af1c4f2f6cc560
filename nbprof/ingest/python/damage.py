"""The exception for a file that does not hold what its kind should hold."""


class DamageError(Exception):
    """What is wrong in a file, in words; whoever knows the file's name makes a sentence of it."""
