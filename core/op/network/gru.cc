#include "op/network/cell_steps.h"

namespace tenon {
namespace {

Tensors gru_decomposition(const Decompose& n) {
  using Op = op::gru;
  const Tensor x = n.in(Op::x), weights = n.in(Op::r), bias = widened(n.in(Op::rb));
  const int64_t units = weights.dim(0);
  const Tensor steps = all_steps(x, n.in(Op::w), n.in(Op::b));
  Tensor h = n.in(Op::h);
  Tensors ys, gates;
  for (int64_t t = 0; t < x.dim(1); ++t) {
    const Tensor in = step_of(steps, t), dots = wide_dot(h, weights);
    const Tensor rec = dots + broadcast_trailing(bias, dots.shape());
    const Tensor z = activation(gate_of(in, 0, units) + gate_of(rec, 0, units), Activation::kSigmoid);
    const Tensor r = activation(gate_of(in, 1, units) + gate_of(rec, 1, units), Activation::kSigmoid),
                 q = gate_of(rec, 2, units);
    const Tensor candidate = tanh(gate_of(in, 2, units) + r * q);
    h = candidate + z * (widened(h) - candidate);
    ys.push_back(h);
    gates.push_back(concat({z, r, candidate, q}, 1));
  }
  return {stacked(ys, x.dtype()), stacked(gates, x.dtype())};
}

Tensors gru_gradient(const Gradient& n) {
  using Op = op::gru;
  if (!n.g(Op::out::y) || n.g(Op::out::gates)) return {};
  Tensors operands{n.g(Op::out::y)};
  operands.insert(operands.end(), n.inputs().begin(), n.inputs().end());
  operands.push_back(n.out(Op::out::y));
  operands.push_back(n.out(Op::out::gates));
  return emit(n.graph(), "gru_grad", operands);
}

}  // namespace

extern const OpDef kGru;
constexpr OpDef kGru = {"gru", gru_decomposition, gru_gradient};

Recurrent gru(Tensor x, Tensor h, Tensor w, Tensor r, Tensor b, Tensor rb) {
  const Tensors out = emit_all("gru", {x, h, w, r, b, rb});
  return {out[0], Tensor(), out[1]};
}

namespace {

using GruGrad = op::gru_grad;

Tensors gru_grad_decomposition(const Decompose& n) {
  const Tensor x = n.in(GruGrad::x), weights = n.in(GruGrad::r),
               before = states_before(n.in(GruGrad::h), n.in(GruGrad::y));
  const int64_t units = weights.dim(0), T = x.dim(1);
  Tensors dz(static_cast<size_t>(T)), drec = dz;
  Tensor dh;
  for (int64_t t = T - 1; t >= 0; --t) {
    const size_t k = static_cast<size_t>(t);
    const Tensor gates = step_of(n.in(GruGrad::gates), t), dy = step_of(n.in(GruGrad::dy), t);
    const Tensor z = gate_of(gates, 0, units), r = gate_of(gates, 1, units);
    const Tensor candidate = gate_of(gates, 2, units), q = gate_of(gates, 3, units);
    dh = dh ? dy + dh : dy;
    const Tensor for_z = dh * (step_of(before, t) - candidate) * z * (1 - z);
    const Tensor for_n = dh * (1 - z) * (1 - square(candidate));
    const Tensor for_r = for_n * q * r * (1 - r);
    dz[k] = concat({for_z, for_r, for_n}, 1);
    drec[k] = concat({for_z, for_r, for_n * r}, 1);
    dh = dh * z + wide_dot(drec[k], weights, false, true);
  }
  const WeightGrads w = weight_gradients(x, n.in(GruGrad::h), n.in(GruGrad::y), n.in(GruGrad::w),
                                         stacked(dz, dh.dtype()), stacked(drec, dh.dtype()));
  return {w.dx, cast(dh, x.dtype()), w.dw, w.dr, w.db, w.drb};
}

}  // namespace

extern const OpDef kGruGrad;
constexpr OpDef kGruGrad = {"gru_grad", gru_grad_decomposition};

}  // namespace tenon
