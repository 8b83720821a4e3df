// bias_act_grad(g[R, C], t[R, C]; act) -> dz[R, C], dbias[C]: dz = activation_grad, dbias its column sums, in one
// pass. Columns are summed in chunks of rows that the shape alone decides, then over the chunks in order.
// cpu.dropout_relu_grad(g, y; rate) -> dz, dbias: the same behind a dropout. Where it or the ReLU gave no gradient, y is 0.
#include <algorithm>

#include "kernels/element/activation.h"
#include "kernels/element/elementwise.h"
#include "kernels/norm/softmax.h"
#include "tenon/op/names.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

template <class T>
using GradSum = void (*)(const T* g, const T* t, T* dz, T* sum, int64_t n, T alpha, int32_t act);

template <int kAct>
void grad_sum(const float* g, const float* t, float* dz, float* sum, int64_t n, float alpha, int32_t) {
  const auto a = Lanes::splat(alpha);
  int64_t i = 0;
  for (; i + Lanes::kLanes <= n; i += Lanes::kLanes) {
    const auto d = act_grad<kAct>(Lanes::load(g + i), Lanes::load(t + i), a);
    Lanes::store(sum + i, Lanes::load(sum + i) + d);
    Lanes::store(dz + i, d);
  }
  if (i == n) return;
  const auto rest = Lanes::first(n - i);
  const auto d = act_grad<kAct>(Lanes::load(g + i, rest), Lanes::load(t + i, rest), a);
  Lanes::store_part(sum + i, Lanes::load(sum + i, rest) + d, n - i);
  Lanes::store_part(dz + i, d, n - i);
}

void dropped_grad_sum(const float* g, const float* y, float* dz, float* sum, int64_t n, float scale, int32_t) {
  const auto step = [=](int64_t i, f32x8 gradient, f32x8 result) {
    const f32x8 d = (result > 0.f ? gradient * scale : f32x8{}) + f32x8{};  // no -0, as dropout gives none
    put8(sum, i, n, row8(sum, i, n, 0) + d);
    put8(dz, i, n, d);
  };
  for (int64_t i = 0; i < n; i += 8) step(i, row8(g, i, n, 0), row8(y, i, n, 0));
}

void grad_sum_f64(const double* g, const double* t, double* dz, double* sum, int64_t n, double alpha, int32_t act) {
  for (int64_t i = 0; i < n; ++i) {
    const double d = act_grad_f64(act, g[i], t[i], alpha);
    sum[i] += d;
    dz[i] = d;
  }
}

struct BiasGrad {
  int64_t rows = 0, columns = 0;
  int64_t group = 0;  // rows whose sums are kept apart, so that a loop is long when C is small
  int64_t chunks = 0, chunk_rows = 0;
  int32_t dtype = 0, act = 0;
  double alpha = 0;

  int64_t run_length() const { return group * columns; }  // of a chunk's sums

  void plan(int64_t r, int64_t c) {
    rows = r;
    columns = c;
    group = std::min(rows, (255 + columns) / columns);
    chunks = std::clamp<int64_t>(rows * columns / 16384, 1, std::min<int64_t>(64, (rows + group - 1) / group));
    chunk_rows = ((rows + chunks - 1) / chunks + group - 1) / group * group;
    chunks = (rows + chunk_rows - 1) / chunk_rows;
  }

  // Flat elements [i, i + n), n <= kBlock for bf16 and f16.
  template <class T>
  void block(const Call& call, GradSum<T> loop, int64_t i, int64_t n, T* sum) const {
    if (!is_half(dtype))
      return loop(call.in<T>(op::bias_act_grad::g) + i, call.in<T>(op::bias_act_grad::t) + i,
                  call.out<T>(op::bias_act_grad::out::dz) + i, sum, n, static_cast<T>(alpha), act);
    if constexpr (std::is_same_v<T, float>) {
      alignas(64) float g[kBlock], t[kBlock];
      widen(dtype, call.in<uint16_t>(op::bias_act_grad::g) + i, g, n);
      widen(dtype, call.in<uint16_t>(op::bias_act_grad::t) + i, t, n);
      loop(g, t, g, sum, n, static_cast<float>(alpha), act);
      narrow(dtype, g, call.out<uint16_t>(op::bias_act_grad::out::dz) + i, n);
    }
  }

  template <class T>
  void sum_chunk(const Call& call, GradSum<T> loop, int64_t chunk, T* sum) const {
    const int64_t length = run_length(), step = is_half(dtype) ? kBlock : length;
    std::fill(sum, sum + length, T(0));
    const int64_t end = std::min(rows, (chunk + 1) * chunk_rows) * columns;
    for (int64_t i = chunk * chunk_rows * columns; i < end; i += length)
      for (int64_t j = 0, n = std::min(length, end - i); j < n; j += step)
        block(call, loop, i + j, std::min(step, n - j), sum + j);
  }

