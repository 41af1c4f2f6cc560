"""Compare the pixels of ResNet50's timeline by family with its op time by family.

Run `python tests/benchmarks/timeline_pixels.py`; it needs TensorFlow, Chromium and Node.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from support.lab import browser
from support.paths import PACKAGE
from support.timeline_pixels import paint, pixel_shares

import nbprof

FAMILIES = """
import { FAMILY_CATEGORIES, familyOf } from "./families.js";
const types = JSON.parse(process.argv[1]);
console.log(JSON.stringify(types.map((type) => FAMILY_CATEGORIES[familyOf(type)].name)));
"""


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


def time_shares(profile):
    """Return the share of the op time of each family of ops."""
    types = profile.nodes["op_type"].to_numpy()[profile.costs["node"].to_numpy()]
    by_type = profile.costs.groupby(types)["self_ns"].sum()
    folder = PACKAGE / "display" / "explorer" / "js"
    command = ["node", "--input-type=module", "-e", FAMILIES, json.dumps(list(by_type.index))]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    by_family = by_type.groupby(json.loads(found.stdout)).sum()
    return (by_family / by_family.sum()).to_dict()


def main():
    """Print both shares of each family and their difference, in percent."""
    profile = resnet()
    html = profile.op()._repr_mimebundle_()["text/html"]
    with browser(shutil.which("chromium")) as chrome, tempfile.TemporaryDirectory() as folder:
        context = chrome.new_context(viewport={"width": 1200, "height": 900})
        pixels = pixel_shares(paint(context, html, Path(folder) / "page.html"))
    times = time_shares(profile)
    print(profile.headline)
    print(f"{len(html.encode()):,} bytes")
    for family in sorted(times, key=lambda name: -times[name]):
        time, area = 100 * times[family], 100 * pixels.get(family, 0)
        print(f"{family:20} {time:6.2f} % of the op time, {area:6.2f} % of the pixels")


if __name__ == "__main__":
    main()
