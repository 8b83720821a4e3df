#!/usr/bin/env python3
"""Runs Tenon and its peers in turn on the same cases and prints a table. Needs the standard library alone.

  compare.py --tenon build/release/bin/tenon --python build/peers/venv/bin/python --out build/peers/results \\
      --cases mlp_tiny mnist_cnn [--rounds 3] [--threads 2] [--seconds 3] [--peers torch jax:scan] \\
      [--dtype_policy mixed_bfloat16]
  compare.py --processes 2 --threads 1 --cases resnet20 transformer_small [--peers torch_ddp:eager]
  compare.py --losses 20 --cases resnet20 [--python ..] [--threads 1] [--peers torch]

Every round runs each contestant once, in a process of its own. Results are written after each process. In
mixed_bfloat16 Tenon in float32 is a contestant too. With --processes each contestant is so many processes that share
the batch, Tenon's started by mpirun; Tenon in one process, of all their threads, is a contestant too. With --losses
nothing is timed: the table has how far each peer's losses in mixed_bfloat16 are from its losses in float32, from the
same parameters on the same batch.
"""
import argparse
import datetime
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading

import report
from common import cores
from models import CASES, DTYPE_POLICIES, peers_of, variants

HERE = pathlib.Path(__file__).resolve().parent

# Allocations never go back to the system and lie in huge pages: without this the peers pay for fresh pages in every
# step. One arena, because only the first one can grow beyond 64 MB.
ENVIRONMENT = {
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.mmap_max=0:glibc.malloc.arena_max=1"
                      ":glibc.malloc.trim_threshold=1099511627776:glibc.malloc.top_pad=67108864",
    "THP_MEM_ALLOC_ENABLE": "1",
    "TF_CPP_MIN_LOG_LEVEL": "2",
    "CUDA_VISIBLE_DEVICES": "",
    "PYTHONDONTWRITEBYTECODE": "1",
}


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"{self.prog}: {message}\n")


def arguments():
    parser = Parser(description="Times Tenon beside its peers.")
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES, metavar="CASE")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3, help="of each process, after its first step")
    parser.add_argument("--processes", type=int, default=1, help="that share a batch, of so many threads each")
    parser.add_argument("--peers", nargs="+", help="peers, or PEER:VARIANT")
    parser.add_argument("--dtype_policy", default="float32", choices=DTYPE_POLICIES, help="what layers compute in")
    parser.add_argument("--tenon", default="build/release/bin/tenon")
    parser.add_argument("--python", default="build/peers/venv/bin/python")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/peers/results"))
    parser.add_argument("--timeout", type=float, default=1800, help="seconds after which a process has failed")
    parser.add_argument("--peak", type=float, help="GFLOP/s of these cores, rather than measured")
    parser.add_argument("--losses", type=int, default=0, help="compare the losses of so many calls of each peer")
    args = parser.parse_args()
    args.dtype_policy = "mixed_bfloat16" if args.losses else args.dtype_policy
    if args.rounds < 1 or args.threads < 1 or args.processes < 1 or args.losses < 0:
        parser.error("--rounds, --threads and --processes are at least 1, --losses 0")
    args.cases = list(dict.fromkeys(args.cases))
    for case in args.cases if args.processes > 1 else ():
        if not CASES[case].trains or CASES[case].batch % args.processes:
            parser.error(f"--processes: {case} is no training with a batch that {args.processes} processes can share")
    known_peers = peers_of(args.processes)
    args.peers = [p for word in args.peers or known_peers for p in word.split(",") if p]
    for wanted in args.peers:
        peer, _, variant = wanted.partition(":")
        if peer not in known_peers:
            parser.error(f"--peers: expected {' '.join(known_peers)}, found {wanted}")
        known = dict.fromkeys(v for case in args.cases for v in variants(peer, case, args.dtype_policy))
        if variant and variant not in known:
            parser.error(f"--peers: {peer} does these cases in {args.dtype_policy} as: "
                         f"{' '.join(known) or 'nothing'}; found {wanted}")
    return args


def mpirun(args):
    """What starts Tenon in several processes, and its environment."""
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
    return (["mpirun", "-q", "-n", str(args.processes), "--bind-to", "none"],
            {**as_root, "OMPI_MCA_rmaps_base_oversubscribe": "1"})


