"""Cells of TensorFlow to profile, and TensorFlow's own profiler around them."""

import os
from contextlib import nullcontext

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def small_cnn(steps=40):
    """Return a warm Keras fit of a small convolutional network, `steps` steps long."""
    import numpy as np
    import tensorflow as tf

    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            tf.keras.Input((28, 28, 1)),
            layers.Conv2D(16, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(16, 3, activation="relu"),
            layers.Flatten(),
            layers.Dense(10),
        ]
    )
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    count = 32 * steps
    x = np.random.default_rng(0).random((max(count, 1280), 28, 28, 1), dtype="f4")
    y = np.zeros(len(x))
    model.fit(x[:1280], y[:1280], epochs=3, verbose=0)
    return lambda: model.fit(x[:count], y[:count], verbose=0)


def eager_loop(count=3000):
    """Return a loop of small eager ops, which is mostly dispatch."""
    import tensorflow as tf

    x = tf.ones([16, 16])

    def body():
        for _ in range(count):
            tf.matmul(x, x)

    body()
    return body


def session_loop(full_trace=False):
    """Return two hundred runs of a v1 session, bare or with FULL_TRACE."""
    import numpy as np
    import tensorflow as tf

    v1 = tf.compat.v1
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 256])
        y = tf.nn.relu(tf.matmul(x, tf.random.uniform([256, 256])))
        session = v1.Session()
    values = np.ones((64, 256))
    options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE) if full_trace else None

    def body():
        for _ in range(200):
            metadata = v1.RunMetadata() if full_trace else None
            session.run(y, {x: values}, options=options, run_metadata=metadata)

    body()
    return body


def long_fit(steps=2000):
    """Return a warm Keras fit of many short steps."""
    import numpy as np
    import tensorflow as tf

    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            tf.keras.Input((64,)),
            *(layers.Dense(256, activation="relu") for _ in range(2)),
            layers.Dense(10),
        ]
    )
    model.compile("adam", "mse")
    random = np.random.default_rng(0)
    x, y = (random.random((32 * steps, size), dtype="f4") for size in (64, 10))

    def body():
        model.fit(x, y, batch_size=32, verbose=0)

    body()
    return body


def lstm_fit():
    """Return a fit whose steps run long loops, of a model that is new each time."""
    import numpy as np
    import tensorflow as tf

    layers = tf.keras.layers
    random = np.random.default_rng(0)
    texts, labels = random.integers(1, 2000, (1024, 50)), random.random((1024, 1)).round()

    def clean(text, label):
        read = tf.py_function(lambda tensor: tensor.numpy(), [text], tf.int64)
        read.set_shape([50])
        return read, label

    data = tf.data.Dataset.from_tensor_slices((texts, labels)).map(clean).batch(64)

    def body():
        model = tf.keras.Sequential(
            [
                tf.keras.Input((50,)),
                layers.Embedding(2000, 32),
                layers.Bidirectional(layers.LSTM(32, return_sequences=True)),
                layers.GRU(32),
                layers.Dense(1, activation="sigmoid"),
            ]
        )
        model.compile("adam", "binary_crossentropy")
        model.fit(data, epochs=2, verbose=0)

    body()
    return body


def tensorflow_trace(body, folder, allocations=True, every_run=True):
    """Record `body` with TensorFlow's own profiler, optionally with nbprof's switches on."""
    from nbprof.capture.compat import profiler_session, switches

    with switches.allocations_recorded() if allocations else nullcontext():
        session = profiler_session.start_session(folder, every_run=every_run)
        body()
        session.export_to_tb()
