"""JAX: jit, scan.  python jax_peer.py CASE VARIANT [--threads N] [--seconds X]
In mixed_bfloat16 layers cast their parameters to bf16 and compute in it; norms and softmax go by f32."""
import math

import common
import parameters as initial
from models import CASES


def import_jax():
    """After the cores are chosen: the pool of threads is as large as the cores that are allowed."""
    import jax
    import jax.numpy as jnp
    globals().update(jax=jax, jnp=jnp, lax=jax.lax)


class JaxOps:
    """Reads its parameters in order. Images are [batch, height, width, channels]."""
    dtype = None  # of what layers compute in

    def __init__(self, weights, moving, training, key, reshape_pool):
        self.weights, self.moving, self.training = iter(weights), iter(moving), training
        self.key, self.reshape_pool = key, reshape_pool
        self.moved, self.dropouts = [], 0  # new moving statistics; draws so far

    def weight(self):
        return next(self.weights).astype(self.dtype)

    @staticmethod
    def activated(x, relu, act):
        if relu:
            return jax.nn.relu(x)
        if act == "gelu":
            return jax.nn.gelu(x, approximate=False)
        return {"relu6": jax.nn.relu6, "silu": jax.nn.silu}[act](x) if act else x

    def conv(self, x, filters, kernel, stride=1, padding=None, bias=False, relu=False, act=None, depthwise=False):
        if padding is None and stride > 1 and kernel > 3 and not depthwise:
            padding = kernel // 2
        how = "SAME" if padding is None else [(padding, padding)] * 2
        x = lax.conv_general_dilated(x.astype(self.dtype), self.weight(), (stride, stride), how,
                                     dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                     feature_group_count=filters if depthwise else 1)
        if bias:
            x = x + self.weight()
        return self.activated(x, relu, act)

    def conv_norm(self, x, filters, kernel, stride=1, *, bias, epsilon, relu=False, residual=None, act=None,
                  depthwise=False):
        if self.training:
            x = self.norm(self.conv(x, filters, kernel, stride, bias=bias, depthwise=depthwise), epsilon)
        else:
            x = self.conv(x, filters, kernel, stride, bias=True, depthwise=depthwise)  # folded
        if residual is not None:
            x = x + residual
        return self.activated(x, relu, act)

    def add(self, x, y):
        return x + y

    def drop_path(self, x, rate):
        return x * self.dropout(jnp.ones((x.shape[0], 1, 1, 1), x.dtype), rate)

    def squeeze_excite(self, x, squeezed):
        y = self.linear(self.linear(self.global_pool(x), squeezed, act="silu"), x.shape[3])
        return x * jax.nn.sigmoid(y)[:, None, None, :]

    def standardize(self, x):
        if self.training:
            pixels = next(self.moving)
            self.moved.append(pixels)
        else:
            pixels = next(self.weights)
        return ((x + 1) * (127.5 / 255) - pixels[:3]) / jnp.sqrt(pixels[3:6])

    def patches(self, x):
        return x.reshape(x.shape[0], -1, x.shape[3])

    def class_token_and_places(self, x):
        token, places = self.weight(), self.weight()
        return jnp.concatenate([jnp.repeat(token, x.shape[0], 0), x], 1) + places

    def first_token(self, x):
        return x[:, 0]

    def norm(self, x, epsilon):
        gamma, beta = next(self.weights), next(self.weights)
        x = x.astype(jnp.float32)
        mean = x.mean((0, 1, 2))
        variance = jnp.maximum((x * x).mean((0, 1, 2)) - mean * mean, 0)
        for now in (mean, variance):
            self.moved.append(0.9 * next(self.moving) + 0.1 * lax.stop_gradient(now))
        return ((x - mean) * (gamma * lax.rsqrt(variance + epsilon)) + beta).astype(self.dtype)

    def max_pool(self, x, size, padding=0):
        if self.reshape_pool:  # 2x2; what does not fill a window is dropped
            batch, height, width, channels = x.shape
            x = x[:, :height // 2 * 2, :width // 2 * 2]
            return x.reshape(batch, height // 2, 2, width // 2, 2, channels).max((2, 4))
        around = [(0, 0), (padding, padding), (padding, padding), (0, 0)]
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, size, size, 1), (1, 2, 2, 1), around)

    def global_pool(self, x):
        return x.mean((1, 2))

    def flatten(self, x):
        return x.reshape(x.shape[0], -1)

    def linear(self, x, units, bias=True, relu=False, act=None):
        x = x.astype(self.dtype) @ self.weight()
        if bias:
            x = x + self.weight()
        return self.activated(x, relu, act)

    dense = linear

    def dropout(self, x, rate):
        if not rate or not self.training:
            return x
        self.dropouts += 1
        keep = jax.random.bernoulli(jax.random.fold_in(self.key, self.dropouts), 1 - rate, x.shape)
        return jnp.where(keep, x / (1 - rate), 0)

    def layer_norm(self, x):
        x = x.astype(jnp.float32)
        mean = x.mean(-1, keepdims=True)
        centred = x - mean
        y = centred * lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-6)
        return (y * next(self.weights) + next(self.weights)).astype(self.dtype)

    def embedding(self, vocabulary, width):
        return next(self.weights)

    def embed(self, table, ids):
        positions = jnp.asarray(initial.positions(ids.shape[1], table.shape[1]), self.dtype)
        return table[ids].astype(self.dtype) * math.sqrt(table.shape[1]) + positions

    def attention(self, q, k, v, heads, causal, rate):
        batch, length, width = q.shape
        q, k, v = (t.reshape(batch, length, heads, -1) for t in (q, k, v))
        weights = jnp.einsum("bqhd,bkhd->bhqk", q * (width // heads)**-0.5, k).astype(jnp.float32)
        if causal:
            weights = jnp.where(jnp.tril(jnp.ones((length, length), bool)), weights, -1e9)
        weights = self.dropout(jax.nn.softmax(weights).astype(self.dtype), rate)
        return jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(batch, length, width)

    def logits(self, x, table):
        return x.reshape(-1, x.shape[-1]) @ table.T.astype(self.dtype)


def update(case, weights, slots, gradients, step):
    """New weights and slots: none for SGD, velocities for momentum, both moments for Adam."""
    rate = case.rate
    if case.optimizer == "sgd":
        return [w - rate * g for w, g in zip(weights, gradients)], slots
    if case.optimizer == "momentum":
        velocities = [0.9 * v + g for v, g in zip(slots[0], gradients)]
        return [w - rate * v for w, v in zip(weights, velocities)], (velocities,)
    first = [0.9 * m + 0.1 * g for m, g in zip(slots[0], gradients)]
    second = [0.999 * v + 0.001 * g * g for v, g in zip(slots[1], gradients)]
    n = (step + 1).astype(jnp.float32)
    rate = rate * jnp.sqrt(1 - 0.999**n) / (1 - 0.9**n)
    return [w - rate * m / (jnp.sqrt(v) + 1e-7) for w, m, v in zip(weights, first, second)], (first, second)


def mean_loss(logits, labels):
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits.astype(jnp.float32)), labels[:, None], 1)
    return -picked.mean()


