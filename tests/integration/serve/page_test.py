#!/usr/bin/env python3
"""The page of `tenon serve` in a real browser: models, signatures, an image's classes, load.

  page_test.py TENON WORK [PICTURE.png]

WORK as for serve_test.py. PICTURE.png: a screenshot to look at. Standard library alone, and chromium.
"""
import base64
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from serving import Server, png  # noqa: E402

TENON, WORK, PICTURE = sys.argv[1], pathlib.Path(sys.argv[2]), (sys.argv[3:] + [None])[0]


class Browser:
    """Chromium without a window, told what to do by its DevTools protocol through a pipe."""

    def __init__(self, profile):
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        high_in, high_out = fcntl.fcntl(theirs_in, fcntl.F_DUPFD, 10), fcntl.fcntl(theirs_out, fcntl.F_DUPFD, 10)

        def set_up():
            os.dup2(high_in, 3)
            os.dup2(high_out, 4)

        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
             f"--user-data-dir={profile}", "--window-size=1100,900", "about:blank"],
            preexec_fn=set_up, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for fd in (theirs_in, theirs_out, high_in, high_out):
            os.close(fd)
        self.input, self.output, self.buffer, self.calls, self.session = ours_out, ours_in, b"", 0, None
        page = [t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page"][0]
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]

    def call(self, method, **params):
        self.calls += 1
        message = {"id": self.calls, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.input, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.buffer:
                part = os.read(self.output, 1 << 16)
                if not part:
                    raise AssertionError("the browser has ended")
                self.buffer += part
            line, self.buffer = self.buffer.split(b"\0", 1)
            answer = json.loads(line)
            if answer.get("id") == self.calls:
                if "error" in answer:
                    raise AssertionError(answer["error"])
                return answer["result"]

    def value(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(result["exceptionDetails"])
        return result["result"].get("value")

    def wait_for(self, script):
        for _ in range(600):
            if self.value(script):
                return
            time.sleep(0.05)
        raise AssertionError(f"never: {script}; {self.value('document.body.innerText')}")

    def choose_file(self, path):
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        chooser = self.call("DOM.querySelector", nodeId=root, selector="input[type=file]")["nodeId"]
        self.call("DOM.setFileInputFiles", nodeId=chooser, files=[str(path)])

    def end(self):
        try:
            self.call("Browser.close")
        except (AssertionError, OSError):
            pass
        self.process.wait(timeout=30)


class PageTest(unittest.TestCase):
    def test_the_page_shows_models_classes_and_load(self):
        root, empty = WORK / "page", WORK / "page_empty"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(WORK / "exported" / "first", root / "3")
        empty.mkdir(exist_ok=True)
        image = WORK / "page.png"
        image.write_bytes(png(8, 8, (120, 20, 200)))
        with Server(TENON, "--model", f"mlp={root}", "--model", f"<b>={empty}") as server, tempfile.TemporaryDirectory() as profile:
            browser = Browser(profile)
            try:
                browser.call("Page.navigate", url=f"http://127.0.0.1:{server.port}/")
                browser.wait_for("document.querySelectorAll('.card h2').length == 2 && !!document.querySelector('.drop')")
                names = browser.value("[...document.querySelectorAll('.card h2')].map(h => h.textContent)")
                self.assertEqual(names, ["mlp", "<b>"])
                chips = browser.value("[...document.querySelectorAll('.chip')].map(c => c.textContent)")
                self.assertEqual(chips, ["version 3 available", "no version"])
                self.assertIn("float [rows, 8, 8, 1]", browser.value("document.querySelector('table').textContent"))
                browser.choose_file(image)
                browser.wait_for("document.querySelectorAll('.bar').length == 4")
                bars = browser.value("[...document.querySelectorAll('.bar')].map(b => [...b.querySelectorAll('span')].map(s => s.textContent))")
                self.assertEqual({name for name, _ in bars}, {"ant", "bee", "cat", "dog"})
                shares = [float(text.rstrip(" %")) for _, text in bars]
                self.assertEqual(shares, sorted(shares, reverse=True))
                self.assertAlmostEqual(sum(shares), 100, delta=0.3)
                body = {"instances": [{"b64": base64.b64encode(image.read_bytes()).decode()}]}
                found = json.loads(server.ask("POST", "/v1/models/mlp:predict", body)[1])["predictions"][0]
                self.assertEqual(bars[0], [found["class"], f"{100 * max(found['probabilities']):.1f} %"])
                browser.wait_for("[...document.querySelectorAll('.figure')].some(f => f.textContent == '2requests in all')")
                image.write_bytes(b"no image")
                browser.choose_file(image)
                browser.wait_for("(document.querySelector('p.error') || {}).textContent?.includes('image_bytes')")
                if PICTURE:
                    image.write_bytes(png(8, 8, (120, 20, 200)))
                    browser.choose_file(image)
                    browser.wait_for("document.querySelectorAll('.bar').length == 4")
                    picture = browser.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
                    pathlib.Path(PICTURE).write_bytes(base64.b64decode(picture))
            finally:
                browser.end()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
