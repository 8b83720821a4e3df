"""ONNX Runtime, predictions only.  python onnxruntime_peer.py CASE VARIANT [--threads N] [--seconds X]

The graph is written with ONNX's own helper, operator for operator what PyTorch's exporter writes for this network:
with batch norms ("graph", which ONNX Runtime folds itself) or with them folded already ("folded")."""
import math

import common
import parameters as initial
from models import CASES

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


class OnnxOps:
    """Writes nodes; a tensor is its name. Images are [batch, channels, height, width]."""

    def __init__(self, parameters, folded, batch):
        self.parameters, self.folded, self.batch = iter(parameters), folded, batch
        self.nodes, self.weights = [], []

    def weight(self, of_point=False):
        """of_point: a matrix as the kernel of a convolution of one point."""
        p = next(self.parameters)
        value = {"kernel": lambda v: v.transpose(3, 2, 0, 1), "matrix": np.transpose}.get(p.kind, np.asarray)(p.value)
        if of_point:
            value = value[:, :, None, None]
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, kind, *inputs, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def constant(self, value, dtype=np.float32):
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def activated(self, x, relu, act):
        if relu:
            return self.node("Relu", x)
        if act == "relu6":
            return self.node("Clip", x, self.constant(0), self.constant(6))
        if act == "silu":
            return self.node("Mul", x, self.node("Sigmoid", x))
        if act == "gelu":
            erf = self.node("Erf", self.node("Div", x, self.constant(math.sqrt(2))))
            return self.node("Mul", self.node("Mul", x, self.node("Add", erf, self.constant(1))), self.constant(0.5))
        return x

    def conv(self, x, filters, kernel, stride=1, padding=None, bias=False, relu=False, act=None, depthwise=False):
        weights = [self.weight() for _ in range(1 + bias)]
        pads = [kernel // 2 if padding is None else padding] * 4
        x = self.node("Conv", x, *weights, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=pads,
                      group=filters if depthwise else 1)
        return self.activated(x, relu, act)

    def conv_norm(self, x, filters, kernel, stride=1, *, bias, epsilon, relu=False, residual=None, act=None,
                  depthwise=False):
        x = self.conv(x, filters, kernel, stride, bias=bias or self.folded, depthwise=depthwise)
        if not self.folded:
            x = self.node("BatchNormalization", x, *[self.weight() for _ in range(4)], epsilon=epsilon)
        if residual is not None:
            x = self.node("Add", x, residual)
        return self.activated(x, relu, act)

    def add(self, x, y):
        return self.node("Add", x, y)

    def drop_path(self, x, rate):
        return x

    def dropout(self, x, rate):
        return x

    def squeeze_excite(self, x, squeezed):
        """By convolutions of one point, as torchvision's."""
        y = self.node("GlobalAveragePool", x)
        y = self.activated(self.node("Conv", y, self.weight(True), self.weight()), False, "silu")
        return self.node("Mul", x, self.node("Sigmoid", self.node("Conv", y, self.weight(True), self.weight())))

    def standardize(self, x):
        pixels = next(self.parameters).value[:6].reshape(2, 3, 1, 1)
        x = self.node("Mul", self.node("Add", x, self.constant(1)), self.constant(127.5 / 255))
        return self.node("Div", self.node("Sub", x, self.constant(pixels[0])), self.constant(np.sqrt(pixels[1])))

    def patches(self, x):
        shape = self.constant([0, 0, -1], np.int64)
        return self.node("Transpose", self.node("Reshape", x, shape), perm=[0, 2, 1])

    def class_token_and_places(self, x):
        token, places = self.weight(), self.weight()
        shape = self.constant([self.batch, 1, 1], np.int64)
        return self.node("Add", self.node("Concat", self.node("Expand", token, shape), x, axis=1), places)

    def first_token(self, x):
        return self.node("Gather", x, self.constant(0, np.int64), axis=1)

    def layer_norm(self, x):
        return self.node("LayerNormalization", x, self.weight(), self.weight(), axis=-1, epsilon=1e-6)

    def linear(self, x, units, act=None):
        matrix = next(self.parameters).value
        y = self.node("Add", self.node("MatMul", x, self.constant(matrix)), self.weight())
        return self.activated(y, False, act)

    def attention(self, q, k, v, heads, causal, rate):
        shape, back = self.constant([0, 0, heads, -1], np.int64), self.constant([0, 0, -1], np.int64)
        q, k, v = (self.node("Reshape", t, shape) for t in (q, k, v))
        q, v = (self.node("Transpose", t, perm=[0, 2, 1, 3]) for t in (q, v))
        k = self.node("Transpose", k, perm=[0, 2, 3, 1])
        weights = self.node("Mul", self.node("MatMul", q, k), self.constant((768 // heads) ** -0.5))
        y = self.node("MatMul", self.node("Softmax", weights, axis=-1), v)
        return self.node("Reshape", self.node("Transpose", y, perm=[0, 2, 1, 3]), back)

    def max_pool(self, x, size, padding=0):
        return self.node("MaxPool", x, kernel_shape=[size] * 2, strides=[2] * 2, pads=[padding] * 4)

    def global_pool(self, x):
        return self.node("Flatten", self.node("GlobalAveragePool", x))

    def dense(self, x, units):
        return self.node("Gemm", x, self.weight(), self.weight(), transB=1)


def model_of(case, made, folded):
    ops = OnnxOps(initial.fold(made) if folded else made, folded, case.batch)
    logits = case.model(ops, "image")
    height, width, channels = case.shape
    graph = helper.make_graph(
        ops.nodes, "network",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [case.batch, channels, height, width])],
        [helper.make_tensor_value_info(logits, TensorProto.FLOAT, [case.batch, case.classes])], ops.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def build(name, variant, threads, mixed):
    assert not mixed
    case = CASES[name]
    made = initial.parameters_of(name)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(model_of(case, made, variant == "folded").SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    (x,), _ = initial.batch_of(name)
    feed = {"image": np.ascontiguousarray(x.transpose(0, 3, 1, 2))}
    return common.Program(lambda: session.run(None, feed)[0], lambda y: float(y[0, 0]), 1,
                          sum(p.value.size for p in made), sum(p.value.size for p in made if p.trains))


if __name__ == "__main__":
    common.main("onnxruntime", build, lambda: onnxruntime.__version__)
