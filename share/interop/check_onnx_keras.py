#!/usr/bin/env python3
"""Models of Keras, exported to ONNX by Model.export (which is tf2onnx): Tenon's outputs and losses of training beside Keras's.

Usage: check_onnx_keras.py TENON ONNX_TOOL [NAME..]        (tests/integration/onnx_tool.cc)
       check_onnx_keras.py --keep DIRECTORY NAME..         writes their cases there, as tests/fixtures/onnx has them

Weights are random, from seeds. tf2onnx leaves two ops of TensorFlow's in its files, Erfc and Expm1, which ONNX does not have. Prints one
line a model; exits 1 when one fails.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import keras  # noqa: E402
import numpy as np  # noqa: E402
import onnx  # noqa: E402
from keras import layers  # noqa: E402
from onnx_cases import compare, keep, tensor, write_case  # noqa: E402

TOLERANCE = 1e-4  # relative and absolute, of what outputs may differ
LOSSES = 1e-3     # of the first loss
STEPS, RATE, ROWS = 10, 0.01, 4


def application(name, size=64, **options):
    return lambda: getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3), classes=7, classifier_activation=None, **options)


def chain(shape, *parts, dtype="float32"):
    return lambda: keras.Sequential([keras.Input(shape, dtype=dtype), *[part() for part in parts]])


def convolutions():
    return keras.Sequential([
        keras.Input((20, 20, 3)), layers.Conv2D(8, 3, strides=2, padding="same", use_bias=False), layers.BatchNormalization(), layers.ReLU(),
        layers.Conv2D(12, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten(), layers.Dense(5)])


def mobile():
    """Pad, depthwise, ReLU6, a shortcut, squeeze and excite."""
    x = first = keras.Input((24, 24, 3))
    x = layers.ReLU(6.0)(layers.BatchNormalization()(layers.Conv2D(8, 3, padding="same", use_bias=False)(x)))
    short = x
    x = layers.ReLU(6.0)(layers.BatchNormalization()(layers.DepthwiseConv2D(3, padding="same", use_bias=False)(x)))
    scale = layers.GlobalAveragePooling2D(keepdims=True)(x)
    scale = layers.Conv2D(8, 1, activation="sigmoid")(layers.Conv2D(2, 1, activation="swish")(scale))
    x = layers.Add()([short, layers.BatchNormalization()(layers.Conv2D(8, 1)(layers.Multiply()([x, scale])))])
    x = layers.DepthwiseConv2D(3, strides=2, padding="valid", depth_multiplier=2)(layers.ZeroPadding2D(((0, 1), (0, 1)))(x))
    x = layers.SeparableConv2D(10, 3, activation="hard_swish")(x)
    return keras.Model(first, layers.Dense(5)(layers.GlobalAveragePooling2D()(x)))


def unet():
    x = first = keras.Input((16, 16, 3))
    a = layers.Conv2D(4, 3, padding="same", activation="relu")(x)
    b = layers.Conv2D(8, 3, padding="same", activation="gelu")(layers.AveragePooling2D(2)(a))
    up = layers.Conv2DTranspose(4, 2, strides=2)(b)
    x = layers.Concatenate()([a, up, layers.UpSampling2D(2, interpolation="bilinear")(b)])
    return keras.Model(first, layers.Conv2D(2, 1, activation="softmax")(x))


class Places(layers.Layer):
    """Learnt vectors of words and of places, as keras.io's transformer has them."""

    def __init__(self, length, words, width):
        super().__init__()
        self.words, self.places, self.length = layers.Embedding(words, width), layers.Embedding(length, width), length

    def call(self, x):
        return self.words(x) + self.places(keras.ops.arange(0, self.length, 1))


def transformer():
    x = first = keras.Input((12,), dtype="int32")
    x = Places(12, 50, 16)(x)
    for _ in range(2):
        x = layers.LayerNormalization(epsilon=1e-6)(x + layers.MultiHeadAttention(2, 8)(x, x))
        x = layers.LayerNormalization(epsilon=1e-6)(x + layers.Dense(16)(layers.Dense(32, activation="gelu")(x)))
    return keras.Model(first, layers.Dense(3)(layers.GlobalAveragePooling1D()(x)))


def causal():
    x = first = keras.Input((10,), dtype="int32")
    x = Places(10, 30, 16)(x)
    x = x + layers.MultiHeadAttention(4, 4)(layers.LayerNormalization()(x), layers.LayerNormalization()(x), use_causal_mask=True)
    return keras.Model(first, layers.Dense(30)(x))


def masked_lstm():
    x = first = keras.Input((9,), dtype="int32")
    x = layers.Embedding(40, 8, mask_zero=True)(x)
    return keras.Model(first, layers.Dense(4)(layers.LSTM(12)(x)))


def two_inputs():
    number, code = keras.Input((5,), name="number"), keras.Input((3,), dtype="int32", name="code")
    x = layers.Concatenate()([layers.Dense(8, activation="elu")(number), layers.Flatten()(layers.Embedding(11, 4)(code))])
    return keras.Model([number, code], layers.Dense(3)(layers.Dropout(0.0)(x)))


