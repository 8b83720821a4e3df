#!/usr/bin/env python3
"""Holds Tenon's checkpoints and TFRecords against TensorFlow, both ways and bit for bit.

Usage: check_tensorflow.py BUNDLE_TOOL        (tests/integration/bundle_tool.cc)

Prints one line a check; exits 1 when one fails.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

tf.get_logger().setLevel("ERROR")

TYPES = {"f32": tf.float32, "f64": tf.float64, "f16": tf.float16, "bf16": tf.bfloat16, "i32": tf.int32,
         "i64": tf.int64, "u8": tf.uint8, "bool": tf.bool, "string": tf.string}
NAMES = {dtype: name for name, dtype in TYPES.items()}
TOOL = ""


def tool(*arguments, stdin=""):
    done = subprocess.run([TOOL, *map(str, arguments)], input=stdin, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return done.stdout


def hex_list(values):
    return f"{len(values)}:" + ",".join(value.hex() for value in values)


def tensor_line(name, dtype, value):
    """The line that the tool writes for a tensor; `value` is a numpy array."""
    value = np.asarray(value)
    if dtype == tf.string:
        text = hex_list([bytes(v) for v in value.reshape(-1).tolist()])
    else:
        text = np.ascontiguousarray(value).tobytes().hex()
    return "\t".join([name, NAMES[dtype], ",".join(map(str, value.shape)), text])


def make_tensors():
    """One of each type and of odd shapes, and what a training saves."""
    random = np.random.default_rng(7)
    tensors = {"global_step": tf.constant(30, tf.int64), "beta1_power": tf.constant(0.9, tf.float32)}
    for name, dtype in TYPES.items():
        if dtype == tf.string:
            continue
        for shape in [(), (1,), (0, 3), (3, 5), (2, 1, 3, 4)]:
            values = tf.constant(random.integers(0, 2 if dtype == tf.bool else 200, shape))
            tensors[f"{name}/rank{len(shape)}{'empty' if 0 in shape else ''}"] = tf.cast(values, dtype)
    tensors["conv2d/kernel"] = tf.constant(random.normal(size=(3, 3, 64, 128)).astype(np.float32))
    tensors["conv2d/kernel/Adam"] = tf.zeros((3, 3, 64, 128))
    tensors["special"] = tf.constant([np.nan, np.inf, -np.inf, -0.0, 1e-45], tf.float32)
    tensors["tenon/input"] = tf.constant([b"position 17", b"", bytes(range(256)) * 2])
    tensors["tenon/seed"] = tf.constant(b"7")
    return tensors


def lines_of(tensors):
    return [tensor_line(name, tensor.dtype, tensor.numpy()) for name, tensor in sorted(tensors.items())]


def lines_by_tensorflow(prefix):
    """Names, types, shapes and values as TensorFlow's reader sees them."""
    reader = tf.train.load_checkpoint(str(prefix))
    types = reader.get_variable_to_dtype_map()
    return [tensor_line(name, types[name], reader.get_tensor(name)) for name in sorted(types)]


def expect_equal(found, expected):
    if found == expected:
        return f"{len(expected)} equal"
    for a, b in zip(found, expected):
        if a != b:
            raise AssertionError(f"found {a[:200]!r}, expected {b[:200]!r}")
    raise AssertionError(f"found {len(found)}, expected {len(expected)}")


# Tenon writes, TensorFlow reads.

def checkpoint_to_tensorflow(directory):
    expected = lines_of(make_tensors())
    tool("write-checkpoint", directory, 30, stdin="\n".join(expected) + "\n")
    prefix = tf.train.latest_checkpoint(str(directory))
    if prefix != str(directory / "model.ckpt-30"):
        raise AssertionError(f"tf.train.latest_checkpoint found {prefix}")
    state = tf.train.get_checkpoint_state(str(directory))
    if list(state.all_model_checkpoint_paths) != [prefix]:
        raise AssertionError(f"tf.train.get_checkpoint_state found {state}")
    return expect_equal(lines_by_tensorflow(prefix), expected)


def restore_into_variables(directory):
    """A TF1 Saver restores what Tenon saved."""
    tensors = {k: v for k, v in make_tensors().items() if v.dtype == tf.float32}
    tool("write-checkpoint", directory, 30, stdin="\n".join(lines_of(tensors)) + "\n")
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        variables = {name: tf.compat.v1.get_variable(name, shape=t.shape, dtype=t.dtype) for name, t in tensors.items()}
        tf.compat.v1.train.Saver(variables).restore(session, str(directory / "model.ckpt-30"))
        values = session.run(variables)
    return expect_equal([tensor_line(n, tf.float32, values[n]) for n in sorted(values)], lines_of(tensors))


# TensorFlow writes, Tenon reads.

def read_by_tenon(prefix):
    return expect_equal(tool("read-checkpoint", prefix).splitlines(), lines_by_tensorflow(prefix))


def save_v2(prefix, tensors):
    tf.raw_ops.SaveV2(prefix=str(prefix), tensor_names=list(tensors), shape_and_slices=[""] * len(tensors),
                      tensors=list(tensors.values()))


def tensors_from_tensorflow(directory):
    save_v2(directory / "c", make_tensors())
    return read_by_tenon(directory / "c")


