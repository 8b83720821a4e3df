#!/usr/bin/env python3
"""Convolutions of `tenon bench op` and their gradients beside PyTorch's (channels last), in turn.

    conv_peer.py [--tenon build/release/bin/tenon] [--shapes NxHxWxCxKxO[xSTRIDE[xGROUPS]],..] [--threads 2] [--rounds 3]

By default the shapes are those of MobileNetV2's and EfficientNetB0's depthwise convolutions. Prints the least milliseconds of
all rounds as a table. PyTorch runs with the allocator of compare.py.
"""
import argparse
import json
import os
import subprocess
import sys
import time

import compare

OPS = ("conv", "conv_grad_input", "conv_grad_filter")
SHAPES = (
    "32x112x112x32x3x32x1x32,32x112x112x96x3x96x2x96,32x56x56x144x3x144x1x144,32x28x28x192x3x192x1x192,"
    "32x14x14x576x3x576x1x576,32x7x7x960x3x960x1x960,32x28x28x240x5x240x1x240,32x14x14x672x5x672x1x672"
)


def sizes_of(shape):
    sizes = [int(n) for n in shape.split("x")]
    return sizes + [1] * (8 - len(sizes))


def least(run, seconds):
    """Milliseconds."""
    best, begun = float("inf"), time.perf_counter()
    while best == float("inf") or time.perf_counter() - begun < seconds:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def torch_times(shape, seconds):
    import torch

    n, h, w, c, k, o, stride, groups = sizes_of(shape)
    last = torch.channels_last
    x = torch.randn(n, c, h, w).to(memory_format=last)
    weight = torch.randn(o, c // groups, k, k).to(memory_format=last)
    dy = torch.randn_like(torch.nn.functional.conv2d(x, weight, None, stride, k // 2, 1, groups))

    def backward(*wanted):
        pads = [k // 2] * 2
        torch.ops.aten.convolution_backward(
            dy, x, weight, None, [stride] * 2, pads, [1, 1], False, [0, 0], groups, [*wanted, False]
        )

    with torch.no_grad():
        return [
            least(lambda: torch.nn.functional.conv2d(x, weight, None, stride, k // 2, 1, groups), seconds),
            least(lambda: backward(True, False), seconds),
            least(lambda: backward(False, True), seconds),
        ]


def of_torch(args):
    """In a process of its own: torch reads its environment when it starts."""
    command = [sys.executable, __file__, "--only_torch", "--shapes", args.shapes, "--seconds", str(args.seconds)]
    environment = {**os.environ, **compare.ENVIRONMENT}
    out = subprocess.run([*command, "--threads", str(args.threads)], env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(out.stdout)


def of_tenon(args):
    times = {shape: [] for shape in args.shapes.split(",")}
    for op in OPS:
        command = [args.tenon, "bench", "op", op, "--shapes", args.shapes, "--device", "cpu", "--json"]
        command += ["--threads", str(args.threads), "--seconds", str(args.seconds)]
        out = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
        for line in out.stdout.splitlines():
            found = json.loads(line)
            times[found["shape"]].append(found["ms"])
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tenon", default="build/release/bin/tenon")
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each op of each shape in a round")
    parser.add_argument("--only_torch", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only_torch:
        import torch

        torch.set_num_threads(args.threads)
        print(json.dumps({shape: torch_times(shape, args.seconds) for shape in args.shapes.split(",")}))
        return
    rounds = [(of_tenon(args), of_torch(args)) for _ in range(args.rounds)]
    print("| shape | " + " | ".join(f"{op}: Tenon, PyTorch, ms (ratio)" for op in OPS) + " |\n|---|---|---|---|")
    for shape in args.shapes.split(","):
        cells = []
        for i in range(len(OPS)):
            ours, theirs = (min(r[side][shape][i] for r in rounds) for side in (0, 1))
            cells.append(f"{ours:.3g}, {theirs:.3g} ({ours / theirs:.2f})")
        print(f"| {shape} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
