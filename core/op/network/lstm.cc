#include <algorithm>

#include "op/network/recurrent.h"

namespace tenon {
namespace lstm_op {

using namespace recurrent_op;

// Which columns of z are the candidate's g, which has a tanh: all gates of a step are one map.
Tensor are_candidates(Graph& graph, const Shape& z, int64_t units) {
  std::string is(static_cast<size_t>(4 * units), 0);
  std::fill_n(is.begin() + 2 * units, units, 1);
  return broadcast_trailing(constant(graph, {DType::kBool, {4 * units}}, is), z);
}

Tensors decompose_rule(const Decompose& n) {
  const Tensor x = n.in(0), r = n.in(4);
  const int64_t units = r.dim(0);
  const Tensor candidates = are_candidates(n.graph(), {x.dim(0), 4 * units}, units);
  const Tensor steps = all_steps(x, n.in(3), n.in(5));
  Tensor h = n.in(1), c = widened(n.in(2));
  Tensors ys, gates;
  for (int64_t t = 0; t < x.dim(1); ++t) {
    const Tensor z = step_of(steps, t) + wide_dot(h, r);
    gates.push_back(select(candidates, tanh(z), sigmoid(z)));
    const auto gate = [&](int64_t k) { return gate_of(gates.back(), k, units); };
    c = gate(1) * c + gate(0) * gate(2);
    h = gate(3) * tanh(c);
    ys.push_back(h);
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
constexpr OpDef kLstm = {"lstm", lstm_op::decompose_rule, lstm_op::gradient_rule};

Recurrent lstm(Tensor x, Tensor h, Tensor c, Tensor w, Tensor r, Tensor b) {
  const Tensors out = emit_all("lstm", {x, h, c, w, r, b});
  return {out[0], out[1], out[2]};
}

namespace lstm_grad_op {

using namespace recurrent_op;

enum { kDy, kDc, kX, kH, kC, kW, kR, kB, kY, kGates };

// The cell before the first step and after each.
Tensors cells(const Decompose& n) {
  const int64_t units = n.in(kR).dim(0);
  Tensors c{widened(n.in(kC))};
  for (int64_t t = 0; t < n.in(kX).dim(1); ++t) {
    const auto gate = [&](int64_t k) { return gate_of_step(n.in(kGates), t, k, units); };
    c.push_back(gate(1) * c.back() + gate(0) * gate(2));
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
    const auto gate = [&](int64_t j) { return gate_of_step(n.in(kGates), t, j, units); };
    const Tensor dy = step_of(n.in(kDy), t), i = gate(0), f = gate(1), g = gate(2), o = gate(3);
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
constexpr OpDef kLstmGrad = {"lstm_grad", lstm_grad_op::decompose_rule};

}  // namespace tenon
