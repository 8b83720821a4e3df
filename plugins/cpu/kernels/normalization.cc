// batch_norm        (x [M,C], gamma, beta [C], [residual [M,C]]) -> y [M,C], mean, var [C]
// batch_norm_apply  (x, gamma, beta, mean, var, [residual]) -> y
//   y = act((x - mean) gamma / s + beta + residual), s = sqrt(var + eps)
// batch_norm_grad   (dy, x [M,C], gamma, mean, var [C], [y]) -> dx, dgamma, dbeta, [dresidual]
//   dz = act'(dy, y), xh = (x - mean) / s, dx = gamma / s (dz - mean dz - xh mean(dz xh))
// Every pass walks the same pieces of rows, cut by the shape alone; a second pass walks them backwards
// because the last ones are still in the cache.
#include "kernels/normalization.h"

#include <algorithm>
#include <cmath>

#include "kernels/narrow.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kActivationTile = 2048;  // elements between an activation and its argument: they stay in L1
constexpr int64_t kMergedChannels = 128;   // merged at once

struct Norm {
  int64_t rows, c, piece, pieces, tile;  // tile in rows
  float eps, alpha;
  int32_t act;
  ActLoop activate = nullptr;
  ActGradLoop activate_grad = nullptr;

  int64_t rows_of(int64_t p) const { return std::min(piece, rows - p * piece); }
};

// tiled: something is kept between two loops over the same elements.
Norm norm_of(const NodeView& node, int x, bool tiled) {
  const auto v = node.in(x);
  Norm n{};
  n.c = v.dim(-1);
  n.rows = v.elements() / n.c;
  n.piece = piece_rows(n.rows, n.c);
  n.pieces = pieces_of(n.rows, n.piece);
  n.eps = static_cast<float>(node.f64("eps", 1e-3));
  n.alpha = static_cast<float>(node.f64("alpha"));
  n.act = node.enumerator("act");
  if (n.act > TENON_ACT_RELU) n.activate = act_loop(n.act), n.activate_grad = act_grad_loop(n.act);
  if (n.act == TENON_ACT_RELU) n.activate_grad = act_grad_loop(n.act);
  n.tile = tiled || n.activate ? std::max<int64_t>(4, kActivationTile / n.c) : n.piece;
  return n;
}

// Calls f(first row, rows) for the tiles of piece p.
template <class F>
void each_tile(const Norm& n, int64_t p, F f) {
  const int64_t end = p * n.piece + n.rows_of(p);
  for (int64_t r = p * n.piece; r < end; r += n.tile) f(r, std::min(n.tile, end - r));
}

// y of this thread's pieces; scale = gamma / s.
void apply_pieces(const Call& call, const Norm& n, const float* mean, const float* scale, const float* residual) {
  const float *x = call.in(0), *beta = call.in(2);
  float* y = call.out(0);
  const Slice s = call.share(n.pieces);
  for (int64_t p = s.end; p-- > s.begin;)
    each_tile(n, p, [&](int64_t r, int64_t rows) {
      const int64_t at = r * n.c;
      apply_columns(x + at, residual ? residual + at : nullptr, rows, n.c, mean, scale, beta, n.act == TENON_ACT_RELU,
                    y + at);
      if (n.activate) n.activate(y + at, y + at, rows * n.c, n.alpha);
    });
}

float scale_of(float gamma, float var, float eps) { return gamma / std::sqrt(var + eps); }

// ---- batch_norm ----

