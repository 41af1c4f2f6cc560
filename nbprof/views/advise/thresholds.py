"""From when on something is worth an advice: one table, with a reason each."""

from typing import NamedTuple


class Threshold(NamedTuple):
    """A limit, and why it is where it is."""

    value: float
    reason: str


THRESHOLDS = {
    "listed": Threshold(3, "tfprof names the first three"),
    "scope_micros": Threshold(100, "tfprof's least time of a scope"),
    "line_micros": Threshold(1000, "tfprof's least time of a line"),
    "line_depth": Threshold(3, "tfprof goes so many lines down"),
    "dominant_percent": Threshold(50, "one op type takes more than all others together"),
    "dominant_wall_percent": Threshold(20, "where ops take little time, other advice is due"),
    "good_utilization": Threshold(0.5, "tfprof calls less than half low"),
    "poor_utilization": Threshold(0.2, "tfprof's second step: the device idles 4/5 of the time"),
    "retraces": Threshold(3, "tf.function relaxes shapes after one or two traces, Keras has two"),
    "retrace_percent": Threshold(5, "less than 1/20 of the wall time is not worth a change"),
    "retrace_high_percent": Threshold(25, "a quarter of the wall time goes into building graphs"),
    "eager_runs": Threshold(1000, "a loop, not the set-up of a model, which has a few hundred"),
    "eager_micros": Threshold(50, "an op that takes longer hides the cost of its dispatch"),
    "dispatch_percent": Threshold(50, "more time goes into starting ops than into running them"),
    "input_percent": Threshold(15, "TensorFlow's own profiler calls 15 % and more input-bound"),
    "input_high_percent": Threshold(40, "input takes about as long as all computing"),
    "input_wait_micros": Threshold(1000, "shorter pauses in a step are the executor's own"),
    "cpu_percent": Threshold(10, "a tenth of the op time is what moving it can win"),
    "cpu_high_percent": Threshold(30, "the softmax of tfprof's own example has 36 %"),
    "python_steps": Threshold(5, "fewer steps are no loop"),
    "python_percent": Threshold(40, "Keras' own work between batches stays well below"),
    "python_micros": Threshold(2000, "Keras' own work between two batches takes under 1 ms"),
    "python_high_percent": Threshold(70, "TensorFlow idles most of the time"),
    "peak_bytes": Threshold(100e6, "below 100 MB there is nothing to win"),
    "peak_tensors": Threshold(3, "few enough to look at one by one"),
    "peak_percent": Threshold(60, "the other tensors together are less"),
    "unfused_percent": Threshold(5, "what fusing can win is part of this share"),
}
"""All of them, by name; times in µs, amounts in bytes, shares in percent."""


def threshold(name: str) -> float:
    """Give the value of a threshold."""
    return THRESHOLDS[name].value
