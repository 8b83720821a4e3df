#!/usr/bin/env python3
"""`tenon serve` with models that were trained and exported, as its users and its enemies call it.

  serve_test.py TENON WORK

WORK has what prepare.sh made: models of two trainings. Standard library alone.
"""
import base64
import csv
import io
import json
import os
import pathlib
import random
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from serving import Connection, Server, png, request  # noqa: E402

TENON, WORK = sys.argv[1], pathlib.Path(sys.argv[2])
del sys.argv[1:3]
PREDICT = "/v1/models/mlp:predict"
CASES = pathlib.Path(__file__).resolve().parents[2] / "fixtures" / "onnx"
os.environ["TMPDIR"] = tempfile.mkdtemp(dir=WORK)  # of the servers
FILES = [png(8, 8, color) for color in ((10, 10, 10), (120, 20, 200), (190, 190, 190))]


def rows_of(files):
    return {"instances": [{"b64": base64.b64encode(f).decode()} for f in files]}


def expected(model):
    """What `tenon predict` says of the files: [(class, probability)]."""
    names = []
    for i, data in enumerate(FILES):
        (WORK / f"{i}.png").write_bytes(data)
        names.append(str(WORK / f"{i}.png"))
    out = subprocess.run([TENON, "predict", "--model_dir", str(WORK / model), "--device", "cpu", *names], capture_output=True,
                         text=True, check=True).stdout
    return [(r["class"], float(r["probability"])) for r in csv.DictReader(io.StringIO(out))]


def versions(name, *models):
    """A directory WORK/NAME with versions 1, 2, .. of these models."""
    root = WORK / name
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for number, model in enumerate(models, 1):
        shutil.copytree(WORK / "exported" / model, root / str(number))
    return root


