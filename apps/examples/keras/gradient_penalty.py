"""A critic whose slope is kept to 1 (gradient_penalty.cc), as Keras has it on JAX."""

from example import run

import jax
import keras
from keras import layers, ops

BATCH, APART = 256, 3.0


def train(flags):
    keras.utils.set_random_seed(flags.seed)
    hidden = [layers.Dense(64, activation="tanh") for _ in range(2)]
    critic = keras.Sequential([keras.Input((2,)), *hidden, layers.Dense(1)])
    adam = keras.optimizers.Adam(1e-3, beta_1=0.5, beta_2=0.9)
    adam.build(critic.trainable_variables)

    def said(weights, points):
        return critic.stateless_call(weights, [], points)[0]

    def loss_of(weights, key):
        keys = jax.random.split(key, 3)
        here = 0.3 * jax.random.normal(keys[0], (BATCH, 2))
        there = 0.3 * jax.random.normal(keys[1], (BATCH, 2)) + ops.array([APART, 0.0])
        between = here + (there - here) * jax.random.uniform(keys[2], (BATCH, 1))
        distance = ops.mean(said(weights, there)) - ops.mean(said(weights, here))
        slope = jax.grad(lambda points: ops.sum(said(weights, points)))(between)
        norm = ops.sqrt(ops.sum(slope**2, axis=-1) + 1e-12)
        return 10 * ops.mean((norm - 1) ** 2) - distance, (distance, ops.mean(norm))

    def one_step(state, key):
        weights, slots = state
        gradients, found = jax.grad(loss_of, has_aux=True)(weights, key)
        return adam.stateless_apply(slots, gradients, weights), found

    @jax.jit
    def steps(state, keys):
        return jax.lax.scan(one_step, state, keys)

    key = jax.random.key(flags.seed)
    state = [v.value for v in critic.trainable_variables], [v.value for v in adam.variables]
    for round in range(1, 6):
        key, used = jax.random.split(key)
        state, found = steps(state, jax.random.split(used, 100))
        distance, slope = (value.mean() for value in found)
        if not flags.json:
            print(f"step {round * 100:3}  distance {distance:.3f}  slope {slope:.3f}")
    return {"distance": distance / slope, "apart": APART, "slope": slope}


if __name__ == "__main__":
    run(train)
