"""Sentences of any length in batches of any size, compiled once (dynamic_shapes.cc): in Keras they are padded and masked."""

from example import run

import keras
import numpy as np
from keras import layers

WORDS, MOST_WORDS, BATCH, SENTENCES = 50, 16, 8, 100


def sentences(seed):
    random = np.random.default_rng(seed)
    all = [random.integers(1, WORDS, random.integers(3, MOST_WORDS + 1)) for _ in range(SENTENCES)]
    labels = [float((words < WORDS // 2).mean() > 0.5) for words in all]
    return all, labels


def padded(words, labels):
    tokens, y, weight = (
        np.zeros((BATCH, MOST_WORDS), "int32"),
        np.zeros((BATCH, 1), "float32"),
        np.zeros(BATCH, "float32"),
    )
    tokens[:, 0] = 1  # rows that are left out have a mean, too
    for i, sentence in enumerate(words):
        tokens[i, : len(sentence)] = sentence
        y[i], weight[i] = labels[i], 1
    return tokens, y, weight


def train(flags):
    keras.utils.set_random_seed(flags.seed)
    embedding = layers.Embedding(WORDS, 16, mask_zero=True)
    model = keras.Sequential([embedding, layers.GlobalAveragePooling1D(), layers.Dense(1)])
    model.compile(
        optimizer=keras.optimizers.Adam(0.01),
        loss=keras.losses.BinaryCrossentropy(from_logits=True),
        weighted_metrics=[keras.metrics.BinaryAccuracy(threshold=0)],
    )
    words, labels = sentences(flags.seed)
    for epoch in range(20):
        model.reset_metrics()
        for i in range(0, SENTENCES, BATCH):
            tokens, y, weight = padded(words[i : i + BATCH], labels[i : i + BATCH])
            found = model.train_on_batch(tokens, y, sample_weight=weight, return_dict=True)
        if not flags.json:
            print(f"epoch {epoch + 1:2}  loss {found['loss']:.3f}  accuracy {found['binary_accuracy']:.3f}")
    return {"loss": found["loss"], "accuracy": found["binary_accuracy"]}


if __name__ == "__main__":
    run(train)
