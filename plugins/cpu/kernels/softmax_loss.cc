// softmax_cross_entropy       (x [R,V], label) -> loss [R], lse [R]
//   loss = sum(t) lse - sum(t x), lse = log(sum exp x)
// softmax_cross_entropy_grad  (dloss [R], x [R,V], label, lse [R]) -> dx [R,V]
//   dx = dloss (sum(t) exp(x - lse) - t)
// label integer [R]: t = on at the label, off elsewhere; float [R,V]: t itself.
#include <algorithm>
#include <cmath>

#include "kernels/narrow.h"
#include "kernels/reduction.h"
#include "kernels/softmax.h"

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

// The row's integer label.
int64_t label_at(const Loss& l, const Call& call, int operand, int64_t r) {
  return l.label_dtype == TENON_I64 ? call.in<int64_t>(operand)[r] : call.in<int32_t>(operand)[r];
}
bool inside(const Loss& l, int64_t label) { return label >= 0 && label < l.v; }
float total_of(const Loss& l) { return l.on + static_cast<float>(l.v - 1) * l.off; }

float sparse_loss(const Loss& l, const float* x, int64_t label, float lse) {
  if (label == l.ignore) return 0;
  if (!inside(l, label)) return kNaN;
  if (l.off == 0) return l.on * (lse - x[label]);
  const int64_t n = l.v;
  // Summed as x - lse: the terms are of the size of the loss.
  const float rest = row_sum(n, [=](int64_t i) { return lse - row8(x, i, n, lse); });
  return l.off * rest + (l.on - l.off) * (lse - x[label]);
}

float dense_loss(const Loss& l, const float* x, const float* t, float lse) {
  const int64_t n = l.v;
  const float total = row_sum(n, [=](int64_t i) { return row8(t, i, n, 0); });
  return total * lse - row_sum(n, [=](int64_t i) { return row8(t, i, n, 0) * row8(x, i, n, 0); });
}

void sparse_grad(const Loss& l, const float* x, int64_t label, float lse, float g, float* dx) {
  if (label == l.ignore || !inside(l, label)) {
    std::fill_n(dx, l.v, label == l.ignore ? 0.f : kNaN);
    return;
  }
  const float scale = g * total_of(l), shift = g * l.off, at_label = x[label];
  for (int64_t i = 0; i < l.v; i += Lanes::kLanes)
    put<Lanes>(dx, i, l.v, scale * exp_low<Lanes>(row<Lanes>(x, i, l.v, lse) - lse) - shift);
  dx[label] = g * (total_of(l) * std::exp(at_label - lse) - l.on);
}

void dense_grad(const Loss& l, const float* x, const float* t, float lse, float g, float* dx) {
  const int64_t n = l.v;
  const float total = row_sum(n, [=](int64_t i) { return row8(t, i, n, 0); });
  for (int64_t i = 0; i < n; i += Lanes::kLanes) {
    const Lanes::Vector p = exp_low<Lanes>(row<Lanes>(x, i, n, lse) - lse);
    put<Lanes>(dx, i, n, g * (total * p - row<Lanes>(t, i, n, 0)));
  }
}

Kernel make_loss(const NodeView& node, const Env&) {
  const Loss l = loss_of(node, 0, 1);
  Kernel k;
  k.threads = threads_for(l.rows * l.v * 2);
  k.run = [l](const Call& call) {
    const Slice s = call.share(l.rows);
    for (int64_t r = s.begin; r < s.end; ++r) {
      const float* x = call.in(0) + r * l.v;
      const float max = row_max(x, l.v), sum = row_exp<false>(x, l.v, max, nullptr);
      const float lse = max + std::log(sum);
      call.out(1)[r] = lse;
      call.out(0)[r] = plugin::is_float(l.label_dtype) ? dense_loss(l, x, call.in(1) + r * l.v, lse)
                                                       : sparse_loss(l, x, label_at(l, call, 1, r), lse);
    }
  };
  return narrowed(node, std::move(k));
}

Kernel make_loss_grad(const NodeView& node, const Env&) {
  const Loss l = loss_of(node, 1, 2);
  Kernel k;
  k.threads = threads_for(l.rows * l.v * 2);
  k.in_place = {{1, 0}};
  k.run = [l](const Call& call) {
    const Slice s = call.share(l.rows);
    for (int64_t r = s.begin; r < s.end; ++r) {
      const float *x = call.in(1) + r * l.v, g = call.in(0)[r], lse = call.in(3)[r];
      float* dx = call.out(0) + r * l.v;
      if (plugin::is_float(l.label_dtype))
        dense_grad(l, x, call.in(2) + r * l.v, lse, g, dx);
      else
        sparse_grad(l, x, label_at(l, call, 2, r), lse, g, dx);
    }
  };
  return narrowed(node, std::move(k));
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
      "softmax_cross_entropy", [](const NodeView& n) { return accept_loss(n, 0, 1); }, make_loss);
  table.add(
      "softmax_cross_entropy_grad", [](const NodeView& n) { return accept_loss(n, 1, 2); }, make_loss_grad);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
