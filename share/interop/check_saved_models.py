#!/usr/bin/env python3
"""Runs the models that Tenon exports, SavedModels with TensorFlow, ONNX's with ONNX Runtime, and holds their answers against Tenon's.

Usage: check_saved_models.py SAVED_MODEL_TOOL [NAME..]        (tests/integration/saved_model_tool.cc)

NAMEs are ops of the corpus or models; without any all are checked. Prints one line a check; exits 1 when one fails.
"""
import base64
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
import tensorflow as tf  # noqa: E402

tf.get_logger().setLevel("ERROR")

# TensorFlow's MaxPool takes the largest of the others; its Softmax gives 0 beside infinity on some processors.
IGNORES_NAN = ("max_pool NaN", "softmax edges")
# ONNX Runtime's folds pass over NaN, and those of integers end at the largest, where model code's wrap.
ONNX_IGNORES = ("argmax max NaN", "argmax min NaN", "reduce max NaN", "reduce min NaN", "reduce sum wraps", "reduce prod wraps",
                "reduce prod i")
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

def expect_case(found, key, values):
    for name, value in found.items():
        expected, bound = values.get_tensor(f"{key}/{name}"), values.get_tensor(f"{key}/t{name[1:]}")
        expect_close(value, expected, np.nan_to_num(bound, nan=0, posinf=0) + MOST * np.maximum(1, np.abs(expected)), name)


def run_signature(session, signature, key, values):
    feeds = {info.name: values.get_tensor(f"{key}/{name}") for name, info in signature.inputs.items()}
    return session.run({name: info.name for name, info in signature.outputs.items()}, feeds)


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
                expect_case(run_signature(session, model.signature_def[f"c{k}"], f"c{k}", values), f"c{k}", values)
            except (Different, tf.errors.OpError) as error:
                failed.append(f"{name}: {str(error).splitlines()[0]}")
    for line in failed:
        print("        " + line)
    if failed:
        raise Different(f"{len(failed)} of {len(names)} cases differ")
    return f"{len(names) - names.count(None)} cases equal"


