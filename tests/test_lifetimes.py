"""What is alive at the peak of live memory adds up to it, whatever is allocated and released."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nbprof.lifetimes import Lifetimes

MOMENTS = st.integers(0, 12)
ALLOCATIONS = st.lists(
    st.tuples(st.integers(0, 2), MOMENTS, st.none() | MOMENTS, st.integers(0, 99)), max_size=30
)
"""Device, start, how long it lives (None: for ever) and size."""


def lifetimes(allocations):
    devices = sorted({device for device, *_ in allocations})
    return Lifetimes(
        device=np.array([devices.index(device) for device, *_ in allocations], dtype=np.intp),
        start_ns=np.array([start for _, start, _, _ in allocations], dtype=np.int64),
        end_ns=np.array(
            [np.nan if lasts is None else start + lasts for _, start, lasts, _ in allocations],
            dtype=np.float64,
        ),
        size=np.array([size for *_, size in allocations], dtype=np.int64),
    )


def live_at(allocations, device, moment):
    """Add up, without any cleverness, what a device holds at a moment."""
    return sum(
        size
        for where, start, lasts, size in allocations
        if where == device and start <= moment and (lasts is None or moment <= start + lasts)
    )


@given(ALLOCATIONS)
def test_what_is_alive_at_the_peak_adds_up_to_the_peak_of_each_device(allocations):
    made = lifetimes(allocations)

    curve, alive = made.curve(), made.alive_at_peak()

    devices = sorted({device for device, *_ in allocations})
    assert len(curve.peaks) == len(devices)
    for number, device in enumerate(devices):
        highest = max(live_at(allocations, device, moment) for moment in range(25))
        assert curve.live[curve.peaks[number]] == highest
        assert made.size[alive & (made.device == number)].sum() == highest


@given(ALLOCATIONS)
def test_live_memory_is_never_negative_and_ends_with_what_is_never_released(allocations):
    curve = lifetimes(allocations).curve()

    assert (curve.live >= 0).all()
    assert (np.diff(curve.time_ns) >= 0).all()
    for number, device in enumerate(sorted({device for device, *_ in allocations})):
        kept = sum(
            size for where, _, lasts, size in allocations if where == device and lasts is None
        )
        assert curve.live[curve.device == number][-1] == kept


def test_what_is_released_at_the_moment_of_the_peak_is_part_of_it():
    made = lifetimes([(0, 0, 5, 100), (0, 5, None, 1)])

    assert made.curve().live.tolist() == [100, 101, 1]
    assert made.alive_at_peak().tolist() == [True, True]
