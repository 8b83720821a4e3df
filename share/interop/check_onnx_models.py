#!/usr/bin/env python3
"""Models of PyTorch, exported to ONNX: Tenon's outputs and losses of training beside PyTorch's. Those of Hugging Face's
transformers are exported again, and ONNX Runtime and TensorFlow say of them what PyTorch does, at two numbers of rows.

Usage: check_onnx_models.py TENON ONNX_TOOL [NAME..]        (tests/integration/onnx_tool.cc)

Weights are random, from seeds. Prints one line a model; exits 1 when one fails.
"""
import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
import torch  # noqa: E402
import torchvision  # noqa: E402
import transformers  # noqa: E402
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


LENGTH, TEXT_ROWS = 20, (2, 5)
SMALL = dict(vocab_size=100, num_labels=3, initializer_range=0.2)  # large enough that a mask is seen
BERT = dict(SMALL, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, max_position_embeddings=64)


class Logits(torch.nn.Module):
    """Of a model of transformers, what it gives for ids and the mask of those that count."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids=input_ids, attention_mask=attention_mask).logits


def of_transformers(model, config, dynamo, **options):
    return lambda: (Logits(getattr(transformers, model)(getattr(transformers, config)(**options))).eval(), dynamo)


TEXTS = {
    f"{name}_{'dynamo' if dynamo else 'script'}": of_transformers(model, config, dynamo, **options)
    for dynamo in (False, True)
    for name, model, config, options in (
        ("hf_bert", "BertForSequenceClassification", "BertConfig", BERT),
        ("hf_bert_masked", "BertForMaskedLM", "BertConfig", BERT),
        ("hf_distilbert", "DistilBertForSequenceClassification", "DistilBertConfig",
         dict(SMALL, dim=32, n_layers=2, n_heads=4, hidden_dim=64, max_position_embeddings=64)),
        ("hf_gpt2", "GPT2LMHeadModel", "GPT2Config",
         dict(vocab_size=100, n_positions=64, n_embd=32, n_layer=2, n_head=4, use_cache=False, initializer_range=0.2, bos_token_id=None,
              eos_token_id=None)))
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
    return compared(tenon, model, (x,), directory)


def compared(tenon, model, inputs, directory):
    for i, x in enumerate(inputs):
        write_tensor(directory / f"input_{i}.pb", x.numpy())
    with torch.no_grad():
        write_tensor(directory / "output_0.pb", model(*inputs).numpy())
    run = subprocess.run([tenon, "run", str(directory / "model.onnx"), "--data", str(directory), "--json", "--device", "cpu",
                          "--rtol", str(OUTPUTS), "--atol", str(OUTPUTS)], capture_output=True, text=True)
    if not run.stdout.strip():
        raise RuntimeError(run.stderr.strip())
    result = json.loads(run.stdout.splitlines()[-1])
    if not result["passed"]:
        raise RuntimeError(result["message"])
    return result["max_error"]


def texts(rows):
    """Ids and their mask: each row counts one id fewer than the one before."""
    mask = (torch.arange(LENGTH)[None] < LENGTH - torch.arange(rows)[:, None]).long()
    return torch.randint(1, 100, (rows, LENGTH)) * mask, mask


def export_text(model, dynamo, path):
    names = ["input_ids", "attention_mask"]
    how = dict(input_names=names, output_names=["logits"], dynamo=dynamo)
    if dynamo:
        axes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("sequence", max=64)}
        how.update(dynamic_shapes=(axes, axes), external_data=False, verbose=False)
    else:
        how.update(opset_version=17, dynamic_axes={name: {0: "batch", 1: "sequence"} for name in names} | {"logits": {0: "batch"}})
    torch.onnx.export(model, texts(2), str(path), **how)


def imported(tenon, directory, form, output):
    run = subprocess.run([tenon, "import", str(directory / "model.onnx"), "--output", str(output), "--format", form, "--device",
                          "cpu", "--dim", f"sequence={LENGTH}"], capture_output=True, text=True)
    if run.returncode != 0:
        raise RuntimeError(f"--format {form}: {run.stderr.strip()}")


def by_onnxruntime(path):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return lambda ids, mask: session.run(["logits"], {"input_ids": ids.numpy(), "attention_mask": mask.numpy()})[0]


def by_tensorflow(directory):
    import tensorflow  # here alone: it takes seconds
    loaded = tensorflow.saved_model.load(str(next(directory.iterdir())))
    call = loaded.signatures["serving_default"]
    return lambda ids, mask, keep=loaded: call(input_ids=tensorflow.constant(ids.numpy()),
                                               attention_mask=tensorflow.constant(mask.numpy()))["logits"].numpy()


def check_text(name, tenon):
    torch.manual_seed(len(name))
    model, dynamo = TEXTS[name]()
    errors = {}
    with tempfile.TemporaryDirectory(prefix="tenon-onnx-") as temporary, torch.no_grad():
        directory = pathlib.Path(temporary)
        export_text(model, dynamo, directory / "model.onnx")
        errors["outputs"] = compared(tenon, model, texts(4), directory)
        imported(tenon, directory, "tenon", directory / "tenon")
        imported(tenon, directory, "onnx", directory / "again.onnx")
        imported(tenon, directory, "saved_model", directory / "saved")
        readers = {"ONNX Runtime": by_onnxruntime(directory / "again.onnx"), "TensorFlow": by_tensorflow(directory / "saved")}
        for reader, call in readers.items():
            for rows in TEXT_ROWS:
                inputs = texts(rows)
                found, expected = call(*inputs), model(*inputs).numpy()
                np.testing.assert_allclose(found, expected, OUTPUTS, OUTPUTS, err_msg=f"{reader}, {rows} rows")
                errors[reader] = max(errors.get(reader, 0), np.abs(found - expected).max())
    return "; ".join(f"{what} differ by {error:.1e}" if what == "outputs" else f"{what}'s by {error:.1e}" for what, error in errors.items())


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
    tenon, tool, names = sys.argv[1], sys.argv[2], sys.argv[3:] or list(MODELS) + list(TEXTS)
    failed = 0
    for name in names:
        try:
            said = check_text(name, tenon) if name in TEXTS else check(name, tenon, tool)
            print(f"ok      {name}: {said}", flush=True)
        except Exception as error:
            failed += 1
            message = " ".join(str(error).split())[:300]
            print(f"FAILED  {name}: {message}", flush=True)
    print(f"{len(names) - failed} of {len(names)} models as PyTorch {torch.__version__} has them, ONNX {onnx.__version__}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