def onnx_session(path):
    """Checked as ONNX's own checker does."""
    onnx.checker.check_model(str(path), full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def as_given(array):
    """Arrays of bf16 are none of ONNX Runtime's."""
    array = np.asarray(array)
    return array.astype(np.float32) if array.dtype == tf.bfloat16.as_numpy_dtype else array


def lacks(error):
    """ONNX Runtime has no kernel for these types on a CPU."""
    return "NOT_IMPLEMENTED" in str(error)


def check_onnx_op(directory):
    names = (directory / "names.txt").read_text().splitlines()
    values = tf.train.load_checkpoint(str(directory / "values"))
    failed, refused, lacking = [], {}, 0
    for k, name in enumerate(names):
        key = f"c{k}"
        why = directory / f"{key}.refused"
        if why.exists():
            refused[why.read_text().split(": ")[-1]] = name
            lacking += 1
            continue
        if name.startswith(IGNORES_NAN + ONNX_IGNORES):
            lacking += 1
            continue
        try:
            session = onnx_session(directory / f"{key}.onnx")
            given = {i.name: as_given(values.get_tensor(f"{key}/{i.name}")) for i in session.get_inputs()}
            outputs = [o.name for o in session.get_outputs()]
            expect_case(dict(zip(outputs, session.run(outputs, given))), key, values)
        except Exception as error:
            if lacks(error):
                lacking += 1
            else:
                failed.append(f"{name}: {str(error).splitlines()[0][:300]}")
    for line in failed:
        print("        " + line)
    if failed:
        raise Different(f"{len(failed)} of {len(names)} cases differ")
    said = "".join(f"; {why}" for why in sorted(refused))
    return f"{len(names) - lacking} cases equal, {lacking} that it does not have{said}"


# Small models with weights.

# Of 19x14 pixels: lossy, and lossless with transparency. TensorFlow writes none.
WEBP = [
    "UklGRnAAAABXRUJQVlA4IGQAAADwAwCdASoTAA4APrVKnkmnJCKhMAgA4BaJaACdMoACtXNlcwJvzS0AAP7HPW89gheNqwwQzxm5qaeyLtBTW3JdogUl5PlJ"
    "ztZi8tv98O/GFWDQCGUyy5pobNDByN4S6LYUBgAA",
    "UklGRg4CAABXRUJQVlA4TAICAAAvEkADEM2VIaL/sRASEP5vlCwwRyHbCND8Ge9DOIQB73+0Kmw+aIAYwG3b6ABQ3/bf6Lfpvf8LazgQG0lSJGX33TOjrW85"
    "bnclxLZtBEmSB3eFX93/EQQBbNNGkuztmOnF91lmjqW4/vrdFvGL+YZ8oN/Ar+Rn8DPMM/iF5hX8Dv6EfGP+IUUYcAa8+vSuAkSN7NJd639e96j3sNkHfeyh"
    "uvRehKqJAFSBzvPBHUgSCNWsOhZz3X3d46+7bDo2U++1FKobQSGgytFXHwAgIohNxNZSTM1eM5am7tpaRCxECAACocr3I88CIkTpJIXCV6pPeSkvTVaOpVhE"
    "KgikKAXQl/dbPqoQQiY5WpQ9Wcv9rQQ5k4PspCAjEAKkSCmPZ38FEdFIC2M00xij9BFHFEYHuh4lFCOQAgu+FwMQ0hADg5gCpzl/uIiphyhSMggxCAACSoE3"
    "T5SQkjghmkTMlDVhNBMzUyYgMdlipTRUrGIjbu7cw2CLGGYvUY96olfIiNeWqCfFGpOlAAFhK28uOBaFGiI+gp7gQY+tteeBGXNkIhHGEgh1rOGuPAdgsSlG"
    "j03KGVtDk3aNN+Mtlw7ZFsqIUmCdHg8uhTiptIsJTIqVfivVGv7XkWLCjZoxWJQyImjk2zc3QGhjG502rsbNSrXSb7nv36e3XC63Yxo6CyJKkc0E",
]


def write_images(directory):
    """JPEG, PNG and WebP files of several sizes, with one channel to four, and of 16 bits."""
    directory.mkdir()
    for k, text in enumerate(WEBP):
        (directory / f"{k}.webp").write_bytes(base64.b64decode(text))
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


def expect_answers(found, expected, what, half=False):
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
        most = 2.0**-7 if half or value.dtype in (tf.bfloat16.as_numpy_dtype, np.float16) else MOST
        expect_close(found[name], number, most * np.maximum(1, np.abs(number)), f"{what} {name}")


def check_onnx_model(directory):
    session, count = onnx_session(directory / "onnx" / "1" / "model.onnx"), 0
    outputs = [o.name for o in session.get_outputs()]
    fed = [i.name for i in session.get_inputs()]
    names = [o[:-2] if o.endswith("_1") and o[:-2] in fed else o for o in outputs]  # those that inputs have, too
    for rows in [1, 3, 8]:
        inputs, expected = answers(directory / f"rows-{rows}")["serving_default"]
        expected = {name: value for name, value in expected.items() if value.dtype != object}
        expected = {name: as_given(value) for name, value in expected.items()}
        found = dict(zip(names, session.run(outputs, {name: as_given(value) for name, value in inputs.items()})))
        expect_answers(found, expected, f"{rows} rows:", "bfloat16" in directory.name)
        count += len(outputs)
    return f"{count} tensors equal"


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


def run_checks(tool, arguments, directory, checks):
    written = subprocess.run([tool, *arguments], capture_output=True, text=True)
    if written.returncode != 0:
        raise RuntimeError(written.stderr.strip())
    failed = 0
    lines = written.stdout.splitlines()
    for line in lines:
        name, rest = line.split(" ", 1)
        for runs, check in checks.items():
            try:
                if rest.startswith("refused"):
                    raise Different(rest)
                print(f"ok      {name}, {runs}: {check(directory / name)}", flush=True)
            except Exception as error:  # a check that breaks is a check that fails
                failed += 1
                print(f"FAILED  {name}, {runs}: {error}", flush=True)
    return failed, len(lines) * len(checks)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    tool, names = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory(prefix="tenon-saved-models-") as temporary:
        directory = pathlib.Path(temporary)
        images = directory / "images"
        write_images(images)
        models = run_checks(tool, ["models", str(directory / "models"), str(images), *names], directory / "models",
                            {"TensorFlow": check_model, "ONNX Runtime": check_onnx_model})
        ops = run_checks(tool, ["corpus", str(directory / "ops"), *names], directory / "ops",
                         {"TensorFlow": check_op, "ONNX Runtime": check_onnx_op})
    failed, checks = models[0] + ops[0], models[1] + ops[1]
    print(f"{checks - failed} of {checks} checks passed, TensorFlow {tf.__version__}, ONNX Runtime {onnxruntime.__version__}")
    return 1 if failed or not checks else 0


if __name__ == "__main__":
    sys.exit(main())
