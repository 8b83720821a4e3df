"""PyTorch's DistributedDataParallel over gloo: processes of this machine that share the batch of a case.
   python torch_ddp_peer.py CASE VARIANT [--processes N] [--threads N] [--seconds X]
Variants are those of torch_peer.py. Norms are of each process's part, as Tenon's are. The times are those of the first process."""
import functools
import os
import socket

import common
from models import CASES

torch = peer = None


def import_torch():
    """Once there are as many processes as there will be."""
    global torch, peer
    import torch
    import torch_peer as peer


def loss_module(case, values, mixed):
    class Loss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.names = [f"value_{i}" for i in range(len(values))]
            for name, value in zip(self.names, values):
                if value.requires_grad:
                    self.register_parameter(name, torch.nn.Parameter(value.detach()))
                else:
                    self.register_buffer(name, value)

        def forward(self, labels, *features):
            with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
                logits = case.model(peer.TorchOps([getattr(self, name) for name in self.names], True), *features)
            return torch.nn.functional.cross_entropy(logits.float(), labels)

    return Loss()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def meet(processes, rank, port):
    """On the loopback device: gloo has no way through memory."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank,
                                         world_size=processes)


def agreed(number):
    told = torch.tensor([float(number)], dtype=torch.float64)
    torch.distributed.broadcast(told, 0)
    return told.item()


def part_of(x, processes, rank):
    """Of a batch, or of the labels of its tokens, one example's after the other's."""
    return x[rank * len(x) // processes:(rank + 1) * len(x) // processes]


def build(name, variant, threads, mixed, processes, rank, port):
    import_torch()
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    torch.manual_seed(rank)  # masks of dropout
    meet(processes, rank, port)
    case = CASES[name]
    layout = torch.channels_last if "channels_last" in variant else torch.contiguous_format
    module = loss_module(case, peer.values_of(name, layout), mixed)
    count = sum(v.numel() for v in [*module.parameters(), *module.buffers()])
    trainable = sum(v.numel() for v in module.parameters())
    features, labels = peer.features_of(name, layout)
    features, labels = [part_of(x, processes, rank) for x in features], part_of(labels, processes, rank)
    shared = torch.nn.parallel.DistributedDataParallel(module, forward_sync_buffers=False, gradient_as_bucket_view=True)
    loss_of = peer.compiler(case, mixed)(shared) if "compile" in variant else shared
    call, read = peer.trainer(case, loss_of, list(module.parameters()), features, labels)
    return common.Program(call, read, 1, count, trainable, agreed)


if __name__ == "__main__":
    common.main("torch_ddp", functools.partial(build, port=free_port()), lambda: torch.__version__, several=True)
