#!/usr/bin/env python3
"""bench/peers/compare.py with contestants that print what they are told to: which figures become the table's.

  bench_peers_test.py COMPARE.PY TENON

Standard library alone. One script stands for Tenon and, as the peers' Python, for every peer.
"""
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import unittest

COMPARE, TENON = map(pathlib.Path, sys.argv[1:3])
sys.dont_write_bytecode = True
sys.path.insert(0, str(COMPARE.parent))

import models  # noqa: E402
import report  # noqa: E402

# Does what plan.json says of "PEER VARIANT" in this round, the last entry from then on: a line to print, or the reason
# to fail. Keeps in log.json who was started and how, and what lay in the folder of results.
CONTESTANT = '''
import json, os, pathlib, resource, signal, sys

most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
here, words = pathlib.Path(__file__).parent, sys.argv[1:]
flags = dict(zip(words, words[1:]))
if words[0] == "bench":
    case, who = words[2], "tenon"
    if flags["--dtype_policy"] == "float32" and "tenon float32" in json.loads((here / "plan.json").read_text()):
        who = "tenon float32"
    if "tenon one_process" in json.loads((here / "plan.json").read_text()) and "STARTED_BY_MPIRUN" not in os.environ:
        who = "tenon one_process"
else:
    case, who = words[1], pathlib.Path(words[0]).name.removesuffix("_peer.py") + " " + words[2]
plan = json.loads((here / "plan.json").read_text())
while plan[who] == "never end":
    signal.pause()
log = json.loads((here / "log.json").read_text())
before = sum(entry["who"] == who and entry["case"] == case for entry in log)
stored = {f.name: f.read_text() for f in here.glob("results/*") if not f.name.endswith(".part")}
log.append({"who": who, "case": case, "threads": flags["--threads"], "cores": len(os.sched_getaffinity(0)),
            "dtype_policy": flags["--dtype_policy"], "stored": stored,
            "processes": os.environ.get("STARTED_BY_MPIRUN", flags.get("--processes"))})
(here / "log.json").write_text(json.dumps(log))
does = plan[who][min(before, len(plan[who]) - 1)]
if isinstance(does, dict):
    print("a line before it")
    print(json.dumps(does))
elif does == "signal":
    os.kill(os.getpid(), signal.SIGSEGV)
elif does == "say nothing":
    print("neither here nor there")
else:
    sys.stderr.buffer.write(b"bytes \\xff that are no text\\n")
    sys.exit("Traceback (most recent call last):\\n" + does + "\\nand a warning after it")
'''


# Of mpirun: starts what it is told to, once.
MPIRUN = '''#!/bin/sh
[ "$1 $2 $4 $5" = "-q -n --bind-to none" ] || exit 3
export STARTED_BY_MPIRUN="$3"
shift 5
exec "$@"
'''


def measured(least, median, **more):
    return {"min_ms": least, "median_ms": median, "first_step_s": 1.5, "parameters": 403, "loss": 0.5, **more}


ONE = [measured(4, 5)]


class Outcome:
    def __init__(self, done, folder):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        self.log = json.loads((folder / "log.json").read_text())
        self.files = sorted(f.name for f in folder.glob("results/*"))
        kept = {f.suffix: f.read_text() for f in folder.glob("results/*")}
        self.rows = json.loads(kept[".json"])["cases"] if ".json" in kept else {}
        self.text = kept.get(".md", "")

    def line(self, *cells):
        """The cells of the table's line that begins with these."""
        found = [[c.strip() for c in line.strip("|").split("|")] for line in self.text.splitlines() if line[:1] == "|"]
        found = [line for line in found if tuple(line[:len(cells)]) == cells]
        assert len(found) == 1, f"{len(found)} lines begin with {cells}:\n{self.text}"
        return found[0]

    def summary(self, case):
        return next([c.strip() for c in line.strip("|").split("|")] for line in self.text.splitlines()
                    if line.startswith(f"| {case} |"))


def compare(plan, *flags, tenon=None, python=None, largest_file=None):
    def limit():
        if largest_file:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        script = folder / "contestant"
        script.write_text(f"#!{sys.executable}\n{CONTESTANT}")
        (folder / "mpirun").write_text(MPIRUN)
        for program in (script, folder / "mpirun"):
            program.chmod(0o755)
        (folder / "log.json").write_text("[]")
        (folder / "plan.json").write_text(json.dumps(plan))
        command = [sys.executable, str(COMPARE), "--tenon", tenon or script, "--python", python or script, "--out",
                   folder / "results", "--peak", "200", *flags]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False,
                              preexec_fn=limit, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1",
                                   "PATH": f"{folder}:{os.environ['PATH']}"})
        return Outcome(done, folder)


