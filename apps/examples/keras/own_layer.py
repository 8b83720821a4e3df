"""A layer of one's own (own_layer.cc)."""

from example import run

import keras
import numpy as np
from keras import layers


class Residual(layers.Layer):
    def __init__(self):
        super().__init__()
        self.a = layers.Dense(32, activation="relu")
        self.b = layers.Dense(32)

    def call(self, x):
        return keras.ops.relu(self.b(self.a(x)) + x)


def train(flags):
    keras.utils.set_random_seed(flags.seed)
    count = 512
    i = np.arange(count)
    t = 0.5 + 5 * (i // 2) / (count // 2)
    turn = t + i % 2 * np.pi
    points = np.stack([t / 3 * np.cos(turn), t / 3 * np.sin(turn)], axis=1).astype("float32")
    arm = i % 2
    model = keras.Sequential([layers.Dense(32, activation="relu"), Residual(), Residual(), layers.Dense(2)])
    model.compile(
        optimizer=keras.optimizers.Adam(3e-3),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    h = model.fit(points, arm, epochs=60, verbose=0 if flags.json else "auto")
    return {"loss": h.history["loss"][-1], "accuracy": h.history["accuracy"][-1]}


if __name__ == "__main__":
    run(train)
