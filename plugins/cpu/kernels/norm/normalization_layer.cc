// layer_norm       (x, gamma, [beta]) -> y, mean, var
//   y = xh gamma + beta, xh = (x - mean) / s, s = sqrt(var + eps); center false: mean 0, var = mean of x^2
// layer_norm_grad  (dy, x, gamma, mean, var) -> dx, dgamma, [dbeta]
//   g = dy gamma, dx = (g - mean(g) - xh mean(g xh)) / s
// Two views: rows x [O, n], normalised along n, gamma [P] with P a multiple of n (layer);
// columns x [N, S, G, D], normalised over S and D, gamma [G, D] (instance, group).
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/dtype.h"
#include "kernels/gemm/narrow.h"
#include "kernels/norm/normalization.h"
#include "kernels/norm/softmax.h"
#include "tenon/op/names.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

struct Layer {
  bool known = false, rows = false, center = true;
  int64_t outer = 1, n = 1, parameters = 1;       // rows
  int64_t samples = 1, s = 1, groups = 1, d = 1;  // columns
  int64_t piece = 1, pieces = 1;                  // of rows O, or of S
  float eps = 0;
  int32_t dtype = TENON_F32;  // of x, y and their gradients; rows are widened one by one

  bool half_rows() const { return rows && is_half(dtype); }
  uint64_t row_bytes() const { return half_rows() ? static_cast<uint64_t>(round_up(n, 16)) * sizeof(float) : 0; }
  // Row r of an operand where it lies, or widened into `room`.
  const float* row_of(const Call& call, int operand, int64_t r, float* room) const {
    if (!half_rows()) return call.in(operand) + r * n;
    widen(dtype, call.in<uint16_t>(operand) + r * n, room, n);
    return room;
  }
  // Where row r of result 0 is made, and what follows then.
  float* row_to(const Call& call, int64_t r, float* room) const { return half_rows() ? room : call.out(0) + r * n; }
  void end_row(const Call& call, int64_t r, const float* room) const {
    if (half_rows()) narrow(dtype, room, call.out<uint16_t>(0) + r * n, n);
  }
  int64_t c() const { return groups * d; }
};

struct Group {
  int64_t n;
  bool reduced;
};
std::vector<Group> groups_of(const NodeView& node, const plugin::ValueView& x) {
  bool reduced[TENON_MAX_RANK] = {};
  for (int64_t a : node.list("axes")) reduced[a < 0 ? a + x.rank() : a] = true;
  std::vector<Group> groups;
  for (int i = 0; i < x.rank(); ++i) {
    if (x.dim(i) == 1) continue;
    if (!groups.empty() && groups.back().reduced == reduced[i])
      groups.back().n *= x.dim(i);
    else
      groups.push_back({x.dim(i), reduced[i]});
  }
  return groups;
}

Layer rows_view(const std::vector<Group>& groups, int64_t elements, int64_t parameters) {
  Layer l;
  l.n = !groups.empty() && groups.back().reduced ? groups.back().n : 1;
  l.outer = elements / l.n;
  l.parameters = parameters;
  l.rows = l.known = groups.size() <= 2 && parameters % l.n == 0 && (l.n > 1 || groups.empty());
  l.piece = std::max((l.outer + 63) / 64, std::min(l.outer, std::max<int64_t>(1, 8192 / l.n)));
  l.pieces = pieces_of(l.outer, l.piece);
  return l;
}

// [N] S G [D], each there when its turn comes.
Layer columns_view(const std::vector<Group>& groups, int64_t parameters) {
  Layer l;
  size_t i = 0;
  const auto next = [&](bool reduced) { return i < groups.size() && groups[i].reduced == reduced ? groups[i++].n : 1; };
  l.samples = next(false);
  l.s = next(true);
  l.groups = next(false);
  l.d = next(true);
  l.known = i == groups.size() && l.c() == parameters;
  l.piece = piece_rows(l.s, l.c());
  l.pieces = pieces_of(l.s, l.piece);
  return l;
}

Layer layer_of(const NodeView& node, int x) {
  const auto v = node.in(x);
  const auto groups = groups_of(node, v);
  const int64_t parameters = node.in(x + 1).elements();
  Layer l = rows_view(groups, v.elements(), parameters);
  if (!l.known) l = columns_view(groups, parameters);
  l.center = node.flag("center", true);
  l.eps = static_cast<float>(node.f64("eps", 1e-3));
  l.dtype = v.dtype();
  return l;
}

// ---- rows ----

