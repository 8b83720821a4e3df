#!/usr/bin/env python3
"""Runs the test cases of the package onnx with Tenon: of each op, and of whole models.

Usage: check_onnx.py TENON [--device NAME]... [--expect PERCENT] [--list]

Prints a line for each op that has cases which did not pass: tried, passed, failed, unsupported; then the sums. Strings, sequences,
optional values and random numbers are counted apart: they are no values of Tenon's. Exits 1 when fewer than PERCENT of the others pass
on the first device, or one fails where it is not known to.
"""
import argparse
import collections
import os
import pathlib
import re
import shutil
import sys
import tempfile
import warnings

import numpy as np
import onnx
import onnx.numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx_cases import run, write_case

# What no device can have as ONNX's reference has it: the random numbers of NumPy, rounding noise that is held to 1e-7, f16 that is
# rounded after every op.
KNOWN = {"test_training_dropout", "test_training_dropout_default", "test_training_dropout_default_mask", "test_training_dropout_mask",
         "test_dft_inverse", "test_dft_inverse_opset19", "test_attention_4d_causal_fp16_expanded"}
APART = re.compile(r"Sequence|Optional|String|Regex|TfIdf|ImageDecoder|Random|Bernoulli|Multinomial|preview")


def is_apart(model):
    """Whether the model has what Tenon has no values for."""
    values = list(model.graph.input) + list(model.graph.output)
    if any(not v.type.HasField("tensor_type") or v.type.tensor_type.elem_type == onnx.TensorProto.STRING for v in values):
        return True
    return any(APART.search(f"{node.domain} {node.op_type}") for node in model.graph.node)


def node_cases(root):
    """The cases of single ops; returns op and name of each, and the names of those that are apart."""
    ops, apart = {}, set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    for case in cases:
        name = case.name
        base = re.sub(r"_expanded(_ver\d+)?$", "", name)
        ops[name] = ops[base] if base in ops else case.model.graph.node[0].op_type
        if is_apart(case.model):
            apart.add(name)
            continue
        try:
            write_case(root / name, case.model, case.data_sets)
        except (TypeError, ValueError):
            shutil.rmtree(root / name)
            apart.add(name)
    return ops, apart


def stored_cases(root):
    """Those that lie in the package: of PyTorch's exporter, and whole networks with made-up weights."""
    ops, apart = {}, set()
    data = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data"
    for kind in ("pytorch-converted", "pytorch-operator", "simple"):
        for directory in sorted((data / kind).iterdir()):
            ops[directory.name] = kind
            if is_apart(onnx.load(directory / "model.onnx")):
                apart.add(directory.name)
            else:
                shutil.copytree(directory, root / directory.name)
    for path in sorted((data / "light").glob("*.onnx")):
        model = onnx.load(path)
        held = {tensor.name for tensor in model.graph.initializer}
        inputs = []
        for value in model.graph.input:
            if value.name in held:
                continue
            shape = [max(dim.dim_value, 1) for dim in value.type.tensor_type.shape.dim]
            count = int(np.prod(shape))
            inputs.append((np.arange(count).reshape(shape) / count).astype(np.float32))
        expected = onnx.load_tensor(str(path.with_name(path.stem + "_output_0.pb")))
        ops[path.stem] = "networks"
        write_case(root / path.stem, model, [(inputs, [expected])])
    return ops, apart


def report(device, results, ops, apart, show):
    by_op = collections.defaultdict(collections.Counter)
    for result in results:
        by_op[ops[result["name"]]][result["status"]] += 1
        if result["status"] == "failed" or (show and result["status"] != "passed"):
            print(f"{device}: {result['status']} {result['name']}: {result.get('message', '')}")
    print(f"{device}: {'op':<28}{'tried':>7}{'passed':>8}{'failed':>8}{'unsupported':>13}")
    total = collections.Counter()
    for op, count in sorted(by_op.items()):
        total.update(count)
        if count["passed"] < sum(count.values()):
            print(f"{device}: {op:<28}{sum(count.values()):>7}{count['passed']:>8}{count['failed']:>8}{count['unsupported']:>13}")
    tried = sum(total.values())
    print(f"{device}: {'all':<28}{tried:>7}{total['passed']:>8}{total['failed']:>8}{total['unsupported']:>13}"
          f"   {100 * total['passed'] / tried:.1f} %, {len(apart)} apart")
    return 100 * total["passed"] / tried


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("tenon")
    arguments.add_argument("--device", action="append")
    arguments.add_argument("--expect", type=float, default=95)
    arguments.add_argument("--list", action="store_true", help="every case that did not pass")
    given = arguments.parse_args()
    print(f"onnx {onnx.__version__}, opset {onnx.defs.onnx_opset_version()}")
    with tempfile.TemporaryDirectory(prefix="tenon-onnx-") as directory:
        root = pathlib.Path(directory)
        ops, apart = node_cases(root)
        more, more_apart = stored_cases(root)
        ops.update(more)
        apart |= more_apart
        good = True
        for i, device in enumerate(given.device or ["cpu"]):
            results = run(given.tenon, root, device)
            percent = report(device, results, ops, apart, given.list)
            if i == 0:
                failed = {r["name"] for r in results if r["status"] == "failed"} - KNOWN
                good = percent >= given.expect and not failed
        print("ok" if good else f"FAILED: expected {given.expect} % and no case that differs")
        return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
