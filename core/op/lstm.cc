#include "op/recurrent.h"

namespace tenon {
namespace lstm_op {

using namespace recurrent_op;

void shape_rule(Infer& c) {
  const CellShape s = check_cell(c, 0, 2, 3, 1, 4);
  const DType dtype = c.in(0).dtype;
  c.result(dtype, {s.B, s.T, s.U});
  c.result(dtype, {s.B, s.U});
  c.result(dtype, {s.B, s.T, s.columns});
}

Tensors decompose_rule(const Decompose& n) {
  const Tensor x = n.in(0), r = n.in(4);
  const int64_t units = r.dim(0);
  const Tensor steps = all_steps(x, n.in(3), n.in(5));
  Tensor h = n.in(1), c = widened(n.in(2));
  Tensors ys, gates;
  for (int64_t t = 0; t < x.dim(1); ++t) {
    const Tensor z = step_of(steps, t) + wide_dot(h, r);
    const Tensor i = sigmoid(gate_of(z, 0, units)), f = sigmoid(gate_of(z, 1, units));
    const Tensor g = tanh(gate_of(z, 2, units)), o = sigmoid(gate_of(z, 3, units));
    c = f * c + i * g;
    h = o * tanh(c);
    ys.push_back(h);
    gates.push_back(concat({i, f, g, o}, 1));
  }
  return {stacked(ys, x.dtype()), cast(c, x.dtype()), stacked(gates, x.dtype())};
}

Tensors gradient_rule(const Gradient& n) {
  if (n.g(2)) return {};
  const Tensor dy = n.g(0) ? n.g(0) : full_like(n.out(0), 0), dc = n.g(1) ? n.g(1) : full_like(n.out(1), 0);
  Tensors operands{dy, dc};
  operands.insert(operands.end(), n.inputs().begin(), n.inputs().end());
  operands.push_back(n.out(0));
  operands.push_back(n.out(2));
  return emit(n.graph(), "lstm_grad", operands);
}

}  // namespace lstm_op

extern const OpDef kLstm;
const OpDef kLstm = {
    "lstm",
    "x:F h:F c:F w:F r:F b:F -> y c gates",
    "Long short-term memory over all steps of x[B,T,I] from the states h and c[B,U]: i f g o = sigmoid, sigmoid, tanh, "
    "sigmoid of x W[I,4U] + h R[U,4U] + b[4U]; c = f c + i g, h = o tanh(c). Results: h of every step y[B,T,U], the "
    "last c and the gates[B,T,4U] for the gradient (Hochreiter and Schmidhuber 1997, Keras's order of gates).",
    lstm_op::shape_rule,
    lstm_op::decompose_rule,
    lstm_op::gradient_rule,
};

Recurrent lstm(Tensor x, Tensor h, Tensor c, Tensor w, Tensor r, Tensor b) {
  const Tensors out = emit_all("lstm", {x, h, c, w, r, b});
  return {out[0], out[1], out[2]};
}

namespace lstm_grad_op {

using namespace recurrent_op;

enum { kDy, kDc, kX, kH, kC, kW, kR, kB, kY, kGates };

void shape_rule(Infer& c) {
  const CellShape s = check_cell(c, kX, 2, kW, 1, 4);
  for (int i : {kDy, kDc, kY, kGates}) c.expect_same_dtype(kX, i);
  for (int i : {kDy, kY}) c.expect_shape(i, {s.B, s.T, s.U});
  c.expect_shape(kDc, {s.B, s.U});
  c.expect_shape(kGates, {s.B, s.T, s.columns});
  for (int i : {kX, kH, kC, kW, kR, kB}) c.result(c.in(i));
}

// The cell before the first step and after each.
Tensors cells(const Decompose& n) {
  const int64_t units = n.in(kR).dim(0);
  Tensors c{widened(n.in(kC))};
  for (int64_t t = 0; t < n.in(kX).dim(1); ++t) {
    const Tensor z = step_of(n.in(kGates), t);
    c.push_back(gate_of(z, 1, units) * c.back() + gate_of(z, 0, units) * gate_of(z, 2, units));
  }
  return c;
}

Tensors decompose_rule(const Decompose& n) {
  const Tensor x = n.in(kX), r = n.in(kR);
  const int64_t units = r.dim(0), T = x.dim(1);
  const Tensors c = cells(n);
  Tensors dz(static_cast<size_t>(T));
  Tensor dh, dc = widened(n.in(kDc));
  for (int64_t t = T - 1; t >= 0; --t) {
    const size_t k = static_cast<size_t>(t);
    const Tensor z = step_of(n.in(kGates), t), dy = step_of(n.in(kDy), t);
    const Tensor i = gate_of(z, 0, units), f = gate_of(z, 1, units), g = gate_of(z, 2, units), o = gate_of(z, 3, units);
    dh = dh ? dy + dh : dy;
    const Tensor out = tanh(c[k + 1]);
    dc = dc + dh * o * (1 - square(out));
    dz[k] =
        concat({dc * g * i * (1 - i), dc * c[k] * f * (1 - f), dc * i * (1 - square(g)), dh * out * o * (1 - o)}, 1);
    dh = wide_dot(dz[k], r, false, true);
    dc = dc * f;
  }
  const Tensor all = stacked(dz, dh.dtype());
  const WeightGrads w = weight_gradients(x, n.in(kH), n.in(kY), n.in(kW), all, all);
  return {w.dx, cast(dh, x.dtype()), cast(dc, x.dtype()), w.dw, w.dr, w.db};
}

}  // namespace lstm_grad_op

extern const OpDef kLstmGrad;
const OpDef kLstmGrad = {
    "lstm_grad",
    "dy:F dc:F x:F h:F c:F w:F r:F b:F y:F gates:F -> dx dh dc0 dw dr db",
    "The gradients of lstm from those of y and of the last c, back through all steps; the cells are computed again "
    "from "
    "the gates.",
    lstm_grad_op::shape_rule,
    lstm_grad_op::decompose_rule,
};

}  // namespace tenon
