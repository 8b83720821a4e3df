"""A backbone learns half of the classes, then the other half from a few examples (transfer.cc)."""

from example import run

import keras
import numpy as np
import tensorflow as tf
from keras import layers

FEATURES = {
    "image/encoded": tf.io.FixedLenFeature([], tf.string),
    "image/class/label": tf.io.FixedLenFeature([], tf.int64),
}


def read(flags, split, first, most):
    """Of every other class, from the first or the second on, which are counted anew; of them the first so many images."""
    images, labels = [], []
    files = sorted(tf.io.gfile.glob(f"{flags.data_dir}/{split}-*"))
    for record in tf.data.TFRecordDataset(files):
        e = tf.io.parse_single_example(record, FEATURES)
        number = int(e["image/class/label"]) - 1
        if number % 2 != first or len(labels) == most:
            continue
        labels.append(number // 2)
        images.append(np.frombuffer(e["image/encoded"].numpy(), np.uint8).reshape(flags.size, flags.size, 1))
    return np.stack(images), np.array(labels)


def backbone(size, name):
    image = keras.Input((size, size, 1))
    x = layers.Rescaling(1 / 127.5, -1)(image)
    for filters in (16, 32, 64):
        x = layers.Conv2D(filters, 3, strides=2, padding="same", use_bias=False)(x)
        x = layers.Activation("relu")(layers.BatchNormalization(momentum=0.9)(x))
    return keras.Model(image, layers.GlobalAveragePooling2D()(x), name=name)


def compile(model, rate):
    model.compile(  # one rate for all: Keras has none by name
        optimizer=keras.optimizers.Adam(rate),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )


def train(flags):
    keras.utils.set_random_seed(flags.seed)
    half = flags.classes // 2
    many = read(flags, "train", 0, 1 << 24)
    few, test = read(flags, "train", 1, flags.examples), read(flags, "validation", 1, 2000)
    fit = dict(batch_size=16, verbose=0, validation_data=test, validation_batch_size=512)

    image = keras.Input((flags.size, flags.size, 1), name="image")
    base = backbone(flags.size, "backbone")
    first = keras.Model(image, layers.Dense(half)(base(image)), name="first")
    compile(first, 2e-3)
    first.fit(*many, batch_size=64, epochs=6, verbose=0 if flags.json else "auto")

    base.trainable = False
    second = keras.Model(image, layers.Dense(half)(base(image, training=False)), name="second")
    compile(second, 0.03)
    tuned = second.fit(*few, epochs=flags.epochs, **fit)
    frozen = tuned.history["val_accuracy"][-1]

    base.trainable = True
    for layer in base.layers[:5]:  # up to the first convolution's activation
        layer.trainable = False
    compile(second, 3e-3)
    tuned = second.fit(*few, epochs=2 * flags.epochs, initial_epoch=flags.epochs, **fit)

    nothing = keras.Model(image, layers.Dense(half)(backbone(flags.size, "anew")(image)), name="nothing")
    compile(nothing, 2e-3)
    anew = nothing.fit(*few, epochs=2 * flags.epochs, **fit)
    for epoch, accuracy in zip(tuned.epoch, tuned.history["val_accuracy"]):
        if not flags.json:
            print(f"epoch {epoch + 1}  tuned {accuracy:.4f}  from nothing {anew.history['val_accuracy'][epoch]:.4f}")
    return {"frozen": frozen, "tuned": tuned.history["val_accuracy"][-1], "from_nothing": anew.history["val_accuracy"][-1]}


if __name__ == "__main__":
    run(train, data_dir="data", size=28, classes=10, examples=50, epochs=30)
