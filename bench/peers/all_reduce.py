#!/usr/bin/env python3
"""Times the sum of an array over the processes of this machine in turn: Tenon's, MPI's own and gloo's. Prints a table.
Needs mpicc, and the standard library alone; gloo needs the peers' Python and is a row that says why without it.

  all_reduce.py [--tenon build/release/bin/tenon] [--python build/peers/venv/bin/python] [--out build/peers/results] \\
      [--processes 2] [--megabytes 102] [--rounds 3]
"""
import json
import pathlib
import subprocess
import sys

import compare
import report


def arguments():
    parser = compare.Parser(description="Times sums over processes beside those of others.")
    parser.add_argument("--tenon", default="build/release/bin/tenon")
    parser.add_argument("--python", default="build/peers/venv/bin/python")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/peers/results"),
                        help="where MPI's contestant is built")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--megabytes", type=float, default=102, help="of floats")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=300, help="seconds after which a contestant has failed")
    args = parser.parse_args()
    if args.processes < 2 or args.rounds < 1 or not 0.000004 <= args.megabytes <= 4000:
        parser.error("expected --processes of 2 at least, --rounds of 1, --megabytes from 0.000004 to 4000")
    args.threads = 1
    return args


def build_mpi(args):
    """The program that calls MPI_Allreduce; or why there is none."""
    args.out.mkdir(parents=True, exist_ok=True)
    program = args.out / "mpi_allreduce"
    try:
        subprocess.run(["mpicc", "-O2", str(compare.HERE / "mpi_allreduce.c"), "-o", str(program)], check=True,
                       capture_output=True, text=True)
    except OSError as e:
        return None, f"mpicc: {e.strerror}"
    except subprocess.CalledProcessError as e:
        return None, compare.why(e.returncode, e.stderr)
    return str(program.resolve()), ""


def contestants(args):
    """Of each its name, its command and environment, and why it cannot run."""
    starter, environment = compare.mpirun(args)
    megabytes = ["--megabytes", str(args.megabytes)]
    program, why_not = build_mpi(args)
    return [("tenon", [*starter, args.tenon, "bench", "exchange", *megabytes, "--json"], environment, ""),
            ("MPI_Allreduce", [*starter, program, str(args.megabytes)], environment, why_not),
            ("gloo", [args.python, str(compare.HERE / "gloo_all_reduce.py"), "--processes", str(args.processes),
                      *megabytes], compare.ENVIRONMENT, "")]


def time_once(command, environment, args):
    text, error, _ = compare.run(command, environment, args)
    if text is None:
        return None, error
    try:
        return float(json.loads(text.strip().splitlines()[-1])["min_ms"]), ""
    except (ValueError, IndexError, KeyError, TypeError):
        return None, "printed no result"


def main():
    args = arguments()
    rivals = contestants(args)
    times = {name: [] for name, *_ in rivals}
    errors = {name: why_not for name, _, _, why_not in rivals}
    for _ in range(args.rounds):
        for name, command, environment, _ in rivals:
            if errors[name]:
                continue
            ms, errors[name] = time_once(command, environment, args)
            times[name] += [ms] * (ms is not None)
    own = min(times["tenon"], default=None)
    rows = []
    for name, found in times.items():
        ratio = f"{own / min(found):.2f}" if own and found else "-"
        rows.append([name, ", ".join(report.number(ms) for ms in found) or "-", ratio, errors[name].replace("|", "/")])
    print(f"sum of {args.megabytes:g} MB of floats over {args.processes} processes\n")
    print(report.table(["who", "ms, least of each round", "Tenon's by it", "why not"], rows))
    return 1 if errors["tenon"] else 0


if __name__ == "__main__":
    sys.exit(main())
