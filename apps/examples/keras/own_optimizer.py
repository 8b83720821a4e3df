"""An optimizer of one's own (own_optimizer.cc), beside the built-in one."""

from example import run

import keras
import numpy as np


class HeavyBall(keras.optimizers.Optimizer):
    def __init__(self, learning_rate, momentum):
        super().__init__(learning_rate, name="heavy_ball")
        self.momentum = momentum

    def build(self, variables):
        super().build(variables)
        self.velocities = self.add_optimizer_variables(variables, "velocity")

    def update_step(self, gradient, variable, learning_rate):
        slot = self.velocities[self._get_variable_index(variable)]
        velocity = self.momentum * slot - learning_rate * gradient
        self.assign(slot, velocity)
        self.assign_add(variable, velocity)


def measurements():
    i = np.arange(40)
    x = np.stack([i % 8 / 8, i % 5 / 5], axis=1).astype("float32")
    y = 2 * x[:, :1] - x[:, 1:] + 0.5 + 0.25 * (i % 3 - 1)[:, None]
    return x, y.astype("float32")


def loss_with(optimizer, flags):
    keras.utils.set_random_seed(flags.seed)
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile(optimizer=optimizer, loss="mse", steps_per_execution=5)
    x, y = measurements()
    h = model.fit(x, y, batch_size=8, epochs=40, verbose=0 if flags.json else "auto")
    return h.history["loss"][-1]


def train(flags):
    own = loss_with(HeavyBall(0.02, 0.9), flags)
    return {"loss": own, "built_in_loss": loss_with(keras.optimizers.SGD(0.02, 0.9), flags)}


if __name__ == "__main__":
    run(train)
