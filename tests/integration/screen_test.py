#!/usr/bin/env python3
"""What training shows on a terminal and in a pipe, captured from a pseudo-terminal.

  screen_test.py TENON

Standard library alone.
"""
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import unittest

TENON = sys.argv[1]
del sys.argv[1]
STEPS = ["--synthetic", "--hidden", "8", "--train_batch_size", "8", "--device", "cpu"]


def on_terminal(columns, *command):
    """What the command writes to a terminal that wide."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    out = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end was closed
            part = b""
        if not part:
            break
        out += part
    os.close(ours)
    if process.wait() != 0:
        raise AssertionError(f"{command}: exit code {process.returncode}: {out.decode()}")
    return out.decode().replace("\r\n", "\n")


def in_pipe(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True)


class RunnersLine(unittest.TestCase):
    def frames(self, columns):
        text = on_terminal(columns, TENON, "train", "mlp", *STEPS, "--train_steps", "2000", "--noevaluate")
        return re.findall(r"\r(step [^\x1b]*)\x1b\[K", text)

    def test_stays_within_the_terminal(self):
        for columns in (20, 59, 200):
            frames = self.frames(columns)
            self.assertGreater(len(frames), 0)
            for frame in frames:
                self.assertLess(len(frame), columns)
            self.assertIn("2,000/2,000"[: columns - 6], frames[-1])

    def test_names_step_loss_rate_and_what_is_left(self):
        pattern = r"step [\d,]+/2,000  loss \d+\.\d{4}  ETA [\d:]+s?  [\d,]+(\.\d+)? steps/s"
        for frame in self.frames(200):
            self.assertRegex(frame, pattern)


class RunnersLog(unittest.TestCase):
    def test_is_of_plain_numbers(self):
        out = in_pipe(TENON, "train", "mlp", *STEPS, "--train_steps", "3000", "--noevaluate",
                      "--log_step_count_steps", "1000").stdout
        lines = re.findall(r"^step .*", out, re.M)
        self.assertEqual([line.split()[1] for line in lines], ["1,000", "2,000", "3,000"])
        self.assertNotRegex(out, r"\de[+-]\d")
        self.assertNotIn("\r", out)

    def test_has_the_mean_loss_since_the_line_before(self):
        def losses(every):
            out = in_pipe(TENON, "train", "mlp", *STEPS, "--train_steps", "8", "--noevaluate", "--json",
                          "--log_step_count_steps", every).stdout
            return [float(x) for x in re.findall(r'"event": "step", "step": \d+, "loss": ([^,]*)', out)]

        each, fourth = losses("1"), losses("4")
        self.assertEqual((len(each), len(fourth)), (8, 2))
        self.assertAlmostEqual(fourth[0], sum(each[:4]) / 4, places=6)
        self.assertAlmostEqual(fourth[1], sum(each[4:]) / 4, places=6)

    def test_quiet_prints_the_result_alone(self):
        run = in_pipe(TENON, "train", "mlp", *STEPS, "--train_steps", "300", "--quiet")
        self.assertEqual(run.stderr, "")
        self.assertRegex(run.stdout, r"^[\d,.]+ examples/s, .* hash \w+\naccuracy .*\nloss .*\nglobal_step 300\n$")


if __name__ == "__main__":
    unittest.main(verbosity=0)