void normalize_row(const Layer& l, const float* x, const float* gamma, const float* beta, float* y, float* mean,
                   float* var) {
  const int64_t n = l.n;
  const float each = 1.f / static_cast<float>(n);
  const float m = l.center ? row_sum(n, [=](int64_t i) { return row8(x, i, n, 0); }) * each : 0.f;
  const float v = each * row_sum(n, [=](int64_t i) {
                    const f32x8 d = row8(x, i, n, m) - m;
                    return d * d;
                  });
  const float inverse = 1.f / std::sqrt(v + l.eps);
  for (int64_t i = 0; i < n; i += 8) {
    f32x8 h = (row8(x, i, n, 0) - m) * inverse * row8(gamma, i, n, 0);
    if (beta) h += row8(beta, i, n, 0);
    put8(y, i, n, h);
  }
  *mean = m;
  *var = v;
}

Kernel rows_kernel(const Layer& l, bool has_beta) {
  Kernel k;
  k.thread_scratch_bytes = l.row_bytes();
  k.run = [=](const Call& call) {
    float* const room = static_cast<float*>(call.thread_scratch);
    const Slice s = call.share(l.outer);
    const int64_t turns = l.parameters / l.n;
    for (int64_t r = s.begin; r < s.end; ++r) {
      const int64_t at = r % turns * l.n;
      normalize_row(l, l.row_of(call, op::layer_norm::x, r, room), call.in(op::layer_norm::gamma) + at,
                    has_beta ? call.in(op::layer_norm::beta) + at : nullptr, l.row_to(call, r, room),
                    call.out(op::layer_norm::out::mean) + r, call.out(op::layer_norm::out::var) + r);
      l.end_row(call, r, room);
    }
  };
  return k;
}

// dgamma, dbeta [n] gather this row's part.
void grad_row(const Layer& l, const float* dy, const float* x, const float* gamma, float mean, float var, float* dx,
              float* dgamma, float* dbeta) {
  const int64_t n = l.n;
  const float inverse = 1.f / std::sqrt(var + l.eps);
  f32x8 sum = {}, dot = {};
  for (int64_t i = 0; i < n; i += 8) {
    const f32x8 h = (row8(x, i, n, mean) - mean) * inverse, y = row8(dy, i, n, 0), g = y * row8(gamma, i, n, 0);
    sum += g;
    dot += g * h;
    put8(dgamma, i, n, row8(dgamma, i, n, 0) + y * h);
    put8(dbeta, i, n, row8(dbeta, i, n, 0) + y);
  }
  const float each = 1.f / static_cast<float>(n);
  const float shift = l.center ? sum8(sum) * each : 0.f, slope = sum8(dot) * each;
  for (int64_t i = 0; i < n; i += 8) {
    const f32x8 h = (row8(x, i, n, mean) - mean) * inverse, g = row8(dy, i, n, 0) * row8(gamma, i, n, 0);
    put8(dx, i, n, (g - shift - h * slope) * inverse);
  }
}

// scratch: [pieces][dgamma, dbeta][P]
Kernel rows_grad_kernel(const Layer& l, bool has_dbeta) {
  Kernel k;
  k.scratch_bytes = static_cast<uint64_t>(l.pieces * 2 * l.parameters) * sizeof(float);
  k.thread_scratch_bytes = 2 * l.row_bytes();
  k.run = [=](const Call& call) {
    float *const partial = static_cast<float*>(call.scratch), *const room = static_cast<float*>(call.thread_scratch);
    float* const more = room + l.row_bytes() / sizeof(float);
    const int64_t turns = l.parameters / l.n, step = 2 * l.parameters;
    const Slice s = call.share(l.pieces);
    for (int64_t p = s.begin; p < s.end; ++p) {
      float* sums = partial + p * step;
      std::fill_n(sums, step, 0.f);
      for (int64_t r = p * l.piece; r < std::min(l.outer, (p + 1) * l.piece); ++r) {
        const int64_t at = r % turns * l.n;
        grad_row(l, l.row_of(call, op::layer_norm_grad::dy, r, room), l.row_of(call, op::layer_norm_grad::x, r, more),
                 call.in(op::layer_norm_grad::gamma) + at, l.center ? call.in(op::layer_norm_grad::mean)[r] : 0.f,
                 call.in(op::layer_norm_grad::var)[r], l.row_to(call, r, room), sums + at, sums + l.parameters + at);
        l.end_row(call, r, room);
      }
    }
    call.barrier();
    const Slice range = call.share(l.parameters, 16);
    add_pieces(partial, l.pieces, step, range, call.out(op::layer_norm_grad::out::dgamma));
    if (has_dbeta) add_pieces(partial + l.parameters, l.pieces, step, range, call.out(op::layer_norm_grad::out::dbeta));
  };
  return k;
}

// ---- columns ----

