#!/usr/bin/env python3
"""Exports models with torch.onnx and holds what Tenon makes of them against PyTorch's own outputs.

Usage: check_pytorch.py TENON [--device NAME] [--networks]

Small models of all kinds of layers; with --networks torchvision's too. Weights are random. Prints a line a model; exits 1 when one
differs by more than 1e-4.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile
import warnings

import onnx.numpy_helper
import torch
from torch import nn

NETWORKS = ("resnet18 mobilenet_v2 mobilenet_v3_small efficientnet_b0 densenet121 shufflenet_v2_x0_5 squeezenet1_1 vit_b_16 "
            "convnext_tiny swin_t regnet_y_400mf mnasnet0_5").split()


def block(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(),
                         nn.Conv2d(outputs, outputs, 3, padding=1), nn.GroupNorm(4, outputs), nn.SiLU())


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2, self.middle = block(3, 16), block(16, 32), block(32, 64)
        self.up2, self.join2 = nn.ConvTranspose2d(64, 32, 2, 2), block(64, 32)
        self.up1 = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        self.reduce, self.join1, self.out = nn.Conv2d(32, 16, 1), block(32, 16), nn.Conv2d(16, 2, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(nn.functional.max_pool2d(a, 2))
        y = self.middle(nn.functional.max_pool2d(b, 2))
        y = self.join2(torch.cat([self.up2(y), b], 1))
        return self.out(self.join1(torch.cat([self.reduce(self.up1(y)), a], 1)))


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.embed, self.out = nn.Embedding(50, 16), nn.Linear(48, 5)
        self.cells = kind(16, 24, num_layers=2, batch_first=True, bidirectional=True)

    def forward(self, x):
        return self.out(self.cells(self.embed(x))[0][:, -1])


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, activation="gelu")
        self.embed, self.places = nn.Embedding(100, 32), nn.Parameter(torch.randn(1, 64, 32))
        self.layers, self.out = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(32, 3)

    def forward(self, x):
        return self.out(self.layers(self.embed(x) + self.places[:, :x.shape[1]]).mean(1))


class CausalAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(32), nn.Linear(32, 96), nn.Linear(32, 32)

    def forward(self, x):
        rows, steps, size = x.shape
        q, k, v = (t.view(rows, steps, 4, 8).transpose(1, 2) for t in self.qkv(self.norm(x)).chunk(3, -1))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(y.transpose(1, 2).reshape(rows, steps, size))


def models(networks):
    yield "mlp", nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 10), nn.Softmax(-1)), torch.randn(4, 20)
    yield "cnn", nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.Hardswish(), nn.Conv2d(8, 16, 3, groups=8, padding=1), nn.PReLU(16),
        nn.MaxPool2d(2), nn.AdaptiveAvgPool2d((2, 2)), nn.Flatten(), nn.Linear(64, 7)), torch.randn(3, 3, 32, 32)
    yield "unet", UNet(), torch.randn(2, 3, 32, 32)
    yield "lstm", Recurrent(nn.LSTM), torch.randint(0, 50, (3, 7))
    yield "gru", Recurrent(nn.GRU), torch.randint(0, 50, (3, 7))
    yield "rnn", Recurrent(nn.RNN), torch.randint(0, 50, (3, 7))
    yield "encoder", Encoder(), torch.randint(0, 100, (2, 16))
    yield "causal_attention", CausalAttention(), torch.randn(2, 9, 32)
    if networks:
        import torchvision.models
        for name in NETWORKS:
            yield name, getattr(torchvision.models, name)(weights=None), torch.randn(2, 3, 224, 224)


def export(model, x, directory):
    data = directory / "test_data_set_0"
    data.mkdir(parents=True)
    model.eval()
    torch.onnx.export(model, (x,), str(directory / "model.onnx"), input_names=["x"], output_names=["y"], opset_version=17,
                      dynamic_axes={"x": {0: "batch"}, "y": {0: "batch"}}, dynamo=False)
    with torch.no_grad():
        y = model(x)
    for name, value in (("input_0", x), ("output_0", y)):
        (data / f"{name}.pb").write_bytes(onnx.numpy_helper.from_array(value.numpy()).SerializeToString())


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("tenon")
    arguments.add_argument("--device", default="cpu")
    arguments.add_argument("--networks", action="store_true")
    given = arguments.parse_args()
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    print(f"torch {torch.__version__}")
    with tempfile.TemporaryDirectory(prefix="tenon-pytorch-") as directory:
        for name, model, x in models(given.networks):
            export(model, x, pathlib.Path(directory) / name)
        return subprocess.run([given.tenon, "run", "--tests", directory, "--device", given.device, "--verbose", "--rtol", "1e-4",
                               "--atol", "1e-4"]).returncode


if __name__ == "__main__":
    sys.exit(main())
