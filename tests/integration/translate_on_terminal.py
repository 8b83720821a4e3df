"""Runs a command that translates lines on a terminal: what a person sees, and how it ends.

    translate_on_terminal.py COMMAND..
"""
import os
import pty
import select
import subprocess
import sys
import time

PROMPT, SECONDS = b"> ", 60


class Session:
    def __init__(self, command):
        self.seen = b""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execvp(command[0], command)

    def until_prompt(self):
        """What was shown before the next prompt, and that; or before the end."""
        end = time.time() + SECONDS
        while not self.seen.endswith(PROMPT) and time.time() < end:
            ready, _, _ = select.select([self.terminal], [], [], 0.2)
            if ready:
                try:
                    piece = os.read(self.terminal, 4096)
                except OSError:
                    piece = b""
                if not piece:
                    break
                self.seen += piece
        shown, self.seen = self.seen, b""
        return shown.decode(errors="replace")

    def say(self, typed):
        os.write(self.terminal, typed)
        return self.until_prompt()

    def code(self):
        end = time.time() + SECONDS
        while time.time() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.05)
        os.kill(self.pid, 9)
        return "it still ran"


def expect(good, what, found):
    if not good:
        sys.exit(f"{what}: {found!r}")


command = sys.argv[1:]
session = Session(command)
begun = session.until_prompt()
expect(begun == "> ", "expected a prompt", begun)
first = session.say(b"The number is 7.\n")
piped = subprocess.run(command, input=b"The number is 7.\n", stdout=subprocess.PIPE, check=True).stdout.decode()
expect(len(piped) > 2, "expected a translation", piped)
expect(first.endswith("7.\r\n" + piped.replace("\n", "\r\n") + "> "), f"expected {piped!r} and a prompt", first)
bad = session.say(b"bad \xff\n")
expect("line 2: text is no UTF-8\r\n> " in bad, "expected the line's error and a prompt", bad)
again = session.say(b"The number is 7.\n")
expect(again == first, "expected the same translation", again)
session.say(b"\x04")
code = session.code()
expect(code == 0, "exit code at the end of input", code)

session = Session(command)
session.until_prompt()
ended = session.say(b"\x03")
code = session.code()
expect(code == 130 and "interrupted" in ended, "exit code of an interrupt", (code, ended))