// Calls f(sample, piece, rows) for this thread's pieces, backwards if asked.
template <class F>
void each_piece(const Call& call, const Layer& l, bool backwards, F f) {
  const Slice s = call.share(l.samples * l.pieces);
  for (int64_t k = 0; k < s.end - s.begin; ++k) {
    const int64_t u = backwards ? s.end - 1 - k : s.begin + k, p = u % l.pieces;
    f(u / l.pieces, p, std::min(l.piece, l.s - p * l.piece));
  }
}

// From the moments of sample n: its mean and var [G], and what each channel is shifted and scaled by.
void group_moments(const Layer& l, const float* partial, const float* gamma, double* room, float* mean, float* var,
                   float* shift, float* scale) {
  double *m = room, *square = room + l.c();
  merge_moments(partial, l.pieces, l.piece, l.s, l.c(), {0, l.c()}, m, square);
  for (int64_t g = 0; g < l.groups; ++g) {
    double centre = 0, sum = 0;
    const Slice channels{g * l.d, (g + 1) * l.d};
    for (int64_t i = channels.begin; l.center && i < channels.end; ++i) centre += m[i] / static_cast<double>(l.d);
    for (int64_t i = channels.begin; i < channels.end; ++i)
      sum += square[i] + static_cast<double>(l.s) * (m[i] - centre) * (m[i] - centre);
    mean[g] = static_cast<float>(centre);
    var[g] = static_cast<float>(sum / static_cast<double>(l.s * l.d));
    const float inverse = 1.f / std::sqrt(var[g] + l.eps);
    for (int64_t i = channels.begin; i < channels.end; ++i) shift[i] = mean[g], scale[i] = gamma[i] * inverse;
  }
}

// scratch: [N][pieces][2][C], then [N][shift, scale][C]; a thread's own: [2][C] doubles
Kernel columns_kernel(const Layer& l, bool has_beta) {
  const int64_t c = l.c(), step = l.pieces * 2 * c;
  Kernel k;
  k.scratch_bytes = static_cast<uint64_t>(l.samples * (step + 2 * c)) * sizeof(float);
  k.thread_scratch_bytes = static_cast<uint64_t>(2 * c) * sizeof(double);
  k.run = [=](const Call& call) {
    float *partial = static_cast<float*>(call.scratch), *channel = partial + l.samples * step;
    const auto at = [&](int64_t n, int64_t p) { return (n * l.s + p * l.piece) * c; };
    each_piece(call, l, false, [&](int64_t n, int64_t p, int64_t rows) {
      float* to = partial + n * step + p * 2 * c;
      column_moments(call.in(op::layer_norm::x) + at(n, p), rows, c, to, to + c);
    });
    call.barrier();
    const Slice samples = call.share(l.samples);
    for (int64_t n = samples.begin; n < samples.end; ++n)
      group_moments(l, partial + n * step, call.in(op::layer_norm::gamma), static_cast<double*>(call.thread_scratch),
                    call.out(op::layer_norm::out::mean) + n * l.groups,
                    call.out(op::layer_norm::out::var) + n * l.groups, channel + 2 * n * c, channel + (2 * n + 1) * c);
    call.barrier();
    each_piece(call, l, true, [&](int64_t n, int64_t p, int64_t rows) {
      apply_columns(call.in(op::layer_norm::x) + at(n, p), nullptr, rows, c, c, channel + 2 * n * c,
                    channel + (2 * n + 1) * c, has_beta ? call.in(op::layer_norm::beta) : nullptr, {},
                    call.out(op::layer_norm::out::y) + at(n, p));
    });
  };
  return k;
}

// What one sample's gradient needs of each channel.
struct ChannelGrad {
  float *sum, *dot, *scale, *slope, *shift;
  ChannelGrad(float* room, int64_t c) : sum(room), dot(sum + c), scale(dot + c), slope(scale + c), shift(slope + c) {}
};

void group_dots(const Layer& l, const float* partial, const float* gamma, const float* var, const ChannelGrad& to) {
  const int64_t c = l.c();
  add_pieces(partial, l.pieces, 2 * c, {0, c}, to.sum);
  add_pieces(partial + c, l.pieces, 2 * c, {0, c}, to.dot);
  const float each = 1.f / static_cast<float>(l.s * l.d);
  for (int64_t g = 0; g < l.groups; ++g) {
    const float inverse = 1.f / std::sqrt(var[g] + l.eps);
    float sum = 0, dot = 0;
    for (int64_t i = g * l.d; i < (g + 1) * l.d; ++i) {
      to.dot[i] *= inverse;
      sum += gamma[i] * to.sum[i];
      dot += gamma[i] * to.dot[i];
    }
    for (int64_t i = g * l.d; i < (g + 1) * l.d; ++i) {
      to.scale[i] = gamma[i] * inverse;
      to.slope[i] = inverse * inverse * dot * each;
      to.shift[i] = l.center ? inverse * sum * each : 0.f;
    }
  }
}

