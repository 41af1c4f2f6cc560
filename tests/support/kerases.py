"""Both Kerases, for tests that must hold with either, and what their layers ran."""

from collections import Counter

import numpy as np
import pytest
from support.captured import profiled

tf = pytest.importorskip("tensorflow")

KERASES = ["tf.keras", "tf_keras"]
"""Keras as TensorFlow brings it (Keras 3 since 2.16), and Keras 2."""


def import_keras(name):
    return tf.keras if name == "tf.keras" else pytest.importorskip(name)


def data(batches, *shape, outputs, size=32):
    return np.ones((batches * size, *shape), "f4"), np.ones((batches * size, outputs), "f4")


def fitted(model, x, y, **compiled):
    """Profile the second fit of a model."""
    model.compile(compiled.pop("optimizer", "sgd"), "mse", **compiled)
    model.fit(x, y, verbose=0)
    return profiled(lambda: model.fit(x, y, verbose=0))


def rows(view, *columns):
    frame = view.frame
    return {
        name: tuple(values) for name, *values in frame[["name", *columns]].itertuples(index=False)
    }


def total_params(profile):
    return {
        name: count
        for name, (count,) in rows(profile.layer(select="params"), "total_params").items()
    }


def runs_by_layer(profile, family):
    """Count the runs of a family of op types by layer, forward and backward apart."""
    events = profile.events[profile.events["is_run"]]
    types = profile.nodes["op_type"].to_numpy()[events["node"]]
    names = profile.layers["name"].to_numpy()[events["layer"]]
    passes = np.where(events["backward"], "backward", "forward")
    ran = zip(names, passes, types, strict=True)
    return Counter((name, which) for name, which, op_type in ran if family in op_type)
