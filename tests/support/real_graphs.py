"""TensorFlow 1 graphs, run on the CPU with FULL_TRACE: `real_graph("cnn")`."""

import functools
from contextlib import contextmanager

import numpy as np
import tensorflow as tf
from tensorflow.python.profiler import tfprof_logger

v1 = tf.compat.v1
STEPS = {"cnn": (0, 1), "lstm": (0,), "resource": (2, 5), "towers": (0, 0)}
"""Step numbers of the runs of each graph."""


@functools.cache
def real_graph(name):
    """Build, run and describe one of GRAPHS.

    Returns:
        The serialized GraphDef with shapes, [(step, serialized RunMetadata)], and the serialized
        OpLogProto with flops, trainable variables and call stacks.
    """
    with v1.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        v1.set_random_seed(1)
        fetches, feeds = GRAPHS[name]()
        session.run(v1.global_variables_initializer())
        runs = [traced(session, fetches, feeds) for _ in STEPS[name]]
        log = tfprof_logger.merge_default_with_oplog(graph, run_meta=runs[0], add_trace=True)
        shapes = graph.as_graph_def(add_shapes=True)
    steps = [(step, message(run)) for step, run in zip(STEPS[name], runs, strict=True)]
    return message(shapes), steps, message(log)


def message(proto):
    return proto.SerializeToString(deterministic=True)


def traced(session, fetches, feeds):
    options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
    metadata = v1.RunMetadata()
    session.run(fetches, feeds, options=options, run_metadata=metadata)
    return metadata


def ones(*shape):
    return np.ones(shape, "float32")


def dense(x, units, name, use_resource=False):
    with v1.variable_scope(name, reuse=v1.AUTO_REUSE):
        shape = [x.shape[-1], units]
        kernel = v1.get_variable("kernel", shape, use_resource=use_resource)
        bias = v1.get_variable("bias", [units], use_resource=use_resource)
        return tf.nn.bias_add(tf.matmul(x, kernel), bias)


def convolution(x, filters, name):
    with v1.variable_scope(name):
        shape = [3, 3, x.shape[-1], filters]
        kernel = v1.get_variable("kernel", shape, use_resource=False)
        scale = v1.get_variable("scale", [filters], use_resource=False)
        offset = v1.get_variable("offset", [filters], use_resource=False)
        y = tf.nn.conv2d(x, kernel, 1, "SAME")
        y, _, _ = v1.nn.fused_batch_norm(y, scale, offset, name="BatchNorm")
        return tf.nn.max_pool2d(tf.nn.relu(y), 2, 2, "SAME")


def cnn():
    """Train a small convolutional network with Adam; its batch size is known only at run time."""
    images = v1.placeholder(tf.float32, [None, 12, 12, 3], "images")
    labels = v1.placeholder(tf.int64, [None], "labels")
    hidden = convolution(convolution(images, 6, "conv1"), 8, "conv2")
    logits = dense(tf.reshape(hidden, [-1, 3 * 3 * 8]), 5, "logits")
    with v1.name_scope("loss"):
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        loss = tf.reduce_mean(losses)
    train = v1.train.AdamOptimizer(0.01).minimize(loss)
    return [train, loss], {images: ones(4, 12, 12, 3), labels: np.zeros(4, "int64")}


@contextmanager
def loops_of_switch_and_merge():
    """Build loops as TensorFlow 1 did, from Enter, Merge, Switch and NextIteration nodes."""
    modern = v1.control_flow_v2_enabled()
    v1.disable_control_flow_v2()
    try:
        yield
    finally:
        if modern:
            v1.enable_control_flow_v2()


def lstm_cell(x, hidden, cell, units):
    gates = dense(tf.concat([x, hidden], 1), 4 * units, "lstm")
    into, forget, new, out = tf.split(gates, 4, 1)
    cell = cell * tf.sigmoid(forget) + tf.sigmoid(into) * tf.tanh(new)
    return tf.tanh(cell) * tf.sigmoid(out), cell


def lstm():
    """Train an LSTM over ten steps of a while loop, whose graph has cycles."""
    batch, length, units = 3, 10, 4
    series = v1.placeholder(tf.float32, [length, batch, 2], "series")
    zero = tf.zeros([batch, units])

    def body(time, hidden, cell):
        return time + 1, *lstm_cell(series[time], hidden, cell, units)

    with loops_of_switch_and_merge():
        _, hidden, _ = v1.while_loop(lambda time, *_: time < length, body, [0, zero, zero])
        loss = tf.reduce_sum(tf.square(hidden))
        train = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
    return [train, loss], {series: ones(length, batch, 2)}


def resource():
    """Train resource variables, with a tf.function and a loop that the runtime lowers."""
    x = v1.placeholder(tf.float32, [8, 6], "x")
    hidden = tf.nn.relu(dense(x, 5, "first", use_resource=True))
    double = tf.function(lambda a: a * 2.0 + tf.reduce_max(a))
    _, summed = tf.while_loop(
        lambda i, _: i < 3, lambda i, a: (i + 1, tf.tanh(a) + double(a)), [0, hidden]
    )
    loss = tf.reduce_mean(tf.square(dense(summed, 1, "second", use_resource=True)))
    optimizer = v1.train.MomentumOptimizer(0.1, 0.9)
    return [optimizer.minimize(loss), loss], {x: ones(8, 6)}


def towers():
    """Train two towers that share their variables and average their gradients."""
    optimizer = v1.train.GradientDescentOptimizer(0.1)
    feeds, pairs = {}, []
    for number in range(2):
        with v1.name_scope(f"tower_{number}"):
            x = v1.placeholder(tf.float32, [4, 6], "x")
            feeds[x] = ones(4, 6)
            loss = tf.nn.l2_loss(dense(tf.nn.relu(dense(x, 5, "shared")), 2, "head"))
            pairs.append(optimizer.compute_gradients(loss))
    mean = [
        (tf.add_n([gradient for gradient, _ in both]) / 2.0, both[0][1])
        for both in zip(*pairs, strict=True)
    ]
    return [optimizer.apply_gradients(mean)], feeds


GRAPHS = {"cnn": cnn, "lstm": lstm, "resource": resource, "towers": towers}