// scratch: [N][pieces][2][C], then [N][5][C]; a thread's own: [C]
Kernel columns_grad_kernel(const Layer& l, bool has_dbeta) {
  const int64_t c = l.c(), step = l.pieces * 2 * c;
  Kernel k;
  k.scratch_bytes = static_cast<uint64_t>(l.samples * (step + 5 * c)) * sizeof(float);
  k.thread_scratch_bytes = static_cast<uint64_t>(c) * sizeof(float);
  k.run = [=](const Call& call) {
    float *partial = static_cast<float*>(call.scratch), *channel = partial + l.samples * step;
    float* mean = static_cast<float*>(call.thread_scratch);
    const auto at = [&](int64_t n, int64_t p) { return (n * l.s + p * l.piece) * c; };
    const auto expand_mean = [&](int64_t n) {
      for (int64_t i = 0; i < c; ++i)
        mean[i] = l.center ? call.in(op::layer_norm_grad::mean)[n * l.groups + i / l.d] : 0.f;
    };
    each_piece(call, l, false, [&](int64_t n, int64_t p, int64_t rows) {
      float* to = partial + n * step + p * 2 * c;
      std::fill_n(to, 2 * c, 0.f);
      expand_mean(n);
      column_dots(call.in(op::layer_norm_grad::dy) + at(n, p), call.in(op::layer_norm_grad::x) + at(n, p), mean, rows,
                  c, to, to + c);
    });
    call.barrier();
    const Slice samples = call.share(l.samples);
    for (int64_t n = samples.begin; n < samples.end; ++n)
      group_dots(l, partial + n * step, call.in(op::layer_norm_grad::gamma),
                 call.in(op::layer_norm_grad::var) + n * l.groups, ChannelGrad(channel + 5 * n * c, c));
    call.barrier();
    const Slice range = call.share(c, 16);
    add_pieces(channel + c, l.samples, 5 * c, range, call.out(op::layer_norm_grad::out::dgamma));
    if (has_dbeta) add_pieces(channel, l.samples, 5 * c, range, call.out(op::layer_norm_grad::out::dbeta));
    each_piece(call, l, true, [&](int64_t n, int64_t p, int64_t rows) {
      const ChannelGrad g(channel + 5 * n * c, c);
      expand_mean(n);
      grad_columns(call.in(op::layer_norm_grad::dy) + at(n, p), call.in(op::layer_norm_grad::x) + at(n, p), rows, c,
                   mean, g.scale, g.slope, g.shift, call.out(op::layer_norm_grad::out::dx) + at(n, p));
    });
  };
  return k;
}

// ---- both ----

Kernel make_layer_norm(const NodeView& node, const Env&) {
  const Layer l = layer_of(node, op::layer_norm::x);
  Kernel k =
      l.rows ? rows_kernel(l, node.has(op::layer_norm::beta)) : columns_kernel(l, node.has(op::layer_norm::beta));
  k.threads = threads_for(node.in(op::layer_norm::x).elements());
  k.in_place = {{0, 0}};
  return narrowed(node, std::move(k),
                  l.half_rows() ? OwnPorts{{op::layer_norm::x}, {op::layer_norm::out::y}} : OwnPorts{});
}

Kernel make_layer_norm_grad(const NodeView& node, const Env&) {
  const Layer l = layer_of(node, op::layer_norm_grad::x);
  Kernel k = l.rows ? rows_grad_kernel(l, node.has_result(op::layer_norm_grad::out::dbeta))
                    : columns_grad_kernel(l, node.has_result(op::layer_norm_grad::out::dbeta));
  k.threads = threads_for(node.in(op::layer_norm_grad::x).elements());
  k.in_place = {{op::layer_norm_grad::dy, 0}, {op::layer_norm_grad::x, 0}};
  return narrowed(node, std::move(k),
                  l.half_rows()
                      ? OwnPorts{{op::layer_norm_grad::dy, op::layer_norm_grad::x}, {op::layer_norm_grad::out::dx}}
                      : OwnPorts{});
}

plugin::Verdict accept_layer_norm(const NodeView& node, int x) {
  const int32_t t = node.in(x).dtype();
  if (!plugin::is_float(t)) return plugin::refuse("layer_norm: the operand must be float");
  const bool narrow = t != TENON_F64 && node.in(x + 1).dtype() != TENON_F64;
  return narrow && layer_of(node, x).known ? plugin::take() : plugin::decompose();
}

}  // namespace

void add_layer_norm(KernelTable& table) {
  table.add(
      "layer_norm", [](const NodeView& n) { return accept_layer_norm(n, op::layer_norm::x); }, make_layer_norm);
  table.add(
      "layer_norm_grad", [](const NodeView& n) { return accept_layer_norm(n, op::layer_norm_grad::x); },
      make_layer_norm_grad);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
