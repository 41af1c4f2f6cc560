"""Train, scan and map a little under JAX's profiler; see README.md."""

import jax
import jax.numpy as jnp
import numpy as np


def loss(params, x, y):
    hidden = jnp.tanh(x @ params["in"] + params["bias"])
    return jnp.mean((hidden @ params["out"] - y) ** 2)


@jax.jit
def train_step(params, x, y):
    value, gradients = jax.value_and_grad(loss)(params, x, y)
    return jax.tree.map(lambda one, slope: one - 0.1 * slope, params, gradients), value


@jax.jit
def cumulate(x):
    def body(carry, row):
        carry = jnp.tanh(carry + row)
        return carry, carry.sum()

    return jax.lax.scan(body, jnp.zeros(x.shape[1]), x)


@jax.jit
@jax.vmap
def norm(row):
    return jnp.sqrt((row**2).sum())


draw = np.random.default_rng(0).standard_normal
params = {"in": draw((64, 128)), "bias": np.zeros(128), "out": draw((128, 8))}
params = {name: value.astype(np.float32) for name, value in params.items()}
x, y = draw((32, 64)).astype(np.float32), draw((32, 8)).astype(np.float32)
params, _ = train_step(params, x, y)
jax.block_until_ready((params, cumulate(x), norm(x)))

options = jax.profiler.ProfileOptions()
options.python_tracer_level = 0
with jax.profiler.trace("logs", profiler_options=options):
    for number in range(3):
        with jax.profiler.StepTraceAnnotation("train", step_num=number):
            params, value = train_step(params, x, y)
            value.block_until_ready()
    jax.block_until_ready((cumulate(x), norm(x)))