RNN = (8, 5)
MODELS = {
    "mlp": chain((7,), lambda: layers.Dense(16, activation="relu"), lambda: layers.BatchNormalization(),
                 lambda: layers.LeakyReLU(), lambda: layers.Dense(5)),
    "activations": chain((6,), *[lambda name=name: layers.Dense(6, activation=name) for name in (
        "elu", "selu", "softplus", "softsign", "tanh", "gelu", "silu", "mish", "hard_sigmoid", "relu6", "leaky_relu", "celu", "log_softmax", "exponential")]),
    "convolutions": convolutions,
    "mobile": mobile,
    "unet": unet,
    "conv1d": chain((20, 4), lambda: layers.Conv1D(6, 3, dilation_rate=2, padding="causal", activation="relu"), lambda: layers.MaxPooling1D(),
                    lambda: layers.Conv1DTranspose(5, 3, strides=2, padding="same"), lambda: layers.GlobalMaxPooling1D(), lambda: layers.Dense(4)),
    "conv3d": chain((8, 8, 8, 2), lambda: layers.Conv3D(4, 3, padding="same", activation="relu"), lambda: layers.AveragePooling3D(2), lambda: layers.Flatten(),
                    lambda: layers.Dense(4)),
    "conv_groups": chain((12, 12, 4), lambda: layers.Conv2D(8, 3, groups=2), lambda: layers.GroupNormalization(2), lambda: layers.PReLU(shared_axes=[1, 2]),
                         lambda: layers.GlobalMaxPooling2D()),
    "images": chain((15, 15, 3), lambda: layers.Rescaling(1 / 127.5, -1), lambda: layers.Resizing(11, 13), lambda: layers.CenterCrop(8, 8), lambda: layers.Cropping2D(1),
                    lambda: layers.UpSampling2D(2), lambda: layers.Reshape((12, 36)), lambda: layers.Permute((2, 1)), lambda: layers.Flatten(), lambda: layers.Dense(3)),
    "lstm": chain(RNN, lambda: layers.LSTM(7, return_sequences=True), lambda: layers.LSTM(6), lambda: layers.Dense(4)),
    "gru": chain(RNN, lambda: layers.GRU(7, return_sequences=True), lambda: layers.GRU(6, reset_after=False), lambda: layers.Dense(4)),
    "simple_rnn": chain(RNN, lambda: layers.SimpleRNN(7), lambda: layers.Dense(4)),
    "bidirectional": chain(RNN, lambda: layers.Bidirectional(layers.LSTM(5, return_sequences=True)), lambda: layers.Bidirectional(layers.GRU(4)), lambda: layers.Dense(4)),
    "conv_lstm": chain((4, 8, 8, 2), lambda: layers.ConvLSTM2D(3, 3, padding="same"), lambda: layers.GlobalAveragePooling2D(), lambda: layers.Dense(3)),
    "time_distributed": chain((5, 8, 8, 2), lambda: layers.TimeDistributed(layers.Conv2D(3, 3)), lambda: layers.TimeDistributed(layers.Flatten()), lambda: layers.LSTM(4),
                              lambda: layers.Dense(3)),
    "masked_lstm": masked_lstm,
    "embedding": chain((9,), lambda: layers.Embedding(40, 8), lambda: layers.Conv1D(6, 3, activation="relu"), lambda: layers.GlobalMaxPooling1D(), lambda: layers.Dense(4),
                       dtype="int32"),
    "transformer": transformer,
    "causal": causal,
    "two_inputs": two_inputs,
    "MobileNet": application("MobileNet"),
    "MobileNetV2": application("MobileNetV2"),
    "MobileNetV3Small": application("MobileNetV3Small"),
    "EfficientNetB0": application("EfficientNetB0"),
    "EfficientNetV2B0": application("EfficientNetV2B0"),
    "ResNet50": application("ResNet50"),
    "ResNet50V2": application("ResNet50V2"),
    "DenseNet121": application("DenseNet121"),
    "Xception": application("Xception", 71),
    "InceptionV3": application("InceptionV3", 75),
    "NASNetMobile": application("NASNetMobile"),
    "ConvNeXtTiny": application("ConvNeXtTiny"),
    "VGG16": application("VGG16"),
}


def made(name):
    """Weights that say something, also those that begin with 0 or 1; moments that are not those of a new batch norm."""
    keras.backend.clear_session()
    keras.utils.set_random_seed(3)
    model, draw = MODELS[name](), np.random.default_rng(len(name))
    for variable in model.weights:
        if variable.name in ("bias", "beta", "gamma", "moving_mean", "moving_variance") or variable.path.endswith("_layer_scale/variable"):
            noise = draw.uniform(-0.3, 0.3, variable.shape)
            variable.assign(np.asarray(variable.value if variable.name != "variable" else 0.3) + noise.astype(np.float32))
    return model


