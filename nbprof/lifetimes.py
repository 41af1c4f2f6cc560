"""Lifetimes of allocations: what was alive when, and when that was the most."""

from dataclasses import dataclass

import numpy as np

from nbprof.arrays import Floats, Ints, Mask, Rows


@dataclass(frozen=True, eq=False)
class LiveCurve:
    """The live bytes of every device over time, a point for each allocation and release."""

    time_ns: Floats
    device: Rows
    live: Ints
    peaks: Rows
    """The first highest point of each device."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Lifetimes:
    """Allocations: on which device, of how many bytes, from when until when."""

    device: Rows
    """Numbers from 0, without a gap."""
    start_ns: Ints
    end_ns: Floats
    """NaN: never released."""
    size: Ints

    def curve(self) -> LiveCurve:
        """Add up allocations and releases in order of time."""
        released = np.flatnonzero(~np.isnan(self.end_ns))
        # Allocations come before the releases of the same moment: even a short peak counts.
        time: Floats = np.concatenate((self.start_ns.astype(np.float64), self.end_ns[released]))
        order = np.argsort(time, kind="stable")
        change = np.concatenate((self.size, -self.size[released]))[order]
        device = np.concatenate((self.device, self.device[released]))[order]
        live = np.zeros(len(change), dtype=np.int64)
        peaks = []
        for number in range(int(self.device.max(initial=-1)) + 1):
            points = np.flatnonzero(device == number)
            live[points] = np.cumsum(change[points])
            peaks.append(points[np.argmax(live[points])])
        return LiveCurve(time[order], device, live, np.array(peaks, dtype=np.intp))

    def alive_at_peak(self) -> Mask:
        """Mark what was alive when the live bytes of its device were highest.

        What is marked adds up to the peaks.
        """
        curve = self.curve()
        moment = curve.time_ns[curve.peaks][self.device]
        return (self.start_ns <= moment) & ~(self.end_ns < moment)

    def alive_between(self, begin_ns: int, end_ns: int) -> Mask:
        """Mark what was alive when the live bytes of its device were highest between two moments.

        What is released at the first moment counts, as does what is allocated at the last.
        """
        alive = (self.start_ns <= end_ns) & ~(self.end_ns < begin_ns)
        _, device = np.unique(self.device[alive], return_inverse=True)
        inside = Lifetimes(
            device=device.astype(np.intp),
            start_ns=np.maximum(self.start_ns[alive], begin_ns),
            end_ns=self.end_ns[alive],
            size=self.size[alive],
        )
        alive[alive] = inside.alive_at_peak()
        return alive
