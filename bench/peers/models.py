"""The cases of the benchmark, once for all peers.

A model is a function of `ops` and of its inputs. Every peer brings its own `ops`, in the form that it is fastest in,
so all of them compute the same. The order in which a model asks for parameters is their only name: `parameters_of`
makes the initial values with a pass over shapes alone, and the peers' `ops` read them in that order.
"""
from functools import partial
from typing import Callable, NamedTuple


def mlp(ops, x, *, hidden, classes):
    for units in hidden:
        x = ops.dense(x, units, relu=True)
    return ops.dense(x, classes)


def mnist_cnn(ops, x):
    x = ops.max_pool(ops.conv(x, 32, 3, padding=0, bias=True, relu=True), 2)
    x = ops.max_pool(ops.conv(x, 64, 3, padding=0, bias=True, relu=True), 2)
    return ops.dense(ops.dropout(ops.flatten(x), 0.5), 10)


def flowers180(ops, x):
    for filters in (16, 32, 64):
        x = ops.max_pool(ops.conv(x, filters, 3, bias=True, relu=True), 2)
    return ops.dense(ops.dense(ops.flatten(x), 128, relu=True), 5)


def flowers299(ops, x):
    for filters in (10, 20):
        x = ops.max_pool(ops.conv(x, filters, 5, bias=True, relu=True), 2)
    x = ops.dense(ops.flatten(x), 300, relu=True)
    return ops.dense(ops.dropout(x, 0.25), 5)


def basic_block(conv, x, filters, stride, resize):
    shortcut = conv(x, filters, 1, stride) if resize else x
    y = conv(x, filters, 3, stride, relu=True)
    return conv(y, filters, 3, relu=True, residual=shortcut)


def bottleneck_block(conv, x, filters, stride, resize):
    shortcut = conv(x, 4 * filters, 1, stride) if resize else x
    y = conv(x, filters, 1, stride, relu=True)
    y = conv(y, filters, 3, relu=True)
    return conv(y, 4 * filters, 1, relu=True, residual=shortcut)


def resnet(ops, x, *, small, bottleneck, blocks, classes, bias, epsilon):
    """Version 1. A small one has a 3x3 stem and starts with 16 channels rather than 64."""
    conv = partial(ops.conv_norm, bias=bias, epsilon=epsilon)
    filters = width = 16 if small else 64
    if small:
        x = conv(x, filters, 3, relu=True)
    else:
        x = ops.max_pool(conv(x, filters, 7, 2, relu=True), 3, padding=1)
    block = bottleneck_block if bottleneck else basic_block
    for stage, count in enumerate(blocks):
        for i in range(count):
            out = 4 * filters if bottleneck else filters
            stride = 2 if stage > 0 and i == 0 else 1
            x = block(conv, x, filters, stride, stride != 1 or out != width)
            width = out
        filters *= 2
    return ops.dense(ops.global_pool(x), classes)


# Expansion, filters, repeats, stride of the first.
MOBILENET_V2 = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
# And before them the size of the depthwise kernel.
EFFICIENTNET_B0 = ((3, 1, 16, 1, 1), (3, 6, 24, 2, 2), (5, 6, 40, 2, 2), (3, 6, 80, 3, 2), (5, 6, 112, 3, 1),
                   (5, 6, 192, 4, 2), (3, 6, 320, 1, 1))


def mobilenet_v2(ops, x, *, classes):
    conv = partial(ops.conv_norm, bias=False, epsilon=1e-3)
    x, width = conv(x, 32, 3, 2, act="relu6"), 32
    for expansion, filters, repeats, stride in MOBILENET_V2:
        for i in range(repeats):
            y = x if expansion == 1 else conv(x, expansion * width, 1, act="relu6")
            y = conv(y, expansion * width, 3, 1 if i else stride, act="relu6", depthwise=True)
            x = conv(y, filters, 1, residual=x if i else None)
            width = filters
    return ops.dense(ops.global_pool(conv(x, 1280, 1, act="relu6")), classes)