def rows_of(model, draw):
    out = []
    for given in model.inputs:
        shape = [ROWS, *given.shape[1:]]
        whole = "int" in str(given.dtype)
        out.append(draw.integers(1, 10, shape).astype(np.int32) if whole else draw.normal(size=shape).astype(np.float32))
    if any("mask" in layer.name or getattr(layer, "mask_zero", False) for layer in model.layers):
        out[0][:, -3:] = 0
    return out


def export(name, directory, model=None):
    model = model or made(name)
    inputs = rows_of(model, np.random.default_rng(1))
    model(inputs if len(inputs) > 1 else inputs[0])  # export() wants it to have been called
    path = directory / f"{name}.onnx"
    model.export(str(path), format="onnx", verbose=False)
    proto = onnx.load(path)
    calls = {node.op_type for node in proto.graph.node if node.op_type.endswith("PartitionedCall")}
    if calls:  # a function of TensorFlow's, whose body is not in the file: a convolution with groups
        raise ValueError(f"tf2onnx leaves {', '.join(sorted(calls))} in the file")
    return model, proto


def answers(model, inputs):
    found = model.predict(inputs if len(inputs) > 1 else inputs[0], verbose=0)
    return found if isinstance(found, list) else [found]


# ONNX's LSTM has a bias for its input and one for its state, as PyTorch's has: both learn, where Keras has one.
def rate_of(variable, proto):
    twice = variable.path.endswith("lstm_cell/bias") and any(node.op_type == "LSTM" for node in proto.graph.node)
    return 2 * RATE if twice else RATE


def losses_of(model, proto, inputs, labels):
    import tensorflow as tf
    loss_of, out = keras.losses.SparseCategoricalCrossentropy(from_logits=True), []
    for _ in range(STEPS):
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(inputs if len(inputs) > 1 else inputs[0], training=False))
        gradients = tape.gradient(loss, model.trainable_variables)
        for variable, gradient in zip(model.trainable_variables, gradients):
            if gradient is not None:
                variable.assign_sub(rate_of(variable, proto) * tf.convert_to_tensor(gradient))
        out.append(float(loss))
    return out


# Of these the outputs are no scores of classes, or what Keras exports folds batch norm away, or stands in a loop's body that ONNX has no weights in.
def trains(model):
    scores = len(model.outputs) == 1 and len(model.outputs[0].shape) == 2
    norms = any(isinstance(layer, layers.BatchNormalization) for layer in model._flatten_layers())
    return scores and not norms


def check_training(tool, model, proto, inputs, path, directory):
    labels = np.arange(ROWS) % 3
    for i, value in enumerate(inputs):
        (directory / f"input_{i}.pb").write_bytes(tensor(value).SerializeToString())
    (directory / "labels.pb").write_bytes(tensor(labels.astype(np.int64)).SerializeToString())
    run = subprocess.run([tool, "train", str(path), str(directory), str(STEPS), str(RATE)], capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError(run.stderr.strip())
    found, expected = [float(line) for line in run.stdout.split()], losses_of(model, proto, inputs, labels)
    error = max(abs(a - b) for a, b in zip(found, expected)) / expected[0]
    if len(found) != STEPS or error > LOSSES:
        raise RuntimeError(f"losses {found[0]:.5f} .. {found[-1]:.5f}, expected {expected[0]:.5f} .. {expected[-1]:.5f}")
    return f"{STEPS} losses from {found[0]:.4f} to {found[-1]:.4f} by {error:.1e}"


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory(prefix="tenon-keras-") as temporary:
        directory = pathlib.Path(temporary)
        if sys.argv[1] == "--keep":
            for name in sys.argv[3:]:
                model, proto = export(name, directory)
                keep(pathlib.Path(sys.argv[2]), {f"keras_{name}": lambda proto=proto, model=model: (proto, rows_of(model, np.random.default_rng(1)))})
            return 0
        tenon, tool, names = sys.argv[1], sys.argv[2], sys.argv[3:] or list(MODELS)
        failed = 0
        for name in names:
            try:
                model, proto = export(name, directory)
            except Exception as error:  # noqa: BLE001: what Keras does not export is none of Tenon's affairs
                print(f"skipped {name}: Keras: {str(error).splitlines()[0][:200]}", flush=True)
                continue
            inputs = rows_of(model, np.random.default_rng(1))
            write_case(directory / "cases" / name, proto, [(inputs, answers(model, inputs))])
            if trains(model):
                try:
                    print(f"ok      {name}: {check_training(tool, model, proto, inputs, directory / f'{name}.onnx', directory)}", flush=True)
                except Exception as error:  # noqa: BLE001
                    failed += 1
                    print(f"FAILED  {name}: {str(error).splitlines()[0][:300]}", flush=True)
        failed += compare(tenon, directory / "cases", TOLERANCE, f"models as Keras {keras.__version__} exports them, ONNX {onnx.__version__}")
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
