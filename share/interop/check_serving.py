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
from tensorflow_serving.apis import (get_model_metadata_pb2, get_model_status_pb2, model_service_pb2_grpc,  # noqa: E402
                                     predict_pb2, prediction_service_pb2_grpc)

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


class Served:
    def __init__(self, tenon, models):
        named = [word for model in models for word in ("--model", model)]
        self.process = subprocess.Popen([tenon, "serve", *named, "--port", "0", "--grpc_port", "0", "--json",
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


def check_refusals(stub, images):
    def refused(name, asked, code, text):
        try:
            stub.Predict(asked)
            check(name, False, "no error")
        except grpc.RpcError as error:
            check(name, error.code() == code and text in error.details(), f"{error.code()} {error.details()}")

    wrong = grpc.StatusCode.INVALID_ARGUMENT
    refused("another dtype", request("fashion", "tensor", image=images.astype(np.float64)), wrong, '"image": expected dtype DT_FLOAT')
    refused("another shape", request("fashion", "tensor", image=images[:, :5]), wrong, '"image": expected shape')
    refused("no such input", request("fashion", "tensor", other=images), wrong, "other")
    refused("a missing input", request("table", numbers=np.zeros((1, 8), np.float32)), wrong, '"categories" is missing')
    refused("no image", request("fashion", image_bytes=[b"nothing"]), wrong, '"image_bytes": row 0')
    refused("no such signature", request("fashion", "none", image=images), wrong, '"none"')
    refused("no such model", request("other", image=images), grpc.StatusCode.NOT_FOUND, "other")
    absurd = request("fashion", "tensor", image=images)
    absurd.inputs["image"].tensor_shape.dim[0].size = 1 << 60
    refused("an absurd size", absurd, wrong, '"image"')
    filtered = request("fashion", "tensor", image=images)
    filtered.output_filter.append("none")
    refused("no such output", filtered, wrong, "none")


def main():
    tenon = sys.argv[1]
    with tempfile.TemporaryDirectory() as directory:
        served = Served(tenon, [made(tenon, directory, model) for model in ("fashion", "table")])
        try:
            channel = grpc.insecure_channel(served.grpc)
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            images = np.random.default_rng(1).standard_normal((3, 28, 28, 1)).astype(np.float32)
            check_predictions(served, stub, images)
            check_models(stub, channel)
            check_refusals(stub, images)
            check_predictions(served, stub, images)  # other requests go on being answered
            channel.close()
        finally:
            served.process.terminate()
        check("SIGTERM ends it in order", served.process.wait(30) == 0, served.process.returncode)
    sys.exit(1 if FAILED else 0)


main()