def training_step(case, reshape_pool):
    def loss_of(weights, moving, key, features, labels):
        ops = JaxOps(weights, moving, True, key, reshape_pool)
        return mean_loss(case.model(ops, *features), labels), ops.moved

    def step(state, features, labels):
        weights, moving, slots, key, count = state
        now = jax.random.fold_in(key, count) if case.dropout else key
        (loss, moving), gradients = jax.value_and_grad(loss_of, has_aux=True)(weights, moving, now, features, labels)
        weights, slots = update(case, weights, slots, gradients, count)
        return (weights, moving, slots, key, count + 1), loss

    return step


def trainer(case, variant, made, features, labels):
    step = training_step(case, "reshape" in variant)
    loop = case.loop if variant == "scan" else 1

    def scan(state, features, labels):
        state, losses = lax.scan(lambda s, _: step(s, features, labels), state, None, loop)
        return state, losses[-1]

    function = jax.jit(scan if loop > 1 else step, donate_argnums=0)
    weights = [jnp.array(p.value) for p in made if p.trains]
    moving = [jnp.array(p.value) for p in made if not p.trains]
    slots = tuple([jnp.zeros_like(w) for w in weights] for _ in range({"sgd": 0, "momentum": 1}.get(case.optimizer, 2)))
    key = jax.random.key(0, impl="rbg" if "rbg" in variant else "threefry2x32")
    state = [(weights, moving, slots, key, jnp.array(0))]

    def call():
        state[0], loss = function(state[0], features, labels)
        return loss

    return call, loop, sum(w.size for w in weights + moving)


def predictor(case, made, features):
    weights = [jnp.array(p.value, JaxOps.dtype) for p in initial.fold(made)]
    function = jax.jit(lambda weights, *features: case.model(JaxOps(weights, [], False, None, False), *features))
    return lambda: function(weights, *features)


def build(name, variant, threads, mixed):
    import_jax()
    JaxOps.dtype = jnp.bfloat16 if mixed else jnp.float32
    case = CASES[name]
    made = initial.parameters_of(name)
    features, labels = initial.batch_of(name)
    features, labels = tuple(jnp.array(x) for x in features), jnp.array(labels)
    count, trainable = sum(p.value.size for p in made), sum(p.value.size for p in made if p.trains)
    if not case.trains:
        return common.Program(predictor(case, made, features), lambda y: float(y[0, 0]), 1, count, trainable)
    call, loop, held = trainer(case, variant, made, features, labels)
    assert held == count
    return common.Program(call, float, loop, count, trainable)


if __name__ == "__main__":
    common.main("jax", build, lambda: jax.__version__)
