"""Batches and sentences of any size (dynamic_shapes.cc); Keras pads them to one, or compiles a program for each."""

from example import run

import keras
import numpy as np
from keras import layers, ops

WORDS, BATCH, TIME = 50, 64, 20
SIZES = [(64, 20), (64, 9), (24, 14)]  # rows, words of the longest sentence


# Sentences of up to `longest` words, of which there are 1 to 49; 0 stands behind their ends.
def sentences(rows, longest, random):
    words, has = np.zeros((rows, longest), "int32"), random.integers(0, 2, rows)
    for r in range(rows):
        length = longest if r == 0 else random.integers(1, longest + 1)
        words[r, :length] = random.integers(2, WORDS, length)
        if has[r]:
            words[r, random.integers(0, length)] = 1
    return words, has


def padded(words, has):
    rows, longest = words.shape
    words = np.pad(words, ((0, BATCH - rows), (0, TIME - longest)))
    return words, np.pad(has, (0, BATCH - rows)), np.arange(BATCH) < rows


class Finder(keras.Model):
    def __init__(self):
        super().__init__()
        self.embedding, self.seen, self.logits = layers.Embedding(WORDS, 16), layers.Dense(16, "relu"), layers.Dense(2)
        self.traces = 0

    def call(self, words):
        self.traces += 1
        there = ops.cast(ops.not_equal(words, 0), "float32")
        return self.logits(ops.max(self.seen(self.embedding(words)) * ops.expand_dims(there, -1), axis=1))


def finder(seed):
    keras.utils.set_random_seed(seed)
    model = Finder()
    model.compile(
        optimizer=keras.optimizers.SGD(0.1, momentum=0.9),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="mean_with_sample_weight"),
    )
    model(np.zeros((1, 1), "int32"))
    model.traces = 0
    return model


def train(flags):
    bounded, fixed, random = finder(flags.seed), finder(flags.seed), np.random.default_rng(flags.seed)
    apart = 0
    for i in range(60):
        words, has = sentences(*SIZES[i % 3], random)
        bounded.reset_metrics()
        fixed.reset_metrics()
        x, y, weight = padded(words, has)
        loss = bounded.train_on_batch(x, y, sample_weight=weight)
        apart = max(apart, abs(loss - fixed.train_on_batch(words, has)))
        if not flags.json and i % 10 == 9:
            print(f"step {i + 1:2}  loss {loss:.4f}")
    return {"loss": loss, "apart": apart, "traces": bounded.traces, "static_traces": fixed.traces}


if __name__ == "__main__":
    run(train)
