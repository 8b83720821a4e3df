// softmax           y = exp(x - max) / sum          log_softmax       y = x - max - log(sum)
// softmax_grad      dx = y (dy - sum dy y)          log_softmax_grad  dx = dy - exp(y) sum dy
// logsumexp         y = max + log(sum)             cpu.exp_of_rows   y = g exp(x - shift), one g and shift a row
// x [outer, n, inner], along n. Rows lie whole where inner is 1; else columns go in blocks.
#include "kernels/norm/softmax.h"

#include <algorithm>

#include "kernels/gemm/narrow.h"
#include "kernels/reduction.h"
#include "own_nodes.h"
#include "tenon/op/names.h"

namespace tenon::cpu::TENON_CPU_ISA {

namespace {

constexpr int64_t kLineColumns = 64;

void softmax_row(const float* x, int64_t n, float* y) {
  const float sum = row_exp(x, n, row_max(x, n), y);
  const Lanes::Vector scale = Lanes::splat(1.f / sum);
  for (int64_t i = 0; i < n; i += Lanes::kLanes) put<Lanes>(y, i, n, row<Lanes>(y, i, n, 0) * scale);
}

void log_softmax_row(const float* x, int64_t n, float* y) {
  const float max = row_max(x, n), log_sum = std::log(row_exp<false>(x, n, max, nullptr));
  for (int64_t i = 0; i < n; i += Lanes::kLanes) put<Lanes>(y, i, n, (row<Lanes>(x, i, n, 0) - max) - log_sum);
}

void softmax_grad_row(const float* dy, const float* y, int64_t n, float* dx) {
  const float sum = row_sum(n, [=](int64_t i) { return row8(dy, i, n, 0) * row8(y, i, n, 0); });
  for (int64_t i = 0; i < n; i += 8) put8(dx, i, n, row8(y, i, n, 0) * (row8(dy, i, n, 0) - sum));
}

void log_softmax_grad_row(const float* dy, const float* y, int64_t n, float* dx) {
  const float sum = row_sum(n, [=](int64_t i) { return row8(dy, i, n, 0); });
  for (int64_t i = 0; i < n; i += 8) put8(dx, i, n, row8(dy, i, n, 0) - vexp(row8(y, i, n, 0)) * sum);
}

// Nothing is taken out of infinities.
float logsumexp_row(const float* x, int64_t n) {
  const float max = row_max(x, n);
  return std::isinf(max) ? max : max + std::log(row_exp<false>(x, n, max, nullptr));
}

void exp_of_row(const float* x, int64_t n, float shift, float g, float* y) {
  for (int64_t i = 0; i < n; i += Lanes::kLanes) put<Lanes>(y, i, n, g * vexp(row<Lanes>(x, i, n, 0) - shift));
}

// The largest of each of `width` columns of a matrix whose rows are `step` apart, and the sum of exp(x - max), which goes to y
// where there is one.
void exp_columns(const float* x, int64_t n, int64_t step, int64_t width, float* max, float* sum, float* y) {
  std::fill_n(max, kLineColumns, -kInf);
  std::fill_n(sum, kLineColumns, 0.f);
  for (int64_t k = 0; k < n; ++k)
    for (int64_t i = 0; i < width; i += 8) store8(max + i, vmax_nan(load8(max + i), row8(x + k * step, i, width, 0)));
  for (int64_t k = 0; k < n; ++k)
    for (int64_t i = 0; i < width; i += 8) {
      const f32x8 e = exp_low(row8(x + k * step, i, width, 0) - load8(max + i));
      store8(sum + i, load8(sum + i) + e);
      if (y) put8(y + k * step, i, width, e);
    }
}

void softmax_columns(const float* x, int64_t n, int64_t step, int64_t width, bool log, float* y) {
  float max[kLineColumns], sum[kLineColumns];
  exp_columns(x, n, step, width, max, sum, log ? nullptr : y);
  for (int64_t i = 0; i < kLineColumns; i += 8) store8(sum + i, log ? vlog(load8(sum + i)) : 1.f / load8(sum + i));
  for (int64_t k = 0; k < n; ++k)
    for (int64_t i = 0; i < width; i += 8) {
      const f32x8 v = row8((log ? x : y) + k * step, i, width, 0);
      put8(y + k * step, i, width, log ? (v - load8(max + i)) - load8(sum + i) : v * load8(sum + i));
    }
}

void logsumexp_columns(const float* x, int64_t n, int64_t step, int64_t width, float* y) {
  float max[kLineColumns], sum[kLineColumns];
  exp_columns(x, n, step, width, max, sum, nullptr);
  for (int64_t i = 0; i < width; i += 8) {
    const f32x8 m = load8(max + i);
    put8(y, i, width, vabs(m) == kInf ? m : m + vlog(load8(sum + i)));
  }
}

void softmax_grad_columns(const float* dy, const float* y, int64_t n, int64_t step, int64_t width, bool log,
                          float* dx) {
  float sum[kLineColumns] = {};
  for (int64_t k = 0; k < n; ++k)
    for (int64_t i = 0; i < width; i += 8) {
      const f32x8 g = row8(dy + k * step, i, width, 0);
      store8(sum + i, load8(sum + i) + (log ? g : g * row8(y + k * step, i, width, 0)));
    }
  for (int64_t k = 0; k < n; ++k)
    for (int64_t i = 0; i < width; i += 8) {
      const f32x8 g = row8(dy + k * step, i, width, 0), v = row8(y + k * step, i, width, 0), s = load8(sum + i);
      put8(dx + k * step, i, width, log ? g - vexp(v) * s : v * (g - s));
    }
}

// Calls row(at) or columns(at, width) for this thread's share of [outer, n, inner].
template <class Row, class Columns>
void each_line(const Call& call, const AxisView& v, Row row, Columns columns) {
  const int64_t blocks = v.inner == 1 ? 1 : (v.inner + kLineColumns - 1) / kLineColumns;
  const Slice s = call.share(v.outer * blocks);
  for (int64_t u = s.begin; u < s.end; ++u) {
    const int64_t from = u % blocks * kLineColumns, at = u / blocks * v.n * v.inner + from;
    if (v.inner == 1)
      row(at);
    else
      columns(at, std::min(kLineColumns, v.inner - from));
  }
}

Kernel make_softmax(const NodeView& node, bool log) {
  const AxisView v = axis_view(node.in(op::softmax::x), node.i64("axis", -1));
  Kernel k;
  k.threads = threads_for(node.in(op::softmax::x).elements() * 4);
  k.in_place = {{0, 0}};
  k.run = [=](const Call& call) {
    const float* x = call.in(op::softmax::x);
    float* y = call.out(0);
    each_line(
        call, v, [&](int64_t at) { log ? log_softmax_row(x + at, v.n, y + at) : softmax_row(x + at, v.n, y + at); },
        [&](int64_t at, int64_t width) { softmax_columns(x + at, v.n, v.inner, width, log, y + at); });
  };
  return narrowed(node, std::move(k));
}

Kernel make_softmax_grad(const NodeView& node, bool log) {
  const AxisView v = axis_view(node.in(op::softmax_grad::dy), node.i64("axis", -1));
  Kernel k;
  k.threads = threads_for(node.in(op::softmax_grad::dy).elements() * (log ? 4 : 2));
  k.in_place = {{op::softmax_grad::dy, 0}, {op::softmax_grad::y, 0}};
  k.run = [=](const Call& call) {
    const float *dy = call.in(op::softmax_grad::dy), *y = call.in(op::softmax_grad::y);
    float* dx = call.out(0);
    each_line(
        call, v, [&](int64_t at) { (log ? log_softmax_grad_row : softmax_grad_row)(dy + at, y + at, v.n, dx + at); },
        [&](int64_t at, int64_t width) { softmax_grad_columns(dy + at, y + at, v.n, v.inner, width, log, dx + at); });
  };
  return narrowed(node, std::move(k));
}

// [outer, n, inner] around neighbouring axes; n is 0 where there are others between them, or none.
AxisView axes_view(const NodeView& node) {
  const auto x = node.in(0);
  const auto axes = node.list("axes");
  AxisView v;
  if (axes.size() == 0 || axes[axes.size() - 1] - axes[0] + 1 != static_cast<int64_t>(axes.size())) return {1, 0, 1};
  for (int i = 0; i < x.rank(); ++i) (i < axes[0] ? v.outer : i > axes[axes.size() - 1] ? v.inner : v.n) *= x.dim(i);
  return v;
}

// The line of [outer, inner] that an element of [outer, n, inner] is in.
int64_t line_of(const AxisView& v, int64_t at) { return at / (v.n * v.inner) * v.inner + at % v.inner; }

Kernel make_logsumexp(const NodeView& node, const Env&) {
  const AxisView v = axes_view(node);
  Kernel k;
  k.threads = threads_for(node.in(op::logsumexp::x).elements() * 4);
  k.run = [=](const Call& call) {
    const float* x = call.in(op::logsumexp::x);
    float* y = call.out(0);
    each_line(
        call, v, [&](int64_t at) { y[line_of(v, at)] = logsumexp_row(x + at, v.n); },
        [&](int64_t at, int64_t width) { logsumexp_columns(x + at, v.n, v.inner, width, y + line_of(v, at)); });
  };
  return narrowed(node, std::move(k));
}

Kernel make_exp_of_rows(const NodeView& node, const Env&) {
  const auto x = node.in(own::exp_of_rows::x);
  const int64_t rows = node.in(own::exp_of_rows::shift).elements(), n = x.elements() / rows;
  const int64_t step = node.in(own::exp_of_rows::g).elements() == 1 ? 0 : 1;  // one g of all rows
  Kernel k;
  k.threads = threads_for(x.elements() * 4);
  k.in_place = {{own::exp_of_rows::x, 0}};
  k.run = [=](const Call& call) {
    const float *from = call.in(own::exp_of_rows::x), *shift = call.in(own::exp_of_rows::shift),
                *g = call.in(own::exp_of_rows::g);
    const Slice mine = call.share(rows);
    for (int64_t r = mine.begin; r < mine.end; ++r)
      exp_of_row(from + r * n, n, shift[r], g[r * step], call.out(0) + r * n);
  };
  return k;
}

// Few long lines are left to `reduce`, which cuts them into pieces for all threads.
plugin::Verdict accept_logsumexp(const NodeView& node) {
  const auto x = node.in(op::logsumexp::x);
  if (!plugin::is_float(x.dtype())) return plugin::refuse("logsumexp: the operand must be float");
  const AxisView v = axes_view(node);
  constexpr int64_t kFewLines = 16, kLong = 1 << 14;
  const bool few = v.outer * ceil_div(v.inner, kLineColumns) < kFewLines && v.n > kLong;
  return x.dtype() == TENON_F64 || v.n == 0 || few ? plugin::decompose() : plugin::take();
}

plugin::Verdict accept_softmax(const NodeView& node) {
  const int32_t t = node.in(op::softmax::x).dtype();
  if (!plugin::is_float(t)) return plugin::refuse("softmax: the operand must be float");
  return t == TENON_F64 || node.in(op::softmax::x).rank() == 0 ? plugin::decompose() : plugin::take();
}

}  // namespace

void add_softmax(KernelTable& table) {
  table.add("softmax", accept_softmax, [](const NodeView& n, const Env&) { return make_softmax(n, false); });
  table.add("log_softmax", accept_softmax, [](const NodeView& n, const Env&) { return make_softmax(n, true); });
  table.add("softmax_grad", accept_softmax, [](const NodeView& n, const Env&) { return make_softmax_grad(n, false); });
  table.add("log_softmax_grad", accept_softmax,
            [](const NodeView& n, const Env&) { return make_softmax_grad(n, true); });
  table.add("logsumexp", accept_logsumexp, make_logsumexp);
  table.add_own("cpu.exp_of_rows", make_exp_of_rows);
  add_softmax_loss(table);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