def run(command, environment, args):
    """Standard output, or None and why, and the largest memory in MB."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            process = subprocess.Popen(command, stdout=out, stderr=err, env={**os.environ, **environment},
                                       start_new_session=True,
                                       preexec_fn=lambda: os.sched_setaffinity(0, cores(args.threads * args.processes)))
        except OSError as e:
            return None, f"{command[0]}: {e.strerror}", 0
        timed_out = threading.Event()

        def stop():
            timed_out.set()
            os.killpg(process.pid, signal.SIGKILL)

        timer = threading.Timer(args.timeout, stop)
        timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        finally:
            timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        for f in (out, err):
            f.seek(0)
        text, complaints = (f.read().decode(errors="replace") for f in (out, err))
    if timed_out.is_set():
        return None, f"not finished after {args.timeout:g} s", 0
    if process.returncode != 0:
        return None, why(process.returncode, complaints), 0
    return text, "", usage.ru_maxrss / 1024


def why(code, complaints):
    if code < 0:
        return f"ended by {signal.Signals(-code).name}"
    lines = [line.strip() for line in complaints.splitlines() if line.strip()]
    named = [line for line in lines if "Error" in line or "error:" in line] or lines
    return f"exit code {code}: {named[-1][:160] if named else 'no words'}"


def run_peer(peer, variant, case, policy, args, *more):
    command = [args.python, str(HERE / f"{peer}_peer.py"), case, variant, "--threads", str(args.threads),
               "--dtype_policy", policy, *more]
    command += ["--processes", str(args.processes)] if args.processes > 1 else []
    inductor = (args.out.parent / "inductor").resolve()
    return run(command, {**ENVIRONMENT, "TORCHINDUCTOR_CACHE_DIR": str(inductor)}, args)


def run_tenon(variant, case, args):
    alone = args.processes == 1 or variant == report.ONE_PROCESS
    starter, environment = ([], {}) if alone else mpirun(args)
    threads = args.threads * (args.processes if alone else 1)
    policy = "float32" if variant == report.FLOAT32 else args.dtype_policy
    return run([*starter, args.tenon, "bench", "step", case, "--device", "cpu", "--rounds", "1000", "--max_seconds",
                str(args.seconds), "--threads", str(threads), "--dtype_policy", policy, "--json"], environment, args)


def time_once(peer, variant, case, args):
    """One contestant: what it measured, or {"error": why}."""
    if peer == "tenon":
        text, error, memory = run_tenon(variant, case, args)
    else:
        text, error, memory = run_peer(peer, variant, case, args.dtype_policy, args, "--seconds", str(args.seconds))
    if text is None:
        return {"error": error}
    try:
        result = json.loads(text.strip().splitlines()[-1])
        kept = {key: result[key] for key in ("min_ms", "median_ms", "first_step_s", "parameters")}
    except (ValueError, IndexError, KeyError, TypeError):
        return {"error": "printed no result"}
    return {**kept, "version": result.get("version", ""), "loss": result.get("loss"), "peak_rss_mb": memory}


def contestants(case, args):
    """Tenon and the variants that were asked for, each a pair."""
    out = [("tenon", "")] + [("tenon", variant) for variant in report.own_variants(args.dtype_policy, args.processes)]
    for wanted in args.peers:
        peer, _, variant = wanted.partition(":")
        out += [(peer, v) for v in variants(peer, case, args.dtype_policy) if variant in ("", v)]
    return list(dict.fromkeys(out))


def peak_of(args):
    """GFLOP/s and by what; (None, "") where there is no compiler."""
    if args.peak:
        return args.peak, "given"
    program = args.out / "fma_peak"
    try:
        subprocess.run(["cc", "-O3", "-march=native", "-pthread", str(HERE / "fma_peak.c"), "-o", str(program)],
                       check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None, ""
    text, _, _ = run([str(program.resolve()), str(args.threads * args.processes), args.dtype_policy], {}, args)
    peak, by = text.split() if text else ("nan", "")
    return (float(peak), by) if by else (None, "")


def measure_case(case, results, args, write):
    rows = results["cases"].setdefault(case, [])
    dropped = set()
    for number in range(args.rounds):
        for peer, variant in contestants(case, args):
            if (peer, variant) in dropped:
                continue
            print(f"{case}: round {number + 1} of {args.rounds}, {peer} {variant}".rstrip(), file=sys.stderr)
            once = time_once(peer, variant, case, args)
            if "error" in once:
                dropped.add((peer, variant))
                print(f"{case}: {peer} {variant}: {once['error']}", file=sys.stderr)
            rows.append({"peer": peer, "variant": variant, "round": number + 1, **once})
            write()


def losses_row(case, peer, variant, args):
    """Cells of the table of losses: what the policies make of the first and the last call, and how far they are apart."""
    found = []
    for policy in DTYPE_POLICIES:
        text, error, _ = run_peer(peer, variant, case, policy, args, "--losses", str(args.losses))
        try:
            found.append(json.loads(text.strip().splitlines()[-1])["losses"])
        except (AttributeError, ValueError, IndexError, KeyError, TypeError):
            return [case, peer, variant, *"----", f"{policy}: {error or 'printed no losses'}".replace("|", "/")]
    one, other = found
    apart = [100 * abs(a - b) / abs(a) for a, b in zip(one, other)]
    return [case, peer, variant, f"{one[0]:.4f}, {other[0]:.4f}", f"{one[-1]:.4f}, {other[-1]:.4f}",
            f"{sum(apart) / len(apart):.2f}", f"{max(apart):.2f}", ""]


def print_losses(args):
    head = ["case", "peer", "variant", f"first of {args.losses}: {', '.join(DTYPE_POLICIES)}", "last", "mean % apart",
            "largest", "why not"]
    print(report.table(head, [losses_row(case, peer, variant, args) for case in args.cases if CASES[case].trains
                              for peer, variant in contestants(case, args) if peer != "tenon"]))
    return 0


def main():
    args = arguments()
    if args.losses:
        return print_losses(args)
    args.out.mkdir(parents=True, exist_ok=True)
    date = datetime.datetime.now().astimezone()
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"compare: other programs are running (load {load:.1f}); the figures will mean little", file=sys.stderr)
    peak, peak_by = peak_of(args)
    results = {"date": date.isoformat(timespec="seconds"), "machine": report.machine(), "threads": args.threads,
               "processes": args.processes, "dtype_policy": args.dtype_policy, "rounds": args.rounds, "seconds": args.seconds, "load_before": load,
               "peak_gflops": peak, "peak_by": peak_by, "tenon_commit": report.commit(HERE), "cases": {}}
    stem = args.out / date.strftime("%Y%m%d-%H%M%S")

    def write():
        for suffix, text in ((".json", json.dumps(results, indent=1)), (".md", report.text(results))):
            part = stem.with_suffix(suffix + ".part")
            part.write_text(text + "\n")
            part.replace(stem.with_suffix(suffix))

    write()
    try:
        for case in args.cases:
            measure_case(case, results, args, write)
    except KeyboardInterrupt:
        print("compare: interrupted; what was measured is kept", file=sys.stderr)
    print(report.text(results))
    print(f"stored in {stem}.md and {stem}.json", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
