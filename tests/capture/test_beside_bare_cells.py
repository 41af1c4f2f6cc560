"""What reports say about a cell, beside what the same cell does bare.

Bare and profiled runs alternate and medians count, so that a busy machine slows both alike. Memory
is measured in processes of their own.
"""

import re
import statistics
import time

import pytest
from support.captured import batches, mlp, printed_by, profiled
from support.memory_cases import on_linux

from nbprof.categories import ANY_PYTHON

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")
layers = tf.keras.layers


# Memory

PROGRAM = """
import json, os, re, sys
from pathlib import Path
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "1"  # without, the headline reads too much: memory.md
import numpy as np, tensorflow as tf, nbprof
from nbprof.memory import measure
from nbprof.run import give_back_memory

layers = tf.keras.layers

def dense():
    model = tf.keras.Sequential(
        [tf.keras.Input((256,)), *(layers.Dense(512, "relu") for _ in range(2)), layers.Dense(10)]
    )
    model.compile("adam", "mse")
    x, y = np.ones((4096, 256), "f4"), np.ones((4096, 10), "f4")
    return lambda: model.fit(x, y, batch_size=64, epochs=2, verbose=0)

def lstm():
    model = tf.keras.Sequential([
        tf.keras.Input((50,)),
        layers.Embedding(1000, 32),
        layers.Bidirectional(layers.LSTM(32, return_sequences=True)),
        layers.GRU(32),
        layers.Dense(1),
    ])
    model.compile("adam", "mse")
    x, y = np.ones((1024, 50), "i4"), np.ones((1024, 1), "f4")
    return lambda: model.fit(x, y, batch_size=64, verbose=0)

def pages_of_files():
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"RssFile:\\s+(\\d+) kB", status)[1]) / 1024

def bare():
    with measure() as run:
        body()
    return run.result.increment

def headline():
    with nbprof.profile() as run:
        body()
    return run.profile.headline

body = {"dense": dense, "lstm": lstm}[sys.argv[1]]()
body()
found = []
for _ in range(20):
    give_back_memory()
    before = pages_of_files()
    alone = bare()
    give_back_memory()
    under = headline()
    if pages_of_files() > before - 0.5:  # else Linux took pages away, which looks like freed memory
        found.append((alone, under))
    if len(found) == 4:
        break
print(json.dumps(found))
"""
NEAR_MIB = 25
"""How far the headline's increment may be from the bare cell's."""


@on_linux
@pytest.mark.parametrize("cell", ["dense", "lstm"])
def test_the_headlines_memory_is_that_of_the_bare_cell_each_time(cell):
    found = printed_by(PROGRAM, cell)

    assert len(found) == 4, "Linux took pages away again and again"
    bare = statistics.median(alone for alone, _ in found)
    increments = [int(re.search(r"peak memory .*?, ([+-]\d+) MiB", text)[1]) for _, text in found]
    assert increments == pytest.approx([bare] * 4, abs=NEAR_MIB), (found, bare)


# How much a cell was slowed


def eager_loop():
    x = tf.ones((4, 4))

    def body():
        for _ in range(3000):
            tf.add(x, x)

    return body


def long_fit():
    model = mlp()
    x, y = batches(800)
    return lambda: model.fit(x, y, batch_size=32, verbose=0)


def seconds(body):
    began = time.perf_counter()
    body()
    return time.perf_counter() - began


def test_of_a_loop_of_small_eager_ops_only_what_watching_calls_took_is_known():
    recording = profiled(eager_loop()).recording

    assert recording.slowdown > 1
    assert recording.slowdown_is_least


def test_how_much_a_long_fit_was_slowed_is_estimated_from_its_bare_steps():
    body = long_fit()
    body()

    recording = profiled(body).recording

    assert recording.slowdown > 0
    assert not recording.slowdown_is_least


# Python


class EagerGan:
    """A generator and a critic that are trained without a graph."""

    def __init__(self):
        self.generator = tf.keras.Sequential(
            [tf.keras.Input((16,)), layers.Dense(64, "relu"), layers.Dense(32)]
        )
        self.critic = tf.keras.Sequential(
            [tf.keras.Input((32,)), layers.Dense(64, "relu"), layers.Dense(1)]
        )
        self.optimizers = tf.keras.optimizers.Adam(), tf.keras.optimizers.Adam()
        self.real = tf.random.normal((32, 32))

    def step(self):
        with tf.GradientTape(persistent=True) as tape:
            made = self.generator(tf.random.normal((32, 16)))
            seen, fooled = self.critic(self.real), self.critic(made)
            losses = tf.reduce_mean(-fooled), tf.reduce_mean(fooled - seen)
        models = self.generator, self.critic
        for model, loss, optimizer in zip(models, losses, self.optimizers, strict=True):
            weights = model.trainable_variables
            optimizer.apply(tape.gradient(loss, weights), weights)

    def train(self):
        for _ in range(5):
            self.step()


def share_outside_tensorflow(body, monkeypatch):
    """Return the share of a bare cell's time outside the C functions that run eager ops."""
    from tensorflow.python import pywrap_tfe

    inside = 0.0

    def timed(run):
        def run_and_time(*arguments):
            nonlocal inside
            began = time.perf_counter()
            try:
                return run(*arguments)
            finally:
                inside += time.perf_counter() - began

        return run_and_time

    with monkeypatch.context() as patched:
        for name in ("TFE_Py_FastPathExecute", "TFE_Py_Execute"):
            patched.setattr(pywrap_tfe, name, timed(getattr(pywrap_tfe, name)))
        whole = seconds(body)
    return 1 - inside / whole


def share_of_python(profile):
    summary = profile.summary().set_index("category")["percent"]
    return summary.reindex([each.title for each in ANY_PYTHON]).sum() / 100


def test_the_share_of_python_in_an_eager_gan_is_that_of_its_own_clock(monkeypatch):
    gan = EagerGan()
    gan.train()

    rounds = [
        (share_outside_tensorflow(gan.train, monkeypatch), share_of_python(profiled(gan.train)))
        for _ in range(3)
    ]

    own, told = map(statistics.median, zip(*rounds, strict=True))
    assert 0.3 < own < 0.95
    assert told == pytest.approx(own, abs=0.25), rounds  # watching calls makes dispatch longer