def efficientnet_b0(ops, x, *, classes):
    """A residual branch is dropped whole, of some examples: of the first block never, of later ones up to 0.2."""
    conv = partial(ops.conv_norm, bias=False, epsilon=1e-3)
    x, width = conv(ops.standardize(x), 32, 3, 2, act="silu"), 32
    block = 0
    for kernel, expansion, filters, repeats, stride in EFFICIENTNET_B0:
        for i in range(repeats):
            y = x if expansion == 1 else conv(x, expansion * width, 1, act="silu")
            y = conv(y, expansion * width, kernel, 1 if i else stride, act="silu", depthwise=True)
            y = conv(ops.squeeze_excite(y, max(1, width // 4)), filters, 1)
            x = ops.add(ops.drop_path(y, 0.2 * block / 16), x) if i else y
            width = filters
            block += 1
    x = ops.global_pool(conv(x, 1280, 1, act="silu"))
    return ops.dense(ops.dropout(x, 0.2), classes)


def vit_b_16(ops, x, *, classes, width=768, heads=12, layers=12, hidden=3072):
    x = ops.patches(ops.conv(x, width, 16, 16, padding=0, bias=True))
    x = ops.class_token_and_places(x)
    for _ in range(layers):
        y = ops.layer_norm(x)
        q, k, v = (ops.linear(y, width) for _ in range(3))
        x = ops.add(ops.linear(ops.attention(q, k, v, heads, False, 0), width), x)
        x = ops.add(ops.linear(ops.linear(ops.layer_norm(x), hidden, act="gelu"), width), x)
    return ops.dense(ops.first_token(ops.layer_norm(x)), classes)


def attend(ops, y, memory, *, heads, causal, rate):
    """The rate is that of the dropout of attention's weights."""
    width = y.shape[-1]
    q, k, v = (ops.linear(t, width) for t in (y, memory, memory))
    return ops.linear(ops.attention(q, k, v, heads, causal, rate), width)


def feed_forward(ops, y, *, hidden, rate):
    return ops.linear(ops.dropout(ops.linear(y, hidden, relu=True), rate), y.shape[-1])


def transformer(ops, source, target, *, width, layers, heads, hidden, vocabulary, rate):
    """Encoder and decoder, normalised before each layer and at the end. One matrix embeds the source and the target,
    times sqrt(width) and with sinusoidal positions added, and gives the logits."""
    table = ops.embedding(vocabulary, width)
    attention = partial(attend, ops, heads=heads, rate=rate)

    def layer(x, inner):
        return x + ops.dropout(inner(ops.layer_norm(x)), rate)

    def feed(y):
        return feed_forward(ops, y, hidden=hidden, rate=rate)

    x = ops.dropout(ops.embed(table, source), rate)
    for _ in range(layers):
        x = layer(x, lambda y: attention(y, y, causal=False))
        x = layer(x, feed)
    memory = ops.layer_norm(x)
    x = ops.dropout(ops.embed(table, target), rate)
    for _ in range(layers):
        x = layer(x, lambda y: attention(y, y, causal=True))
        x = layer(x, lambda y: attention(y, memory, causal=False))
        x = layer(x, feed)
    return ops.logits(ops.layer_norm(x), table)


class Case(NamedTuple):
    model: Callable
    batch: int
    shape: tuple  # of one example; of texts the number of tokens on each side
    classes: int  # of texts the size of the vocabulary
    optimizer: str  # "sgd", "momentum", "adam"; "" of predictions
    rate: float  # of learning
    loop: int = 1  # steps inside one call, where the peer has loops
    dropout: bool = False

    @property
    def trains(self):
        return bool(self.optimizer)

    @property
    def is_text(self):
        return len(self.shape) == 1 and self.model.func is transformer

    @property
    def is_image(self):
        return len(self.shape) == 3


def make_cases():
    def image(model, batch, shape, classes, optimizer, rate, **more):
        return Case(partial(model), batch, shape, classes, optimizer, rate, **more)

    def text(batch, width, layers, heads, hidden, vocabulary, rate):
        model = partial(transformer, width=width, layers=layers, heads=heads, hidden=hidden, vocabulary=vocabulary,
                        rate=rate)
        return Case(model, batch, (32,), vocabulary, "adam", 1e-4, dropout=rate > 0)

    def small_mlp(hidden, classes):
        return partial(mlp, hidden=hidden, classes=classes)

    def net(**how):
        return partial(resnet, **{"small": False, "bottleneck": False, "classes": 1000, "bias": False, **how})

    resnet18 = net(blocks=(2, 2, 2, 2), epsilon=1e-5)
    resnet50 = net(bottleneck=True, blocks=(3, 4, 6, 3), bias=True, epsilon=1.001e-5)
    resnet20 = net(small=True, blocks=(3, 3, 3), classes=10, epsilon=1e-3)
    photo = (224, 224, 3)
    catalogue = {"mobilenet_v2": partial(mobilenet_v2, classes=1000),
                 "efficientnet_b0": partial(efficientnet_b0, classes=1000), "vit_b_16": partial(vit_b_16, classes=1000)}

    def of_catalogue(suffix, batch, optimizer, rate):
        return {name + suffix: image(model, batch, photo, 1000, optimizer, rate,
                                     dropout=bool(optimizer) and name == "efficientnet_b0")
                for name, model in catalogue.items()}

    return {
        "mlp_tiny": Case(small_mlp((16, 16), 3), 16, (4,), 3, "sgd", 0.01, loop=100),
        "mlp_mnist": Case(small_mlp((128,), 10), 64, (784,), 10, "sgd", 0.01, loop=100),
        "mnist_cnn": image(mnist_cnn, 64, (28, 28, 1), 10, "adam", 1e-3, dropout=True),
        "flowers180": image(flowers180, 32, (180, 180, 3), 5, "adam", 1e-3),
        "flowers299": image(flowers299, 32, (299, 299, 3), 5, "adam", 1e-3, dropout=True),
        "resnet20": image(resnet20, 128, (32, 32, 3), 10, "momentum", 0.1),
        "resnet18": image(resnet18, 16, photo, 1000, "momentum", 0.1),
        "resnet50": image(resnet50, 16, photo, 1000, "momentum", 0.1),
        "transformer_small": text(64, 128, 4, 4, 512, 8000, 0.1),
        "transformer_base": text(32, 512, 6, 8, 2048, 32000, 0.1),
        "transformer_base_d0": text(32, 512, 6, 8, 2048, 32000, 0.0),
        "resnet50_infer": image(resnet50, 1, photo, 1000, "", 0),
        "resnet50_infer32": image(resnet50, 32, photo, 1000, "", 0),
        **of_catalogue("", 32, "momentum", 0.01),
        **of_catalogue("_infer", 1, "", 0),
        **of_catalogue("_infer32", 32, "", 0),
    }


CASES = make_cases()

# What layers compute in, by Keras's names. In mixed_bfloat16 parameters, norms, softmax, losses, statistics and updates
# are f32.
DTYPE_POLICIES = ("float32", "mixed_bfloat16")

# In the order in which they are tried. "loop": several steps in one call; "reshape": max-pools as reshape and max;
# "rbg": the random numbers of the compiler's own generator.
def variants(peer, name, policy="float32"):
    case = CASES[name]
    if peer == "onnxruntime":  # whose CPU provider has no convolution of bf16
        return [] if case.trains or policy != "float32" else ["graph", "folded"]
    if peer == "torch_ddp" and not case.trains:
        return []
    if peer in ("torch", "torch_ddp"):
        layouts = case.is_image
        return ["eager"] + ["channels_last"] * layouts + ["compile"] + ["compile_channels_last"] * layouts
    if peer == "tensorflow":
        return ["function", "xla"] + ["function_loop", "xla_loop"] * (case.loop > 1)
    pools = name in ("mnist_cnn", "flowers180", "flowers299")
    return ["jit"] + ["scan"] * (case.loop > 1) + ["rbg"] * case.dropout + ["reshape"] * pools \
        + ["rbg_reshape"] * (pools and case.dropout)


PEERS = ("torch", "tensorflow", "jax", "onnxruntime")


def peers_of(processes):
    return PEERS if processes == 1 else ("torch_ddp",)
