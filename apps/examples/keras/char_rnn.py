"""A recurrent net that learns a text letter by letter (char_rnn.cc)."""

from example import run

import keras
import numpy as np
from keras import layers

TEXT = "/usr/share/common-licenses/GPL-3"
LENGTH, LETTERS = 32, 128


def read_text():
    with open(TEXT, "rb") as file:
        return np.frombuffer(file.read(), "uint8").astype("int32") % LETTERS


def written(model, text, letters):
    text = list(text)
    for _ in range(letters):
        window = np.array([text[-LENGTH:]], "int32")
        scores = model.predict_on_batch(window)[0]
        text.append(scores[-1].argmax())
    return "".join(chr(c) for c in text)


def train(flags):
    keras.utils.set_random_seed(flags.seed)
    text = read_text()
    windows = (len(text) - 1) // LENGTH
    x = text[: windows * LENGTH].reshape(windows, LENGTH)
    following = text[1 : 1 + windows * LENGTH].reshape(windows, LENGTH)
    model = keras.Sequential(
        [layers.Embedding(LETTERS, 32), layers.LSTM(96, return_sequences=True), layers.Dense(LETTERS)]
    )
    model.compile(
        optimizer=keras.optimizers.Adam(5e-3),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    h = model.fit(x, following, batch_size=64, epochs=40, verbose=0 if flags.json else "auto")
    if not flags.json:
        begin = bytes(text.astype("uint8")).find(b"This program")
        print(written(model, text[begin : begin + LENGTH], 200))
    return {"loss": h.history["loss"][-1], "accuracy": h.history["accuracy"][-1]}


if __name__ == "__main__":
    run(train)
