"""PyTorch: eager, channels-last, compiled.  python torch_peer.py CASE VARIANT [--threads N] [--seconds X]
In mixed_bfloat16 training is by autocast, its loss, as on GPUs, in f32; predictions have weights in bf16."""
import math

import common
import parameters as initial
from models import CASES

import torch
import torch.nn.functional as F


class TorchOps:
    """Reads its parameters in order. Images are [batch, channels, height, width]."""

    def __init__(self, parameters, training):
        self.parameters, self.training = iter(parameters), training

    @staticmethod
    def activated(x, relu, act):
        if relu:
            return F.relu(x, inplace=True)
        return {None: lambda: x, "relu6": lambda: F.relu6(x, inplace=True), "silu": lambda: F.silu(x),
                "gelu": lambda: F.gelu(x)}[act]()

    def conv(self, x, filters, kernel, stride=1, padding=None, bias=False, relu=False, act=None, depthwise=False):
        weight = next(self.parameters)
        offset = next(self.parameters) if bias else None
        x = F.conv2d(x, weight, offset, stride, kernel // 2 if padding is None else padding,
                     groups=filters if depthwise else 1)
        return self.activated(x, relu, act)

    def conv_norm(self, x, filters, kernel, stride=1, *, bias, epsilon, relu=False, residual=None, act=None,
                  depthwise=False):
        if self.training:
            x = self.conv(x, filters, kernel, stride, bias=bias, depthwise=depthwise)
            gamma, beta, mean, variance = (next(self.parameters) for _ in range(4))
            x = F.batch_norm(x, mean, variance, gamma, beta, True, 0.1, epsilon)
        else:
            x = self.conv(x, filters, kernel, stride, bias=True, depthwise=depthwise)  # folded
        if residual is not None:
            x += residual
        return self.activated(x, relu, act)

    def add(self, x, y):
        return x + y

    def drop_path(self, x, rate):
        if not rate or not self.training:
            return x
        return x * F.dropout(torch.ones(x.shape[0], 1, 1, 1), rate)

    def squeeze_excite(self, x, squeezed):
        y = self.linear(self.linear(self.global_pool(x), squeezed, act="silu"), x.shape[1])
        return x * torch.sigmoid(y)[:, :, None, None]

    def standardize(self, x):
        pixels = next(self.parameters)
        mean, variance = (p[:, None, None] for p in pixels[:6].split(3))
        return ((x + 1) * (127.5 / 255) - mean) / torch.sqrt(variance)

    def patches(self, x):
        return x.flatten(2).transpose(1, 2)

    def class_token_and_places(self, x):
        token, places = next(self.parameters), next(self.parameters)
        return torch.cat([token.expand(x.shape[0], -1, -1), x], 1) + places

    def first_token(self, x):
        return x[:, 0]

    def max_pool(self, x, size, padding=0):
        return F.max_pool2d(x, size, 2, padding)

    def global_pool(self, x):
        return x.mean((2, 3))

    def flatten(self, x):
        return x.flatten(1)

    def linear(self, x, units, bias=True, relu=False, act=None):
        x = F.linear(x, next(self.parameters), next(self.parameters) if bias else None)
        return F.relu(x) if relu else self.activated(x, False, act)

    dense = linear

    def dropout(self, x, rate):
        return F.dropout(x, rate, self.training) if rate else x

    def layer_norm(self, x):
        return F.layer_norm(x, x.shape[-1:], next(self.parameters), next(self.parameters), 1e-6)

    def embedding(self, vocabulary, width):
        return next(self.parameters)

    def embed(self, table, ids):
        return F.embedding(ids, table) * math.sqrt(table.shape[1]) + self.positions

    def attention(self, q, k, v, heads, causal, rate):
        q, k, v = (t.unflatten(-1, (heads, -1)).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=rate, is_causal=causal)
        return y.transpose(1, 2).flatten(2)

    def logits(self, x, table):
        return F.linear(x.flatten(0, 1), table)


def to_torch(parameter, layout):
    value = torch.from_numpy(parameter.value)
    if parameter.kind == "kernel":
        value = value.permute(3, 2, 0, 1)
    elif parameter.kind == "matrix":
        if parameter.image:  # flattened here as channels, height, width
            value = value.unflatten(0, parameter.image).permute(2, 0, 1, 3).flatten(0, 2)
        value = value.t()
    value = value.contiguous(memory_format=layout if value.ndim == 4 else torch.contiguous_format)
    return value.requires_grad_(parameter.trains)


def values_of(name, layout):
    """Parameters as they begin; of predictions, with the norms folded in."""
    made = initial.parameters_of(name)
    values = [to_torch(p, layout) for p in (made if CASES[name].trains else initial.fold(made))]
    if CASES[name].is_text:
        TorchOps.positions = torch.from_numpy(initial.positions(CASES[name].shape[0], values[0].shape[1]))
    return values


def features_of(name, layout):
    features, labels = initial.batch_of(name)
    features = [torch.from_numpy(x) for x in features]
    if CASES[name].is_image:
        features = [x.permute(0, 3, 1, 2).contiguous(memory_format=layout) for x in features]
    if CASES[name].is_text:
        features = [x.long() for x in features]
    return features, torch.from_numpy(labels).long()


def optimizer_of(case, weights):
    if case.optimizer == "adam":
        return torch.optim.Adam(weights, case.rate, eps=1e-7, fused=True)
    return torch.optim.SGD(weights, case.rate, momentum=0.9 if case.optimizer == "momentum" else 0, fused=True)


def build(name, variant, threads, mixed):
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    torch.manual_seed(0)
    case = CASES[name]
    layout = torch.channels_last if "channels_last" in variant else torch.contiguous_format
    made = initial.parameters_of(name)
    values = values_of(name, layout)
    features, labels = features_of(name, layout)
    compiled = compiler(case, mixed) if "compile" in variant else lambda f: f
    if case.trains:
        def loss_of(labels, *features):
            with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
                logits = case.model(TorchOps(values, True), *features)
            return F.cross_entropy(logits.float(), labels)
        call, read = trainer(case, compiled(loss_of), [v for v in values if v.requires_grad], features, labels)
    else:
        call, read = predictor(compiled(Predictor(case, values, torch.bfloat16 if mixed else torch.float32)), features)
    count = sum(p.value.size for p in made)
    if case.trains:
        assert count == sum(v.numel() for v in values)
    return common.Program(call, read, 1, count, sum(p.value.size for p in made if p.trains))


def compiler(case, mixed):
    import torch._inductor.config as config
    config.freezing = not case.trains  # weights are packed once
    config.fallback_random = mixed  # with its own random numbers, dropout of attention in bf16 gives NaN in 2.15.0
    return torch.compile


def trainer(case, loss_of, weights, features, labels):
    optimizer = optimizer_of(case, weights)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(labels, *features)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, float


class Predictor(torch.nn.Module):
    """A module, because the compiler packs the weights of modules alone, once."""

    def __init__(self, case, values, dtype):
        super().__init__()
        self.case, self.dtype = case, dtype
        self.values = torch.nn.ParameterList([torch.nn.Parameter(v.to(dtype), requires_grad=False) for v in values])

    def forward(self, *features):
        features = [x.to(self.dtype) for x in features]
        return self.case.model(TorchOps(list(self.values), False), *features).float()


def predictor(forward, features):
    def predict():
        with torch.no_grad():
            return forward(*features)

    return predict, lambda logits: float(logits[0, 0])


if __name__ == "__main__":
    common.main("torch", build, lambda: torch.__version__)
