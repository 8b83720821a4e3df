#!/usr/bin/env python3
"""Gives the models of the catalogue Keras's random weights, by name, and holds what they answer against Keras.

Usage: check_applications.py APPLICATION_TOOL [NAME..]        (tests/integration/application_tool.cc)

ViTB16 is held against torchvision's, where there is one. Prints a line a model: the largest difference, relative to 1 or to the
largest number of the answer; exits 1 where one is more than 1e-4, or a weight is not found.
"""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import numpy as np  # noqa: E402

MOST = 1e-4
ROWS = 2
LEAST = {"Xception": 96, "InceptionV3": 96, "InceptionResNetV2": 96}  # of images; 64 for the others
# With other options than a classifier's logits.
FURTHER = {
    "ResNet50": [dict(include_top=False, pooling="max"), dict(size=224)],
    "MobileNet": [dict(alpha=0.5, depth_multiplier=2, size=75)],
    "MobileNetV2": [dict(alpha=0.35, size=75), dict(alpha=1.4, include_top=False, pooling="avg"), dict(size=224)],
    "MobileNetV3Small": [dict(minimalistic=True, size=75), dict(alpha=1.25), dict(include_preprocessing=False), dict(size=224)],
    "MobileNetV3Large": [dict(alpha=0.75, include_top=False, size=75)],
    "EfficientNetB0": [dict(size=75), dict(include_top=False, pooling="avg"), dict(size=224)],
    "EfficientNetV2B0": [dict(include_preprocessing=False, size=75)],
    "VGG16": [dict(include_top=False)],
    "ConvNeXtTiny": [dict(include_top=False, include_preprocessing=False, pooling="avg"), dict(size=224)],
    "NASNetMobile": [dict(include_top=False, size=75), dict(size=224)],
    "DenseNet121": [dict(size=75)],
    "InceptionV3": [dict(size=299)],
    "Xception": [dict(include_top=False, size=75)],
}
LARGE = ("EfficientNetB4", "EfficientNetB5", "EfficientNetB6", "EfficientNetB7", "EfficientNetV2M", "EfficientNetV2L",
         "NASNetLarge", "ConvNeXtBase", "ConvNeXtLarge", "ConvNeXtXLarge")  # another's sizes; only by name


def write_safetensors(path, tensors):
    header, at = {}, 0
    for name, value in tensors.items():
        header[name] = {"dtype": "I32" if value.dtype == np.int32 else "F32", "shape": list(value.shape),
                        "data_offsets": [at, at + value.nbytes]}
        at += value.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for value in tensors.values():
            file.write(np.ascontiguousarray(value).tobytes())


def random_weight(draw, name, shape):
    """One that lets numbers stay as large as they are: with twice the variance EfficientNetV2's grow until rounding alone moves its
    answers, those of Keras too."""
    last = name.rsplit("/", 1)[-1]
    if last in ("gamma", "moving_variance", "variance"):
        return draw.uniform(0.5, 1.5, shape)
    if "kernel" in last and len(shape) > 1:
        fan = np.prod(shape[:-2]) if "depthwise" in name or "dwconv" in name or "conv_dw" in name else np.prod(shape[:-1])
        return draw.normal(0, 1, shape) * np.sqrt(1 / max(fan, 1))
    return draw.normal(0, 0.1, shape)


def name_here(layer, path):
    """LAYER/VARIABLE, without scopes before it. Keras's LayerScale names its variable by nothing: variable, variable_1, .."""
    if layer.endswith("_layer_scale"):
        return f"{layer}/gamma"
    return path[path.rfind(f"{layer}/"):]


def answer(tool, name, directory, images, tensors, options):
    weights = directory / "weights.safetensors"
    write_safetensors(weights, tensors)
    words = [f"{key}={int(value) if isinstance(value, bool) else value}" for key, value in options.items()]
    done = subprocess.run([tool, "predict", name, str(weights), str(ROWS), *words], input=images.tobytes(), capture_output=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode().strip())
    return np.frombuffer(done.stdout, np.float32)


def keras_answer(name, options, images, draw):
    import keras
    keras.backend.clear_session()
    options = dict(options)
    size = options.pop("size")
    model = getattr(keras.applications, name)(weights=None, input_shape=(size, size, 3), **options)
    tensors = {}
    for layer in model.layers:
        for variable in layer.weights:
            name = name_here(layer.name, variable.path)
            if name.endswith("/count"):
                value = np.asarray(3, np.int32)
            else:
                value = random_weight(draw, name, variable.shape).astype(np.float32)
            variable.assign(value)
            tensors[name] = value
        if isinstance(layer, keras.layers.Normalization) and layer.input_mean is None:
            layer.finalize_state()
    return tensors, np.asarray(model.predict_on_batch(images))


