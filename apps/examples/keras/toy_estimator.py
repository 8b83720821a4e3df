"""One step of training and one of evaluation (toy_estimator.cc), of which Keras has no Estimator any more."""
from example import run

import keras
import numpy as np


def input_fn(batch_size):
    return np.tile([[1.0, 1.5]], (batch_size, 1)).astype("float32"), np.full((batch_size, 1), 0.3, "float32")


def train(flags):
    keras.utils.set_random_seed(flags.seed)
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, kernel_initializer="zeros")])
    model.compile(optimizer=keras.optimizers.Adagrad(0.05), loss="mse")
    features, labels = input_fn(8)
    steps = 1
    model.fit(features, labels, batch_size=8, epochs=1, steps_per_epoch=steps, verbose=0)
    found = model.evaluate(features, labels, batch_size=8, steps=1, verbose=0, return_dict=True)
    prediction = model.predict(features[:1], verbose=0)
    return {"loss": found["loss"], "global_step": model.optimizer.iterations, "prediction": prediction[0, 0]}


if __name__ == "__main__":
    run(train)
