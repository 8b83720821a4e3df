#include <algorithm>

#include "op/network/cell_steps.h"

namespace tenon {
namespace {

// Which columns of z are the candidate's g, which has a tanh: all gates of a step are one map.
Tensor are_candidates(Graph& graph, const Shape& z, int64_t units) {
  std::string is(static_cast<size_t>(4 * units), 0);
  std::fill_n(is.begin() + 2 * units, units, 1);
  return broadcast_trailing(constant(graph, {DType::kBool, {4 * units}}, is), z);
}

Tensors lstm_decomposition(const Decompose& n) {
  using Op = op::lstm;
  const Tensor x = n.in(Op::x), r = n.in(Op::r);
  const int64_t units = r.dim(0);
  const Tensor candidates = are_candidates(n.graph(), {x.dim(0), 4 * units}, units);
  const Tensor steps = all_steps(x, n.in(Op::w), n.in(Op::b));
  Tensor h = n.in(Op::h), c = widened(n.in(Op::c));
  Tensors ys, gates;
  for (int64_t t = 0; t < x.dim(1); ++t) {
    const Tensor z = step_of(steps, t) + wide_dot(h, r);
    gates.push_back(select(candidates, tanh(z), activation(z, Activation::kSigmoid)));
    const auto gate = [&](int64_t k) { return gate_of(gates.back(), k, units); };
    c = gate(1) * c + gate(0) * gate(2);
    h = gate(3) * tanh(c);
    ys.push_back(h);
  }
  return {stacked(ys, x.dtype()), cast(c, x.dtype()), stacked(gates, x.dtype())};
}

Tensors lstm_gradient(const Gradient& n) {
  using Op = op::lstm;
  if (n.g(Op::out::gates)) return {};
  const Tensor dy = n.g(Op::out::y) ? n.g(Op::out::y) : full_like(n.out(Op::out::y), 0),
               dc = n.g(Op::out::c) ? n.g(Op::out::c) : full_like(n.out(Op::out::c), 0);
  Tensors operands{dy, dc};
  operands.insert(operands.end(), n.inputs().begin(), n.inputs().end());
  operands.push_back(n.out(Op::out::y));
  operands.push_back(n.out(Op::out::gates));
  return emit(n.graph(), "lstm_grad", operands);
}

}  // namespace

extern const OpDef kLstm;
constexpr OpDef kLstm = {"lstm", lstm_decomposition, lstm_gradient};

Recurrent lstm(Tensor x, Tensor h, Tensor c, Tensor w, Tensor r, Tensor b) {
  const Tensors out = emit_all("lstm", {x, h, c, w, r, b});
  return {out[0], out[1], out[2]};
}

namespace {

using LstmGrad = op::lstm_grad;

// The cell before the first step and after each.
Tensors cells(const Decompose& n) {
  const int64_t units = n.in(LstmGrad::r).dim(0);
  Tensors c{widened(n.in(LstmGrad::c))};
  for (int64_t t = 0; t < n.in(LstmGrad::x).dim(1); ++t) {
    const auto gate = [&](int64_t k) { return gate_of_step(n.in(LstmGrad::gates), t, k, units); };
    c.push_back(gate(1) * c.back() + gate(0) * gate(2));
  }
  return c;
}

Tensors lstm_grad_decomposition(const Decompose& n) {
  const Tensor x = n.in(LstmGrad::x), r = n.in(LstmGrad::r);
  const int64_t units = r.dim(0), T = x.dim(1);
  const Tensors c = cells(n);
  Tensors dz(static_cast<size_t>(T));
  Tensor dh, dc = widened(n.in(LstmGrad::dc));
  for (int64_t t = T - 1; t >= 0; --t) {
    const size_t k = static_cast<size_t>(t);
    const auto gate = [&](int64_t j) { return gate_of_step(n.in(LstmGrad::gates), t, j, units); };
    const Tensor dy = step_of(n.in(LstmGrad::dy), t), i = gate(0), f = gate(1), g = gate(2), o = gate(3);
    dh = dh ? dy + dh : dy;
    const Tensor out = tanh(c[k + 1]);
    dc = dc + dh * o * (1 - square(out));
    dz[k] =
        concat({dc * g * i * (1 - i), dc * c[k] * f * (1 - f), dc * i * (1 - square(g)), dh * out * o * (1 - o)}, 1);
    dh = wide_dot(dz[k], r, false, true);
    dc = dc * f;
  }
  const Tensor all = stacked(dz, dh.dtype());
  const WeightGrads w = weight_gradients(x, n.in(LstmGrad::h), n.in(LstmGrad::y), n.in(LstmGrad::w), all, all);
  return {w.dx, cast(dh, x.dtype()), cast(dc, x.dtype()), w.dw, w.dr, w.db};
}

}  // namespace

extern const OpDef kLstmGrad;
constexpr OpDef kLstmGrad = {"lstm_grad", lstm_grad_decomposition};

}  // namespace tenon