  static constexpr int64_t kFold = 16;  // columns that are summed together

  // total[n] = the sums of n columns, each from its first row on.
  template <class T>
  void fold_columns(const T* sums, int64_t n, T* total) const {
    T t[kFold] = {};
    const int64_t kept = chunks * group;
    if (n == kFold) {
      for (int64_t i = 0; i < kept; ++i)
        for (int64_t k = 0; k < kFold; ++k) t[k] += sums[i * columns + k];
    } else {
      for (int64_t i = 0; i < kept; ++i)
        for (int64_t k = 0; k < n; ++k) t[k] += sums[i * columns + k];
    }
    std::copy_n(t, n, total);
  }

  template <class T>
  void fold(const Call& call, const T* sums) const {
    const Slice s = call.share(columns);
    for (int64_t c = s.begin; c < s.end; c += kFold) {
      const int64_t n = std::min(kFold, s.end - c);
      if (!is_half(dtype)) {
        fold_columns(sums + c, n, call.out<T>(op::bias_act_grad::out::dbias) + c);
      } else if constexpr (std::is_same_v<T, float>) {
        float total[kFold];
        fold_columns(sums + c, n, total);
        narrow(dtype, total, call.out<uint16_t>(op::bias_act_grad::out::dbias) + c, n);
      }
    }
  }

  template <class T>
  void run(const Call& call, GradSum<T> loop) const {
    T* sums = static_cast<T*>(call.scratch);
    const Slice s = call.share(chunks);
    for (int64_t k = s.begin; k < s.end; ++k) sum_chunk(call, loop, k, sums + k * run_length());
    call.barrier();
    if (call.out<uint8_t>(op::bias_act_grad::out::dbias)) fold(call, sums);
  }
};

plugin::Verdict accept_bias_act_grad(const NodeView& node) {
  if (node.operands() != 2 || !node.has(op::bias_act_grad::g) || !node.has(op::bias_act_grad::t) ||
      node.results() != 2 || !node.has_result(op::bias_act_grad::out::dz) ||
      !node.has_result(op::bias_act_grad::out::dbias))
    return refusal(node, "expected g, t and two results");
  const plugin::ValueView g = node.in(op::bias_act_grad::g), t = node.in(op::bias_act_grad::t);
  if (!plugin::is_float(g.dtype()) || t.dtype() != g.dtype() ||
      node.out(op::bias_act_grad::out::dz).dtype() != g.dtype() ||
      node.out(op::bias_act_grad::out::dbias).dtype() != g.dtype())
    return refusal(node, "operands and results must be of one float dtype");
  if (g.rank() < 1 || !same_shape(g, t) || !same_shape(g, node.out(op::bias_act_grad::out::dz)) ||
      node.out(op::bias_act_grad::out::dbias).elements() != g.dim(-1))
    return refusal(node, "g, t and dz must share a shape of rank >= 1, dbias its last dimension");
  const int32_t act = node.enumerator("act");
  return act >= 0 && act <= TENON_ACT_HARD_SWISH ? plugin::take()
                                                 : refusal(node, "unknown activation " + std::to_string(act));
}

// Without its run().
Kernel kernel_of(const plugin::ValueView& g, BiasGrad& b) {
  b.dtype = g.dtype();
  b.plan(g.elements() / g.dim(-1), g.dim(-1));
  Kernel k;
  k.threads = b.chunks == 1 ? 1 : gang_for(g.elements());
  k.in_place = {{op::bias_act_grad::g, 0}, {op::bias_act_grad::t, 0}};
  k.scratch_bytes = static_cast<uint64_t>(b.chunks * b.run_length() * (b.dtype == TENON_F64 ? 8 : 4));
  return k;
}

Kernel make_bias_act_grad(const NodeView& node, const Env&) {
  BiasGrad b;
  b.act = node.enumerator("act");
  b.alpha = node.f64("alpha");
  Kernel k = kernel_of(node.in(op::bias_act_grad::g), b);
  const auto f32 = with_act(b.act, [](auto a) -> GradSum<float> { return grad_sum<a.value>; });
  if (b.dtype == TENON_F64)
    k.run = [b](const Call& call) { b.run<double>(call, grad_sum_f64); };
  else
    k.run = [b, f32](const Call& call) { b.run<float>(call, f32); };
  return k;
}

Kernel make_dropout_relu_grad(const NodeView& node, const Env&) {
  BiasGrad b;
  b.alpha = 1 / (1 - node.f64("rate"));
  Kernel k = kernel_of(node.in(op::bias_act_grad::g), b);
  k.run = [b](const Call& call) { b.run<float>(call, dropped_grad_sum); };
  return k;
}

}  // namespace

void add_bias_act_grad(KernelTable& table) {
  table.add("bias_act_grad", accept_bias_act_grad, make_bias_act_grad);
  table.add_own("cpu.dropout_relu_grad", make_dropout_relu_grad);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
