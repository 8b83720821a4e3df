"""What the peers' scripts share: arguments, which cores, time and memory, the line that they print."""
import argparse
import json
import os
import resource
import statistics
import sys
import time

from models import CASES, DTYPE_POLICIES, variants


def cores(threads):
    """`threads` of the cores that this process may use, at first one a physical core."""
    allowed = sorted(os.sched_getaffinity(0))
    seen, first, second = set(), [], []
    for cpu in allowed:
        try:
            with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") as f:
                core = f.read()
        except OSError:
            core = cpu
        (second if core in seen else first).append(cpu)
        seen.add(core)
    return set((first + second)[:threads])


def seconds_since_process_start():
    """Since the kernel made this process: what a user waits."""
    with open("/proc/self/stat") as f:
        ticks = float(f.read().rsplit(")", 1)[1].split()[19])  # the 22nd field, the second ends with ")"
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


class Program:
    """A case, ready to run. `call()` starts `steps` steps and returns what `read` makes a number of. Of a number that
    hangs on the clock, `agree` makes that of the first process for all."""

    def __init__(self, call, read, steps, parameters, trainable, agree=lambda x: x):
        self.call, self.read, self.steps, self.agree = call, read, steps, agree
        self.parameters, self.trainable = int(parameters), int(trainable)

    def run(self, calls):
        for _ in range(calls):
            out = self.call()
        return self.read(out)


def measure(program, seconds):
    """Milliseconds a step of each round; a round is about a quarter of a second, read once at its end."""
    first_loss = program.run(1)
    first_step = seconds_since_process_start()
    calls = 1
    if seconds > 0:
        program.run(1)
        begun = time.perf_counter()
        program.run(1)
        calls = int(program.agree(min(max(0.25 / max(time.perf_counter() - begun, 1e-9), 1), 1e6)))
    times = []
    begun = time.perf_counter()
    while program.agree(len(times) < (3 if seconds > 0 else 1) or time.perf_counter() - begun < seconds):
        start = time.perf_counter()
        value = program.run(calls)
        times.append((time.perf_counter() - start) * 1e3 / (calls * program.steps))
    return {"min_ms": min(times), "median_ms": statistics.median(times), "rounds": len(times),
            "first_step_s": first_step, "first_loss": first_loss, "loss": value}


def fork(count):
    """Makes this process `count` of them and returns which of them it is: before the peer is imported, whose threads would
    not follow."""
    for rank in range(1, count):
        if os.fork() == 0:
            return rank
    return 0


def main(peer, build, version, several=False):
    """Runs `build(name, variant, threads, mixed)`, a Program, and prints one line of JSON: `mixed` is whether layers
    compute in bf16. Both are called after the environment is set, so that they may import the peer. Where there may be
    `several` processes, which share the batch, their number and which of them it is are two more arguments."""
    parser = argparse.ArgumentParser(description=f"Times a case with {peer}.")
    parser.add_argument("case", choices=CASES)
    parser.add_argument("variant", help="one of those in models.py, variants()")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3, help="no round starts after this; 0: one step more")
    parser.add_argument("--dtype_policy", default="float32", choices=DTYPE_POLICIES, help="what layers compute in")
    parser.add_argument("--losses", type=int, default=0, help="print the losses of so many calls rather than times")
    if several:
        parser.add_argument("--processes", type=int, default=2, help="that share the batch, of so many threads each")
    args = parser.parse_args()
    processes = args.processes if several else 1
    known = variants(peer, args.case, args.dtype_policy)
    if args.variant not in known:
        parser.error(f"{peer} does {args.case} in {args.dtype_policy} as: {' '.join(known) or 'nothing'}; "
                     f"found {args.variant}")
    if not 1 <= processes <= CASES[args.case].batch or CASES[args.case].batch % processes:
        parser.error(f"{args.case} has a batch of {CASES[args.case].batch}, which {processes} processes cannot share")
    os.sched_setaffinity(0, cores(args.threads * processes))
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    rank = fork(processes)
    more = (processes, rank) if several else ()
    program = build(args.case, args.variant, args.threads, args.dtype_policy == "mixed_bfloat16", *more)
    found = {"losses": [program.run(1) for _ in range(args.losses)]} if args.losses else measure(program, args.seconds)
    result = {"peer": peer, "version": version(), "case": args.case, "variant": args.variant, "threads": args.threads,
              "dtype_policy": args.dtype_policy, "parameters": program.parameters, "trainable": program.trainable,
              **({"processes": processes} if several else {}), **found,
              "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
    if rank == 0:
        print(json.dumps(result))
        sys.stdout.flush()
    os._exit(0)  # nothing of the peer's tear-down is measured, nor may it fail
