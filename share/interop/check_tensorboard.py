#!/usr/bin/env python3
"""Has TensorBoard read what Tenon writes for it: each kind of summary, by its fast reader and by the one in Python.

Usage: check_tensorboard.py SUMMARY_TOOL [MODEL_DIR]        (tests/integration/summary_tool.cc)

MODEL_DIR is one that `tenon train --save_summary_steps N --histograms` wrote, with `tenon predict --pr_curves` behind it.
Answers are those of a server that TensorBoard starts, over HTTP. Prints one line a check; exits 1 when one fails.
"""
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

import numpy as np
from PIL import Image
from tensorboard.backend.event_processing import event_accumulator
from tensorboard.plugins.histogram import summary_v2 as histogram_summary
from tensorboard.util import tensor_util

failed = []


def check(name, condition, found=""):
    print("ok  " if condition else "FAIL", name, "" if condition else f": {str(found)[:400]}")
    if not condition:
        failed.append(name)


def waves(n):
    return np.array([i % 7 * 0.5 - i % 3 for i in range(n)], np.float32)


class Server:
    """TensorBoard of a directory."""

    def __init__(self, directory, fast):
        command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(directory), "--port", "0", "--bind_all",
                   f"--load_fast={'true' if fast else 'false'}", "--reload_interval", "1"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            found = re.search(r"http://\S+?:(\d+)", line)
            if found:
                self.base = f"http://127.0.0.1:{found[1]}/data/"
                return
        raise RuntimeError("TensorBoard did not start")

    def raw(self, path, **query):
        url = self.base + path + ("?" + urllib.parse.urlencode(query) if query else "")
        with urllib.request.urlopen(url) as answer:
            return answer.read()

    def get(self, path, **query):
        return json.loads(self.raw(path, **query))

    def post(self, path, body):
        request = urllib.request.Request(self.base + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return json.loads(answer.read())

    def wait_for(self, runs):
        for _ in range(240):
            if set(runs) <= set(self.get("runs")):
                return time.sleep(2)
            time.sleep(0.25)
        raise RuntimeError(f"TensorBoard has the runs {self.get('runs')}, expected {runs}")

    def stop(self):
        self.process.terminate()
        self.process.wait()


def check_hand(server):
    scalars = server.get("plugin/scalars/scalars", run="hand", tag="loss")
    check("scalars", [(s, round(v, 6)) for _, s, v in scalars] == [(i, round(1 / (i + 1), 6)) for i in range(5)], scalars)
    tags = server.get("plugin/scalars/tags")
    check("a scalar's description", "<em>it</em>" in tags["hand"]["loss"]["description"], tags["hand"])

    histograms = server.get("plugin/histograms/histograms", run="hand", tag="weights")
    want = tensor_util.make_ndarray(histogram_summary.histogram_pb("h", waves(104)).value[0].tensor)
    check("histograms", len(histograms) == 5 and np.allclose(histograms[4][2], want), histograms[-1:])

    images = server.get("plugin/images/images", run="hand", tag="images", sample=1)
    check("images", [i["step"] for i in images] == [1], images)
    png = server.raw("plugin/images/individualImage?" + images[0]["query"])
    image = np.asarray(Image.open(io.BytesIO(png)))
    want = np.floor(np.arange(60, 120, dtype=np.float32) / 119 * np.float32(255.5)).clip(0, 255).reshape(4, 5, 3)
    check("an image's pixels", image.shape == (4, 5, 3) and np.abs(image - want).max() <= 1, image)

    texts = server.get("plugin/text/text", run="hand", tag="notes")
    check("text", "<h1>One</h1>" in texts[0]["text"] and "two" in texts[0]["text"], texts)

    curves = server.get("plugin/pr_curves/pr_curves", run="hand", tag="curve/pr_curves")["hand"]
    labels = np.array([i % 3 == 0 for i in range(60)])
    predictions = np.array([i * 37 % 60 / 60 for i in range(60)], np.float32)
    at = [round(t * 200) for t in curves[0]["thresholds"]]
    positives = [int((labels & (np.floor(predictions * 200) >= t)).sum()) for t in at]
    check("PR curves", len(at) > 100 and curves[0]["true_positives"] == positives, curves[0]["true_positives"])


def check_fit(server):
    tags = server.get("plugin/scalars/tags")
    for tag in ("epoch_loss", "epoch_learning_rate", "epoch_seconds", "epoch_steps_per_second", "batch_loss"):
        check(f"fit: {tag}", tag in tags["fit/train"], tags)
    for tag in ("epoch_loss", "evaluation_loss_vs_iterations"):
        check(f"fit: validation {tag}", tag in tags["fit/validation"], tags)
    epochs = server.get("plugin/scalars/scalars", run="fit/train", tag="epoch_loss")
    check("fit: epochs from 0", [step for _, step, _ in epochs] == [0, 1, 2], epochs)
    histograms = server.get("plugin/histograms/tags")["fit/train"]
    check("fit: histograms", "dense/kernel/histogram" in histograms, histograms)
    images = server.get("plugin/images/tags")["fit/train"]
    check("fit: images of weights", "dense/kernel/image" in images, images)
    text = server.get("plugin/text/text", run="fit/train", tag="device")
    check("fit: device", "cpu" in text[0]["text"], text)
    check_graph(server, "fit/train", "fit")


def check_graph(server, run, what):
    info = server.get("plugin/graphs/info")
    check(f"{what}: has a graph", info[run]["run_graph"], info.get(run))
    graph = server.raw("plugin/graphs/graph", run=run).decode()
    nodes = graph.count("node {")
    check(f"{what}: graph of {nodes} nodes with ops and shapes",
          nodes > 10 and 'op: "dot"' in graph and "_output_shapes" in graph and 'op: "VariableV2"' in graph, graph)


def check_hparams(server):
    experiment = server.post("plugin/hparams/experiment", {"experimentName": ""})
    names = sorted(info["name"] for info in experiment["hparamInfos"])
    check("hyperparameters: experiment", names == ["bias", "optimizer", "units"], experiment)
    query = {"experimentName": "", "allowedStatuses": ["STATUS_SUCCESS", "STATUS_RUNNING", "STATUS_FAILURE", "STATUS_UNKNOWN"],
             "colParams": [{"metric": {"group": "validation", "tag": "epoch_loss"}}], "startIndex": 0, "sliceSize": 10}
    groups = server.post("plugin/hparams/session_groups", query)["sessionGroups"]
    session = groups[0]
    check("hyperparameters: values", session["hparams"] == {"bias": True, "optimizer": "adam", "units": 4}, session["hparams"])
    check("hyperparameters: ended well", session["sessions"][0]["status"] == "STATUS_SUCCESS", session["sessions"])
    check("hyperparameters: metric", session["metricValues"][0]["name"]["tag"] == "epoch_loss", session["metricValues"])


def check_train(server):
    tags = server.get("plugin/scalars/tags")
    for tag in ("loss", "global_step/sec", "epoch_seconds"):
        check(f"train: {tag}", tag in tags["model"], tags.get("model"))
    check("train: evaluation", "accuracy" in tags["model/eval"], tags)
    check_graph(server, "model", "train")
    check("train: histograms", len(server.get("plugin/histograms/tags")["model"]) > 1)
    curves = server.get("plugin/pr_curves/tags")["model/eval"]
    check("predict: PR curves", len(curves) > 1, curves)


def check_accumulator(directory):
    """The class by which programs read events themselves."""
    accumulator = event_accumulator.EventAccumulator(str(directory / "fit/train"))
    accumulator.Reload()
    tags = accumulator.Tags()
    check("EventAccumulator: scalars of TensorFlow 2 are tensors", "epoch_loss" in tags["tensors"], tags)
    check("EventAccumulator: graph", tags["graph"] and len(accumulator.Graph().node) > 10, tags)


def run(directory, model):
    for fast in (True, False):
        print("-- by its fast reader" if fast else "-- by its reader in Python")
        server = Server(directory, fast)
        try:
            server.wait_for(["hand", "fit", "fit/train", "fit/validation", "."] + (["model", "model/eval"] if model else []))
            check_hand(server)
            check_fit(server)
            check_hparams(server)
            if model:
                check_train(server)
        finally:
            server.stop()
    check_accumulator(directory)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        subprocess.run([sys.argv[1], name], check=True)
        if len(sys.argv) == 3:
            (directory / "model").symlink_to(pathlib.Path(sys.argv[2]).resolve())
        run(directory, len(sys.argv) == 3)
    print(f"{len(failed)} failed" if failed else "all read")
    sys.exit(bool(failed))


main()
