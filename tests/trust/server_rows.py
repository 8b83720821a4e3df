"""What rows 20 to 25 share: a row's beginning and end, models whose answers are known, clients of `tenon serve`. Standard library alone."""
import base64
import csv
import io
import json
import os
import random
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../integration/serve"))

from serving import Connection, Server, png, request  # noqa: E402

PREDICT = "/v1/models/mlp:predict"
FILES = [png(8, 8, color) for color in ((10, 10, 10), (120, 20, 200), (190, 190, 190))]
BODY = json.dumps({"instances": [{"b64": base64.b64encode(f).decode()} for f in FILES]}).encode()
TOLERANCE = 2e-6  # `tenon predict` prints so many digits


class Row:
    """`row_NN_name BUILD_DIR SECONDS`. From a minute on it is the long form."""

    def __init__(self, number):
        self.number, self.build, self.seconds = number, os.path.abspath(sys.argv[1]), float(sys.argv[2])
        self.tenon, self.long = os.path.join(self.build, "bin/tenon"), self.seconds >= 60
        self.begun, self.failures, self.lock = time.monotonic(), 0, threading.Lock()
        self.work = tempfile.mkdtemp(prefix=f"row{number}")
        self.expected = {}  # by model: [(class, probability)]

    def before(self, share):
        """Whether less than this share of its time is over."""
        return time.monotonic() < self.begun + share * self.seconds

    def check(self, right, message):
        """Counts what is wrong, and says it: the first twenty."""
        if right:
            return True
        with self.lock:
            self.failures += 1
            if self.failures <= 20:
                print(f"row {self.number}: {message}", file=sys.stderr)
        return False

    def run_tenon(self, *words):
        return subprocess.run([self.tenon, *words], capture_output=True, text=True, check=True).stdout

    def path(self, *names):
        return os.path.join(self.work, *names)

    def make_models(self, count, hidden="16"):
        """`count` models m1, m2, .. of images with weights of their own. exported(NAME) is a version's directory."""
        idx, data = self.path("idx"), self.path("data")
        subprocess.run(["bash", "-c", '. "$1" "$2"; make_idx "$3" 128 32', "-", os.path.join(HERE, "../integration/runner_lib.sh"),
                        self.tenon, idx], check=True)
        self.run_tenon("convert", "idx", "--input", idx, "--output", data)
        with open(os.path.join(data, "labels.txt"), "w") as file:
            file.write("ant\nbee\ncat\ndog\n")
        for i, image in enumerate(FILES):
            with open(self.path(f"{i}.png"), "wb") as file:
                file.write(image)
        for seed in range(1, count + 1):
            model = self.path(f"m{seed}")
            self.run_tenon("train", "mlp", "--hidden", hidden, "--data_dir", data, "--model_dir", model, "--device", "cpu",
                           "--seed", str(seed), "--train_batch_size", "16", "--train_steps", "20", "--noevaluate")
            self.run_tenon("export", "--model_dir", model, "--output", self.path("exported", f"m{seed}"), "--format", "tenon",
                           "--device", "cpu", "--version", "1")
            said = self.run_tenon("predict", "--model_dir", model, "--device", "cpu", *(self.path(f"{i}.png") for i in range(len(FILES))))
            self.expected[f"m{seed}"] = [(r["class"], float(r["probability"])) for r in csv.DictReader(io.StringIO(said))]
        same = [(a, b) for a in self.expected for b in self.expected if a < b and self.alike(self.expected[a], self.expected[b])]
        if same:
            raise AssertionError(f"models that answers cannot tell apart: {same}")

    @staticmethod
    def alike(one, other):
        return len(one) == len(other) and all(a[0] == b[0] and abs(a[1] - b[1]) <= TOLERANCE for a, b in zip(one, other))

    def exported(self, model):
        return self.path("exported", model, "1")

    def versions(self, name, *models):
        """A directory with versions 1, 2, .. of these models."""
        root = self.path(name)
        shutil.rmtree(root, ignore_errors=True)
        os.mkdir(root)
        for number, model in enumerate(models, 1):
            shutil.copytree(self.exported(model), os.path.join(root, str(number)))
        return root

    def serve(self, root, *flags):
        return Server(self.tenon, "--model", f"mlp={root}", *flags)

    def model_of(self, response):
        """Whose answer to BODY it is; None where it is no answer, or nobody's."""
        if response is None or response[0] != 200:
            return None
        found = [(p["class"], max(p["probabilities"])) for p in json.loads(response[1])["predictions"]]
        return next((m for m, e in self.expected.items() if self.alike(found, e)), None)

    def load(self, root, server, *flags):
        """A running `tenon bench serve` whose load_result() is to be read. It gives way to the server: while it waits it computes."""
        return subprocess.Popen(["nice", "-n", "10", self.tenon, "bench", "serve", "--model", f"mlp={root}/1", "--address", f"127.0.0.1:{server.port}",
                                 "--signature", "tensor", "--json", *map(str, flags)], stdout=subprocess.PIPE, text=True)

    def end(self, promise, asked, seen, caught, controls, removed):
        """Prints the row's line; its exit code."""
        shutil.rmtree(self.work, ignore_errors=True)
        print(f"row {self.number}: {promise} | asked: {asked} | seen: {seen}; {self.failures} failures | "
              f"control: {removed}, caught {caught} of {controls}")
        return 0 if self.failures == 0 and caught == controls else 1


