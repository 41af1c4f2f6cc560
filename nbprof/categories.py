"""The categories of a cell's wall time, as the summary shows them; they exclude each other."""

from enum import IntEnum


class Category(IntEnum):
    """What the cell's thread spends a moment on."""

    YOUR_PYTHON = 0
    LIBRARY_PYTHON = 1
    PYTHON = 2
    """Python, the user's or a library's: no sample tells which."""
    BUILDING = 3
    COMPILING = 4
    DISPATCH = 5
    OPS = 6
    GRAPH = 7
    INPUT = 8
    THREADS = 9
    TEARDOWN = 10
    NOT_WATCHED = 11

    @property
    def title(self) -> str:
        """The name of the category in the summary."""
        return TITLES[self]


TITLES = {
    Category.YOUR_PYTHON: "your Python",
    Category.LIBRARY_PYTHON: "library Python",
    Category.PYTHON: "Python",
    Category.BUILDING: "building graphs",
    Category.COMPILING: "compiling",
    Category.DISPATCH: "eager dispatch",
    Category.OPS: "ops",
    Category.GRAPH: "waiting for graph execution",
    Category.INPUT: "waiting for input",
    Category.THREADS: "waiting for other threads",
    Category.TEARDOWN: "teardown",
    Category.NOT_WATCHED: "not watched",
}
"""The names of the categories in the summary."""

ANY_PYTHON = (Category.YOUR_PYTHON, Category.LIBRARY_PYTHON, Category.PYTHON)
"""The categories of Python code outside TensorFlow."""

FORMER_TITLES = {
    "tf.function tracing": Category.BUILDING.title,
    "dispatch": Category.DISPATCH.title,
    "not traced": Category.NOT_WATCHED.title,
}
"""What earlier versions of nbprof called some of them in its own file."""
