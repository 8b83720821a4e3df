#!/usr/bin/env python3
"""Asks `tenon serve` with TF Serving's own client of gRPC, and by REST.

Usage: check_serving.py TENON        (the runner)

Trains and exports two small models, serves them, and prints one line a check; exits 1 when one fails.
"""
import json
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import grpc  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402
from grpc_health.v1 import health_pb2, health_pb2_grpc  # noqa: E402
from tensorflow_serving.apis import (classification_pb2, get_model_metadata_pb2, get_model_status_pb2, inference_pb2,  # noqa: E402
                                     model_management_pb2, model_service_pb2_grpc, predict_pb2, prediction_service_pb2_grpc,
                                     regression_pb2)

FAILED = []


def check(name, right, found=""):
    print(f"{'ok' if right else 'FAILED'}  {name}{'' if right else f': {found}'}")
    if not right:
        FAILED.append(name)


def made(tenon, directory, model):
    run = [tenon, "train", model, "--synthetic", "--train_steps", "3", "--noevaluate", "--quiet",
           "--model_dir", f"{directory}/{model}"]
    subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([tenon, "export", "--model_dir", f"{directory}/{model}", "--output", f"{directory}/export/{model}",
                    "--format", "tenon"], check=True, stdout=subprocess.DEVNULL)
    return f"{model}={directory}/export/{model}"


def made_text(tenon, directory):
    """A model that goes on with a prompt."""
    with open(f"{directory}/text", "w", encoding="utf-8") as file:
        file.writelines(f"After {i % 10} comes {(i + 1) % 10}.\n" for i in range(400))
    for words in (["convert", "text", "--vocab_size", "100", "--max_length", "32", "--output", f"{directory}/lines", "--input",
                   f"{directory}/text"],
                  ["train", "gpt", "--param_set", "tiny", "--data_dir", f"{directory}/lines", "--train_steps", "4", "--noevaluate",
                   "--quiet", "--model_dir", f"{directory}/gpt"]):
        subprocess.run([tenon, *words], check=True, stdout=subprocess.DEVNULL)
    return f"story={directory}/gpt"


