#!/usr/bin/env python3
"""Texts by `tenon serve`: whole, as a stream of events, and what is refused.

Usage: serve_text_test.py TENON GPT_DIR TRANSFORMER_DIR WORK
"""
import json
import os
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import grpc_calls

FAILED = []


def check(name, right, found=""):
    if not right:
        FAILED.append(name)
        print(f"FAILED  {name}: {found}")


class Served:
    def __init__(self, *arguments):
        self.process = subprocess.Popen([*arguments, "--port", "0", "--json", "--drain_seconds", "0"], stdout=subprocess.PIPE, text=True)
        line = {}
        while line.get("event") != "address":
            line = json.loads(self.process.stdout.readline())
            if line.get("event") == "grpc":
                self.grpc_port = line["port"]
        self.address, self.port = line["address"], line["port"]

    def begin(self, model, texts):
        """A connection whose request has been sent."""
        body = json.dumps({"instances": texts}).encode()
        connection = socket.create_connection(("127.0.0.1", self.port))
        connection.sendall(b"POST /v1/models/%s:predict HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % (model.encode(), len(body)) + body)
        return connection

    def get(self, path):
        return json.loads(urllib.request.urlopen(self.address + path).read())

    def post(self, model, body, verb="predict"):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.address}/v1/models/{model}:{verb}", data)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.headers["Content-Type"], answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers["Content-Type"], error.read().decode()

    def predictions(self, model, texts):
        status, _, body = self.post(model, {"instances": texts})
        return json.loads(body)["predictions"] if status == 200 else body

    def events(self, model, text):
        status, kind, body = self.post(model, {"instances": [text], "stream": True})
        check("a stream is one of events", (status, kind) == (200, "text/event-stream"), (status, kind))
        return [json.loads(event.removeprefix("data: ")) for event in body.split("\n\n") if event]


def lines_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def check_generation(served, tenon, gpt):
    answers = served.predictions("gpt", ["After 3 comes", "After 4 comes"])
    check("a text goes on with its prompt", [a[:13] for a in answers] == ["After 3 comes", "After 4 comes"], answers)
    events = served.events("gpt", "After 3 comes")
    check("a stream ends", events[-1] == {"done": True}, events[-1:])
    text = "".join(event.get("text", "") for event in events)
    check("a stream's parts are a text that begins with the prompt", text.startswith("After 3 comes") and len(text) > 13, text)
    listed = [model["name"] for model in served.get("/v1/models")["models"]]
    check("models of text are listed", listed == ["gpt", "to_german"], listed)
    takes = served.get("/v1/models/gpt/metadata")["metadata"]["signature_def"]["signature_def"]["serving_default"]["inputs"]
    check("metadata tells that it takes texts", takes["inputs"]["dtype"] == "DT_STRING", takes)
    status = served.get("/v1/models/gpt")["model_version_status"][0]["state"]
    check("the status is available", status == "AVAILABLE", status)


def check_translation(served, tenon, transformer, work):
    with open(f"{work}/lines", "w", encoding="utf-8") as file:
        file.write("one two\nthree\n\n")
    expected = lines_of(tenon, "translate", "--model_dir", transformer, "--file", f"{work}/lines", "--device", "cpu")
    found = served.predictions("to_german", ["one two", "three", ""])
    check("translations are those of tenon translate", found == expected, (found, expected))
    status, _, body = served.post("to_german", {"inputs": [{"inputs": "three"}]})
    check("columns", status == 200 and json.loads(body) == {"outputs": [expected[1]]}, body)
    several = [None] * 8
    def ask(i):
        several[i] = served.predictions("to_german", ["three" if i % 2 else "one two"])
    threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check("requests that meet have their own answers", several == [[expected[i % 2]] for i in range(8)], several)


def check_refusals(served):
    def refused(name, model, body, status, text, verb="predict"):
        found = served.post(model, body, verb)
        check(name, found[0] == status and text in json.loads(found[2])["error"], found)

    refused("no list", "gpt", {"instances": "a"}, 400, "'instances' must be a list with at least one text")
    refused("nothing", "gpt", {"instances": []}, 400, "'instances' must be a list with at least one text")
    refused("a number", "gpt", {"instances": ["a", 1]}, 400, "'instances': element 1 is no text")
    refused("no texts", "gpt", {}, 400, "Missing 'inputs' or 'instances' key")
    refused("an unknown key", "gpt", {"instances": ["a"], "tokens": 3}, 400, 'the key "tokens" is not known')
    refused("two streams", "gpt", {"instances": ["a", "b"], "stream": True}, 400, "one text is streamed, found 2")
    refused("a stream of what has none", "to_german", {"instances": ["a"], "stream": True}, 400, "cannot stream")
    refused("no JSON", "gpt", b"{", 400, "JSON Parse error")
    refused("no UTF-8", "gpt", b'{"instances": ["\xff"]}', 400, "JSON Parse error")
    refused("too many", "gpt", {"instances": ["a"] * 600}, 400, "the request has 600 texts, the server takes at most 512")
    refused("a prompt that leaves no room", "gpt", {"instances": ["a", "After 3 comes " * 40]}, 400, "element 1: the prompt has")
    refused("a verb of tensors", "gpt", {"examples": []}, 400, "expected :predict", "classify")
    refused("a line that would be cut", "to_german", {"instances": ["a", "one " * 2000]}, 400, "tokens, expected at most 1023")
    refused("another signature", "gpt", {"instances": ["a"], "signature_name": "none"}, 400, 'name: "none" not found')
    refused("another version", "gpt/versions/2", {"instances": ["a"]}, 404, "has version 1 alone")
    found = served.events("gpt", "After 3 comes " * 40)
    check("a stream tells its error", "the prompt has" in found[-1].get("error", ""), found)


