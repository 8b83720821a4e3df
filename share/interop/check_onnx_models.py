#!/usr/bin/env python3
"""Models of PyTorch, exported to ONNX: Tenon's outputs and losses of training beside PyTorch's.

Usage: check_onnx_models.py TENON ONNX_TOOL [NAME..]        (tests/integration/onnx_tool.cc)

Weights are random, from seeds. Prints one line a model; exits 1 when one fails.
"""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import torch  # noqa: E402
import torchvision  # noqa: E402
from onnx import numpy_helper  # noqa: E402

OUTPUTS = 1e-4  # of what outputs may differ, relative and absolute
LOSSES = 1e-3   # of the first loss, from PyTorch's in f64; where its own f32 is farther than that, as with batch norm over few places, three times as far
STEPS, RATE = 20, 0.001


class Encoder(torch.nn.Module):
    """Of BERT's kind: 12 layers of 128 features in 4 heads, embeddings of words and places, a mask of pads."""

    def __init__(self, words=1000, width=128, layers=12, classes=5):
        super().__init__()
        self.words, self.places = torch.nn.Embedding(words, width), torch.nn.Embedding(64, width)
        layer = torch.nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, activation="gelu", batch_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.pooler, self.head = torch.nn.Linear(width, width), torch.nn.Linear(width, classes)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1])[None])
        x = self.encoder(x, src_key_padding_mask=tokens == 0)
        return self.head(torch.tanh(self.pooler(x[:, 0])))


