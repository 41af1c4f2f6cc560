"""Compare the pixels of ResNet50's timeline by family with its op time by family.

Needs TensorFlow, Chromium and Node; fails if a family's shares differ by more than `MOST_APART`.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from explorer import chromium
from support.lab import browser
from support.timeline_pixels import paint, pixel_shares, time_shares
from ways import FAILED

import nbprof

TITLE = "The timeline of a fit of ResNet50: time and pixels by family of ops"
MOST_APART = 10
"""How far a family's share of the pixels may be from its share of the op time, in percent."""


def resnet(batches=6, epochs=3):
    """Profile a fit of ResNet50 on pictures of 64 by 64 pixels, 16 in a batch."""
    import keras

    model = keras.applications.ResNet50(weights=None, input_shape=(64, 64, 3), classes=10)
    model.compile("sgd", "sparse_categorical_crossentropy")
    chance = np.random.default_rng(0)
    pictures = chance.random((16 * batches, 64, 64, 3), dtype=np.float32)
    with nbprof.profile() as run:
        model.fit(pictures, np.arange(16 * batches) % 10, batch_size=16, epochs=epochs, verbose=0)
    return run.profile


def measure(_settings):
    """Return both shares of each family, in percent, the family with the most time first."""
    profile = resnet()
    html = profile.op()._repr_mimebundle_()["text/html"]
    with chromium(browser) as chrome, tempfile.TemporaryDirectory() as folder:
        context = chrome.new_context(viewport={"width": 1200, "height": 900})
        pixels = pixel_shares(paint(context, html, Path(folder) / "page.html"))
    times = time_shares(profile)
    rows = [
        {
            "family": family,
            "percent_of_time": 100 * times.get(family, 0),
            "percent_of_pixels": 100 * pixels.get(family, 0),
        }
        for family in sorted({*times, *pixels}, key=lambda name: -times.get(name, 0))
    ]
    for row in rows:
        if abs(row["percent_of_time"] - row["percent_of_pixels"]) > MOST_APART:
            FAILED.append(f"the pixels of {row['family']} are not its time")
    return rows
