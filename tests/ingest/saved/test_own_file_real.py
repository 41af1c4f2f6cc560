"""A real Keras fit, saved and loaded, has the same views and is smaller than its trace."""

import numpy as np
import pandas as pd
import pytest

import nbprof
from nbprof._profile import TABLES
from nbprof.capture.recorder import Recorder

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")


@pytest.fixture(scope="module")
def fit(tmp_path_factory):
    """Profile a fit; return the profile, the size of its trace in bytes, and the saved file."""
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [tf.keras.Input((12, 12, 1)), layers.Conv2D(4, 3), layers.Flatten(), layers.Dense(3)]
    )
    model.compile("adam", "mse")
    x, y = np.ones((640, 12, 12, 1), "f4"), np.ones((640, 3), "f4")
    sizes = []
    stop = Recorder.stop

    def stop_and_measure(recorder):
        capture = stop(recorder)
        sizes.append(len(capture.trace))
        return capture

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Recorder, "stop", stop_and_measure)
        with nbprof.profile() as run:
            model.fit(x, y, verbose=0)
    path = tmp_path_factory.mktemp("saved") / "fit.nbprof"
    run.profile.save(path)
    return run.profile, sizes[0], path


def test_a_saved_fit_takes_less_than_a_quarter_of_its_trace(fit):
    profile, trace, path = fit

    assert len(profile.events) > 500
    assert path.stat().st_size < trace / 4


def test_the_tables_of_a_fit_are_preserved(fit):
    profile, _, path = fit

    loaded = nbprof.load(path)

    assert loaded.recording == profile.recording
    assert loaded.notes == profile.notes
    for name in TABLES:
        pd.testing.assert_frame_equal(getattr(loaded, name), getattr(profile, name))


@pytest.mark.parametrize("view", ["op", "scope", "code", "layer"])
def test_the_views_of_a_fit_are_preserved(fit, view):
    profile, _, path = fit
    select = "bytes,peak_bytes,micros,params,float_ops,occurrence,device,input_shapes"

    loaded = nbprof.load(path).view(view, select=select)
    original = profile.view(view, select=select)

    assert loaded.text == original.text
    pd.testing.assert_frame_equal(loaded.frame, original.frame)


def test_summary_and_memory_of_a_fit_are_preserved(fit):
    profile, _, path = fit

    loaded = nbprof.load(path)

    for table in ("summary", "memory", "live_at_peak"):
        mine, theirs = getattr(loaded, table)(), getattr(profile, table)()
        pd.testing.assert_frame_equal(mine, theirs)
        assert mine.attrs == theirs.attrs
