#!/usr/bin/env python3
"""Runs the SavedModels that Tenon writes with TensorFlow, and holds its answers against Tenon's.

Usage: check_saved_models.py SAVED_MODEL_TOOL [NAME..]        (tests/integration/saved_model_tool.cc)

NAMEs are ops of the corpus or models; without any all are checked. Prints one line a check; exits 1 when one fails.
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

IGNORES_NAN = "max_pool NaN"  # TensorFlow's MaxPool takes the largest of the others
MOST = 1e-5  # of what a value may differ, relative to 1 or to the value


class Different(Exception):
    pass


def expect_close(found, expected, tolerance, what):
    found, expected = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    if found.shape != expected.shape:
        raise Different(f"{what} is {list(found.shape)}, expected {list(expected.shape)}")
    with np.errstate(invalid="ignore"):
        far = ~((np.abs(found - expected) <= tolerance) | (found == expected) | (np.isnan(found) & np.isnan(expected)))
    if far.any():
        at = tuple(int(i) for i in np.argwhere(far)[0])
        raise Different(f"{what}{list(at)} is {found[at]!r}, expected {expected[at]!r}, {int(far.sum())} of {far.size} differ")


# Every op of the corpus.

def check_case(session, signature, key, values):
    feeds = {info.name: values.get_tensor(f"{key}/{name}") for name, info in signature.inputs.items()}
    found = session.run({name: info.name for name, info in signature.outputs.items()}, feeds)
    for name, value in found.items():
        expected, bound = values.get_tensor(f"{key}/{name}"), values.get_tensor(f"{key}/t{name[1:]}")
        expect_close(value, expected, np.nan_to_num(bound, nan=0, posinf=0) + MOST * np.maximum(1, np.abs(expected)), name)


def check_op(directory):
    names = (directory / "names.txt").read_text().splitlines()
    values = tf.train.load_checkpoint(str(directory / "values"))
    names = [None if name.startswith(IGNORES_NAN) else name for name in names]
    failed = []
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        model = tf.compat.v1.saved_model.load(session, ["serve"], str(directory))
        for k, name in enumerate(names):
            if name is None:
                continue
            try:
                check_case(session, model.signature_def[f"c{k}"], f"c{k}", values)
            except (Different, tf.errors.OpError) as error:
                failed.append(f"{name}: {str(error).splitlines()[0]}")
    for line in failed:
        print("        " + line)
    if failed:
        raise Different(f"{len(failed)} of {len(names)} cases differ")
    return f"{len(names) - names.count(None)} cases equal"


# Small models with weights.

def write_images(directory):
    """JPEG and PNG files of several sizes, with one channel to four, and of 16 bits."""
    directory.mkdir()
    random = np.random.default_rng(5)
    for k, (height, width, channels) in enumerate([(37, 53, 3), (64, 64, 1), (20, 91, 4), (101, 77, 3), (33, 33, 2), (15, 16, 3)]):
        y, x = np.mgrid[0:height, 0:width]
        smooth = [127 + 100 * np.sin(y / (5 + c) + random.normal()) * np.cos(x / (9 - c)) for c in range(channels)]
        pixels = np.clip(np.stack(smooth, -1) + random.normal(0, 9, (height, width, channels)), 0, 255)
        png = tf.io.encode_png(tf.constant(pixels * (257 if k == 3 else 1), tf.uint16 if k == 3 else tf.uint8))
        (directory / f"{k}.png").write_bytes(png.numpy())
        if channels in (1, 3):
            jpeg = tf.io.encode_jpeg(tf.constant(pixels, tf.uint8), quality=70 + 5 * k, chroma_downsampling=k != 3)
            (directory / f"{k}.jpg").write_bytes(jpeg.numpy())


def by_session(directory):
    """What TF Serving does: a session, to whose graph the weights are restored."""
    session = tf.compat.v1.Session(graph=tf.Graph())
    with session.graph.as_default():
        model = tf.compat.v1.saved_model.load(session, ["serve"], str(directory))

    def run(key, feeds):
        signature = model.signature_def[key]
        return session.run({name: info.name for name, info in signature.outputs.items()},
                           {info.name: feeds[name] for name, info in signature.inputs.items()})
    return run, model.signature_def


def by_functions(directory):
    model = tf.saved_model.load(str(directory))

    def run(key, feeds):
        signature = model.signatures[key]
        return {name: value.numpy() for name, value in signature(**{n: tf.constant(v) for n, v in feeds.items()}).items()}
    return run, model.signatures


def answers(prefix):
    """{signature: ({input: value}, {output: value})}"""
    reader, out = tf.train.load_checkpoint(str(prefix)), {}
    for name in reader.get_variable_to_dtype_map():
        key, side, value = name.split("/", 2)
        out.setdefault(key, ({}, {}))[side == "out"][value] = reader.get_tensor(name)
    return out


def expect_answers(found, expected, what):
    if set(found) != set(expected):
        raise Different(f"{what} answers {sorted(found)}, expected {sorted(expected)}")
    for name, value in expected.items():
        if value.dtype == object:
            if np.asarray(found[name]).tolist() != value.tolist():
                raise Different(f"{what} {name} is {found[name]!r}, expected {value!r}")
            continue
        if np.asarray(found[name]).dtype != value.dtype:
            raise Different(f"{what} {name} is of {found[name].dtype}, expected {value.dtype}")
        number = value.astype(np.float64)
        most = 2.0**-7 if value.dtype in (tf.bfloat16.as_numpy_dtype, np.float16) else MOST
        expect_close(found[name], number, most * np.maximum(1, np.abs(number)), f"{what} {name}")


def check_model(directory):
    count = 0
    for weights in ["variables", "frozen"]:
        for load in [by_session, by_functions]:
            run, signatures = load(directory / weights / "1")
            for rows in [1, 3, 8]:
                expected = answers(directory / f"rows-{rows}")
                if set(expected) != set(signatures):
                    raise Different(f"signatures are {sorted(signatures)}, expected {sorted(expected)}")
                for key, (inputs, outputs) in expected.items():
                    expect_answers(run(key, inputs), outputs, f"{weights}, {load.__name__}, {rows} rows, {key}:")
                    count += len(outputs)
    return f"{count} tensors equal"


def run_checks(tool, arguments, directory, check):
    written = subprocess.run([tool, *arguments], capture_output=True, text=True)
    if written.returncode != 0:
        raise RuntimeError(written.stderr.strip())
    failed = 0
    lines = written.stdout.splitlines()
    for line in lines:
        name, rest = line.split(" ", 1)
        try:
            if rest.startswith("refused"):
                raise Different(rest)
            print(f"ok      {name}: {check(directory / name)}", flush=True)
        except Exception as error:  # a check that breaks is a check that fails
            failed += 1
            print(f"FAILED  {name}: {error}", flush=True)
    return failed, len(lines)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    tool, names = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory(prefix="tenon-saved-models-") as temporary:
        directory = pathlib.Path(temporary)
        images = directory / "images"
        write_images(images)
        models = run_checks(tool, ["models", str(directory / "models"), str(images), *names], directory / "models", check_model)
        ops = run_checks(tool, ["corpus", str(directory / "ops"), *names], directory / "ops", check_op)
    failed, checks = models[0] + ops[0], models[1] + ops[1]
    print(f"{checks - failed} of {checks} checks passed, TensorFlow {tf.__version__}")
    return 1 if failed or not checks else 0


if __name__ == "__main__":
    sys.exit(main())
