"""Writes the checkpoints of this folder with TensorFlow 2.21: python3 make.py"""
import pathlib

import numpy as np
import tensorflow as tf

HERE = pathlib.Path(__file__).parent


def save(prefix, tensors):
    tf.raw_ops.SaveV2(
        prefix=str(HERE / prefix),
        tensor_names=[name for name, _ in tensors],
        shape_and_slices=[""] * len(tensors),
        tensors=[value if tf.is_tensor(value) else tf.constant(value) for _, value in tensors],
    )


# One of each type, in one file.
save("types", [
    ("dense/bias", np.array([1.5, -2.25], np.float32)),
    ("dense/kernel", (np.arange(6, dtype=np.float32) / 4 - 0.5).reshape(3, 2)),
    ("empty", np.zeros((0, 4), np.float32)),
    ("flags", np.array([True, False, True])),
    ("global_step", np.array(30, np.int64)),
    ("half", tf.constant([0.5, -1.0], tf.float16)),
    ("ids", np.array([-7, 2**31 - 1], np.int32)),
    ("pixels", np.array([[0, 255]], np.uint8)),
    ("tenon/input", np.array([b"first", b"", b"\x00\xff" * 100], object)),
    ("wide", np.array([np.pi], np.float64)),
    ("z/bf16", tf.constant([1.0, -3.0], tf.bfloat16)),
])

# Two data files under one index.
for part in range(2):
    save(f"part{part}", [(f"layer{i:02}/kernel", np.full((2,), i, np.float32)) for i in range(part, 8, 2)])
tf.raw_ops.MergeV2Checkpoints(
    checkpoint_prefixes=[str(HERE / "part0"), str(HERE / "part1")],
    destination_prefix=str(HERE / "merged"), delete_old_dirs=False)
for leftover in HERE.glob("part*"):
    leftover.unlink()
