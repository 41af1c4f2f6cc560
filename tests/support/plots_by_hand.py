"""Profiles to plot, and readers of the Axes they are drawn into."""

import math
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from support.by_hand import ALLOCATION, node, profile

mpl.use("Agg")


THREADS = pd.DataFrame(
    {
        "name": ["pool/1234567890", "python", "stream", "pool/-9876543210"],
        "device": ["/host:CPU", "/host:CPU", "/device:GPU:0", "/host:CPU"],
        "is_cell": [False, True, False, False],
    }
)

POOL, CELL, STREAM, OTHER = range(4)


def made(*nodes, **more):
    return profile(*(nodes or (node("a", "MatMul", micros=30), node("b", "Relu", 10))), **more)


def many(count=30):
    return profile(*(node(f"n{row}", f"Type{row:02}", 10 * (count - row)) for row in range(count)))


def timed(*times, steps=((0, 100_000),), threads=THREADS, **values):
    """Make a profile with one run for each (op type, thread, start ns, duration ns, own share)."""
    nodes = [node(f"n{row}", one[0]) for row, one in enumerate(times)]
    events = profile(*nodes).events.copy()
    columns = ["thread", "start_ns", "duration_ns"]
    events[columns] = np.array([one[1:4] for one in times], dtype=np.int64).reshape(-1, 3)
    shares = [one[4] if len(one) > 4 else 1.0 for one in times]
    events["self_ns"] = (events["duration_ns"] * shares).astype(int)
    events["accelerator"] = events["thread"] == STREAM
    start, micros = np.array(steps, dtype=float).reshape(-1, 2).T / 1e3
    table = {"start_micros": start, "micros": micros, "function": "train", "traced": False}
    made = profile(*nodes).with_values(
        events=events,
        threads=threads,
        steps=pd.DataFrame({"step": range(len(start)), **table}),
        **values,
    )
    return made.with_values(recording=replace(made.recording, wall_ns=100_000))


def with_memory(*rows, **values):
    """Make a profile with allocations (device, start ns, end ns, bytes)."""
    table = pd.DataFrame(
        [(-1, -1, device, start, end, size, 0, "", "") for device, start, end, size in rows],
        columns=ALLOCATION,
    ).astype({"end_ns": float})
    return timed(("MatMul", CELL, 0, 50_000), allocations=table, **values)


def bars(ax):
    """Return the lengths of the bars of each group, from the top down."""
    return [[bar.get_width() for bar in group] for group in ax.containers]


def labels(ax):
    return [label.get_text().strip() for label in ax.get_yticklabels()]


def written(ax):
    return [text.get_text() for text in ax.texts]


def assert_all_text_is_inside(ax):
    """Draw at two resolutions and check where each text is."""
    figure = ax.get_figure()
    for dpi in (100, 144):
        figure.set_dpi(dpi)
        figure.canvas.draw()
        assert_inside(figure, ax.get_tightbbox(), "the Axes")
        for text in (*ax.texts, ax.xaxis.label, ax.yaxis.label):
            if text.get_text():
                assert_inside(figure, text.get_window_extent(), text.get_text())
        if ax.get_legend():
            assert_inside(figure, ax.get_legend().get_window_extent(), "the legend")


def assert_inside(figure, box, what):
    edges = figure.bbox.padded(1)
    assert edges.x0 <= box.x0, what
    assert box.x1 <= edges.x1, what
    assert edges.y0 <= box.y0, what
    assert box.y1 <= edges.y1, what


def narrow_axes():
    return plt.subplots(figsize=(3.3, 2.5))[1]


def of_two_devices():
    rows = [("/job:worker/task:0/cpu", 0, 90_000, 5000), ("/job:worker/task:0/gpu", 1, math.nan, 9)]
    return with_memory(*rows)
