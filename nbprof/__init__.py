"""Profile TensorFlow code where it is written: in a notebook cell."""

__version__ = "0.1.0.dev0"
