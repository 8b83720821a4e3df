#!/usr/bin/env python3
"""Holds Tenon's reading and writing of others' weights against Keras and PyTorch.

Usage: check_weights.py WEIGHTS_TOOL RULES_DIR [keras|torch]        (tests/integration/weights_tool.cc)

Keras: every format that it writes is loaded by Tenon, and Tenon's .weights.h5 by Keras; both give the same. The runner, bin/tenon beside
the tool: models of keras.applications that it has trained answer the same in Keras, by `tenon convert weights`, and those of Keras in it.
PyTorch: torchvision's resnet18 and vit_b_16 by their rules. Prints one line a check; exits 1 when one fails.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import numpy as np  # noqa: E402

MOST = 1e-4  # of what outputs may differ


def tool(*arguments):
    done = subprocess.run(list(map(str, arguments)), capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return done.stdout.strip()


def difference(found, expected):
    worst = float(np.max(np.abs(found.reshape(-1) - expected.reshape(-1)) / np.maximum(1, np.abs(expected.reshape(-1)))))
    if not worst <= MOST:
        raise AssertionError(f"outputs differ by {worst:.3g}, expected at most {MOST}")
    return f"outputs differ by {worst:.2g}"


def keras_models():
    import keras
    from keras import layers as L
    keras.utils.set_random_seed(3)

    def image():
        return keras.Sequential([
            keras.Input((6, 6, 2)), L.Conv2D(3, 3, name="first"), L.BatchNormalization(scale=False), L.DepthwiseConv2D(2),
            L.ReLU(), L.Conv2DTranspose(2, 3), L.SeparableConv2D(2, 2, name="wide"), L.Dropout(0.5), L.GroupNormalization(2),
            L.Flatten(), L.Dense(4), L.Dense(3, name="head")])

    def sequence():
        x = keras.Input((4, 3))
        y = L.LSTM(3, return_sequences=True)(x)
        y = L.Bidirectional(L.GRU(2, return_sequences=True))(y)
        y = L.MultiHeadAttention(2, 2)(y, y)
        y = L.LayerNormalization(center=False)(y)
        y = L.TimeDistributed(L.Dense(2))(y)
        y = keras.Sequential([L.Dense(3), L.Dense(2)])(y)
        return keras.Model(x, L.Dense(2)(L.Flatten()(y)))

    return {"image": (image, (6, 6, 2)), "sequence": (sequence, (4, 3))}


def shake(model, random):
    for v in model.weights:
        if "seed" not in v.path:
            v.assign(random.uniform(0.5 if "variance" in v.path else -0.7, 0.9, v.shape).astype(np.float32))


def keras_checks(binary, directory):
    random = np.random.default_rng(8)
    for name, (make, shape) in keras_models().items():
        model = make()
        shake(model, random)
        x = random.normal(size=(5, *shape)).astype(np.float32)
        x.tofile(directory / "x")
        expected = model.predict(x, verbose=0)
        model.compile("adam", "mse")

        def gives(load, save):
            tool(binary, "keras", name, load, save, directory / "x", directory / "y")
            return np.fromfile(directory / "y", np.float32)

        for ending in (".weights.h5", ".keras", ".h5"):
            path = directory / f"{name}{ending}"
            (model.save_weights if ending == ".weights.h5" else model.save)(path)
            yield f"Keras's {name}{ending} to Tenon", lambda: difference(gives(path, "-"), expected)

        def back(load):
            written = directory / f"{name}.of_tenon.weights.h5"
            found = gives(load, written)
            other = make()
            shake(other, random)
            other.load_weights(written)
            return difference(other.predict(x, verbose=0), found)

        yield f"Tenon's {name}.weights.h5 to Keras", lambda: back("-")
        yield f"Keras's {name} through Tenon to Keras", lambda: back(directory / f"{name}.weights.h5")


# Of models, which module has what prepares their images.
TRAINED = {"MobileNetV2": "mobilenet_v2", "MobileNetV3Small": "mobilenet_v3", "EfficientNetB0": "efficientnet",
           "ResNet50": "resnet", "DenseNet121": "densenet", "Xception": "xception", "ConvNeXtTiny": "convnext",
           "NASNetMobile": "nasnet"}
SIZE, CLASSES = 96, 10


def image_of(directory, random, size):
    from PIL import Image
    pixels = random.integers(0, 256, (size, size, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(directory / "image.png")
    return pixels.astype(np.float32)


def runner_answer(tenon, directory, *arguments):
    lines = tool(tenon, "predict", *arguments, directory / "image.png", "--device", "cpu", "--json").splitlines()
    said = [json.loads(line) for line in lines if '"probabilities"' in line]
    return np.asarray(said[0]["probabilities"], np.float32)


def of_largest(found, expected):
    worst = float(np.abs(found - expected).max() / np.abs(expected).max())
    if not worst <= MOST:
        raise AssertionError(f"answers differ by {worst:.3g} of the largest, expected at most {MOST}")
    return f"answers differ by {worst:.2g} of the largest"


def runner_checks(tenon, directory):
    import keras
    random = np.random.default_rng(4)
    pixels = image_of(directory, random, SIZE)
    shape = ("--height", SIZE, "--width", SIZE, "--num_classes", CLASSES)

    def answer(name, weights):
        keras.backend.clear_session()
        model = getattr(keras.applications, name)(weights=None, input_shape=(SIZE, SIZE, 3), classes=CLASSES)
        model.load_weights(weights)
        x = getattr(keras.applications, TRAINED[name]).preprocess_input(pixels[None].copy())
        return model.predict(x, verbose=0)[0]

    def trained(name):
        at, written = directory / name, directory / f"{name}.trained.weights.h5"
        tool(tenon, "train", name, "--synthetic", *shape, "--train_batch_size", 4, "--train_steps", 1, "--noevaluate", "--model_dir", at,
             "--device", "cpu", "--learning_rate", 1e-3, "--warmup_steps", 0, "--quiet")
        tool(tenon, "convert", "weights", at, written)
        return of_largest(answer(name, written), runner_answer(tenon, directory, "--model_dir", at))

    def taken(name):
        written = directory / f"{name}.of_keras.weights.h5"
        keras.backend.clear_session()  # which numbers layers that have no names of their own
        model = getattr(keras.applications, name)(weights=None, input_shape=(SIZE, SIZE, 3), classes=CLASSES)
        for v in model.weights:  # first values would give each class the same
            low, high = (0.7, 1.3) if v.path.endswith("gamma") or "layer_scale" in v.path else (-0.3, 0.3)
            if v.path.endswith(("gamma", "beta", "moving_mean", "bias")) or "layer_scale" in v.path or v is model.weights[-2]:
                v.assign(random.uniform(low, high, v.shape).astype(np.float32))
        model.save_weights(written)
        expected, again = answer(name, written), directory / f"{name}.again.weights.h5"
        tool(tenon, "convert", "weights", written, again)
        of_largest(answer(name, again), expected)
        return of_largest(runner_answer(tenon, directory, name, *shape, "--weights", written), expected)

    for name in TRAINED:
        yield f"the runner's {name} to Keras", lambda: trained(name)
        yield f"Keras's {name} to the runner", lambda: taken(name)


def vit_check(tenon, rules, directory):
    import torch
    import torchvision
    random = np.random.default_rng(6)
    model = torchvision.models.vit_b_16(weights=None).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            scale = 0.1 if p.ndim == 1 or "token" in name or "pos" in name else p.shape[1:].numel() ** -0.5
            drawn = random.normal(0, 1, p.shape) * scale + (p.ndim == 1 and "ln" in name and "weight" in name)
            p.copy_(torch.from_numpy(drawn.astype(np.float32)))
    torch.save(model.state_dict(), directory / "pytorch_model.bin")
    pixels = image_of(directory, random, 224) / 255
    x = (pixels - np.float32([0.485, 0.456, 0.406])) / np.float32([0.229, 0.224, 0.225])
    with torch.no_grad():
        expected = model(torch.from_numpy(x.transpose(2, 0, 1)[None].copy())).softmax(-1).numpy()[0]
    found = runner_answer(tenon, directory, "vit_b_16", "--weights", directory / "pytorch_model.bin",
                          "--rules", rules / "torchvision_vit_b_16.rules")
    return of_largest(found, expected)


def torch_checks(binary, rules, directory):
    import torch
    import torchvision
    from safetensors.torch import save_file

    torch.manual_seed(1)
    model = torchvision.models.resnet18(num_classes=10).eval()
    for name, buffer in model.named_buffers():
        if "running_mean" in name:
            buffer.copy_(0.1 * torch.randn_like(buffer))
        if "running_var" in name:
            buffer.copy_(0.5 + torch.rand_like(buffer))
    save_file(model.state_dict(), directory / "resnet18.safetensors")
    x = torch.randn(4, 3, 64, 64)
    x.permute(0, 2, 3, 1).contiguous().numpy().tofile(directory / "x")
    with torch.no_grad():
        expected = model(x).numpy()

    torch.save(model.state_dict(), directory / "resnet18.pt")

    def check(file):
        report = tool(binary, "resnet18", directory / file, rules / "torchvision_resnet18.rules",
                      directory / "x", directory / "y")
        return f"{difference(np.fromfile(directory / 'y', np.float32), expected)}; {report.split(': ')[-1]}"

    yield "torchvision's resnet18.safetensors to Tenon", lambda: check("resnet18.safetensors")
    yield "torchvision's resnet18.pt to Tenon", lambda: check("resnet18.pt")
    tenon = pathlib.Path(binary).parent / "tenon"
    yield "torchvision's vit_b_16 to the runner", lambda: vit_check(tenon, rules, directory)


def main():
    binary, rules, what = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    if not what:  # TensorFlow and PyTorch bring an LLVM each, of which a process has room for one
        return max(subprocess.run([sys.executable, __file__, binary, str(rules), one]).returncode for one in ("keras", "torch"))
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(temporary)
        checks = []
        if "keras" in what:
            checks.append(keras_checks(binary, directory))
            checks.append(runner_checks(pathlib.Path(binary).parent / "tenon", directory))
        if "torch" in what:
            checks.append(torch_checks(binary, rules, directory))
        for group in checks:
            for name, check in group:
                try:
                    print(f"ok    {name}: {check()}", flush=True)
                except Exception as error:  # noqa: BLE001: each failure is a line
                    failed += 1
                    print(f"FAIL  {name}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