class UNet(torch.nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        def block(a, b):
            return torch.nn.Sequential(torch.nn.Conv2d(a, b, 3, padding=1), torch.nn.BatchNorm2d(b), torch.nn.ReLU(),
                                       torch.nn.Conv2d(b, b, 3, padding=1), torch.nn.ReLU())
        self.down = torch.nn.ModuleList([block(3, 8), block(8, 16), block(16, 32)])
        self.up = torch.nn.ModuleList([torch.nn.ConvTranspose2d(32, 16, 2, 2), torch.nn.ConvTranspose2d(16, 8, 2, 2)])
        self.join = torch.nn.ModuleList([block(32, 16), block(16, 8)])
        self.last = torch.nn.Conv2d(8, classes, 1)

    def forward(self, x):
        kept = []
        for i, down in enumerate(self.down):
            x = down(x if i == 0 else torch.nn.functional.max_pool2d(x, 2))
            kept.append(x)
        for i, (up, join) in enumerate(zip(self.up, self.join)):
            x = join(torch.cat([kept[1 - i], up(x)], 1))
        return self.last(torch.nn.functional.interpolate(x, scale_factor=2, mode="bilinear")).mean((2, 3))


class Recurrent(torch.nn.Module):
    def __init__(self, words=200, width=32, classes=6):
        super().__init__()
        self.words = torch.nn.Embedding(words, width)
        self.lstm = torch.nn.LSTM(width, 48, 2, batch_first=True, bidirectional=True)
        self.gru = torch.nn.GRU(96, 24, batch_first=True)
        self.head = torch.nn.Linear(24, classes)

    def forward(self, tokens):
        return self.head(self.gru(self.lstm(self.words(tokens))[0])[0][:, -1])


def image(size, rows=8):
    return torch.randn(rows, 3, size, size)


def tokens(words, length, rows=4):
    out = torch.randint(1, words, (rows, length))
    out[:, -3:] = 0
    return out


def of_torchvision(name, size, **options):
    def make():
        model = getattr(torchvision.models, name)(weights=None, num_classes=10, **options)
        for parameter in model.parameters():  # a head of zeros says nothing
            if not parameter.any() and parameter.ndim > 1:
                torch.nn.init.normal_(parameter, std=0.02)
        return model, image(size)
    return make


MODELS = {
    "resnet18": of_torchvision("resnet18", 64),
    "resnet50": of_torchvision("resnet50", 64),
    "mobilenet_v2": of_torchvision("mobilenet_v2", 64, dropout=0.0),
    "efficientnet_b0": of_torchvision("efficientnet_b0", 64, dropout=0.0, stochastic_depth_prob=0.0),
    "densenet121": of_torchvision("densenet121", 64),
    "shufflenet_v2_x1_0": of_torchvision("shufflenet_v2_x1_0", 64),
    "squeezenet1_1": of_torchvision("squeezenet1_1", 64, dropout=0.0),
    "vit_b_16": of_torchvision("vit_b_16", 64, image_size=64),
    "convnext_tiny": of_torchvision("convnext_tiny", 64, stochastic_depth_prob=0.0),
    "bert": lambda: (Encoder(), tokens(1000, 32)),
    "unet": lambda: (UNet(), image(32)),
    "lstm": lambda: (Recurrent(), tokens(200, 12)),
}


def write_tensor(path, array):
    path.write_bytes(numpy_helper.from_array(np.ascontiguousarray(array)).SerializeToString())


def export(model, x, path, training):
    """Batch norm apart from convolutions where it is to be trained."""
    mode = torch.onnx.TrainingMode.TRAINING if training else torch.onnx.TrainingMode.EVAL
    torch.onnx.export(model, x, str(path), dynamo=False, opset_version=17, training=mode, do_constant_folding=not training,
                      input_names=["input"], output_names=["logits"],
                      dynamic_axes={"input": {0: "batch"}, "logits": {0: "batch"}})


def warmed(model, x):
    """Moments of batch norm that are not those of a new one."""
    model.train()
    with torch.no_grad():
        for _ in range(3):
            model(x)
    return model


def check_outputs(tenon, model, x, directory):
    model.eval()
    export(model, x, directory / "model.onnx", training=False)
    write_tensor(directory / "input_0.pb", x.numpy())
    with torch.no_grad():
        write_tensor(directory / "output_0.pb", model(x).numpy())
    run = subprocess.run([tenon, "run", str(directory / "model.onnx"), "--data", str(directory), "--json", "--device", "cpu",
                          "--rtol", str(OUTPUTS), "--atol", str(OUTPUTS)], capture_output=True, text=True)
    if not run.stdout.strip():
        raise RuntimeError(run.stderr.strip())
    result = json.loads(run.stdout.splitlines()[-1])
    if not result["passed"]:
        raise RuntimeError(result["message"])
    return result["max_error"]


def losses_of(model, x, labels, dtype):
    model = copy.deepcopy(model).to(dtype).train()
    x = x.to(dtype) if x.is_floating_point() else x
    optimizer = torch.optim.SGD(model.parameters(), RATE)
    out = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        out.append(loss.item())
    return out


def distance(found, expected):
    return max(abs(a - b) for a, b in zip(found, expected)) / expected[0]


def check_training(tool, model, x, directory):
    labels = torch.arange(len(x)) % 4
    write_tensor(directory / "labels.pb", labels.numpy())
    model.train()
    export(model, x, directory / "train.onnx", training=True)
    run = subprocess.run([tool, "train", str(directory / "train.onnx"), str(directory), str(STEPS), str(RATE)],
                         capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError(run.stderr.strip())
    found, expected = [float(line) for line in run.stdout.split()], losses_of(model, x, labels, torch.float64)
    error, own = distance(found, expected), distance(losses_of(model, x, labels, torch.float32), expected)
    if len(found) != STEPS or error > max(LOSSES, 3 * own):
        raise RuntimeError(f"losses {found[0]:.5f} .. {found[-1]:.5f}, expected {expected[0]:.5f} .. {expected[-1]:.5f}: "
                           f"{error:.1e}, PyTorch's f32 {own:.1e}")
    return error, own, found[0], found[-1]


def check(name, tenon, tool):
    torch.manual_seed(len(name))
    model, x = MODELS[name]()
    model = warmed(model, x)
    with tempfile.TemporaryDirectory(prefix="tenon-onnx-") as temporary:
        directory = pathlib.Path(temporary)
        outputs = check_outputs(tenon, model, x, directory)
        error, own, first, last = check_training(tool, model, x, directory)
    return f"outputs differ by {outputs:.1e}; {STEPS} losses from {first:.4f} to {last:.4f} by {error:.1e}, PyTorch's f32 by {own:.1e}"


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    tenon, tool, names = sys.argv[1], sys.argv[2], sys.argv[3:] or list(MODELS)
    failed = 0
    for name in names:
        try:
            print(f"ok      {name}: {check(name, tenon, tool)}", flush=True)
        except Exception as error:
            failed += 1
            print(f"FAILED  {name}: {str(error).splitlines()[0][:300]}", flush=True)
    print(f"{len(names) - failed} of {len(names)} models as PyTorch {torch.__version__} has them, ONNX {onnx.__version__}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
