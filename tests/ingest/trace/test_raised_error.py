"""The exception that ended a cell, and whether memory ran out, also behind another exception."""

import pytest
from support import by_hand

from nbprof.ingest.trace.raised_error import with_error

CELLS = {"/tmp/ipykernel_5/7.py": "In [3]"}
REFUSED = "Unable to allocate 8.00 TiB for an array with shape (1024, 1024) and data type float64"


class ResourceExhaustedError(Exception):
    """Stands for TensorFlow's."""


class BatchTooLargeError(ResourceExhaustedError):
    """What a user may derive from it."""


class _ArrayMemoryError(MemoryError):
    """Stands for numpy's."""


class TrainingError(Exception):
    """What a user may raise instead."""


def ended_by(program, **names):
    """Return the Recording of a cell that a program ended."""
    try:
        exec(compile(program, *CELLS, "exec"), {**globals(), **names})
    except BaseException as error:  # noqa: BLE001 whatever ends the cell
        return with_error(by_hand.profile(), error, CELLS).recording
    raise AssertionError("the program has to raise")


@pytest.mark.parametrize(
    ("raised", "name", "base"),
    [
        (ResourceExhaustedError, "ResourceExhaustedError", "ResourceExhaustedError"),
        (BatchTooLargeError, "BatchTooLargeError", "ResourceExhaustedError"),
        (MemoryError, "MemoryError", "MemoryError"),
        (_ArrayMemoryError, "MemoryError", "MemoryError"),
    ],
)
def test_any_exception_that_derives_from_one_for_lack_of_memory_is_one(raised, name, base):
    found = ended_by("pass\nraise raised(REFUSED)", raised=raised)

    assert (found.error, found.memory_error, found.error_message) == (name, base, REFUSED)
    assert found.error_line == "In [3]:2:<module>"
    assert found.ran_out_of_memory


HIDDEN = """
def train():
    raise _ArrayMemoryError(REFUSED)
try:
    train()
except MemoryError as error:
    raise TrainingError("after 3 steps") from {cause}
"""
HANDLED = """
def train():
    raise _ArrayMemoryError(REFUSED)
try:
    train()
except MemoryError:
    try:
        {}["missing"]
    except KeyError as error:
        raise TrainingError("cannot clean up") from error
"""


@pytest.mark.parametrize("program", [HIDDEN.format(cause="error"), HANDLED])
def test_what_an_exception_was_raised_from_tells_that_memory_ran_out_and_where(program):
    found = ended_by(program)

    assert (found.error, found.memory_error) == ("TrainingError", "MemoryError")
    assert (found.error_message, found.error_line) == (REFUSED, "In [3]:3:train")


def test_what_the_user_hides_from_the_traceback_is_hidden():
    found = ended_by(HIDDEN.format(cause="None"))

    assert (found.error, found.memory_error, found.error_message) == (
        "TrainingError", "", "after 3 steps",
    )  # fmt: skip
    assert not found.ran_out_of_memory


def test_exceptions_that_are_each_others_cause_are_met_once():
    found = ended_by(
        "first, second = ValueError(), KeyError()\nfirst.__cause__ = second\n"
        "second.__cause__ = first\nraise first"
    )

    assert found.error == "ValueError"
    assert not found.ran_out_of_memory
