#!/usr/bin/env python3
"""Inference of torchvision's models, exported to ONNX: `tenon bench step FILE.onnx --mode predict` beside ONNX Runtime, in turn.

    onnx_inference.py [--tenon build/release/bin/tenon] [--models resnet50,..] [--batches 1,32] [--threads 2] [--rounds 3]

Prints the least milliseconds of all rounds as a table. Needs torch, torchvision, onnx and onnxruntime.
"""
import argparse
import json
import os
import subprocess
import tempfile
import time
import warnings

MODELS = "resnet50,mobilenet_v2,efficientnet_b0,vit_b_16,densenet121"


def export(name, directory):
    import torch
    import torchvision

    torch.manual_seed(0)
    model, path = getattr(torchvision.models, name)(weights=None).eval(), os.path.join(directory, name + ".onnx")
    names = {"input_names": ["input"], "output_names": ["logits"]}
    torch.onnx.export(model, torch.randn(2, 3, 224, 224), path, dynamo=False, opset_version=17,
                      dynamic_axes={"input": {0: "batch"}, "logits": {0: "batch"}}, **names)
    return path


def runtime_ms(path, batch, threads, seconds):
    import numpy
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    x = numpy.random.default_rng(0).standard_normal((batch, 3, 224, 224), numpy.float32)
    session.run(None, {"input": x})
    least, begun = float("inf"), time.perf_counter()
    while time.perf_counter() - begun < seconds:
        start = time.perf_counter()
        session.run(None, {"input": x})
        least = min(least, time.perf_counter() - start)
    return least * 1e3


def tenon_ms(tenon, path, batch, threads, seconds):
    command = [tenon, "bench", "step", path, "--mode", "predict", "--batch_size", str(batch), "--threads", str(threads), "--device", "cpu",
               "--max_seconds", str(seconds), "--json"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(run.stdout.splitlines()[-1])["min_ms"]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--tenon", default="build/release/bin/tenon")
    arguments.add_argument("--models", default=MODELS)
    arguments.add_argument("--batches", default="1,32")
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--seconds", type=float, default=5)
    given = arguments.parse_args()
    warnings.simplefilter("ignore")
    print("| model | batch | Tenon ms | ONNX Runtime ms | ratio |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="tenon-onnx-") as directory:
        for name in given.models.split(","):
            path = export(name, directory)
            for batch in [int(b) for b in given.batches.split(",")]:
                ours = theirs = float("inf")
                for _ in range(given.rounds):
                    theirs = min(theirs, runtime_ms(path, batch, given.threads, given.seconds))
                    ours = min(ours, tenon_ms(given.tenon, path, batch, given.threads, given.seconds))
                print(f"| {name} | {batch} | {ours:.1f} | {theirs:.1f} | {ours / theirs:.2f} |", flush=True)


if __name__ == "__main__":
    main()