def shards_from_tensorflow(directory):
    tensors = sorted(make_tensors().items())
    for part in range(3):
        save_v2(directory / f"part{part}", dict(tensors[part::3]))
    tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=[str(directory / f"part{p}") for p in range(3)],
                                  destination_prefix=str(directory / "merged"))
    return read_by_tenon(directory / "merged")


def saver_from_tensorflow(directory):
    """A TF1 training with Adam; Tenon finds the latest by itself."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        step = tf.compat.v1.train.get_or_create_global_step()
        w = tf.compat.v1.get_variable("dense/kernel", (784, 10))
        loss = tf.reduce_sum(w * w)
        train = tf.compat.v1.train.AdamOptimizer(0.01).minimize(loss, global_step=step)
        session.run(tf.compat.v1.global_variables_initializer())
        saver = tf.compat.v1.train.Saver(max_to_keep=5)
        for _ in range(7):
            session.run(train)
            saver.save(session, str(directory / "model.ckpt"), global_step=step)
    prefix, found_step = tool("latest", directory).splitlines()
    if prefix != str(directory / "model.ckpt-7") or found_step != "7":
        raise AssertionError(f"Tenon found {prefix} of step {found_step}")
    return read_by_tenon(prefix)


def objects_from_tensorflow(directory):
    """TF2's object-based form."""
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(3), tf.keras.layers.BatchNormalization()])
    return read_by_tenon(tf.train.Checkpoint(model=model).write(str(directory / "objects")))


# TFRecords and Examples.

def make_examples():
    random = np.random.default_rng(11)
    feature = tf.train.Feature
    for i in range(50):
        yield {
            "image/encoded": feature(bytes_list=tf.train.BytesList(value=[random.bytes(int(random.integers(0, 5000)))])),
            "image/class/label": feature(int64_list=tf.train.Int64List(value=[i + 1])),
            "edges": feature(int64_list=tf.train.Int64List(value=[-(2**63), -1, 0, 2**63 - 1])),
            "floats": feature(float_list=tf.train.FloatList(value=random.normal(size=i % 4 + 1))),
            "names": feature(bytes_list=tf.train.BytesList(value=[b"", "café".encode(), b"\0"])),
        }


def feature_line(name, feature):
    kind = feature.WhichOneof("kind")
    if kind == "bytes_list":
        return f"{name}\tbytes\t{hex_list(list(feature.bytes_list.value))}"
    if kind == "float_list":
        return f"{name}\tfloat\t{hex_list([np.float32(v).tobytes() for v in feature.float_list.value])}"
    return f"{name}\tint64\t{hex_list([np.int64(v).tobytes() for v in feature.int64_list.value])}"


def example_text(features):
    return "".join(feature_line(name, features[name]) + "\n" for name in sorted(features)) + "\n"


def sort_examples(text):
    return ["\n".join(sorted(example.splitlines())) for example in text.split("\n\n")]


def records_to_tensorflow(directory, compression):
    text = "".join(example_text(e) for e in make_examples())
    path = directory / "records"
    tool("write-records", path, compression or "none", stdin=text)
    found = ""
    for record in tf.data.TFRecordDataset(str(path), compression_type=compression.upper()):
        example = tf.train.Example.FromString(record.numpy())
        found += example_text(example.features.feature)
    return expect_equal(sort_examples(found), sort_examples(text))


def records_from_tensorflow(directory, compression):
    path = directory / "records"
    with tf.io.TFRecordWriter(str(path), compression.upper()) as writer:
        for features in make_examples():
            writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())
    text = "".join(example_text(e) for e in make_examples())
    return expect_equal(sort_examples(tool("read-records", path)), sort_examples(text))


CHECKS = [
    ("TensorFlow reads Tenon's checkpoint", checkpoint_to_tensorflow),
    ("a TF1 Saver restores Tenon's checkpoint", restore_into_variables),
    ("Tenon reads TensorFlow's checkpoint", tensors_from_tensorflow),
    ("Tenon reads TensorFlow's merged shards", shards_from_tensorflow),
    ("Tenon finds and reads a TF1 Saver's checkpoint", saver_from_tensorflow),
    ("Tenon reads a TF2 object checkpoint", objects_from_tensorflow),
] + [
    (f"{text} ({compression or 'uncompressed'})", lambda d, f=function, c=compression: f(d, c))
    for text, function in [("TensorFlow reads Tenon's TFRecords and Examples", records_to_tensorflow),
                           ("Tenon reads TensorFlow's TFRecords and Examples", records_from_tensorflow)]
    for compression in ["", "gzip", "zlib"]
]


def main():
    global TOOL
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    TOOL = sys.argv[1]
    failed = 0
    for name, check in CHECKS:
        with tempfile.TemporaryDirectory(prefix="tenon-interop-") as directory:
            try:
                print(f"ok      {name}: {check(pathlib.Path(directory))}", flush=True)
            except Exception as error:  # a check that breaks is a check that fails
                failed += 1
                print(f"FAILED  {name}: {error}", flush=True)
    print(f"{len(CHECKS) - failed} of {len(CHECKS)} checks passed, TensorFlow {tf.__version__}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
