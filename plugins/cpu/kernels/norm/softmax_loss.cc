// softmax_cross_entropy       (x [R,V], label) -> loss [R], lse [R]
//   loss = sum(t) lse - sum(t x), lse = log(sum exp x)
// softmax_cross_entropy_grad  (dloss [R], x [R,V], label, lse [R]) -> dx [R,V]
//   dx = dloss (sum(t) exp(x - lse) - t)
// label integer [R]: t = on at the label, off elsewhere; float [R,V]: t itself.
#include <algorithm>
#include <cmath>

#include "kernels/gemm/narrow.h"
#include "kernels/norm/softmax.h"
#include "kernels/reduction.h"
#include "tenon/op/names.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

struct Loss {
  int64_t rows, v;
  int32_t label_dtype;
  float on, off;
  int64_t ignore;
};

Loss loss_of(const NodeView& node, int x, int label) {
  const auto logits = node.in(x);
  const int64_t v = logits.dim(-1);
  return {logits.elements() / v,
          v,
          node.in(label).dtype(),
          static_cast<float>(node.f64("on", 1)),
          static_cast<float>(node.f64("off", 0)),
          node.i64("ignore", INT64_MIN)};
}

float element(const float* x, int64_t i) { return x[i]; }
float element(const uint16_t* x, int64_t i) { return row8(x, i, i + 1, 0)[0]; }
void set(float* x, float y) { *x = y; }
void set(uint16_t* x, float y) { put8(x, 0, 1, splat<f32x8>(y)); }

// The row's integer label.
int64_t label_at(const Loss& l, const Call& call, int operand, int64_t r) {
  return l.label_dtype == TENON_I64 ? call.in<int64_t>(operand)[r] : call.in<int32_t>(operand)[r];
}
bool inside(const Loss& l, int64_t label) { return label >= 0 && label < l.v; }
float total_of(const Loss& l) { return l.on + static_cast<float>(l.v - 1) * l.off; }

template <class X>
float sparse_loss(const Loss& l, const X* x, int64_t label, float lse) {
  if (label == l.ignore) return 0;
  if (!inside(l, label)) return kNaN;
  if (l.off == 0) return l.on * (lse - element(x, label));
  const int64_t n = l.v;
  // Summed as x - lse: the terms are of the size of the loss.
  const float rest = row_sum(n, [=](int64_t i) { return lse - row8(x, i, n, lse); });
  return l.off * rest + (l.on - l.off) * (lse - element(x, label));
}

template <class X>
float dense_loss(const Loss& l, const X* x, const float* t, float lse) {
  const int64_t n = l.v;
  const float total = row_sum(n, [=](int64_t i) { return row8(t, i, n, 0); });
  return total * lse - row_sum(n, [=](int64_t i) { return row8(t, i, n, 0) * row8(x, i, n, 0); });
}

template <class X, class DX>
void sparse_grad(const Loss& l, const X* x, int64_t label, float lse, float g, DX* dx) {
  if (label == l.ignore || !inside(l, label)) {
    for (int64_t i = 0; i < l.v; i += 8) put8(dx, i, l.v, splat<f32x8>(label == l.ignore ? 0.f : kNaN));
    return;
  }
  const float scale = g * total_of(l), shift = g * l.off, at_label = element(x, label);
  for (int64_t i = 0; i < l.v; i += Lanes::kLanes)
    put<Lanes>(dx, i, l.v, scale * exp_low(row<Lanes>(x, i, l.v, lse) - lse) - shift);
  set(dx + label, g * (total_of(l) * std::exp(at_label - lse) - l.on));
}

template <class X, class DX>
void dense_grad(const Loss& l, const X* x, const float* t, float lse, float g, DX* dx) {
  const int64_t n = l.v;
  const float total = row_sum(n, [=](int64_t i) { return row8(t, i, n, 0); });
  for (int64_t i = 0; i < n; i += Lanes::kLanes) {
    const Lanes::Vector p = exp_low(row<Lanes>(x, i, n, lse) - lse);
    put<Lanes>(dx, i, n, g * (total * p - row<Lanes>(t, i, n, 0)));
  }
}