class ServeTest(unittest.TestCase):
    def check_answer(self, response, model="first"):
        status, body = response
        self.assertEqual(status, 200, body)
        predictions = json.loads(body)["predictions"]
        self.assertEqual(len(predictions), len(FILES))
        for found, (name, probability) in zip(predictions, EXPECTED[model]):
            self.assertEqual(found["class"], name)
            self.assertAlmostEqual(max(found["probabilities"]), probability, delta=2e-6)
            self.assertAlmostEqual(sum(found["probabilities"]), 1, delta=1e-5)

    def test_answers_are_those_of_tenon_predict(self):
        with Server(TENON, "--model", f"mlp={versions('one', 'first')}") as server:
            self.check_answer(server.ask("POST", PREDICT, rows_of(FILES)))
            # Rows one by one, and columns, of a batch of any size.
            alone = [json.loads(server.ask("POST", PREDICT, rows_of([f]))[1])["predictions"][0] for f in FILES]
            columns = {"inputs": {"image_bytes": [r for _ in range(30) for r in rows_of(FILES)["instances"]]}}
            outputs = json.loads(server.ask("POST", PREDICT, columns)[1])["outputs"]
            for i in range(90):
                for mine, theirs in zip(outputs["probabilities"][i], alone[i % 3]["probabilities"]):
                    self.assertAlmostEqual(mine, theirs, delta=1e-6)
            metadata = json.loads(server.ask("GET", "/v1/models/mlp/metadata")[1])
            signature = metadata["metadata"]["signature_def"]["signature_def"]["tensor"]
            self.assertEqual(signature["inputs"]["image"]["dtype"], "DT_FLOAT")
            self.assertEqual([d["size"] for d in signature["inputs"]["image"]["tensor_shape"]["dim"]], ["-1", "8", "8", "1"])
            state = json.loads(server.ask("GET", "/v1/models/mlp")[1])["model_version_status"]
            self.assertEqual([(v["version"], v["state"]) for v in state], [("1", "AVAILABLE")])
            self.assertEqual(server.end(), 0)

    def test_other_models_go_on_beside_one_that_is_wrong(self):
        empty, half = WORK / "empty", versions("half", "first")
        empty.mkdir(exist_ok=True)
        next((half / "1" / "assets.extra" / "tenon").glob("model.pb")).unlink()
        with Server(TENON, "--model", f"mlp={versions('one', 'first')}", "--model", f"empty={empty}", "--model", f"half={half}") as server:
            for name in ("empty", "half", "none"):
                status, body = server.ask("POST", f"/v1/models/{name}:predict", rows_of(FILES))
                self.assertEqual((status, json.loads(body)["error"]), (404, f"Servable not found for request: Latest({name})"))
            self.assertEqual(server.ask("GET", "/readyz")[0], 503)
            self.check_answer(server.ask("POST", PREDICT, rows_of(FILES)))
            self.assertEqual(len([line for line in server.log if line.startswith("half 1 cannot be loaded: ")]), 1)

    def test_onnx_files_answer_as_the_models_that_they_are_of(self):
        files = {model: WORK / f"{model}.onnx" for model in ("first", "second")}
        for model, path in files.items():
            subprocess.run([TENON, "export", "--model_dir", str(WORK / model), "--format", "onnx", "--output", str(path), "--device", "cpu"],
                           check=True, stdout=subprocess.DEVNULL)
        net, root, tokens = WORK / "net.onnx", WORK / "onnx_versions", CASES / "tokens_next" / "model.onnx"
        shutil.copy(files["first"], net)
        for number, model in enumerate(("first", "second"), 1):  # as exports to a directory are, and Triton's
            (root / str(number)).mkdir(parents=True, exist_ok=True)
            shutil.copy(files[model], root / str(number) / "model.onnx")
        image = {"signature_name": "tensor", "instances": [[[[0.01 * (8 * row + column)] for column in range(8)] for row in range(8)]] * 3}

        def probabilities(server, name):
            status, body = server.ask("POST", f"/v1/models/{name}:predict",
                                      image if name in ("first", "second") else {"instances": image["instances"]})
            self.assertEqual(status, 200, body)
            return [p["probabilities"] for p in json.loads(body)["predictions"]]

        def check_same(rows, others):
            for row, other in zip(rows, others, strict=True):
                for mine, theirs in zip(row, other, strict=True):
                    self.assertAlmostEqual(mine, theirs, delta=2e-6)

        with Server(TENON, f"first={versions('one', 'first')}", f"second={versions('other', 'second')}", str(net), "--model",
                    f"versions={root}", "--model", f"tokens={tokens}", "--dim", "sequence=5", "--poll_seconds", "0.05") as server:
            check_same(probabilities(server, "net"), probabilities(server, "first"))
            check_same(probabilities(server, "versions"), probabilities(server, "second"))
            metadata = json.loads(server.ask("GET", "/v1/models/tokens/metadata")[1])["metadata"]["signature_def"]["signature_def"]
            self.assertEqual([d["size"] for d in metadata["serving_default"]["inputs"]["input_ids"]["tensor_shape"]["dim"]], ["-1", "5"])

            def state():
                newest = json.loads(server.ask("GET", "/v1/models/net")[1])["model_version_status"][0]
                return int(newest["version"]), newest["state"]

            self.assertEqual(state(), (net.stat().st_mtime_ns // 1000000, "AVAILABLE"))
            for content, done in ((b"half a file", "END"), (files["second"].read_bytes(), "AVAILABLE")):
                (WORK / "net.part").write_bytes(content)
                os.replace(WORK / "net.part", net)
                wanted = net.stat().st_mtime_ns // 1000000, done
                while state() != wanted:
                    time.sleep(0.01)
                check_same(probabilities(server, "net"), probabilities(server, "second" if done == "AVAILABLE" else "first"))
            self.assertEqual(server.end(), 0)
        self.assertEqual(len([line for line in server.log if "cannot be loaded" in line]), 1)
        self.assertEqual(list(pathlib.Path(os.environ["TMPDIR"]).glob("tenon-*")), [])

    def test_a_load_that_is_refused_tells_the_status(self):
        models = versions("one", "first")
        with Server(TENON, "--model", f"mlp={models}") as server:
            def load(name):
                return subprocess.run([TENON, "bench", "serve", "--model", f"{name}={models}", "--signature", "tensor", "--seconds", "0.1",
                                       "--address", f"127.0.0.1:{server.port}"], capture_output=True, text=True)
            self.assertEqual(load("mlp").returncode, 0)
            self.assertIn("no request was answered with 200, but with 404", load("mpl").stderr)

    def test_malformed_requests_are_refused_and_the_next_answer_is_right(self):
        image = rows_of(FILES)
        tensor = [[[[0.5]] * 8] * 8]
        long_list = "[" * 100000
        bodies = [b"", b"{", b"[]", b"null", b"\xff\xfe", b"{}", b'{"instances": []}', b'{"instances": [NaN]}', b'{"instances": [1e400]}',
                  ('{"instances": ' + long_list).encode(), ('{"instances": ' + long_list + "]" * 100000 + "}").encode(),
                  b'{"instances": [{"b64": "!!"}]}', b'{"instances": [{"b64": "AAAA"}]}', b'{"instances": [{"other": 1}]}',
                  b'{"instances": "' + b"x" * 1000000 + b'"}', b'{"instances": [1], "inputs": [1]}', b'{"signature_name": "no", "instances": [1]}']
        for broken in (tensor[0][:7], [[[[0.5]] * 7] * 8], 3, "x", None, True, [[[["x"]] * 8] * 8], [[[[1e39]] * 8] * 8], {"image": [1]},
                       {"image": tensor[0], "more": 1}, [[[[0.5, 0.5]] * 8] * 8], [[[0.5] * 8] * 8]):
            bodies.append(json.dumps({"signature_name": "tensor", "instances": [broken]}).encode())
            bodies.append(json.dumps({"signature_name": "tensor", "inputs": {"image": broken}}).encode())
        good = request("POST", PREDICT, image)
        raw = [good.replace(b"Content-Length: ", b"Content-Length: 9"), good.replace(b"Host: localhost\r\n", b""),
               good.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n", 1),
               request("POST", PREDICT, b"", "Transfer-Encoding: chunked\r\n"),
               request("POST", PREDICT, image, "Content-Encoding: gzip\r\n"), request("POST", PREDICT, image, "Content-Length: 7\r\n"),
               b"POST " + PREDICT.encode() + b" HTTP/1.1\r\nHost: h\r\nContent-Length: 1073741824\r\n\r\n" + b"x" * 65536,
               b"POST " + PREDICT.encode() + b" HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1;" + b"x" * 65536,
               b"GET /" + b"x" * 65536 + b" HTTP/1.1\r\nHost: h\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 10000 + b"\r\n",
               b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/9.9\r\n\r\n", b"BREW / HTTP/1.1\r\nHost: h\r\n\r\n"]
        draw = random.Random(5)
        for _ in range(150):
            damaged = bytearray(good)
            for _ in range(draw.randint(1, 4)):
                damaged[draw.randrange(len(damaged) if draw.random() < 0.5 else 90)] = draw.randrange(256)
            raw.append(bytes(damaged))
        with Server(TENON, "--model", f"mlp={versions('one', 'first')}") as server:
            for _ in range(20):
                self.check_answer(server.ask("POST", PREDICT, image))
            before, files, refused = server.rss(), server.files(), 0
            for data in [request("POST", PREDICT, b) for b in bodies] + raw:
                with Connection(server.port) as connection:
                    try:
                        connection.send(data)
                        connection.socket.shutdown(1)
                    except OSError:
                        pass
                    response = connection.receive()
                    if data in raw[13:]:  # damage may be harmless, or leave a request without its end
                        self.assertTrue(response is None or response[0] in (200, 505) or 400 <= response[0] < 500, (data, response))
                    elif response is not None or data not in raw:
                        self.assertTrue(400 <= response[0] < 500 or response[0] == 505, (data[:300], response))
                        self.assertIn("error", json.loads(response[1]))
                    refused += response is not None and response[0] >= 400
            self.assertGreater(refused, 100)
            self.check_answer(server.ask("POST", PREDICT, image))
            if "sanitized" not in sys.argv:
                self.assertLess(server.rss() - before, 32)
            self.assertLessEqual(server.files(), files + 1)
            self.assertEqual(server.end(), 0)

    def test_versions_change_while_requests_go_on(self):
        root = versions("changing", "first")
        with Server(TENON, "--model", f"mlp={root}", "--poll_seconds", "0.05") as server:
            ending, wrong, seen = threading.Event(), [], set()

            def client():
                with Connection(server.port) as connection:
                    while not ending.is_set():
                        status, body = connection.ask("POST", PREDICT, rows_of(FILES))
                        found = [max(p["probabilities"]) for p in json.loads(body)["predictions"]] if status == 200 else []
                        models = [m for m, e in EXPECTED.items() if len(found) == 3 and all(abs(a - b[1]) < 2e-6 for a, b in zip(found, e))]
                        if len(models) != 1:
                            wrong.append(body)
                        seen.update(models)

            threads = [threading.Thread(target=client) for _ in range(3)]
            for thread in threads:
                thread.start()
            for number in range(2, 14):
                source = WORK / "exported" / ("second" if number % 2 == 0 else "first")
                if number % 4 == 0:  # half-copied, then damaged
                    shutil.copytree(source, root / str(number), ignore=shutil.ignore_patterns("*.data-*", "model.pb"))
                    for file in (root / str(number)).rglob("*.index"):
                        file.write_bytes(file.read_bytes()[:-9] + b"damaged!!")
                    time.sleep(0.3)
                    continue
                shutil.copytree(source, root / f"{number}.copy")
                (root / f"{number}.copy").rename(root / str(number))
                for _ in range(400):
                    states = json.loads(server.ask("GET", "/v1/models/mlp")[1])["model_version_status"]
                    if [v["version"] for v in states if v["state"] == "AVAILABLE"] == [str(number)]:
                        break
                    time.sleep(0.05)
                else:
                    self.fail(f"version {number} was not loaded: {states}")
            ending.set()
            for thread in threads:
                thread.join()
            self.assertEqual(wrong, [])
            self.assertEqual(seen, {"first", "second"})
            self.assertEqual(server.end(), 0)
            # Those three alone: of one that is still being copied the server says again what is wrong as it changes.
            refused = {line.split(" cannot be loaded")[0] for line in server.log if "cannot be loaded" in line}
            self.assertEqual(refused, {"mlp 4", "mlp 8", "mlp 12"}, server.log)

    def test_at_sigterm_readiness_drops_first_and_all_requests_are_answered(self):
        for _ in range(3):
            with Server(TENON, "--model", f"mlp={versions('one', 'first')}", "--drain_seconds", "0.3") as server:
                lost, answered, last = [], [0], []

                def client():
                    while True:
                        try:
                            connection = Connection(server.port)
                        except ConnectionRefusedError:
                            return
                        with connection:
                            while not connection.ends:
                                try:
                                    response = connection.ask("POST", PREDICT, rows_of(FILES))
                                except OSError:
                                    response = None
                                if response is None or response[0] != 200:
                                    lost.append(response)
                                    return
                                answered[0] += 1
                            last.append(True)

                threads = [threading.Thread(target=client) for _ in range(4)]
                for thread in threads:
                    thread.start()
                with Connection(server.port) as ready:
                    self.assertEqual(ready.ask("GET", "/readyz")[0], 200)
                    while answered[0] < 20:
                        time.sleep(0.01)
                    server.signal()
                    status = 200
                    while status == 200 and not ready.ends:
                        status = ready.ask("GET", "/readyz")[0]
                with Connection(server.port) as other:  # still taken
                    self.assertEqual(other.ask("GET", "/readyz")[0], 503)
                for thread in threads:
                    thread.join()
                self.assertEqual(server.wait(), 0)
                self.assertEqual(lost, [])
                self.assertGreater(len(last), 3)

    def test_a_canary_gets_its_share_and_labels_name_versions(self):
        root = versions("canary", "first", "second")
        with Server(TENON, "--model", f"mlp={root}", "--canary", "mlp=0.25", "--version_labels", "mlp:stable=1,mlp:new=2") as server:
            with Connection(server.port) as connection:
                self.check_answer(connection.ask("POST", "/v1/models/mlp/labels/stable:predict", rows_of(FILES)), "first")
                self.check_answer(connection.ask("POST", "/v1/models/mlp/labels/new:predict", rows_of(FILES)), "second")
                self.check_answer(connection.ask("POST", "/v1/models/mlp/versions/1:predict", rows_of(FILES)), "first")
                newest = 0
                for _ in range(100):
                    body = connection.ask("POST", PREDICT, rows_of(FILES[:1]))[1]
                    newest += abs(max(json.loads(body)["predictions"][0]["probabilities"]) - EXPECTED["second"][0][1]) < 2e-6
                self.assertTrue(23 <= newest <= 27, newest)

    def test_tokens_are_asked_for(self):
        (WORK / "tokens").write_text("0123456789-token\n")
        with Server(TENON, "--model", f"mlp={versions('one', 'first')}", "--token_file", str(WORK / "tokens")) as server:
            self.assertEqual(server.ask("POST", PREDICT, rows_of(FILES))[0], 401)
            self.assertEqual(server.ask("GET", "/healthz")[0], 200)
            self.check_answer(server.ask("POST", PREDICT, rows_of(FILES), "Authorization: Bearer 0123456789-token\r\n"))

    @unittest.skipUnless(shutil.which("openssl"), "no openssl that makes a certificate")
    def test_tls(self):
        key, certificate = str(WORK / "key.pem"), str(WORK / "certificate.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"], check=True, capture_output=True)
        with Server(TENON, "--model", f"mlp={versions('one', 'first')}", "--tls_certificate", certificate, "--tls_key", key) as server:
            self.assertIn("https://", server.log[-1])
            secure = ssl.create_default_context(cafile=certificate)
            with Connection(server.port, secure) as connection:
                self.assertIn(connection.socket.version(), ("TLSv1.3", "TLSv1.2"))
                for _ in range(3):
                    self.check_answer(connection.ask("POST", PREDICT, rows_of(FILES)))
                large = {"signature_name": "tensor", "instances": [[[[0.123456789]] * 8] * 8] * 400}  # many records of TLS
                status, body = connection.ask("POST", PREDICT, large)
                self.assertEqual((status, len(json.loads(body)["predictions"])), (200, 400))
            with Connection(server.port) as plain:  # no TLS: ends
                plain.send(request("GET", "/healthz"))
                while plain.more():
                    pass
                self.assertNotIn(b"HTTP/1.1 200", plain.bytes)
            self.assertEqual(server.end(), 0)


EXPECTED = {model: expected(model) for model in ("first", "second")}
if __name__ == "__main__":
    unittest.main(argv=[a for a in sys.argv if a != "sanitized"])
