#!/usr/bin/env python3
"""The page of `tenon serve` in a real browser: models, signatures, an image's classes, load.

  page_test.py TENON WORK [PICTURE.png]

WORK as for serve_test.py. PICTURE.png: a screenshot to look at. Standard library alone, and chromium.
"""
import base64
import json
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from browser import Browser  # noqa: E402
from serving import Server, png  # noqa: E402

TENON, WORK, PICTURE = sys.argv[1], pathlib.Path(sys.argv[2]), (sys.argv[3:] + [None])[0]


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