class BenchPeers(unittest.TestCase):
    def test_takes_the_least_minimum_and_the_median_of_medians(self):
        rounds = [measured(10, 30), measured(8, 11), measured(12, 13)]
        got = compare({"tenon": rounds, "jax jit": ONE}, "--cases", "resnet20", "--peers", "jax", "--rounds", "3")
        self.assertEqual(got.code, 0, got.err)
        self.assertEqual(got.line("resnet20", "tenon")[3:7], ["3", "8", "13", "1.5"])
        self.assertEqual([row["min_ms"] for row in got.rows["resnet20"] if row["peer"] == "tenon"], [10, 8, 12])

    def test_divides_by_the_variant_of_any_peer_that_has_the_least_minimum(self):
        plan = {"tenon": [measured(6, 9)], "torch eager": [measured(30, 31)], "torch compile": [measured(8, 40)],
                "jax jit": [measured(20, 20)], "jax scan": [measured(9, 10)]}
        got = compare(plan, "--cases", "mlp_tiny", "--peers", "torch", "jax", "--rounds", "2")
        self.assertEqual(got.code, 0, got.err)
        # 6 / 8, and the medians of the same variant: 9 / 40.
        self.assertEqual(got.summary("mlp_tiny")[1:6], ["6 (9)", "8 (40)", "torch compile", "0.75", "0.23"])

    def test_takes_turns_on_as_many_cores_as_threads(self):
        names = ["tenon", "torch eager", "jax scan"]
        got = compare(dict.fromkeys(names, ONE), "--cases", "mlp_tiny", "--peers", "torch:eager,jax:scan", "--rounds",
                      "2", "--threads", "1")
        self.assertEqual(got.code, 0, got.err)
        self.assertEqual([entry["who"] for entry in got.log], names * 2)
        self.assertEqual({(entry["threads"], entry["cores"]) for entry in got.log}, {("1", 1)})

    def test_runs_once_what_is_named_twice(self):
        got = compare({"tenon": ONE, "jax jit": ONE, "jax scan": ONE}, "--cases", "mlp_tiny", "mlp_tiny", "--peers",
                      "jax", "jax:jit", "--rounds", "1")
        self.assertEqual([entry["who"] for entry in got.log], ["tenon", "jax jit", "jax scan"])

    def test_makes_a_failure_a_row_that_says_why_and_goes_on(self):
        plan = {"tenon": ONE, "torch eager": ["ValueError: no such | thing"], "torch compile": ["signal"],
                "jax jit": ["say nothing"], "jax scan": [measured(8, 8), "MemoryError: too much", measured(1, 1)]}
        got = compare(plan, "--cases", "mlp_tiny", "--peers", "torch", "jax", "--rounds", "3")
        self.assertEqual(got.code, 0, got.err)
        why = {("torch", "eager"): "exit code 1: ValueError: no such / thing",
               ("torch", "compile"): "ended by SIGSEGV", ("jax", "jit"): "printed no result"}
        for who, reason in why.items():
            self.assertEqual(got.line("mlp_tiny", *who)[3:], ["0", *"-----", reason])
        # What it measured before it failed counts; no round after it.
        self.assertEqual(got.line("mlp_tiny", "jax", "scan")[3:5], ["1", "8"])
        self.assertEqual(got.line("mlp_tiny", "jax", "scan")[-1], "exit code 1: MemoryError: too much")
        self.assertEqual(got.summary("mlp_tiny")[4], "0.50")
        self.assertEqual(got.line("mlp_tiny", "tenon")[3], "3")
        started = [entry["who"] for entry in got.log]
        self.assertEqual([started.count(who) for who in plan], [3, 1, 1, 1, 2])

    def test_says_which_program_is_not_there(self):
        flags = ["--cases", "resnet20", "--peers", "jax", "--rounds", "2"]
        got = compare({"tenon": ONE}, *flags, python="/nowhere/python")
        self.assertEqual(got.code, 0, got.err)
        self.assertEqual(got.line("resnet20", "jax")[-1], "/nowhere/python: No such file or directory")
        got = compare({"jax jit": ONE}, *flags, tenon="/nowhere/tenon")
        self.assertEqual(got.line("resnet20", "tenon", "")[-1], "/nowhere/tenon: No such file or directory")
        self.assertEqual(got.summary("resnet20")[1:6], ["-", "4 (5)", "jax jit", "-", "-"])

    def test_ends_what_never_ends(self):
        got = compare({"tenon": "never end", "jax jit": "never end"}, "--cases", "resnet20", "--peers", "jax",
                      "--rounds", "2", "--timeout", "0.2")
        self.assertEqual(got.code, 0, got.err)
        for who in ("tenon", "jax"):
            self.assertEqual(got.line("resnet20", who)[-1], "not finished after 0.2 s")

    def test_keeps_complete_results_after_every_process(self):
        got = compare({"tenon": ONE, "jax jit": ONE}, "--cases", "resnet20", "resnet18", "--peers", "jax", "--rounds",
                      "2")
        self.assertEqual(got.code, 0, got.err)
        self.assertEqual([pathlib.Path(name).suffix for name in got.files], [".json", ".md"])  # no part is left
        self.assertIn(got.text.strip(), got.out)
        for number, entry in enumerate(got.log):
            kept = {pathlib.Path(name).suffix: text for name, text in entry["stored"].items()}
            self.assertEqual(sorted(kept), [".json", ".md"])
            cases = json.loads(kept[".json"])["cases"]
            self.assertEqual(sum(map(len, cases.values())), number)
            self.assertIn("why not", kept[".md"])

    def test_keeps_the_results_before_those_that_it_cannot_write(self):
        got = compare({"tenon": ONE, "jax jit": ONE}, "--cases", "resnet20", "--peers", "jax", "--rounds", "20",
                      largest_file=3000)
        self.assertNotEqual(got.code, 0)
        self.assertEqual(len(got.rows["resnet20"]), len(got.log) - 1)
        self.assertIn("why not", got.text)

    def test_says_that_contestants_differ_in_parameters(self):
        got = compare({"tenon": ONE, "jax jit": [measured(4, 5, parameters=404)]}, "--cases", "resnet20", "--peers",
                      "jax", "--rounds", "1")
        self.assertIn("resnet20: the contestants do not agree on the number of parameters: [403, 404]", got.text)

    def test_computes_in_float32_unless_told_otherwise(self):
        got = compare({"tenon": ONE, "jax jit": ONE}, "--cases", "resnet20", "--peers", "jax", "--rounds", "1")
        self.assertEqual({entry["dtype_policy"] for entry in got.log}, {"float32"})
        self.assertIn("dtype_policy: float32;", got.text)
        self.assertIn("to the 200 GFLOP/s of these cores (given, float32)", got.text)
        self.assertEqual(got.summary("resnet20")[6], str(report.LIMITS["resnet20"][1]))
        self.assertNotIn("of its float32", got.text)

    def test_times_mixed_bfloat16_beside_tenon_in_float32(self):
        plan = {"tenon": [measured(6, 9)], "tenon float32": [measured(5, 8)], "jax jit": [measured(8, 9)],
                "torch eager": ONE}
        got = compare(plan, "--cases", "transformer_small", "--peers", "jax:jit", "--rounds", "1", "--dtype_policy",
                      "mixed_bfloat16")
        self.assertEqual(got.code, 0, got.err)
        self.assertEqual([(entry["who"], entry["dtype_policy"]) for entry in got.log],
                         [("tenon", "mixed_bfloat16"), ("tenon float32", "float32"), ("jax jit", "mixed_bfloat16")])
        self.assertIn("dtype_policy: mixed_bfloat16;", got.text)
        self.assertIn("(given, mixed_bfloat16)", got.text)
        # Its own time in float32 is no peer's: 6 / 8, and 6 / 5 in the last column.
        self.assertEqual(got.summary("transformer_small")[4], "0.75")
        self.assertEqual(got.summary("transformer_small")[-1], "1.20")
        self.assertEqual(got.line("transformer_small", "tenon", "float32")[3:5], ["1", "5"])

    def test_has_a_target_for_mixed_bfloat16_by_the_instructions_that_there_are(self):
        for there, expected in ((["avx2", "avx512f"], "1.05 of own"), (["avx512_bf16"], 0.7), (["amx_bf16"], 0.7)):
            results = {"dtype_policy": "mixed_bfloat16", "processes": 1, "machine": {"instructions": there}}
            self.assertEqual(report.target("resnet20", results), expected)

    def test_says_which_instructions_the_processor_has(self):
        got = compare({"tenon": ONE, "jax jit": ONE}, "--cases", "resnet20", "--peers", "jax", "--rounds", "1")
        said = got.text.split("instructions: ")[1].split(".")[0]
        flags = pathlib.Path("/proc/cpuinfo").read_text().split("flags", 1)[-1].split("\n")[0].split()
        there = [name for name in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if name in flags]
        self.assertEqual(said, " ".join(there) or "none of avx2 avx512f avx512_bf16 amx_bf16")

    def test_leaves_out_a_peer_that_has_no_bf16(self):
        got = compare({"tenon": ONE, "tenon float32": ONE}, "--cases", "resnet50_infer", "--peers", "onnxruntime",
                      "--rounds", "1", "--dtype_policy", "mixed_bfloat16")
        self.assertEqual([entry["who"] for entry in got.log], ["tenon", "tenon float32"], got.err)

    def test_says_whose_loss_is_no_number(self):
        plan = {"tenon": [measured(4, 5, loss=None)], "jax jit": [measured(4, 5), measured(4, 5, loss=float("nan"))]}
        got = compare(plan, "--cases", "resnet20", "--peers", "jax", "--rounds", "2")
        self.assertIn("resnet20: the loss of jax jit is no finite number", got.text)
        self.assertEqual(got.text.count("no finite number"), 1)

    def test_times_several_processes_beside_one_of_all_their_threads(self):
        plan = {"tenon": [measured(6, 9)], "tenon one_process": [measured(5, 8)], "torch_ddp eager": [measured(8, 9)]}
        got = compare(plan, "--cases", "resnet20", "--peers", "torch_ddp:eager", "--rounds", "1", "--threads", "1",
                      "--processes", "2")
        self.assertEqual(got.code, 0, got.err)
        self.assertEqual([(entry["who"], entry["processes"], entry["threads"]) for entry in got.log],
                         [("tenon", "2", "1"), ("tenon one_process", None, "2"), ("torch_ddp eager", "2", "1")])
        self.assertEqual({entry["cores"] for entry in got.log}, {min(2, len(os.sched_getaffinity(0)))})
        self.assertIn("threads: 1 in each of 2 processes", got.text)
        self.assertEqual([got.summary("resnet20")[i] for i in (4, 6, -1)], ["0.75", "0.6", "1.20"])

    def test_says_how_far_losses_of_the_policies_are_apart(self):
        plan = {"jax jit": [measured(1, 1, losses=[2.0, 1.0]), measured(1, 1, losses=[2.0, 1.02])],
                "jax rbg": ["ValueError: no bf16"]}
        got = compare(plan, "--cases", "transformer_small", "resnet50_infer", "--peers", "jax", "--losses", "2")
        self.assertEqual((got.code, got.files), (0, []), got.err)
        self.assertEqual([entry["dtype_policy"] for entry in got.log], ["float32", "mixed_bfloat16", "float32"])
        self.assertIn("| transformer_small | jax | jit | 2.0000, 2.0000 | 1.0000, 1.0200 | 1.00 | 2.00 |  |", got.out)
        self.assertIn("float32: exit code 1: ValueError: no bf16", got.out)

    def test_refuses_what_it_does_not_know_in_one_line(self):
        refused = {("--cases", "resnet21"): "resnet21", ("--peers", "torches"): "torches",
                   ("--rounds", "0"): "--rounds",
                   ("--cases", "resnet20", "--peers", "jax", "torch:scan"): "torch:scan",
                   ("--cases", "resnet20", "--peers", "jax:scan"): "jax:scan", ("--threads", "two"): "two",
                   ("--processes", "2", "--cases", "resnet50_infer"): "resnet50_infer",
                   ("--processes", "3", "--cases", "resnet20"): "3 processes",
                   ("--processes", "2", "--cases", "resnet20", "--peers", "jax"): "jax",
                   ("--cases", "resnet20", "--peers", "torch_ddp"): "torch_ddp",
                   ("--dtype_policy", "bf16"): "bf16",
                   ("--cases", "resnet50_infer", "--dtype_policy", "mixed_bfloat16", "--peers", "onnxruntime:graph"):
                       "onnxruntime:graph"}
        for flags, word in refused.items():
            got = compare({}, *flags)
            self.assertNotIn(got.code, (0, 1), flags)
            self.assertEqual((len(got.err.splitlines()), got.out, got.files, got.log), (1, "", [], []), got.err)
            self.assertIn(word, got.err)

    def test_has_a_limit_for_every_case_and_the_cases_of_tenon(self):
        self.assertEqual(set(report.LIMITS), set(models.CASES))
        listed = subprocess.run([TENON, "bench", "--help"], capture_output=True, text=True, check=True).stdout
        listed = listed.split("Cases:\n")[1].split("\nApplications")[0]
        self.assertEqual({line.split()[0] for line in listed.splitlines()}, set(models.CASES))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