class Served:
    def __init__(self, tenon, models, *flags):
        named = [word for model in models for word in ("--model", model)]
        self.process = subprocess.Popen([tenon, "serve", *named, *flags, "--port", "0", "--grpc_port", "0", "--json",
                                         "--drain_seconds", "0"], stdout=subprocess.PIPE, text=True)
        self.rest = self.grpc = None
        while not (self.rest and self.grpc):
            line = json.loads(self.process.stdout.readline())
            self.rest = line["address"] if line["event"] == "address" else self.rest
            self.grpc = f"{line['host']}:{line['port']}" if line["event"] == "grpc" else self.grpc

    def post(self, path, body):
        request = urllib.request.Request(self.rest + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        try:
            return json.loads(urllib.request.urlopen(request).read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())


def request(name, signature="", **inputs):
    out = predict_pb2.PredictRequest()
    out.model_spec.name = name
    out.model_spec.signature_name = signature
    for key, value in inputs.items():
        out.inputs[key].CopyFrom(tf.make_tensor_proto(value))
    return out


def check_predictions(served, stub, images):
    answer = stub.Predict(request("fashion", "tensor", image=images))
    probabilities = tf.make_ndarray(answer.outputs["probabilities"])
    check("rows sum to 1", np.allclose(probabilities.sum(1), 1, atol=1e-5), probabilities.sum(1))
    check("classid is the most probable class",
          (tf.make_ndarray(answer.outputs["classid"]) == probabilities.argmax(1)).all())
    by_rest = served.post("/v1/models/fashion:predict", {"signature_name": "tensor", "inputs": images.tolist()})
    check("REST and gRPC answer the same bits",
          (np.array(by_rest["outputs"]["probabilities"], np.float32) == probabilities).all())
    png = tf.io.encode_png(np.arange(784, dtype=np.uint8).reshape(28, 28, 1)).numpy()
    numbers = np.arange(784, dtype=np.uint8).reshape(1, 28, 28, 1).astype(np.float32) / 255 * 2 - 1
    of_file = tf.make_ndarray(stub.Predict(request("fashion", image_bytes=[png, png])).outputs["probabilities"])
    of_numbers = tf.make_ndarray(stub.Predict(request("fashion", "tensor", image=numbers)).outputs["probabilities"])
    check("a file is answered as its pixels", np.abs(of_file - of_numbers).max() < 1e-5, np.abs(of_file - of_numbers).max())
    lists = request("fashion", "tensor")
    lists.inputs["image"].dtype = 1
    for size in (2, 28, 28, 1):
        lists.inputs["image"].tensor_shape.dim.add().size = size
    lists.inputs["image"].float_val.append(0.5)
    check("one value stands for all", tf.make_ndarray(stub.Predict(lists).outputs["probabilities"]).shape == (2, 10))


def check_models(stub, channel):
    asked = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    asked.model_spec.name = "table"
    found = get_model_metadata_pb2.SignatureDefMap()
    check("metadata unpacks", stub.GetModelMetadata(asked).metadata["signature_def"].Unpack(found))
    inputs = found.signature_def["serving_default"].inputs
    check("metadata tells types", inputs["categories"].dtype == tf.int32.as_datatype_enum and
          [d.size for d in inputs["numbers"].tensor_shape.dim] == [-1, 8], inputs)
    asked = get_model_status_pb2.GetModelStatusRequest()
    asked.model_spec.name = "table"
    states = model_service_pb2_grpc.ModelServiceStub(channel).GetModelStatus(asked).model_version_status
    check("a version is available", [s.state for s in states] == [30], states)
    health = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
    check("health says serving", health.status == health_pb2.HealthCheckResponse.SERVING)


def example(**features):
    out = tf.train.Example()
    for name, value in features.items():
        feature = out.features.feature[name]
        if isinstance(value, bytes):
            feature.bytes_list.value.append(value)
        elif value.dtype == np.int64:
            feature.int64_list.value.extend(value.ravel())
        else:
            feature.float_list.value.extend(value.ravel())
    return out


def check_examples(served, stub, images):
    """Classify, Regress and MultiInference, beside what Predict says."""
    expected = tf.make_ndarray(stub.Predict(request("fashion", "tensor", image=images)).outputs["probabilities"])
    asked = classification_pb2.ClassificationRequest()
    asked.model_spec.name, asked.model_spec.signature_name = "fashion", "tensor"
    asked.input.example_list.examples.extend(example(image=image) for image in images)
    found = stub.Classify(asked)
    scores = np.array([[c.score for c in one.classes] for one in found.result.classifications], np.float32)
    check("classes have the scores of Predict", (scores == expected).all(), scores)
    check("classes have labels", all(c.label for c in found.result.classifications[0].classes) and found.model_spec.version.value > 0, found)
    body = {"signature_name": "tensor", "examples": [{"image": image.tolist()} for image in images]}
    by_rest = np.array([[c[1] for c in one] for one in served.post("/v1/models/fashion:classify", body)["results"]], np.float32)
    check("REST classifies with the same bits", (by_rest == expected).all(), by_rest)

    png = tf.io.encode_png(np.zeros((28, 28, 1), np.uint8)).numpy()
    several = inference_pb2.MultiInferenceRequest()
    for signature in ("tensor", "image_bytes"):
        task = several.tasks.add(method_name="tensorflow/serving/classify")
        task.model_spec.name = "fashion"
        task.model_spec.signature_name = signature if signature == "tensor" else ""
    several.input.example_list_with_context.context.CopyFrom(example(image_bytes=png))
    several.input.example_list_with_context.examples.extend(example(image=image) for image in images)
    results = stub.MultiInference(several).results
    scores = [np.array([[c.score for c in one.classes] for one in r.classification_result.classifications], np.float32) for r in results]
    check("a task has its own scores", (scores[0] == expected).all(), scores)
    of_file = tf.make_ndarray(stub.Predict(request("fashion", image_bytes=[png] * 3)).outputs["probabilities"])
    check("features of the context are those of each example", (scores[1] == of_file).all(), scores)

    wrong = regression_pb2.RegressionRequest()
    wrong.model_spec.CopyFrom(asked.model_spec)
    wrong.input.CopyFrom(asked.input)
    refused("a regression of several numbers", stub.Regress, wrong, grpc.StatusCode.INVALID_ARGUMENT, "more than one number")
    asked.input.example_list.examples[0].CopyFrom(example(image=images[0, :5]))
    refused("a feature of another size", stub.Classify, asked, grpc.StatusCode.INVALID_ARGUMENT, 'feature "image": expected a FloatList of 784')
    several.tasks[0].method_name = "tensorflow/serving/predict"
    refused("another method", stub.MultiInference, several, grpc.StatusCode.UNIMPLEMENTED, "tensorflow/serving/predict")


def check_texts(served, stub):
    prompts = ["After 3 comes", "After 4 comes"]
    found = stub.Predict(request("story", inputs=prompts))
    texts = [text.decode() for text in tf.make_ndarray(found.outputs["outputs"])]
    check("a text goes on with its prompt", [t[:13] for t in texts] == prompts, texts)
    metrics = urllib.request.urlopen(served.rest + "/metrics").read().decode()
    check("texts are counted", 'tenon_requests_total{model="story",version="1",code="200"} 1\n' in metrics, metrics)
    refused("numbers for texts", stub.Predict, request("story", inputs=[1.0]), grpc.StatusCode.INVALID_ARGUMENT, '"inputs": expected dtype')


def check_reload(directory, stub, channel, images):
    models = model_service_pb2_grpc.ModelServiceStub(channel)

    def config(**base_paths):
        out = model_management_pb2.ReloadConfigRequest()
        for name, path in base_paths.items():
            one = out.config.model_config_list.config.add(name=name, base_path=path, model_platform="tensorflow")
            one.model_version_policy.latest.num_versions = 1
        return out

    fashion, table = f"{directory}/export/fashion", f"{directory}/export/table"
    done = models.HandleReloadConfigRequest(config(clothes=fashion, table=table))
    check("other models are served", done.status.error_code == 0, done)
    answer = stub.Predict(request("clothes", "tensor", image=images))
    check("the new name answers", tf.make_ndarray(answer.outputs["probabilities"]).shape == (3, 10))
    refused("the old one does not", stub.Predict, request("fashion", "tensor", image=images), grpc.StatusCode.NOT_FOUND, "fashion")
    refused("a directory elsewhere", models.HandleReloadConfigRequest, config(clothes="/"), grpc.StatusCode.INVALID_ARGUMENT, "base_path")
    models.HandleReloadConfigRequest(config(fashion=fashion, table=table))


def refused(name, call, asked, code, text):
    try:
        call(asked)
        check(name, False, "no error")
    except grpc.RpcError as error:
        check(name, error.code() == code and text in error.details(), f"{error.code()} {error.details()}")


def check_refusals(stub, images):
    wrong = grpc.StatusCode.INVALID_ARGUMENT
    refused("another dtype", stub.Predict, request("fashion", "tensor", image=images.astype(np.float64)), wrong, '"image": expected dtype DT_FLOAT')
    refused("another shape", stub.Predict, request("fashion", "tensor", image=images[:, :5]), wrong, '"image": expected shape')
    refused("no such input", stub.Predict, request("fashion", "tensor", other=images), wrong, "other")
    refused("a missing input", stub.Predict, request("table", numbers=np.zeros((1, 8), np.float32)), wrong, '"categories" is missing')
    refused("no image", stub.Predict, request("fashion", image_bytes=[b"nothing"]), wrong, '"image_bytes": row 0')
    refused("no such signature", stub.Predict, request("fashion", "none", image=images), wrong, '"none"')
    refused("no such model", stub.Predict, request("other", image=images), grpc.StatusCode.NOT_FOUND, "other")
    absurd = request("fashion", "tensor", image=images)
    absurd.inputs["image"].tensor_shape.dim[0].size = 1 << 60
    refused("an absurd size", stub.Predict, absurd, wrong, '"image"')
    filtered = request("fashion", "tensor", image=images)
    filtered.output_filter.append("none")
    refused("no such output", stub.Predict, filtered, wrong, "none")


def main():
    tenon = sys.argv[1]
    with tempfile.TemporaryDirectory() as directory:
        models = [made(tenon, directory, model) for model in ("fashion", "table")]
        served = Served(tenon, models, "--generate", made_text(tenon, directory), "--allow_reload_config", directory)
        try:
            channel = grpc.insecure_channel(served.grpc)
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            images = np.random.default_rng(1).standard_normal((3, 28, 28, 1)).astype(np.float32)
            check_predictions(served, stub, images)
            check_models(stub, channel)
            check_refusals(stub, images)
            check_examples(served, stub, images)
            check_texts(served, stub)
            check_reload(directory, stub, channel, images)
            check_predictions(served, stub, images)  # other requests go on being answered
            channel.close()
        finally:
            served.process.terminate()
        check("SIGTERM ends it in order", served.process.wait(30) == 0, served.process.returncode)
    sys.exit(1 if FAILED else 0)


main()
