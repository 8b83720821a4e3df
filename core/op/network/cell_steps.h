// What the unrolled cells share. Everything is computed in f32 or f64; dots round their operands to the weights' dtype.
#pragma once

#include "op/rules.h"

namespace tenon {

// x[B,T,n] -> [B T,n].
Tensor flat_steps(Tensor x);
// Step t of x[B,T,n], wide: [B,n].
Tensor step_of(Tensor x, int64_t t);
// x[B,T,I] W[I,n] + b[n] -> [B,T,n].
Tensor all_steps(Tensor x, Tensor w, Tensor b);
// Gate i of z[B,k U]: [B,U].
Tensor gate_of(Tensor z, int64_t i, int64_t units);
// The same of step t of z[B,T,k U], wide.
Tensor gate_of_step(Tensor z, int64_t t, int64_t i, int64_t units);
// One tensor [B,n] a step -> [B,T,n] in `dtype`.
Tensor stacked(const Tensors& steps, DType dtype);
// The states that the steps started from: h[B,U], then y[B,T,U] but its last: [B,T,U].
Tensor states_before(Tensor h, Tensor y);
// Sums of x[B,T,n] over examples and steps.
Tensor summed(Tensor x);
// x, w, r, b gradients from those of x W + b and h R + rb, both [B,T,gates U].
struct WeightGrads {
  Tensor dx, dw, dr, db, drb;
};
WeightGrads weight_gradients(Tensor x, Tensor h, Tensor y, Tensor w, Tensor dz, Tensor drec);

}  // namespace tenon