def check_metrics(served):
    lines = urllib.request.urlopen(served.address + "/metrics").read().decode().splitlines()
    def value(name, **labels):
        start = name + "{" + ",".join(f'{k}="{v}"' for k, v in labels.items()) + "} "
        return next((float(line[len(start):]) for line in lines if line.startswith(start)), None)
    of = {"model": "to_german", "version": "1"}
    check("requests for texts are counted", value("tenon_requests_total", **of, code="200") == 10, lines)
    check("lines of batches are counted", value("tenon_batch_rows_sum", **of) == 14, lines)
    check("tokens are counted", value("tenon_tokens_total", **of) > 0 and value("tenon_tokens_total", model="gpt", version="1") > 0, lines)
    check("lines that wait are told", value("tenon_queue_rows", **of) == 0, lines)
    check("refused requests are counted", value("tenon_requests_total", model="gpt", version="1", code="400") >= 5, lines)


# They take a minute and more; the tests end them.
LONG = ["one two " * 450] * 64


def check_gone(served):
    """A text is written only as long as somebody waits for it: the next one does not wait until the time of both is over."""
    served.begin("to_german", LONG).close()
    check("a connection that ends ends the writing", served.post("to_german", {"instances": ["three"]})[0] == 200)
    connection = served.begin("to_german", ["three"])
    connection.shutdown(socket.SHUT_WR)
    answer = connection.makefile("rb").read()
    check("one that sends no more is answered", b"HTTP/1.1 200 OK" in answer, answer)
    if not hasattr(served, "grpc_port"):
        return
    path = "/tensorflow.serving.PredictionService/Predict"
    with grpc_calls.GrpcConnection(served.grpc_port) as connection:
        stream = connection.begin(path, grpc_calls.predict_request("to_german", "inputs", [line.encode() for line in LONG[:4]]))  # one frame
        connection.send(connection.frame(grpc_calls.RST_STREAM, 0, stream, b"\0\0\0\x08"))
        short = grpc_calls.predict_request("to_german", "inputs", [b"three"])
        check("a call that is cancelled ends the writing", connection.call(path, short) is not None, connection.heads)
        connection.call(path, grpc_calls.predict_request("no\x1bne", "inputs", [b"three"]))
        check("a name in an error is fit for a terminal", b"no\\x1bne" in connection.heads, connection.heads)


def check_deadline(tenon, transformer):
    served = Served(tenon, "serve", "--device", "cpu", "--translate", f"to_german={transformer}", "--request_timeout_ms", "1000")
    try:
        status, _, body = served.post("to_german", {"instances": LONG})
        check("a text whose time is over is answered", status == 504 and "Deadline exceeded" in body, (status, body))
        connection = served.begin("to_german", LONG)
        served.process.terminate()
        check("the end waits for no text whose time is over", served.process.wait(60) in (0, 1), served.process.returncode)
        connection.close()
    finally:
        served.process.kill()


def check_end(served):
    """A text that is on its way when the server is told to end comes whole."""
    body = json.dumps({"instances": ["After 3 comes"], "stream": True}).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{served.address}/v1/models/gpt:predict", body)) as answer:
        first = answer.readline()
        served.process.terminate()
        lines = [line for line in answer.read().decode().split("\n") if line]
    check("a stream that began ends whole", first.startswith(b"data: {\"text\"") and lines[-1] == 'data: {"done":true}', (first, lines[-1:]))


def main():
    tenon, gpt, transformer, work = sys.argv[1:]
    grpc = ["--grpc_port", "0"] if os.path.exists(os.path.join(os.path.dirname(tenon), "../lib/tenon/server/grpc.so")) else []
    served = Served(tenon, "serve", "--device", "cpu", "--generate", f"gpt={gpt}", "--translate", f"to_german={transformer}", *grpc)
    try:
        check_generation(served, tenon, gpt)
        check_translation(served, tenon, transformer, work)
        check_refusals(served)
        check_metrics(served)
        check_generation(served, tenon, gpt)  # and it goes on
        check_gone(served)
        check_end(served)
        check("SIGTERM ends it in order", served.process.wait(60) == 0, served.process.returncode)
    finally:
        served.process.kill()
    check_deadline(tenon, transformer)
    sys.exit(1 if FAILED else 0)


main()
