"""Which disease a leaf has, from JPEGs on disk (plant_pathology.cc)."""

import math
import os

from example import run

import keras
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import tensorflow as tf
from keras import layers
from sklearn.metrics import ConfusionMatrixDisplay
from sklearn.model_selection import train_test_split
from sklearn.utils.class_weight import compute_class_weight


def read_table(directory):
    file = os.path.join(directory, "train.csv")
    table = pd.read_csv(file, dtype={"image_id": str})
    classes = sorted(table.columns.drop("image_id"))
    ones = table[classes].sum(axis=1)
    if (ones != 1).any():
        bad = table[ones != 1].iloc[0]
        raise SystemExit(f"{file}: image_id '{bad.image_id}' is of {bad[classes].sum()} classes, expected one")
    if len(table) == 0:
        raise SystemExit(f"{file}: expected rows of images, found none")
    paths = directory + "/images/" + table.image_id + ".jpg"
    return classes, paths.to_numpy(), table[classes].to_numpy().argmax(axis=1)


def can_be_read(path):
    try:
        tf.io.decode_jpeg(tf.io.read_file(path))
        return True
    except tf.errors.OpError:
        return False


def norm(x):
    return layers.BatchNormalization(momentum=0.9)(x)


def conv_norm(x, filters, kernel=1, strides=1):
    return norm(layers.Conv2D(filters, kernel, strides=strides, padding="same", use_bias=False)(x))


def block(x, filters, strides, expand, kernel):
    before = x.shape[-1]
    y = x if expand == 1 else keras.activations.silu(conv_norm(x, before * expand))
    y = layers.DepthwiseConv2D(kernel, strides=strides, padding="same", use_bias=False)(y)
    y = keras.activations.silu(norm(y))
    every = layers.GlobalAveragePooling2D(keepdims=True)(y)
    every = layers.Conv2D(before // 4, 1, activation="silu")(every)
    y = conv_norm(y * layers.Conv2D(before * expand, 1, activation="sigmoid")(every), filters)
    return x + y if strides == 1 and before == filters else y


def efficient_net(size, classes, width, depth):
    def scaled(filters):
        return max(8, math.floor(filters * width / 8 + 0.5) * 8)

    image = keras.Input((size, size, 3))
    x = keras.activations.silu(conv_norm(image, scaled(32), 3, 2))
    for filters, expand, kernel, strides, blocks in [
        (16, 1, 3, 1, 1),
        (24, 6, 3, 2, 2),
        (40, 6, 5, 2, 2),
        (80, 6, 3, 2, 3),
        (112, 6, 5, 1, 3),
        (192, 6, 5, 2, 4),
        (320, 6, 3, 1, 1),
    ]:
        for i in range(math.ceil(blocks * depth)):
            x = block(x, scaled(filters), strides if i == 0 else 1, expand, kernel)
    x = keras.activations.silu(conv_norm(x, scaled(1280)))
    x = layers.Dropout(0.2)(layers.GlobalAveragePooling2D()(x))
    return keras.Model(image, layers.Dense(classes, activation="softmax")(x))


def draw(directory, history, classes, paths, labels, probabilities):
    figure, panels = plt.subplots(1, 2)
    for panel, name in zip(panels, ["loss", "accuracy"]):
        panel.plot(history[name], label="training")
        panel.plot(history["val_" + name], label="validation")
        panel.set_title(name)
        panel.legend()
    figure.savefig(directory + "/curves.png")
    ConfusionMatrixDisplay.from_predictions(
        labels, probabilities.argmax(axis=1), labels=range(len(classes)), display_labels=classes
    ).figure_.savefig(directory + "/confusion.png")
    of_label = probabilities[np.arange(len(labels)), labels]
    wrong = [i for i in of_label.argsort() if probabilities[i].argmax() != labels[i]]
    figure, panels = plt.subplots(4, 6)
    for panel, i in zip(panels.flat, wrong):
        panel.imshow(keras.utils.load_img(paths[i]))
        panel.set_title(f"{classes[labels[i]]}: {classes[probabilities[i].argmax()]}")
    figure.savefig(directory + "/wrong.png")


def train(flags):
    keras.utils.set_random_seed(flags.seed)
    size, larger = flags.image_size, flags.image_size * 9 // 8
    classes, paths, labels = read_table(flags.data_dir)
    if flags.skip_bad_images:
        good = [can_be_read(path) for path in paths]
        paths, labels = paths[good], labels[good]
    counts = np.bincount(labels, minlength=len(classes))
    if (counts == 1).any():
        raise SystemExit(f"{flags.data_dir}: class '{classes[counts.argmin()]}' has one image, expected two or more")
    learnt, held, learnt_labels, held_labels = train_test_split(
        paths, labels, test_size=0.2, stratify=labels, random_state=flags.seed
    )

    devices = keras.distribution.list_devices()
    if len(devices) > 1:
        keras.distribution.set_distribution(keras.distribution.DataParallel(devices=devices))
    batch = flags.batch_size * len(devices)

    def decoded(paths, labels):
        def read(path, label):
            image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
            image = tf.image.resize(image, (larger, larger))
            return tf.cast(tf.round(image), tf.uint8), tf.one_hot(label, len(classes))

        files = tf.data.Dataset.from_tensor_slices((paths, labels))
        return files.map(read, num_parallel_calls=tf.data.AUTOTUNE).cache()  # before anything random

    def changed_by(*changes):
        def change(image, label):
            for layer in changes:
                image = layer(image)
            return image, label

        return change

    augmented = changed_by(
        layers.RandomCrop(size, size),
        layers.RandomFlip(),
        layers.RandomBrightness(0.1),
        layers.RandomContrast(0.1),
        layers.Rescaling(1 / 127.5, -1),
    )
    plain = changed_by(layers.CenterCrop(size, size), layers.Rescaling(1 / 127.5, -1))
    training = (
        decoded(learnt, learnt_labels)
        .shuffle(2048, seed=flags.seed)
        .repeat()
        .map(augmented, num_parallel_calls=tf.data.AUTOTUNE)
        .batch(batch)
        .prefetch(tf.data.AUTOTUNE)
    )
    validation = decoded(held, held_labels).map(plain).batch(batch).prefetch(tf.data.AUTOTUNE)

    model = efficient_net(size, len(classes), flags.width, flags.depth)
    model.compile(
        optimizer=keras.optimizers.Adam(1e-3 * len(devices)),
        loss="categorical_crossentropy",
        metrics=["accuracy"],
        steps_per_execution=32,
    )
    stop = keras.callbacks.EarlyStopping(patience=20, restore_best_weights=True)
    present = np.unique(learnt_labels)
    weights = compute_class_weight("balanced", classes=present, y=learnt_labels)
    h = model.fit(
        training,
        epochs=flags.epochs,
        steps_per_epoch=math.ceil(len(learnt) / batch),
        validation_data=validation,
        class_weight=dict(zip(present, weights)),
        callbacks=[stop],
        verbose=0 if flags.json else "auto",
    )
    loss, accuracy = model.evaluate(validation, verbose=0)
    os.makedirs(flags.log_dir, exist_ok=True)
    draw(flags.log_dir, h.history, classes, held, held_labels, model.predict(validation, verbose=0))
    return {
        "loss": loss,
        "accuracy": accuracy,
        "epochs": len(h.epoch),
        "best_epoch": stop.best_epoch + 1,
        "parameters": model.count_params(),
    }


if __name__ == "__main__":
    run(
        train,
        data_dir="data",
        log_dir="logs",
        image_size=224,
        batch_size=128,
        epochs=100,
        width=1.0,
        depth=1.0,
        skip_bad_images=False,
    )