def torch_answer(options, images, draw):
    import torch
    import torchvision
    torch.manual_seed(1)
    model = torchvision.models.vit_b_16(weights=None, image_size=options["size"])
    model.eval()
    tensors, width, heads = {}, 768, 12
    with torch.no_grad():
        for name, p in model.named_parameters():
            scale = 0.1 if p.ndim == 1 or "token" in name or "pos" in name else p.shape[1:].numel() ** -0.5
            p.copy_(torch.from_numpy((draw.normal(0, 1, p.shape) * scale + (p.ndim == 1 and "ln" in name and "weight" in name)).astype(np.float32)))
        found = model(torch.from_numpy(images.transpose(0, 3, 1, 2).copy())).numpy()
    state = {name: p.numpy() for name, p in model.state_dict().items()}
    tensors["conv_proj/kernel"], tensors["conv_proj/bias"] = state["conv_proj.weight"].transpose(2, 3, 1, 0), state["conv_proj.bias"]
    tensors["encoder_embedding/class_token"] = state["class_token"]
    tensors["encoder_embedding/pos_embedding"] = state["encoder.pos_embedding"]
    norms = {"encoder_ln": "encoder.ln"}
    denses = {"head": "heads.head"}
    for i in range(12):
        there, here = f"encoder.layers.encoder_layer_{i}.", f"encoder_layer_{i}_"
        norms[here + "ln_1"], norms[here + "ln_2"] = there + "ln_1", there + "ln_2"
        denses[here + "mlp_1"], denses[here + "mlp_2"] = there + "mlp.0", there + "mlp.3"
        attention = here + "self_attention/"
        kernels, biases = state[there + "self_attention.in_proj_weight"], state[there + "self_attention.in_proj_bias"]
        for k, part in enumerate(("query", "key", "value")):
            rows = slice(k * width, (k + 1) * width)
            tensors[attention + part + "/kernel"] = kernels[rows].T.reshape(width, heads, -1)
            tensors[attention + part + "/bias"] = biases[rows].reshape(heads, -1)
        tensors[attention + "attention_output/kernel"] = state[there + "self_attention.out_proj.weight"].T.reshape(heads, -1, width)
        tensors[attention + "attention_output/bias"] = state[there + "self_attention.out_proj.bias"]
    for here, there in norms.items():
        tensors[here + "/gamma"], tensors[here + "/beta"] = state[there + ".weight"], state[there + ".bias"]
    for here, there in denses.items():
        tensors[here + "/kernel"], tensors[here + "/bias"] = state[there + ".weight"].T, state[there + ".bias"]
    return tensors, found


def check(tool, name, options):
    size = options.get("size", LEAST.get(name, 64))
    options = {**options, "size": size}
    if options.get("include_top", True) and name != "ViTB16":
        options["classifier_activation"] = "linear"
    draw = np.random.default_rng(size)
    images = draw.uniform(-1, 1, (ROWS, size, size, 3)).astype(np.float32)
    if name == "ViTB16":
        tensors, expected = torch_answer(options, images, draw)
        options["classifier_activation"] = "linear"
    else:
        tensors, expected = keras_answer(name, options, images, draw)
    with tempfile.TemporaryDirectory() as directory:
        found = answer(tool, name, pathlib.Path(directory), images, tensors, options)
    if found.size != expected.size:
        raise RuntimeError(f"gives {found.size} numbers, expected {expected.size}")
    largest = np.abs(expected).max()
    if not np.isfinite(largest) or largest == 0:
        raise RuntimeError(f"proves nothing: the largest number is {largest}")
    return float(np.abs(found - expected.ravel()).max() / max(1, largest)), largest


def main():
    tool, wanted = sys.argv[1], sys.argv[2:]
    listed = subprocess.run([tool, "list"], capture_output=True, text=True, check=True).stdout.split()
    failed = 0
    for name in wanted or [n for n in listed if n not in LARGE]:
        if name == "AmoebaNetD":
            continue
        if name == "ViTB16" and wanted != [name]:  # TensorFlow and PyTorch are not for one process
            failed += subprocess.run([sys.executable, __file__, tool, name], check=False).returncode != 0
            continue
        for options in [{}] + FURTHER.get(name, []):
            said = " ".join(f"{key}={value}" for key, value in options.items())
            try:
                error, largest = check(tool, name, options)
                good = error <= MOST
                print(f"{'ok' if good else 'WRONG'} {name:20} {error:9.2e} of {largest:.3g} {said}", flush=True)
            except (RuntimeError, ValueError) as e:
                good = False
                print(f"WRONG {name:20} {said}: {e}", flush=True)
            except ImportError as e:
                print(f"skipped {name}: {e}", flush=True)
                good = True
            failed += not good
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
