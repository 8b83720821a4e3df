#!/usr/bin/env python3
"""Holds Tenon's reading and writing of others' weights against Keras and PyTorch.

Usage: check_weights.py WEIGHTS_TOOL RULES_DIR [keras|torch]        (tests/integration/weights_tool.cc)

Keras: every format that it writes is loaded by Tenon, and Tenon's .weights.h5 by Keras; both give the same. PyTorch: torchvision's
resnet18 by its rules. Prints one line a check; exits 1 when one fails.
"""
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
