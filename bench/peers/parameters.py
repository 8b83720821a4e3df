"""Initial values of a case's parameters, made by running its model over shapes."""
import math
from typing import NamedTuple

import numpy as np

from models import CASES


class Parameter(NamedTuple):
    # "kernel" [h, w, in, out], of a depthwise one [h, w, 1, out], "matrix" [in, out], "bias", "gamma", "beta", "mean",
    # "variance", "table", "token" and "places" [1, n, width], "pixels": means, variances and a count
    kind: str
    value: np.ndarray
    epsilon: float = 0.0  # of a batch norm, with its variance
    image: tuple = ()  # [height, width, channels] whose flattening a matrix takes

    @property
    def trains(self):
        return self.kind not in ("mean", "variance", "pixels")


class Shape(tuple):
    """A tensor of which only the shape is known."""
    image = ()  # what it was before it was flattened

    @property
    def shape(self):
        return self

    def __add__(self, other):
        assert self == other
        return self


class ShapeOps:
    def __init__(self):
        self.parameters = []
        self.random = np.random.default_rng(1)

    def normal(self, kind, shape, deviation, image=()):
        value = self.random.standard_normal(shape, dtype=np.float32) * np.float32(deviation)
        self.parameters.append(Parameter(kind, value, image=image))

    def vector(self, kind, size, value=0.0, epsilon=0.0):
        self.parameters.append(Parameter(kind, np.full(size, value, np.float32), epsilon))

    def conv(self, x, filters, kernel, stride=1, padding=None, bias=False, relu=False, act=None, depthwise=False):
        padding = kernel // 2 if padding is None else padding
        channels = 1 if depthwise else x[3]
        self.normal("kernel", (kernel, kernel, channels, filters), math.sqrt(2 / (kernel * kernel * channels)))
        if bias:
            self.vector("bias", filters)
        height, width = ((n + 2 * padding - kernel) // stride + 1 for n in x[1:3])
        return Shape((x[0], height, width, filters))

    def conv_norm(self, x, filters, kernel, stride=1, *, bias, epsilon, relu=False, residual=None, act=None,
                  depthwise=False):
        y = self.conv(x, filters, kernel, stride, bias=bias, depthwise=depthwise)
        self.vector("gamma", filters, 1)
        self.vector("beta", filters)
        self.vector("mean", filters)
        self.vector("variance", filters, 1, epsilon)
        assert residual is None or residual == y
        return y

    def max_pool(self, x, size, padding=0):
        return Shape((x[0], *((n + 2 * padding - size) // 2 + 1 for n in x[1:3]), x[3]))

    def global_pool(self, x):
        return Shape((x[0], x[3]))

    def flatten(self, x):
        y = Shape((x[0], math.prod(x[1:])))
        y.image = tuple(x[1:])
        return y

    def linear(self, x, units, bias=True, relu=False, act=None):
        self.normal("matrix", (x[-1], units), math.sqrt((2 if relu or act else 1) / x[-1]), x.image)
        if bias:
            self.vector("bias", units)
        return Shape((*x[:-1], units))

    dense = linear

    def dropout(self, x, rate):
        return x

    def add(self, x, y):
        return x + y

    def drop_path(self, x, rate):
        return x

    def squeeze_excite(self, x, squeezed):
        self.linear(self.linear(Shape((x[0], x[3])), squeezed), x[3])
        return x

    def standardize(self, x):
        """Pixels from 0 to 1, less their means and over their deviations: as a layer begins that has seen none."""
        pixels = np.array([0] * x[3] + [1] * x[3] + [0], np.float32)
        self.parameters.append(Parameter("pixels", pixels))
        return x

    def patches(self, x):
        return Shape((x[0], x[1] * x[2], x[3]))

    def class_token_and_places(self, x):
        y = Shape((x[0], x[1] + 1, x[2]))
        self.normal("token", (1, 1, x[2]), 0.02)
        self.normal("places", (1, *y[1:]), 0.02)
        return y

    def first_token(self, x):
        return Shape((x[0], x[2]))

    def layer_norm(self, x):
        self.vector("gamma", x[-1], 1)
        self.vector("beta", x[-1])
        return x

    def embedding(self, vocabulary, width):
        self.normal("table", (vocabulary, width), width**-0.5)
        return Shape((vocabulary, width))

    def embed(self, table, ids):
        return Shape((*ids, table[1]))

    def attention(self, q, k, v, heads, causal, rate):
        assert q[2] % heads == 0 and k == v
        return q

    def logits(self, x, table):
        return Shape((x[0] * x[1], table[0]))


def parameters_of(name):
    case, ops = CASES[name], ShapeOps()
    example = Shape((case.batch, *case.shape))
    out = case.model(ops, *([example] * (2 if case.is_text else 1)))
    assert out[-1] == case.classes
    return ops.parameters


def fold(parameters):
    """The same predictions without batch norms: each goes into the kernel and the bias before it."""
    out = []
    of_norms = {at - i for at, p in enumerate(parameters) if p.kind == "variance" for i in range(4)}
    for at, p in enumerate(parameters):
        if at not in of_norms:
            out.append(p)
        if p.kind != "variance":
            continue
        gamma, beta, mean = (q.value for q in parameters[at - 3:at])
        scale = gamma / np.sqrt(p.value + np.float32(p.epsilon))
        bias = out.pop().value if out[-1].kind == "bias" else np.zeros_like(beta)
        out.append(Parameter("kernel", out.pop().value * scale))
        out.append(Parameter("bias", (bias - mean) * scale + beta))
    return out


def batch_of(name):
    """Inputs and labels: images [batch, height, width, channels], or the tokens of source and target."""
    case, random = CASES[name], np.random.default_rng(2)
    if case.is_text:
        source, target, labels = random.integers(0, case.classes, (3, case.batch, *case.shape), np.int32)
        return (source, target), labels.reshape(-1)
    x = random.uniform(-1, 1, (case.batch, *case.shape)).astype(np.float32)
    return (x,), random.integers(0, case.classes, case.batch, np.int32)


def positions(length, width):
    """Sines, then cosines, with wavelengths in geometric progression from 2 pi to 20,000 pi."""
    scales = np.exp(-math.log(1e4) * np.arange(width // 2) / max(width // 2 - 1, 1))
    angles = np.arange(length)[:, None] * scales
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)
