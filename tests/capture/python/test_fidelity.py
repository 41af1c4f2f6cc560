"""Samples find every part of a program of known shape.

How close they come depends on who else uses the machine, so `make bench ARGS=python_side` measures
that, beside the peers.
"""

from support.fidelity import profiled
from support.known_shapes import PARTS


def test_the_call_tree_finds_the_parts_of_a_program():
    shown = profiled(PARTS, tensorflow=False)

    assert min(shown.values()) >= 0
    # A busy machine may move the time of two.
    assert sum(seconds > 0 for seconds in shown.values()) >= 5