template <class X>
void run_loss(const Loss& l, const Call& call) {
  const Slice s = call.share(l.rows);
  for (int64_t r = s.begin; r < s.end; ++r) {
    const X* x = call.in<X>(op::softmax_cross_entropy::x) + r * l.v;
    const float max = row_max(x, l.v), sum = row_exp<false>(x, l.v, max, nullptr);
    const float lse = max + std::log(sum);
    call.out(op::softmax_cross_entropy::out::lse)[r] = lse;
    call.out(op::softmax_cross_entropy::out::loss)[r] =
        plugin::is_float(l.label_dtype)
            ? dense_loss(l, x, call.in(op::softmax_cross_entropy::label) + r * l.v, lse)
            : sparse_loss(l, x, label_at(l, call, op::softmax_cross_entropy::label, r), lse);
  }
}

Kernel make_loss(const NodeView& node, const Env&) {
  const Loss l = loss_of(node, op::softmax_cross_entropy::x, op::softmax_cross_entropy::label);
  Kernel k;
  k.threads = threads_for(l.rows * l.v * 2);
  if (node.in(op::softmax_cross_entropy::x).dtype() == TENON_BF16) {
    k.run = [l](const Call& call) { run_loss<uint16_t>(l, call); };
    return narrowed(node, std::move(k), {{op::softmax_cross_entropy::x}, {}});
  }
  k.run = [l](const Call& call) { run_loss<float>(l, call); };
  return narrowed(node, std::move(k));
}

template <class X, class DX>
void run_loss_grad(const Loss& l, const Call& call) {
  const Slice s = call.share(l.rows);
  for (int64_t r = s.begin; r < s.end; ++r) {
    const X* x = call.in<X>(op::softmax_cross_entropy_grad::x) + r * l.v;
    const float g = call.in(op::softmax_cross_entropy_grad::dloss)[r],
                lse = call.in(op::softmax_cross_entropy_grad::lse)[r];
    DX* dx = call.out<DX>(0) + r * l.v;
    if (plugin::is_float(l.label_dtype))
      dense_grad(l, x, call.in(op::softmax_cross_entropy_grad::label) + r * l.v, lse, g, dx);
    else
      sparse_grad(l, x, label_at(l, call, op::softmax_cross_entropy_grad::label, r), lse, g, dx);
  }
}

Kernel make_loss_grad(const NodeView& node, const Env&) {
  const Loss l = loss_of(node, op::softmax_cross_entropy_grad::x, op::softmax_cross_entropy_grad::label);
  const bool half_x = node.in(op::softmax_cross_entropy_grad::x).dtype() == TENON_BF16,
             half_dx = node.out(0).dtype() == TENON_BF16;
  Kernel k;
  k.threads = threads_for(l.rows * l.v * 2);
  if (half_x == half_dx) k.in_place = {{op::softmax_cross_entropy_grad::x, 0}};
  using Run = void (*)(const Loss&, const Call&);
  const Run runs[2][2] = {{run_loss_grad<float, float>, run_loss_grad<float, uint16_t>},
                          {run_loss_grad<uint16_t, float>, run_loss_grad<uint16_t, uint16_t>}};
  k.run = [l, run = runs[half_x][half_dx]](const Call& call) { run(l, call); };
  OwnPorts own;
  if (half_x) own.in = {op::softmax_cross_entropy_grad::x};
  if (half_dx) own.out = {0};
  return narrowed(node, std::move(k), own);
}

plugin::Verdict accept_loss(const NodeView& node, int x, int label) {
  const int32_t t = node.in(x).dtype(), of = node.in(label).dtype();
  if (!plugin::is_float(t)) return plugin::refuse("softmax_cross_entropy: logits must be float");
  if (!plugin::is_float(of) && of != TENON_I32 && of != TENON_I64)
    return plugin::refuse("softmax_cross_entropy: labels must be i32, i64 or float");
  return t == TENON_F64 || of == TENON_F64 ? plugin::decompose() : plugin::take();
}

}  // namespace

void add_softmax_loss(KernelTable& table) {
  table.add(
      "softmax_cross_entropy",
      [](const NodeView& n) { return accept_loss(n, op::softmax_cross_entropy::x, op::softmax_cross_entropy::label); },
      make_loss);
  table.add(
      "softmax_cross_entropy_grad",
      [](const NodeView& n) {
        return accept_loss(n, op::softmax_cross_entropy_grad::x, op::softmax_cross_entropy_grad::label);
      },
      make_loss_grad);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
