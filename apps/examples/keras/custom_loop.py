"""A training loop of one's own (custom_loop.cc), as Keras has it on JAX: state goes in and comes out."""

from example import run

import jax
import keras
import numpy as np


def line():
    i = np.arange(40)
    x = np.stack([i % 8 / 8, i % 5 / 5], axis=1).astype("float32")
    y = 2 * x[:, :1] - x[:, 1:] + 0.5
    order = np.random.default_rng(0)
    while True:
        rows = np.concatenate([order.permutation(40) for _ in range(2)]).reshape(10, 8)
        yield x[rows], y[rows]


def train(flags):
    keras.utils.set_random_seed(flags.seed)
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(1)])
    adam = keras.optimizers.Adam(0.05)
    adam.build(model.trainable_variables)

    def loss_of(weights, others, x, y):
        prediction, others = model.stateless_call(weights, others, x, training=True)
        return keras.ops.mean(keras.losses.mean_squared_error(y, prediction)), others

    def one_step(state, batch):
        weights, others, slots = state
        (loss, others), gradients = jax.value_and_grad(loss_of, has_aux=True)(weights, others, *batch)
        weights, slots = adam.stateless_apply(slots, gradients, weights)
        return (weights, others, slots), loss

    @jax.jit
    def step(state, batches):
        return jax.lax.scan(one_step, state, batches)

    state = (
        [v.value for v in group] for group in (model.trainable_variables, model.non_trainable_variables, adam.variables)
    )
    state = tuple(state)
    data = line()
    for epoch in range(20):
        state, losses = step(state, next(data))
        loss = losses.mean()
        if not flags.json:
            print(f"epoch {epoch + 1:2}  loss {loss:.3g}")
    return {"loss": loss, "steps": state[2][0]}


if __name__ == "__main__":
    run(train)