// scratch: [pieces][mean, square][C], then scale [C]
void run_batch_norm(const Call& call, const Norm& n, const float* residual) {
  float* partial = static_cast<float*>(call.scratch);
  float* scale = partial + 2 * n.pieces * n.c;
  float *mean = call.out(1), *var = call.out(2);
  const Slice s = call.share(n.pieces);
  for (int64_t p = s.begin; p < s.end; ++p)
    column_moments(call.in(0) + p * n.piece * n.c, n.rows_of(p), n.c, partial + 2 * p * n.c,
                   partial + (2 * p + 1) * n.c);
  call.barrier();
  const Slice blocks = call.share((n.c + kMergedChannels - 1) / kMergedChannels);
  for (int64_t b = blocks.begin; b < blocks.end; ++b) {
    const Slice channels{b * kMergedChannels, std::min(n.c, (b + 1) * kMergedChannels)};
    double m[kMergedChannels], square[kMergedChannels];
    merge_moments(partial, n.pieces, n.piece, n.rows, n.c, channels, m, square);
    for (int64_t i = channels.begin; i < channels.end; ++i) {
      mean[i] = static_cast<float>(m[i - channels.begin]);
      var[i] = static_cast<float>(square[i - channels.begin] / static_cast<double>(n.rows));
      scale[i] = scale_of(call.in(1)[i], var[i], n.eps);
    }
  }
  call.barrier();
  apply_pieces(call, n, mean, scale, residual);
}

Kernel make_batch_norm(const NodeView& node, const Env&) {
  const Norm n = norm_of(node, 0, false);
  const bool residual = node.has(3);
  Kernel k;
  k.threads = threads_for(n.rows * n.c);
  k.scratch_bytes = static_cast<uint64_t>((2 * n.pieces + 1) * n.c) * sizeof(float);
  k.in_place = {{0, 0}};
  if (residual) k.in_place.push_back({3, 0});
  k.run = [n, residual](const Call& call) { run_batch_norm(call, n, residual ? call.in(3) : nullptr); };
  return narrowed(node, std::move(k));
}

Kernel make_batch_norm_apply(const NodeView& node, const Env&) {
  const Norm n = norm_of(node, 0, false);
  const bool residual = node.has(5);
  Kernel k;
  k.threads = threads_for(n.rows * n.c);
  k.thread_scratch_bytes = static_cast<uint64_t>(n.c) * sizeof(float);
  k.in_place = {{0, 0}};
  if (residual) k.in_place.push_back({5, 0});
  k.run = [n, residual](const Call& call) {
    float* scale = static_cast<float*>(call.thread_scratch);
    for (int64_t i = 0; i < n.c; ++i) scale[i] = scale_of(call.in(1)[i], call.in(4)[i], n.eps);
    apply_pieces(call, n, call.in(3), scale, residual ? call.in(5) : nullptr);
  };
  return narrowed(node, std::move(k));
}

// ---- batch_norm_grad ----

struct GradPorts {
  const float *dy, *x, *gamma, *mean, *var, *y;
  float *dx, *dresidual;
};

// dz of a tile: dy itself, what the first pass stored, or computed into `room`.
const float* tile_dz(const Norm& n, const GradPorts& g, int64_t at, int64_t count, bool stored, float* room) {
  if (stored && g.dresidual) return g.dresidual + at;
  if (n.act == TENON_ACT_NONE && !g.dresidual) return g.dy + at;
  float* dz = g.dresidual ? g.dresidual + at : room;
  if (n.act == TENON_ACT_NONE) {
    if (dz != g.dy + at) std::copy_n(g.dy + at, count, dz);
  } else {
    n.activate_grad(g.dy + at, g.y + at, dz, count, n.alpha);
  }
  return dz;
}

