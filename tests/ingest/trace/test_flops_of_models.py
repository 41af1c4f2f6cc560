"""Float operations of whole models: eager, as a graph and by hand."""

import numpy as np
import pytest
from support.captured import profiled

pytestmark = pytest.mark.tensorflow

tf = pytest.importorskip("tensorflow")
layers = tf.keras.layers

PRODUCTS = (
    *("MatMul", "BatchMatMulV2", "BatchMatMulV3", "Einsum"),
    *("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"),
)


def float_ops(profile):
    frame = profile.op(select="float_ops", max_depth=1000).frame
    return dict(zip(frame["name"], frame["float_ops"], strict=True))


def products(profile):
    """Add up the float operations of the ops that multiply matrices or convolve."""
    found = float_ops(profile)
    return sum(found.get(op_type, 0) for op_type in PRODUCTS)


def unknown(profile):
    return {op_type for op_type, count in float_ops(profile).items() if np.isnan(count)}


BATCH, NOISE = 4, 10
GENERATOR = {
    "dense": 2 * BATCH * NOISE * 7 * 7 * 8,
    "up": 2 * BATCH * 7 * 7 * 8 * 4 * 4 * 6,
    "image": 2 * BATCH * 14 * 14 * 6 * 4 * 4 * 1,
}
CRITIC = {
    "first": 2 * BATCH * 14 * 14 * 8 * 5 * 5 * 1,
    "second": 2 * BATCH * 6 * 6 * 16 * 3 * 3 * 8,
    "verdict": 2 * BATCH * 6 * 6 * 16 * 1,
}


class Gan:
    """A small GAN: transposed, strided, same-padded and valid convolutions, forward and back."""

    def __init__(self):
        self.generator = tf.keras.Sequential(
            [
                tf.keras.Input((NOISE,)),
                layers.Dense(7 * 7 * 8, use_bias=False),
                layers.Reshape((7, 7, 8)),
                layers.Conv2DTranspose(6, 4, 2, "same"),
                layers.LeakyReLU(),
                layers.Conv2DTranspose(1, 4, 2, "same", activation="tanh"),
            ]
        )
        self.critic = tf.keras.Sequential(
            [
                tf.keras.Input((28, 28, 1)),
                layers.Conv2D(8, 5, 2, "same"),
                layers.LeakyReLU(),
                layers.Conv2D(16, 3, 2),
                layers.Flatten(),
                layers.Dense(1),
            ]
        )

    def step(self, noise, images):
        with tf.GradientTape() as of_generator, tf.GradientTape() as of_critic:
            made = self.generator(noise, training=True)
            real, fake = self.critic(images, training=True), self.critic(made, training=True)
            cost = tf.reduce_mean(tf.square(fake - 1.0))
            total = tf.reduce_mean(tf.square(real - 1.0)) + tf.reduce_mean(tf.square(fake))
        first = of_generator.gradient(cost, self.generator.trainable_variables)
        return first, of_critic.gradient(total, self.critic.trainable_variables)


@pytest.fixture(scope="module")
def gan():
    """Profile one step of a GAN, eager and as a graph."""
    model = Gan()
    noise, images = tf.ones((BATCH, NOISE)), tf.ones((BATCH, 28, 28, 1))
    as_graph = tf.function(model.step)
    model.step(noise, images)
    as_graph(noise, images)
    return profiled(lambda: model.step(noise, images)), profiled(lambda: as_graph(noise, images))


def by_hand():
    """Count the products of a step that its results depend on."""
    made, seen = sum(GENERATOR.values()), sum(CRITIC.values())
    forward = made + 2 * seen
    # Back through the critic, then to the weights and to all inputs but the noise.
    of_generator = seen + made + made - GENERATOR["dense"]
    # To the weights for both kinds of images, and to all inputs but the images.
    of_critic = 2 * seen + 2 * (seen - CRITIC["first"])
    return forward + of_generator + of_critic


def test_a_gan_counts_its_products_as_a_graph_and_by_hand(gan):
    _, graph = gan

    assert products(graph) == by_hand()
    assert unknown(graph) == set()


def test_an_eager_gan_counts_what_the_graph_does_and_the_gradients_that_nobody_uses(gan):
    eager, _ = gan

    made, seen = sum(GENERATOR.values()), sum(CRITIC.values())
    # Eager code goes all the way back: to the critic's weights for the generator, and for the
    # critic to the images and, through those that were made, to the generator's weights.
    unused = seen + 2 * CRITIC["first"] + made + made - GENERATOR["dense"]
    assert products(eager) == by_hand() + unused
    assert unknown(eager) == set()


WIDTH, HEADS, SIZE, LENGTH = 16, 2, 8, 6
PROJECTION = 2 * BATCH * LENGTH * WIDTH * HEADS * SIZE
ATTENTION = 2 * BATCH * LENGTH * LENGTH * HEADS * SIZE
HIDDEN = 2 * BATCH * LENGTH * WIDTH * 32
LAST = 2 * BATCH * LENGTH * WIDTH


@pytest.fixture(scope="module")
def transformer():
    """Profile a batch of a transformer block: predicted, and trained as a graph and eagerly."""
    given = tf.keras.Input((LENGTH, WIDTH))
    seen = given + layers.MultiHeadAttention(HEADS, SIZE)(given, given)
    seen = layers.LayerNormalization()(seen)
    seen = layers.Dense(WIDTH)(layers.Dense(32, activation="relu")(seen))
    model = tf.keras.Model(given, layers.Dense(1)(layers.Flatten()(seen)))
    x, y = np.ones((BATCH, LENGTH, WIDTH), "f4"), np.ones((BATCH, 1), "f4")
    found = [profiled(lambda: model.predict(x, batch_size=BATCH, verbose=0))]
    for eager in (False, True):
        model.compile("sgd", "mse", run_eagerly=eager)
        model.fit(x, y, batch_size=BATCH, verbose=0)
        found.append(profiled(lambda: model.fit(x, y, batch_size=BATCH, verbose=0)))
    return found


def test_a_transformer_counts_its_projections_and_the_products_of_attention(transformer):
    forward = 4 * PROJECTION + 2 * ATTENTION + 2 * HIDDEN + LAST
    predicted, trained, eager = transformer

    assert products(predicted) == forward
    # Nothing needs the gradients of the query, key and value to the model's own input.
    assert products(trained) == 3 * forward - 3 * PROJECTION
    assert products(eager) == 3 * forward
    for profile in transformer:
        assert unknown(profile) == set()


def test_attention_is_counted_in_its_layer(transformer):
    frame = transformer[0].layer(select="float_ops", max_depth=1000).frame
    totals = {
        name.rpartition("/")[2]: total
        for name, total in zip(frame["name"], frame["total_float_ops"], strict=True)
    }
    (attention,) = [total for name, total in totals.items() if name.startswith("multi_head")]
    scores = BATCH * HEADS * LENGTH * LENGTH
    biases, softmax = 4 * BATCH * LENGTH * WIDTH, 5 * scores
    # Scaled are the scores or the query, by Keras 2 outside the layer.
    scaled = (scores, BATCH * LENGTH * HEADS * SIZE, 0)

    rest = attention - (4 * PROJECTION + 2 * ATTENTION + biases + softmax)
    assert rest in scaled
