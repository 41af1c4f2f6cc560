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
        # What is released and allocated at the same moment may be the same memory.
        time: Floats = np.concatenate((self.end_ns[released], self.start_ns.astype(np.float64)))
        order = np.argsort(time, kind="stable")
        size = np.where(self.end_ns <= self.start_ns, 0, self.size)
        change = np.concatenate((-size[released], size))[order]
        device = np.concatenate((self.device[released], self.device))[order]
        live = np.zeros(len(change), dtype=np.int64)
        peaks = []
        for number in range(int(self.device.max(initial=-1)) + 1):
            points = np.flatnonzero(device == number)
            live[points] = np.cumsum(change[points])
            peaks.append(points[np.argmax(live[points])])
        return LiveCurve(time[order], device, live, np.array(peaks, dtype=np.intp))

    def alive_at_peak(self) -> Mask:
        """Mark what was alive when the live bytes of its device were highest."""
        curve = self.curve()
        moment = curve.time_ns[curve.peaks][self.device]
        return (self.start_ns <= moment) & ~(self.end_ns <= moment)
