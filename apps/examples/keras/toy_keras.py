"""A model of one neuron (toy_keras.cc)."""

from example import run

import keras
import numpy as np


def pairs():
    batch = np.tile([[1.0, 1.5]], (8, 1)).astype("float32"), np.full((8, 1), 0.3, "float32")
    while True:
        yield batch


def train(flags):
    keras.utils.set_random_seed(flags.seed)
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.Adagrad(0.05), loss="mse", metrics=["mae"], steps_per_execution=10)
    verbose = 0 if flags.json else "auto"
    history = model.fit(pairs(), epochs=5, steps_per_epoch=10, verbose=verbose)
    found = model.evaluate(pairs(), steps=10, return_dict=True, verbose=verbose)
    prediction = model.predict(np.array([[1.0, 1.5]], "float32"), verbose=0)
    return {"loss": history.history["loss"][-1], "eval_loss": found["loss"], "prediction": prediction[0, 0]}


if __name__ == "__main__":
    run(train, seed=19)
