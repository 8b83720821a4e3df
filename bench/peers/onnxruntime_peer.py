"""ONNX Runtime, predictions only.  python onnxruntime_peer.py CASE VARIANT [--threads N] [--seconds X]

The graph is written with ONNX's own helper, operator for operator what PyTorch's exporter writes for this network:
with batch norms ("graph", which ONNX Runtime folds itself) or with them folded already ("folded")."""
import common
import parameters as initial
from models import CASES

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


class OnnxOps:
    """Writes nodes; a tensor is its name. Images are [batch, channels, height, width]."""

    def __init__(self, parameters, folded):
        self.parameters, self.folded = iter(parameters), folded
        self.nodes, self.weights = [], []

    def weight(self):
        p = next(self.parameters)
        value = {"kernel": lambda v: v.transpose(3, 2, 0, 1), "matrix": np.transpose}.get(p.kind, np.asarray)(p.value)
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, kind, *inputs, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def conv_norm(self, x, filters, kernel, stride=1, *, bias, epsilon, relu=False, residual=None):
        weights = [self.weight() for _ in range(1 + (bias or self.folded))]
        x = self.node("Conv", x, *weights, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4)
        if not self.folded:
            x = self.node("BatchNormalization", x, *[self.weight() for _ in range(4)], epsilon=epsilon)
        if residual is not None:
            x = self.node("Add", x, residual)
        return self.node("Relu", x) if relu else x

    def max_pool(self, x, size, padding=0):
        return self.node("MaxPool", x, kernel_shape=[size] * 2, strides=[2] * 2, pads=[padding] * 4)

    def global_pool(self, x):
        return self.node("Flatten", self.node("GlobalAveragePool", x))

    def dense(self, x, units):
        return self.node("Gemm", x, self.weight(), self.weight(), transB=1)


def model_of(case, made, folded):
    ops = OnnxOps(initial.fold(made) if folded else made, folded)
    logits = case.model(ops, "image")
    height, width, channels = case.shape
    graph = helper.make_graph(
        ops.nodes, "resnet50",
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
