"""Two inputs through the same layers (siamese.cc)."""

from example import run

import keras
import numpy as np
from keras import layers

CLASSES, PAIRS = 3, 1024


def points(labels, random):
    centres = np.array([[1, 0, 0, 0], [-0.5, 0.9, 0, 0], [-0.5, -0.9, 0, 0]])
    return (centres[labels] + random.uniform(-0.5, 0.5, (len(labels), 4))).astype("float32")


def train(flags):
    keras.utils.set_random_seed(flags.seed)
    random = np.random.default_rng(flags.seed)
    first = random.integers(CLASSES, size=PAIRS)
    other = (first + 1 + random.integers(CLASSES - 1, size=PAIRS)) % CLASSES
    second = np.where(np.arange(PAIRS) % 2, first, other)
    a, b = points(first, random), points(second, random)
    same = (first == second).astype("float32")[:, None]

    left, right = keras.Input((4,), name="left"), keras.Input((4,), name="right")
    embed = keras.Sequential([layers.Dense(16, activation="relu"), layers.Dense(4)], name="embed")
    alike = layers.Lambda(lambda xs: 1 - keras.ops.sum((xs[0] - xs[1]) ** 2, axis=-1, keepdims=True))(
        [embed(left), embed(right)]
    )
    model = keras.Model([left, right], alike)
    model.compile(
        optimizer=keras.optimizers.Adam(0.01),
        loss=keras.losses.BinaryCrossentropy(from_logits=True),
        metrics=[keras.metrics.BinaryAccuracy(threshold=0)],
    )
    x = {"left": a, "right": b}
    h = model.fit(x, same, epochs=20, verbose=0 if flags.json else "auto")
    return {"loss": h.history["loss"][-1], "accuracy": h.history["binary_accuracy"][-1]}


if __name__ == "__main__":
    run(train)
