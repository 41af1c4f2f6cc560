"""What the timeline paints, pixel by pixel in a real browser: areas are times."""

import itertools
import shutil

import numpy as np
import pytest
from support.explorer_pages import PageData
from support.explorer_profiles import crowded, with_steps
from support.timeline_pixels import paint, pixel_shares, time_shares

import nbprof
from nbprof.display.explorer import page
from nbprof.views.report import report_of

pytestmark = pytest.mark.browser

SHARES = {"matrix work": 0.7, "elementwise": 0.2, "reduction": 0.1}


@pytest.fixture
def painted(chrome, tmp_path):
    """Return a function that paints the timeline of an output."""
    context = chrome.new_context(viewport={"width": 1100, "height": 800})
    yield lambda html: paint(context, html, tmp_path / "page.html")
    context.close()


@pytest.mark.parametrize(
    ("size", "is_whole"), [(1_000_000, True), (84_000, False)], ids=["every run", "stretches"]
)
def test_pixels_by_family_are_time_by_family(painted, size, is_whole):
    html = page.output(report_of(crowded().op()), size)

    timeline = PageData(html)["timeline"]
    assert (timeline["stretches"] is None) == is_whole
    assert pixel_shares(painted(html)) == pytest.approx(SHARES, abs=0.02)


def convolutions():
    """Return a small network whose convolutions take most of the time, beside many tiny ops."""
    layers = pytest.importorskip("tensorflow").keras.layers
    from tensorflow import keras

    given = keras.Input((32, 32, 3))
    seen = layers.Conv2D(32, 3, padding="same")(given)
    for _ in range(4):
        turned = layers.BatchNormalization()(layers.Conv2D(32, 3, padding="same")(seen))
        seen = layers.Add()([seen, layers.ReLU()(turned)])
    model = keras.Model(given, layers.Dense(10)(layers.GlobalAveragePooling2D()(seen)))
    model.compile("sgd", "mse")
    return model


@pytest.mark.tensorflow
@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_pixels_of_a_real_fit_are_within_ten_percent_of_its_time(painted):
    model = convolutions()
    pictures, wanted = np.ones((80, 32, 32, 3), "f4"), np.ones((80, 10), "f4")
    model.fit(pictures, wanted, batch_size=16, verbose=0)

    with nbprof.profile() as run:
        model.fit(pictures, wanted, batch_size=16, verbose=0)

    times = time_shares(run.profile)
    pixels = pixel_shares(painted(run.profile.op()._repr_mimebundle_()["text/html"]))
    assert max(times.values()) > 0.3
    for family in {*times, *pixels}:
        assert pixels.get(family, 0) == pytest.approx(times.get(family, 0), abs=0.1), family


def test_zoomed_in_a_long_op_is_one_block_with_its_type(painted):
    opened = painted(page.output(report_of(crowded().op()), 1_000_000))
    opened.locator("canvas").first.focus()
    for _ in range(8):
        opened.keyboard.press("+")
    opened.evaluate("window.texts.length = 0")
    opened.keyboard.press("+")

    assert "MatMul" in [found["text"] for found in opened.evaluate("window.texts")]
    assert pixel_shares(opened)["matrix work"] == pytest.approx(0.7, abs=0.2)


@pytest.mark.parametrize("name", ["step", "a_function_with_a_name_that_is_longer_than_its_step"])
def test_labels_of_steps_do_not_overlap(painted, name):
    starts = [0, 100_000, 100_100, 120_000, 121_000, 300_000, 310_000, 330_000, 590_000]
    lengths = [150_000, 20_000, 40_000, 900, 178_000, 200_000, 5_000, 200_000, 10_000]
    steps = zip(starts, lengths, itertools.repeat(name))
    opened = painted(page.output(report_of(with_steps(crowded(), *steps).op()), 1_000_000))

    labels = [found for found in opened.evaluate("window.texts") if found["y"] == 8.5]
    firsts = [place for place, found in enumerate(labels) if found["text"].startswith("step 0")]
    labels = labels[firsts[-1] :]  # those of the last drawing

    assert len(labels) >= 4
    for one, other in itertools.pairwise(labels):
        assert one["right"] <= other["left"]
