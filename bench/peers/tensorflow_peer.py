"""TensorFlow: tf.function, XLA, several steps in one call.
python tensorflow_peer.py CASE VARIANT [--threads N] [--seconds X]
In mixed_bfloat16 layers do as Keras's: variables are cast where they are used."""
import math
import os

import common
import parameters as initial
from models import CASES

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


def import_tensorflow():
    """After the cores are chosen: pools of threads are as large as the cores that are allowed."""
    import tensorflow
    globals()["tf"] = tensorflow


def lookup(table, ids):
    """Rows of a table whose gradient is dense at once: it is added to that of the logits anyway."""
    @tf.custom_gradient
    def rows(table):
        def gradient(dy):
            return tf.math.unsorted_segment_sum(dy, ids, table.shape[0])
        return tf.gather(table, ids), gradient
    return rows(table)


class TensorFlowOps:
    """Reads its parameters in order. Images are [batch, height, width, channels]."""
    xla = False
    dtype = None  # of what layers compute in

    def __init__(self, parameters, training):
        self.parameters, self.training = iter(parameters), training

    def weight(self):
        return tf.cast(next(self.parameters), self.dtype)

    @staticmethod
    def activated(x, relu, act):
        if relu:
            return tf.nn.relu(x)
        return {"relu6": tf.nn.relu6, "silu": tf.nn.silu, "gelu": tf.nn.gelu}[act](x) if act else x

    def conv(self, x, filters, kernel, stride=1, padding=None, bias=False, relu=False, act=None, depthwise=False):
        if padding is None and stride > 1 and kernel > 3 and not depthwise:
            padding = kernel // 2
        how = "SAME" if padding is None else [[0, 0], [padding] * 2, [padding] * 2, [0, 0]] if padding else "VALID"
        x, weight = tf.cast(x, self.dtype), self.weight()
        if depthwise:
            x = tf.nn.depthwise_conv2d(x, tf.transpose(weight, (0, 1, 3, 2)), (1, stride, stride, 1), how)
        else:
            x = tf.nn.conv2d(x, weight, stride, how)
        if bias:
            x = tf.nn.bias_add(x, self.weight())
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
        if not rate or not self.training:
            return x
        return x * tf.nn.dropout(tf.ones((x.shape[0], 1, 1, 1), x.dtype), rate)

    def squeeze_excite(self, x, squeezed):
        y = self.linear(self.linear(self.global_pool(x), squeezed, act="silu"), x.shape[3])
        return x * tf.sigmoid(y)[:, None, None, :]

    def standardize(self, x):
        pixels = next(self.parameters)
        return ((x + 1) * (127.5 / 255) - pixels[:3]) / tf.sqrt(pixels[3:6])

    def patches(self, x):
        return tf.reshape(x, (x.shape[0], -1, x.shape[3]))

    def class_token_and_places(self, x):
        token, places = self.weight(), self.weight()
        return tf.concat([tf.repeat(token, x.shape[0], 0), x], 1) + places

    def first_token(self, x):
        return x[:, 0]

    def norm(self, x, epsilon):
        gamma, beta, mean, variance = (next(self.parameters) for _ in range(4))
        y, new_mean, new_variance = tf.compat.v1.nn.fused_batch_norm(
            x, gamma, beta, mean, variance, epsilon, is_training=True, exponential_avg_factor=0.1)
        mean.assign(new_mean)
        variance.assign(new_variance)
        return y

    def max_pool(self, x, size, padding=0):
        around = [[0, 0], [padding] * 2, [padding] * 2, [0, 0]]
        if padding and self.xla:  # whose pools do not take explicit padding; zeros do, after a ReLU
            x, padding = tf.pad(x, around), 0
        return tf.nn.max_pool2d(x, size, 2, around if padding else "VALID")

    def global_pool(self, x):
        return tf.reduce_mean(x, (1, 2))

    def flatten(self, x):
        return tf.reshape(x, (x.shape[0], -1))

    def linear(self, x, units, bias=True, relu=False, act=None):
        lead = x.shape[:-1]
        if len(lead) > 1:
            x = tf.reshape(x, (-1, x.shape[-1]))
        x = tf.matmul(tf.cast(x, self.dtype), self.weight())
        if bias:
            x = tf.nn.bias_add(x, self.weight())
        x = self.activated(x, relu, act)
        return tf.reshape(x, (*lead, units)) if len(lead) > 1 else x

    dense = linear

    def dropout(self, x, rate):
        return tf.nn.dropout(x, rate) if rate and self.training else x

    def layer_norm(self, x):
        """By the kernel of batch normalisation, with rows as its channels: what Keras does, too."""
        gamma, beta = next(self.parameters), next(self.parameters)
        rows = math.prod(x.shape[:-1])
        y, _, _ = tf.compat.v1.nn.fused_batch_norm(
            tf.reshape(tf.cast(x, tf.float32), (1, rows, x.shape[-1], 1)), tf.ones(rows), tf.zeros(rows), epsilon=1e-6,
            data_format="NCHW")
        return tf.cast(tf.reshape(y, x.shape) * gamma + beta, self.dtype)

    def embedding(self, vocabulary, width):
        return tf.convert_to_tensor(next(self.parameters))

    def embed(self, table, ids):
        rows = lookup(table, tf.reshape(ids, (-1,)))
        width = table.shape[1]
        x = tf.reshape(tf.cast(rows, self.dtype), (*ids.shape, width)) * math.sqrt(width)
        return x + tf.cast(initial.positions(ids.shape[1], width), self.dtype)

    def attention(self, q, k, v, heads, causal, rate):
        batch, length, width = q.shape
        q, k, v = (tf.transpose(tf.reshape(t, (batch, length, heads, -1)), (0, 2, 1, 3)) for t in (q, k, v))
        weights = tf.cast(tf.matmul(q * (width // heads)**-0.5, k, transpose_b=True), tf.float32)
        if causal:
            weights += (tf.linalg.band_part(tf.ones((length, length)), -1, 0) - 1) * 1e9
        weights = self.dropout(tf.cast(tf.nn.softmax(weights), self.dtype), rate)
        return tf.reshape(tf.transpose(tf.matmul(weights, v), (0, 2, 1, 3)), (batch, length, width))

    def logits(self, x, table):
        return tf.matmul(tf.reshape(x, (-1, x.shape[-1])), tf.cast(table, self.dtype), transpose_b=True)


class Update:
    """TensorFlow's own fused update kernels, one a variable."""

    def __init__(self, case, variables):
        self.case, self.variables = case, variables
        zeros = [[tf.Variable(tf.zeros_like(v)) for v in variables] for _ in range({"sgd": 0, "momentum": 1}.get(
            case.optimizer, 2))]
        self.slots = list(zip(*zeros)) if zeros else [()] * len(variables)
        self.power1, self.power2 = tf.Variable(0.9), tf.Variable(0.999)

    def apply(self, gradients):
        for variable, slots, gradient in zip(self.variables, self.slots, gradients):
            self.apply_one(variable.handle, [s.handle for s in slots], gradient)
        if self.case.optimizer == "adam":
            self.power1.assign(self.power1 * 0.9)
            self.power2.assign(self.power2 * 0.999)

    def apply_one(self, variable, slots, gradient):
        ops, rate = tf.raw_ops, self.case.rate
        if self.case.optimizer == "sgd":
            ops.ResourceApplyGradientDescent(var=variable, alpha=rate, delta=gradient)
        elif self.case.optimizer == "momentum":
            ops.ResourceApplyMomentum(var=variable, accum=slots[0], lr=rate, grad=gradient, momentum=0.9)
        else:
            ops.ResourceApplyAdam(var=variable, m=slots[0], v=slots[1], beta1_power=self.power1,
                                  beta2_power=self.power2, lr=rate, beta1=0.9, beta2=0.999, epsilon=1e-7,
                                  grad=gradient)


def predictor(case, variables):
    def predict(labels, *features):
        return tf.cast(case.model(TensorFlowOps(variables, False), *features), tf.float32)

    return predict, lambda logits: float(logits[0, 0])


def trainer(case, variables, loop):
    trained = [v for v in variables if v.trainable]
    update = Update(case, trained)

    def step(labels, *features):
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(trained)
            logits = tf.cast(case.model(TensorFlowOps(variables, True), *features), tf.float32)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        update.apply(tape.gradient(loss, trained))
        return loss

    def steps(labels, *features):
        loss = tf.constant(0.0)
        for _ in tf.range(loop):
            loss = step(labels, *features)
        return loss

    return steps if loop > 1 else step


def build(name, variant, threads, mixed):
    import_tensorflow()
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    tf.random.set_seed(0)
    TensorFlowOps.xla = variant.startswith("xla")
    TensorFlowOps.dtype = tf.bfloat16 if mixed else tf.float32
    case = CASES[name]
    made = initial.parameters_of(name)
    held = tf.float32 if case.trains else TensorFlowOps.dtype
    variables = [tf.Variable(tf.cast(p.value, held), trainable=p.trains)
                 for p in (made if case.trains else initial.fold(made))]
    features, labels = initial.batch_of(name)
    features, labels = [tf.constant(x) for x in features], tf.constant(labels)
    loop = case.loop if variant.endswith("_loop") else 1
    call, read = (trainer(case, variables, loop), float) if case.trains else predictor(case, variables)
    function = tf.function(call, jit_compile=TensorFlowOps.xla)
    function = function.get_concrete_function(labels, *features)
    count = sum(p.value.size for p in made)
    if case.trains:
        assert count == sum(math.prod(v.shape) for v in variables)
    return common.Program(lambda: function(labels, *features), read, loop, count,
                          sum(p.value.size for p in made if p.trains))


if __name__ == "__main__":
    common.main("tensorflow", build, lambda: tf.__version__)
