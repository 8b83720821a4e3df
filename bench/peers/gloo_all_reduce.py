"""The least time of gloo's sum of so many floats over processes of this machine: a peer of `tenon bench exchange`.
   python gloo_all_reduce.py [--processes N] [--megabytes X] [--rounds N]"""
import argparse
import json
import os
import sys
import time

import common
import torch_ddp_peer


def least_ms(count, rounds):
    import torch.distributed as distributed
    numbers = torch_ddp_peer.torch.ones(count)
    times = []
    for _ in range(rounds):
        distributed.barrier()
        begun = time.perf_counter()
        distributed.all_reduce(numbers)
        times.append((time.perf_counter() - begun) * 1e3)
    return min(times)


def main():
    parser = argparse.ArgumentParser(description="Times gloo's all-reduce.")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--megabytes", type=float, default=102, help="of floats")
    parser.add_argument("--rounds", type=int, default=12)
    args = parser.parse_args()
    count = int(args.megabytes * 1e6 / 4)
    if args.processes < 2 or args.rounds < 1 or count < 1:
        parser.error("expected 2 processes at least, a round, and 4 bytes")
    port = torch_ddp_peer.free_port()
    rank = common.fork(args.processes)
    torch_ddp_peer.import_torch()
    torch_ddp_peer.torch.set_num_threads(1)
    torch_ddp_peer.meet(args.processes, rank, port)
    least = least_ms(count, args.rounds)
    if rank == 0:
        print(json.dumps({"peer": "gloo", "version": torch_ddp_peer.torch.__version__, "megabytes": args.megabytes,
                          "processes": args.processes, "min_ms": least}))
        sys.stdout.flush()
    os._exit(0)  # as the other peers


if __name__ == "__main__":
    main()
