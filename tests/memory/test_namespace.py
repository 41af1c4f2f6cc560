"""What a namespace holds, and what changed between two looks at it."""

import numpy as np
from support.memory_cases import OBJECTS_AFTER, OBJECTS_BEFORE
from support.memory_spikes import MIB

from nbprof.memory.namespace import difference, size_names


def test_the_difference_has_what_is_new_and_what_is_gone():
    found = difference(OBJECTS_BEFORE, OBJECTS_AFTER)

    assert found.frame[["name", "bytes", "state"]].values.tolist() == [
        ["<x>", 265.19 * 1024, "new"],
        ["b", -736, "gone"],
    ]
    assert found.types["type"].tolist() == ["numpy.ndarray", "dict"]
    assert found.resident == 3 * MIB


def test_modules_classes_and_builtins_are_left_out():
    assert size_names({"np": np, "kind": dict, "function": len}).names == ()
