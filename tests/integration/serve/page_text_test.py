#!/usr/bin/env python3
"""The page of `tenon serve` with a model of text: a line is written in, what comes of it is shown, and so is the load.

  page_text_test.py TENON TRANSFORMER_DIR [PICTURE.png]
"""
import base64
import json
import os
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from browser import Browser  # noqa: E402
from serving import Server  # noqa: E402

TENON, MODEL, PICTURE = sys.argv[1], sys.argv[2], (sys.argv[3:] + [None])[0]


def check(name, right, found):
    if not right:
        raise SystemExit(f"FAILED  {name}: {found}")


with Server(TENON, "--translate", f"german={MODEL}") as server, tempfile.TemporaryDirectory() as profile:
    written = json.loads(server.ask("POST", "/v1/models/german:predict", {"instances": ["one two"]})[1])["predictions"][0]
    browser = Browser(profile)
    try:
        browser.call("Page.navigate", url=f"http://127.0.0.1:{server.port}/")
        browser.wait_for("!!document.querySelector('textarea')")
        check("no image is asked for", not browser.value("!!document.querySelector('.drop')"), "")
        browser.value("document.querySelector('textarea').value = 'one two'; document.querySelector('.try button').click()")
        browser.wait_for("!document.querySelector('.try button').disabled && document.querySelector('.text').textContent.includes('written in')")
        shown = browser.value("document.querySelector('.text').firstChild.textContent")
        check("the text is that of the answer", shown == written, (shown, written))
        browser.wait_for("[...document.querySelectorAll('.figure')].some(f => f.textContent == '2requests in all')")
        figures = browser.value("[...document.querySelectorAll('.figure span')].map(f => f.textContent)")
        check("lines and tokens are counted", {"lines waiting", "tokens in all", "lines a batch"} <= set(figures), figures)
        browser.value("document.querySelector('textarea').value = '\\ud800'; document.querySelector('.try button').click()")
        browser.wait_for("(document.querySelector('.text.error') || {}).textContent?.includes('JSON Parse error')")
        if PICTURE:
            browser.value("document.querySelector('textarea').value = 'one two'; document.querySelector('.try button').click()")
            browser.wait_for("document.querySelector('.text').textContent.includes('written in')")
            pathlib.Path(PICTURE).write_bytes(base64.b64decode(browser.call("Page.captureScreenshot")["data"]))
    finally:
        browser.end()