// scratch: [pieces][sum, dot][C], then scale, slope, shift [C]
void run_batch_norm_grad(const Call& call, const Norm& n, const GradPorts& g) {
  float *partial = static_cast<float*>(call.scratch), *room = static_cast<float*>(call.thread_scratch);
  float *scale = partial + 2 * n.pieces * n.c, *slope = scale + n.c, *shift = slope + n.c;
  float *dgamma = call.out(1), *dbeta = call.out(2);
  const Slice s = call.share(n.pieces);
  for (int64_t p = s.begin; p < s.end; ++p) {
    float* sum = partial + 2 * p * n.c;
    std::fill_n(sum, 2 * n.c, 0.f);
    each_tile(n, p, [&](int64_t r, int64_t rows) {
      const float* dz = tile_dz(n, g, r * n.c, rows * n.c, false, room);
      column_dots(dz, g.x + r * n.c, g.mean, rows, n.c, sum, sum + n.c);
    });
  }
  call.barrier();
  const Slice channels = call.share(n.c, 16);
  add_pieces(partial, n.pieces, 2 * n.c, channels, dbeta);
  add_pieces(partial + n.c, n.pieces, 2 * n.c, channels, dgamma);
  const float each = 1.f / static_cast<float>(n.rows);
  for (int64_t i = channels.begin; i < channels.end; ++i) {
    const float inverse = 1.f / std::sqrt(g.var[i] + n.eps);
    scale[i] = g.gamma[i] * inverse;
    slope[i] = scale[i] * dgamma[i] * inverse * inverse * each;
    shift[i] = scale[i] * dbeta[i] * each;
    dgamma[i] *= inverse;
  }
  call.barrier();
  for (int64_t p = s.end; p-- > s.begin;)
    each_tile(n, p, [&](int64_t r, int64_t rows) {
      const int64_t at = r * n.c;
      const float* dz = tile_dz(n, g, at, rows * n.c, true, room);
      grad_columns(dz, g.x + at, rows, n.c, g.mean, scale, slope, shift, g.dx + at);
    });
}

Kernel make_batch_norm_grad(const NodeView& node, const Env&) {
  const bool y = node.has(5), dresidual = node.has_result(3);
  const Norm n = norm_of(node, 1, dresidual || node.enumerator("act") != TENON_ACT_NONE);
  Kernel k;
  k.threads = threads_for(n.rows * n.c);
  k.scratch_bytes = static_cast<uint64_t>((2 * n.pieces + 3) * n.c) * sizeof(float);
  k.thread_scratch_bytes = static_cast<uint64_t>(n.tile * n.c) * sizeof(float);
  k.in_place = {{1, 0}};
  if (dresidual)
    k.in_place.push_back({0, 3});
  else
    k.in_place.push_back({0, 0});
  k.run = [=](const Call& call) {
    const GradPorts g{call.in(0),  call.in(1),
                      call.in(2),  call.in(3),
                      call.in(4),  y ? call.in(5) : nullptr,
                      call.out(0), dresidual ? call.out(3) : nullptr};
    run_batch_norm_grad(call, n, g);
  };
  return narrowed(node, std::move(k));
}

// ---- accept ----

plugin::Verdict accept_norm(const NodeView& node, int x, int y) {
  const int32_t t = node.in(x).dtype(), act = node.enumerator("act");
  if (!plugin::is_float(t)) return plugin::refuse("batch_norm: the operand must be float");
  if (act < TENON_ACT_NONE || act > TENON_ACT_HARD_SWISH) return plugin::refuse("batch_norm: unknown activation");
  if (y >= 0 && act != TENON_ACT_NONE && (act > TENON_ACT_SOFTPLUS || !node.has(y)))
    return plugin::refuse("batch_norm_grad: this activation's gradient needs its argument");
  // Means over several replicas are collectives of the decomposition.
  const bool here = node.i64("group", 1) == 1 && t != TENON_F64 && node.in(x + 1).dtype() != TENON_F64;
  return here && node.in(x).rank() > 0 ? plugin::take() : plugin::decompose();
}

}  // namespace

void add_normalization(KernelTable& table) {
  table.add(
      "batch_norm", [](const NodeView& n) { return accept_norm(n, 0, -1); }, make_batch_norm);
  table.add(
      "batch_norm_apply", [](const NodeView& n) { return accept_norm(n, 0, -1); }, make_batch_norm_apply);
  table.add(
      "batch_norm_grad", [](const NodeView& n) { return accept_norm(n, 1, 5); }, make_batch_norm_grad);
  add_layer_norm(table);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
