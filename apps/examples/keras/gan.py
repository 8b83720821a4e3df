"""Two models that train against each other (gan.cc), as Keras has it on JAX: state goes in and comes out."""

from example import run

import jax
import keras
import numpy as np
from keras import layers, ops

BATCH, NOISE, STEPS, ROUNDS = 64, 4, 50, 40


def ring(seed):
    angle = 2 * np.pi * np.arange(4096) / 4096
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1).astype("float32")
    random = np.random.default_rng(seed)
    while True:
        yield from points[random.permutation(4096)].reshape(-1, BATCH, 2)


def net(inputs, units, outputs):
    hidden = [layers.Dense(units, activation="relu") for _ in range(2)]
    return keras.Sequential([keras.Input((inputs,)), *hidden, layers.Dense(outputs)])


def values(variables):
    return [v.value for v in variables]


def train(flags):
    keras.utils.set_random_seed(flags.seed)
    generator, discriminator = net(NOISE, 32, 2), net(2, 32, 1)
    of_generator, of_discriminator = keras.optimizers.Adam(1e-3, beta_1=0.5), keras.optimizers.Adam(1e-3, beta_1=0.5)
    of_generator.build(generator.trainable_variables)
    of_discriminator.build(discriminator.trainable_variables)
    cross_entropy = keras.losses.BinaryCrossentropy(from_logits=True)

    def made(weights, key):
        return generator.stateless_call(weights, [], jax.random.normal(key, (BATCH, NOISE)))[0]

    def judged(weights, points):
        return discriminator.stateless_call(weights, [], points)[0]

    @jax.jit
    def judge(weights, slots, generator_weights, points, key):
        def loss_of(weights):
            real, fake = judged(weights, points), judged(weights, made(generator_weights, key))
            return cross_entropy(ops.ones_like(real), real) + cross_entropy(ops.zeros_like(fake), fake)

        loss, gradients = jax.value_and_grad(loss_of)(weights)
        return loss, *of_discriminator.stateless_apply(slots, gradients, weights)

    @jax.jit
    def deceive(weights, slots, discriminator_weights, key):
        def loss_of(weights):
            points = made(weights, key)
            opinion = judged(discriminator_weights, points)
            return cross_entropy(ops.ones_like(opinion), opinion), ops.mean(ops.norm(points, axis=-1))

        (loss, radius), gradients = jax.value_and_grad(loss_of, has_aux=True)(weights)
        return loss, radius, *of_generator.stateless_apply(slots, gradients, weights)

    data = ring(flags.seed)
    key = jax.random.key(flags.seed)
    g, g_slots = values(generator.trainable_variables), values(of_generator.variables)
    d, d_slots = values(discriminator.trainable_variables), values(of_discriminator.variables)
    for round in range(ROUNDS):
        for step in range(STEPS):
            key, first, second = jax.random.split(key, 3)
            loss, d, d_slots = judge(d, d_slots, g, next(data), first)
            fooled, radius, g, g_slots = deceive(g, g_slots, d, second)
        if round % 10 == 9 and not flags.json:
            done = (round + 1) * STEPS
            print(f"step {done:4}  discriminator {loss:.3f}  generator {fooled:.3f}  mean radius {radius:.3f}")
    return {"discriminator_loss": loss, "radius": radius}


if __name__ == "__main__":
    run(train)
