"""What a namespace holds, and what changed between two looks at it."""

import gc

import numpy as np
import pytest
from support.memory_cases import OBJECTS_AFTER, OBJECTS_BEFORE
from support.memory_spikes import MIB

from nbprof.memory.namespace import Name, ObjectMemory, difference, size_names


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


def test_what_there_was_no_time_to_size_has_not_changed_if_nothing_has(monkeypatch):
    monkeypatch.setattr("nbprof.memory.namespace.SIZING_SECONDS", 0.01)
    names = {
        "big": {number: {"pair": (number, [number])} for number in range(40_000)},
        "more": [{"text": str(number)} for number in range(40_000)],
        "small": [1, 2, 3],
    }
    before = size_names(names)
    gc.collect()  # stops tracking tuples of numbers
    monkeypatch.setattr("nbprof.memory.namespace.SIZING_SECONDS", 10.0)  # a faster moment

    after = size_names({**names, "z": np.zeros(1000)}, earlier=before)
    found = difference(before, after)

    assert not all(each.exact for each in before.names)
    assert found.frame["name"].tolist() == ["z"]
    assert found.types["type"].tolist() == ["numpy.ndarray"]


def test_what_was_sized_in_full_and_is_not_any_more_does_not_count_as_smaller(monkeypatch):
    names = {"big": {number: {"pair": [number]} for number in range(5000)}}
    before = size_names(names)
    monkeypatch.setattr("nbprof.memory.namespace.SIZING_SECONDS", 0.0)  # a slow moment

    after = size_names(names, earlier=before)

    found = difference(before, after)
    assert before.names[0].exact
    assert not after.names[0].exact
    assert found.names == found.kinds == ()
    assert "is not known whether they hold more or less: big." in found.text
    assert "so they are not compared: dict, int, list." in found.text


def test_a_type_of_what_could_not_be_compared_is_not_compared_but_others_are(monkeypatch):
    names = {"big": {number: {"pair": [number]} for number in range(5000)}}
    before = size_names(names)
    monkeypatch.setattr("nbprof.memory.namespace.SIZING_SECONDS", 0.0)

    found = difference(before, size_names({**names, "z": np.zeros(1000), "y": {}}, earlier=before))

    assert sorted(found.frame["name"]) == ["y", "z"]
    assert found.types[["type", "count"]].values.tolist() == [["numpy.ndarray", 1]]
    assert "bytes" not in found.text.partition("types |")[2]


def test_what_could_not_be_compared_does_not_make_a_name_grow_that_shares_its_data(monkeypatch):
    shared = bytearray(MIB)
    names = {"big": [*({"number": [number]} for number in range(5000)), shared], "tail": [shared]}
    before = size_names(names)
    monkeypatch.setattr("nbprof.memory.namespace.SIZING_SECONDS", 0.0)

    after = size_names(names, earlier=before)

    held = [{each.name: each.bytes for each in look.names} for look in (before, after)]
    assert held[1]["tail"] > held[0]["tail"] + MIB / 2  # `big` was not followed to its end
    assert difference(before, after).names == ()


def test_of_a_list_that_grew_partly_sized_objects_are_not_compared(monkeypatch):
    monkeypatch.setattr("nbprof.memory.namespace.SIZING_SECONDS", 0.0)
    rows = [{"number": number} for number in range(20_000)]
    before = size_names({"rows": rows})
    rows[:0] = [[number] for number in range(20_000)]  # these are met first, instead of the dicts

    found = difference(before, size_names({"rows": rows}, earlier=before))

    assert (found.names, found.kinds) == ((), ())
    assert (found.unknown_names, found.unknown_kinds) == (("rows",), ("dict", "list"))


def test_a_list_that_grew_has_grown_even_if_both_sizes_are_estimates(monkeypatch):
    monkeypatch.setattr("nbprof.memory.namespace.SIZING_SECONDS", 0.0)
    rows = [{"number": number} for number in range(20_000)]
    before = size_names({"rows": rows})
    rows.extend({"number": number} for number in range(20_000))

    found = difference(before, size_names({"rows": rows}, earlier=before))

    (grown,) = found.names
    assert grown.bytes == pytest.approx(before.names[0].bytes, rel=0.2)
    assert not grown.exact


def test_the_headline_says_about_where_sizes_are_estimates():
    exact, estimated = (Name("a", "list", 2 * MIB, 2 * MIB, exact) for exact in (True, False))

    for name, words in ((exact, "names hold 2.0 MiB"), (estimated, "names hold about 2.0 MiB")):
        assert ObjectMemory((name,), (), 4 * MIB).text.startswith(f"{words} of the")
        changed = ObjectMemory((name,), (), 4 * MIB, change=True)
        assert changed.text.startswith(f"{words} more than before")