def load_result(process):
    """Of the last rate."""
    out = process.communicate()[0]
    return json.loads(out.splitlines()[-1]) if process.returncode == 0 else {"codes": {}, "asked": -1, "answers_per_second": 0}


class Clients:
    """Threads that ask BODY again and again, over connections that stay, until stop(); with `ending`, until the server takes none."""

    def __init__(self, row, server, count, ending=False, pause=0):
        self.row, self.server, self.ending, self.pause = row, server, ending, pause
        self.stopped, self.lock = threading.Event(), threading.Lock()
        self.answers, self.lost = {}, []        # by model; what was no answer
        self.seen = [[] for _ in range(count)]  # by client: models in order, each once until it changes
        self.threads = [threading.Thread(target=self.client, args=(seen,)) for seen in self.seen]
        for thread in self.threads:
            thread.start()

    def connect(self):
        return Connection(self.server.port)

    def dropped(self, connection):
        """Whether the server has ended a connection without a request, as it may while it ends: then none is sent, as clients do."""
        if not self.ending or not select.select([connection.socket], [], [], 0)[0]:
            return False
        try:
            return connection.socket.recv(1, socket.MSG_PEEK) == b""
        except ConnectionError:
            return True

    def ask(self, connection):
        """The model that answered, what came."""
        response = connection.ask("POST", PREDICT, BODY)
        return self.row.model_of(response), response

    def note(self, connection, seen):
        """Whether it was answered."""
        try:
            model, response = self.ask(connection)
        except (OSError, AssertionError) as error:
            model, response = None, repr(error)
        with self.lock:
            if model is None:
                self.lost.append(response)
            else:
                self.answers[model] = self.answers.get(model, 0) + 1
                if seen[-1:] != [model]:
                    seen.append(model)
        return model is not None

    def client(self, seen):
        while not self.stopped.is_set():
            try:
                connection = self.connect()
            except OSError as error:
                if not (self.ending and isinstance(error, ConnectionRefusedError)):
                    self.lost.append(repr(error))
                return
            with connection:
                while not self.stopped.is_set() and not connection.ends and not self.dropped(connection):
                    if not self.note(connection, seen):
                        break
                    time.sleep(self.pause)

    def answered(self):
        with self.lock:
            return sum(self.answers.values())

    def join(self):
        for thread in self.threads:
            thread.join()

    def stop(self):
        self.stopped.set()
        self.join()


def draw(*seed):
    """Random numbers that are the same for the same seed."""
    return random.Random("-".join(map(str, seed)))
