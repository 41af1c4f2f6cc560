"""What the allocator kept, and what could be reused, follow from its counters."""

import math

from support.memory_spikes import MIB

from nbprof.memory.malloc_stats import Heap, kept, perhaps_kept, reusable

UNKNOWN = Heap(math.nan, math.nan)


def test_memory_that_grew_without_being_used_was_kept():
    before = Heap(used=100.0, free=10.0)

    assert kept(before, Heap(100.0, 174.0), growth=164) == 164  # allocated and freed again
    assert kept(before, Heap(-66.0, 176.0), growth=1) == 166  # allocated earlier, freed now
    assert kept(before, Heap(300.0, 10.0), growth=200) == 0  # in use
    assert kept(before, Heap(116.0, 10.0), growth=200) == 0  # in use, but not from this heap
    assert math.isnan(kept(UNKNOWN, UNKNOWN, 5))


def test_unused_growth_may_have_been_kept_unless_python_took_it():
    before, after = Heap(40 * MIB, 500 * MIB, 1000), Heap(40 * MIB, 500 * MIB, 1100)

    assert perhaps_kept(before, after, 76 * MIB) == 76 * MIB
    assert math.isnan(perhaps_kept(before, Heap(40 * MIB, 500 * MIB, 10**6), 76 * MIB))


def test_only_memory_that_is_free_and_in_ram_is_reusable():
    assert reusable(Heap(40 * MIB, 500 * MIB), 100 * MIB) == 60 * MIB
    assert math.isnan(reusable(UNKNOWN, 100 * MIB))
