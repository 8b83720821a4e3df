"""A real browser that a test looks at a page with. Standard library alone, and chromium."""
import fcntl
import json
import os
import subprocess
import time


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
