#include "op/network/cell_steps.h"

namespace tenon {

Tensor flat_steps(Tensor x) { return reshape(x, {x.dim(0) * x.dim(1), x.dim(2)}); }

Tensor step_of(Tensor x, int64_t t) {
  const int64_t B = x.dim(0), n = x.dim(2);
  return widened(reshape(slice(x, {0, t, 0}, {B, t + 1, n}, {}), {B, n}));
}

Tensor all_steps(Tensor x, Tensor w, Tensor b) {
  const Tensor z = wide_dot(flat_steps(x), w);
  return reshape(z + broadcast_trailing(widened(b), z.shape()), {x.dim(0), x.dim(1), w.dim(1)});
}

Tensor gate_of(Tensor z, int64_t i, int64_t units) { return slice(z, {0, i * units}, {z.dim(0), (i + 1) * units}, {}); }

Tensor gate_of_step(Tensor z, int64_t t, int64_t i, int64_t units) {
  return widened(reshape(slice(z, {0, t, i * units}, {z.dim(0), t + 1, (i + 1) * units}, {}), {z.dim(0), units}));
}

Tensor stacked(const Tensors& steps, DType dtype) {
  Tensors rows;
  for (const Tensor& s : steps) rows.push_back(reshape(s, {s.dim(0), 1, s.dim(1)}));
  return cast(rows.size() == 1 ? rows[0] : concat(rows, 1), dtype);
}

Tensor states_before(Tensor h, Tensor y) {
  const int64_t B = y.dim(0), T = y.dim(1), U = y.dim(2);
  const Tensor first = reshape(h, {B, 1, U});
  return T == 1 ? first : concat({first, slice(y, {0, 0, 0}, {B, T - 1, U}, {})}, 1);
}

Tensor summed(Tensor x) { return reduce_sum(x, {0, 1}); }

WeightGrads weight_gradients(Tensor x, Tensor h, Tensor y, Tensor w, Tensor dz, Tensor drec) {
  const Tensor rounded = cast(flat_steps(dz), x.dtype());
  const Tensor recurrent = dz.id() == drec.id() ? rounded : cast(flat_steps(drec), x.dtype());
  const Tensor before = flat_steps(states_before(h, y));
  const DType dtype = x.dtype();
  const Tensor db = cast(summed(dz), dtype);
  return {cast(reshape(wide_dot(rounded, w, false, true), x.shape()), dtype),
          cast(wide_dot(flat_steps(x), rounded, true), dtype), cast(wide_dot(before, recurrent, true), dtype), db,
          dz.id() == drec.id() ? db : cast(summed(drec), dtype)};
}

}  // namespace tenon
