#!/usr/bin/env python3
"""What training shows on a terminal and in a pipe, captured from a pseudo-terminal.

  screen_test.py TENON BAR_PROGRAM TOY_KERAS FIXTURES

Standard library alone.
"""
import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios
import time
import unittest

TENON, BAR_PROGRAM, TOY_KERAS, FIXTURES = sys.argv[1:5]
del sys.argv[1:5]
sys.dont_write_bytecode = True
sys.path.insert(0, FIXTURES)

from make_bars import frames  # noqa: E402

STEPS = ["--synthetic", "--hidden", "8", "--train_batch_size", "8", "--device", "cpu"]


def on_terminal(columns, *command, **environment):
    """What the command writes to a terminal that wide."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs,
                               env={**os.environ, **environment})
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


def of_keras(name):
    """The frames that Keras drew, a list for each line that it ended."""
    text = (pathlib.Path(FIXTURES) / "bars.txt").read_text().replace("<ESC>", "\x1b")
    return lines_of(re.search(f"^== {name}\n([^=]*)", text, re.M)[1])


def lines_of(drawn):
    return [line.strip("\n").split("\n") for line in drawn.split("<LF>\n") if line]


def visible(frame):
    return re.sub(r"\x1b\[\d+m", "", frame)


def on_screen(drawn, columns):
    """The lines that a terminal that wide shows in the end."""
    rows, row, column = [""], 0, 0
    for up, back, end, char in re.findall(r"\x1b\[(?:(\d+)A|\d+m)|(\x08)|([\r\n])|(.)", drawn):
        if up:
            row -= int(up)
        elif back:
            column = max(min(column, columns - 1) - 1, 0)
        elif end:
            row, column = row + (end == "\n"), 0
        elif char:
            if column == columns:  # a terminal waits for a character that has no room
                row, column = row + 1, 0
        rows += [""] * (row + 1 - len(rows))
        if char:
            line = rows[row].ljust(column)
            rows[row], column = line[:column] + char + line[column + 1:], column + 1
    return [line.rstrip() for line in rows if line.rstrip()]


class KerassBar(unittest.TestCase):
    def assert_drawn_as(self, ours, theirs):
        """Which redraws are left out between the first and the last of a line is a matter of the clock."""
        self.assertEqual(len(ours), len(theirs))
        for drawn, all_of_it in zip(ours, theirs):
            self.assertEqual((drawn[0], drawn[-1]), (all_of_it[0], all_of_it[-1]))
            rest = iter(all_of_it)
            for frame in drawn:
                self.assertIn(frame, rest)

    def test_is_drawn_character_for_character(self):
        for columns in (0, 120):
            self.assert_drawn_as(lines_of(frames(on_terminal(columns, BAR_PROGRAM))), of_keras("a bar"))

    def test_of_the_toy_program_too(self):
        def without_numbers(lines):
            return [[re.sub(r": [^ ]+", ": N", frame) for frame in line] for line in lines]

        text = on_terminal(0, TOY_KERAS, "--device", "cpu")
        bars, figures = text.rsplit("\n", 2)[:2]
        self.assertRegex(figures, "^loss .*prediction")
        self.assert_drawn_as(without_numbers(lines_of(frames(bars + "\n"))), without_numbers(of_keras("toy_keras")))

    def test_takes_back_just_what_it_drew(self):
        for line in on_terminal(0, BAR_PROGRAM).split("\n"):
            width = 0
            for back, frame in re.findall(r"(\x08*)\r([^\r\x08]*)", line):
                self.assertEqual(len(back), width)
                self.assertGreaterEqual(len(visible(frame)), width)
                width = len(visible(frame).rstrip())

    def test_is_whole_and_redrawn_in_place_in_a_narrow_terminal(self):
        for columns in (12, 30, 40, 59, 80):
            rows = on_screen(on_terminal(columns, BAR_PROGRAM), columns)
            self.assertLessEqual(max(map(len, rows)), columns)
            # Times are as wide as they are: where a line is broken is no matter of Keras's.
            shown = re.sub(r"\d+s \d+[a-z]+/step", "T T/step", "".join(row.ljust(columns) for row in rows))
            expected = "".join(visible(line[-1]) for line in of_keras("a bar"))
            self.assertEqual("".join(shown.split()), "".join(expected.split()))

    def test_has_no_colours_where_they_are_not_wanted(self):
        self.assertNotIn("\x1b", on_terminal(0, BAR_PROGRAM, NO_COLOR="1"))

    def test_is_a_line_an_epoch_in_a_pipe(self):
        self.assertEqual(lines_of(frames(in_pipe(BAR_PROGRAM).stdout)), of_keras("lines"))


class RunnersLine(unittest.TestCase):
    def drawn(self, columns):
        text = on_terminal(columns, TENON, "train", "mlp", *STEPS, "--train_steps", "2000", "--noevaluate")
        return re.findall(r"\r(step [^\x1b]*)\x1b\[K", text)

    def test_stays_within_the_terminal(self):
        for columns in (20, 59, 200):
            frames = self.drawn(columns)
            self.assertGreater(len(frames), 0)
            for frame in frames:
                self.assertLess(len(frame), columns)
            self.assertIn("2,000/2,000"[: columns - 6], frames[-1])

    def test_names_step_loss_rate_and_what_is_left(self):
        pattern = r"step [\d,]+/2,000  loss \d+\.\d{4}  accuracy [01]\.\d{4}  ETA [\d:]+s?  [\d,]+(\.\d+)? steps/s" \
                  r"  input [\d,.]+, device [\d,.]+ examples/s \((input|device) is the limit\)$"
        for frame in self.drawn(200):
            self.assertRegex(frame, "^" + pattern)


class RunnersLog(unittest.TestCase):
    def test_is_of_plain_numbers(self):
        out = in_pipe(TENON, "train", "mlp", *STEPS, "--train_steps", "3000", "--noevaluate",
                      "--log_step_count_steps", "1000").stdout
        lines = re.findall(r"^step .*", out, re.M)
        self.assertEqual([line.split()[1] for line in lines], ["1,000", "2,000", "3,000"])
        self.assertNotRegex(out, r"\de[+-]\d")
        self.assertNotIn("\r", out)

    def test_of_short_steps_has_the_first_and_the_last_and_no_more_than_a_line_a_second(self):
        start = time.monotonic()
        out = in_pipe(TENON, "train", "mlp", *STEPS, "--train_steps", "5050", "--noevaluate").stdout
        seconds = time.monotonic() - start
        steps = [line.split()[1] for line in re.findall(r"^step .*", out, re.M)]
        self.assertEqual((steps[0], steps[-1]), ("100", "5,050"))
        self.assertLessEqual(len(steps), 2 + seconds)

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
