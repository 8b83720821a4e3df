// batch_norm        (x [M,C], gamma, beta [C], [residual [M,C]]) -> y [M,C], mean, var [C]
// batch_norm_apply  (x, gamma, beta, mean, var, [residual]) -> y
//   y = act((x - mean) gamma / s + beta + residual), s = sqrt(var + eps)
// batch_norm_grad   (dy, x [M,C], gamma, mean, var [C], [y]) -> dx, dgamma, dbeta, [dresidual]
// cpu.batch_norm_grad (dy, x, gamma, mean, var, nothing, beta), f32: the activation's argument is computed of x and beta
//   dz = act'(dy, y), xh = (x - mean) / s, dx = gamma / s (dz - mean dz - xh mean(dz xh))
// Every pass walks the same pieces of rows, cut by the shape alone; a second pass walks them backwards
// because the last ones are still in the cache.
#include "kernels/norm/normalization.h"

#include <algorithm>
#include <cmath>

#include "kernels/dtype.h"
#include "kernels/gemm/narrow.h"
#include "own_nodes.h"
#include "tenon/op/names.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

constexpr int64_t kMergedChannels = 128;  // merged at once

struct Norm {
  int64_t rows, c, piece, pieces, tile;  // tile in rows
  int32_t dtype;                         // of what has rows
  float eps, alpha;
  int32_t act;
  ActLoop activate = nullptr;
  ActGradLoop activate_grad = nullptr;

  int64_t rows_of(int64_t p) const { return std::min(piece, rows - p * piece); }
};

// bf16 whose activation the loops over columns know: they read and write it as it is. What else is of 16 bits goes through
// tiles of f32.
bool is_direct_half(const Norm& n) { return n.dtype == TENON_BF16 && is_clip(n.act); }

template <class T>
const T* rows_at(const void* p, int64_t at) {
  return p ? static_cast<const T*>(p) + at : nullptr;
}

// Elements of what has rows, from `at` on, as f32: where they lie, or widened into `room`.
const float* floats(const Norm& n, const void* from, int64_t at, int64_t count, float* room) {
  if (!from || !is_half(n.dtype)) return from ? static_cast<const float*>(from) + at : nullptr;
  widen(n.dtype, static_cast<const uint16_t*>(from) + at, room, count);
  return room;
}
// Where such elements are computed: in their place, or in `room`, from which store() takes them there.
float* place(const Norm& n, void* to, int64_t at, float* room) {
  return is_half(n.dtype) ? room : static_cast<float*>(to) + at;
}
void store(const Norm& n, const float* from, void* to, int64_t at, int64_t count) {
  if (is_half(n.dtype)) narrow(n.dtype, from, static_cast<uint16_t*>(to) + at, count);
}

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
  n.dtype = v.dtype();
  if (!is_clip(n.act)) n.activate = act_loop(n.act);
  if (n.act != TENON_ACT_NONE) n.activate_grad = act_grad_loop(n.act);
  n.tile = tiled || n.activate || is_half(n.dtype) ? tile_rows(n.c) : n.piece;
  return n;
}

// Calls f(first row, rows) for the tiles of piece p.
template <class F>
void each_tile(const Norm& n, int64_t p, F f) {
  const int64_t end = p * n.piece + n.rows_of(p);
  for (int64_t r = p * n.piece; r < end; r += n.tile) f(r, std::min(n.tile, end - r));
}

// y of this thread's pieces; scale = gamma / s. room: three tiles.
void apply_pieces(const Call& call, const Norm& n, const float* mean, const float* scale, const void* residual,
                  float* room) {
  const Slice s = call.share(n.pieces);
  const int64_t size = n.tile * n.c;
  const bool direct = is_direct_half(n);
  for (int64_t p = s.end; p-- > s.begin;)
    each_tile(n, p, [&](int64_t r, int64_t rows) {
      const int64_t at = r * n.c, count = rows * n.c;
      if (direct)
        return apply_columns(call.in<Bfloat>(op::batch_norm::x) + at, rows_at<Bfloat>(residual, at), rows, n.c, n.c,
                             mean, scale, call.in(op::batch_norm::beta), Clip::of(n.act),
                             call.out<Bfloat>(op::batch_norm::out::y) + at);
      float* const y = place(n, call.out(op::batch_norm::out::y), at, room);
      apply_columns(floats(n, call.in(op::batch_norm::x), at, count, room + size),
                    floats(n, residual, at, count, room + 2 * size), rows, n.c, n.c, mean, scale,
                    call.in(op::batch_norm::beta), Clip::of(n.act), y);
      if (n.activate) n.activate(y, y, count, n.alpha);
      store(n, y, call.out(op::batch_norm::out::y), at, count);
    });
}

float scale_of(float gamma, float var, float eps) { return gamma / std::sqrt(var + eps); }

// ---- batch_norm ----

// scratch: [pieces][mean, square][C], then scale [C]
void run_batch_norm(const Call& call, const Norm& n, const void* residual) {
  float* const room = static_cast<float*>(call.thread_scratch);
  float* partial = static_cast<float*>(call.scratch);
  float* scale = partial + 2 * n.pieces * n.c;
  float *mean = call.out(op::batch_norm::out::mean), *var = call.out(op::batch_norm::out::var);
  const Slice s = call.share(n.pieces);
  for (int64_t p = s.begin; p < s.end; ++p) {
    const int64_t at = p * n.piece * n.c, rows = n.rows_of(p);
    float *const first = partial + 2 * p * n.c, *const second = first + n.c;
    if (is_direct_half(n))
      column_moments(call.in<Bfloat>(op::batch_norm::x) + at, rows, n.c, first, second);
    else
      column_moments(floats(n, call.in(op::batch_norm::x), at, rows * n.c, room), rows, n.c, first, second);
  }
  call.barrier();
  const Slice blocks = call.share((n.c + kMergedChannels - 1) / kMergedChannels);
  for (int64_t b = blocks.begin; b < blocks.end; ++b) {
    const Slice channels{b * kMergedChannels, std::min(n.c, (b + 1) * kMergedChannels)};
    double m[kMergedChannels], square[kMergedChannels];
    merge_moments(partial, n.pieces, n.piece, n.rows, n.c, channels, m, square);
    for (int64_t i = channels.begin; i < channels.end; ++i) {
      mean[i] = static_cast<float>(m[i - channels.begin]);
      var[i] = static_cast<float>(square[i - channels.begin] / static_cast<double>(n.rows));
      scale[i] = scale_of(call.in(op::batch_norm::gamma)[i], var[i], n.eps);
    }
  }
  call.barrier();
  apply_pieces(call, n, mean, scale, residual, room);
}

// Floats of each thread: `tiles` tiles, and a piece where it is read again and again.
int64_t room_of(const Norm& n, int64_t tiles, bool piece) {
  if (!is_half(n.dtype) || is_direct_half(n)) return 0;
  return round_up(std::max(tiles * n.tile * n.c, piece ? n.piece * n.c : 0), 16);
}

Kernel make_batch_norm(const NodeView& node, const Env&) {
  const Norm n = norm_of(node, op::batch_norm::x, false);
  const bool residual = node.has(op::batch_norm::residual);
  Kernel k;
  k.threads = threads_for(n.rows * n.c);
  k.scratch_bytes = static_cast<uint64_t>((2 * n.pieces + 1) * n.c) * sizeof(float);
  k.thread_scratch_bytes = static_cast<uint64_t>(room_of(n, 3, true)) * sizeof(float);
  k.in_place = {{op::batch_norm::x, op::batch_norm::out::y}};
  if (residual) k.in_place.push_back({op::batch_norm::residual, op::batch_norm::out::y});
  k.run = [n, residual](const Call& call) {
    run_batch_norm(call, n, residual ? call.in(op::batch_norm::residual) : nullptr);
  };
  return narrowed(node, std::move(k), {{op::batch_norm::x, op::batch_norm::residual}, {op::batch_norm::out::y}});
}

Kernel make_batch_norm_apply(const NodeView& node, const Env&) {
  const Norm n = norm_of(node, op::batch_norm::x, false);
  const bool residual = node.has(op::batch_norm_apply::residual);
  Kernel k;
  k.threads = threads_for(n.rows * n.c);
  const int64_t room = room_of(n, 3, false);
  k.thread_scratch_bytes = static_cast<uint64_t>(room + n.c) * sizeof(float);
  k.in_place = {{op::batch_norm_apply::x, 0}};
  if (residual) k.in_place.push_back({op::batch_norm_apply::residual, 0});
  k.run = [n, room, residual](const Call& call) {
    float *own = static_cast<float*>(call.thread_scratch), *scale = own + room;
    for (int64_t i = 0; i < n.c; ++i)
      scale[i] = scale_of(call.in(op::batch_norm_apply::gamma)[i], call.in(op::batch_norm_apply::var)[i], n.eps);
    apply_pieces(call, n, call.in(op::batch_norm_apply::mean), scale,
                 residual ? call.in(op::batch_norm_apply::residual) : nullptr, own);
  };
  return narrowed(node, std::move(k),
                  {{op::batch_norm_apply::x, op::batch_norm_apply::residual}, {op::batch_norm_apply::out::y}});
}

// ---- batch_norm_grad ----

struct GradPorts {
  const void *dy, *x, *y;
  const float *gamma, *mean, *var;
  void *dx, *dresidual;
  const float *beta = nullptr, *scale = nullptr;  // where the activation's argument follows from x
};

// dz of a tile, computed once, in the place of dx.
const float* dz_by_argument(const Norm& n, const GradPorts& g, int64_t at, int64_t count, bool second, float* room) {
  float* const dz = static_cast<float*>(g.dx) + at;
  if (second) return dz;
  apply_columns(static_cast<const float*>(g.x) + at, nullptr, count / n.c, n.c, n.c, g.mean, g.scale, g.beta, {}, room);
  n.activate_grad(static_cast<const float*>(g.dy) + at, room, dz, count, n.alpha);
  return dz;
}

// dz of a tile: dy itself, what the first pass stored, or computed into the first of the three tiles of `room`. What is
// rounded is computed in both passes, and given in the second.
const float* tile_dz(const Norm& n, const GradPorts& g, int64_t at, int64_t count, bool second, float* room) {
  if (g.beta) return dz_by_argument(n, g, at, count, second, room);
  const bool half = is_half(n.dtype);
  if (second && g.dresidual && !half) return static_cast<const float*>(g.dresidual) + at;
  const float* const dy = floats(n, g.dy, at, count, room + n.tile * n.c);
  float* dz = g.dresidual ? place(n, g.dresidual, at, room) : room;
  if (n.act == TENON_ACT_NONE) {
    if (!g.dresidual) return dy;
    if (dz != dy) std::copy_n(dy, count, dz);
  } else {
    n.activate_grad(dy, floats(n, g.y, at, count, room + 2 * n.tile * n.c), dz, count, n.alpha);
  }
  if (second && g.dresidual) store(n, dz, g.dresidual, at, count);
  return dz;
}

// What grad_columns takes.
struct Slopes {
  const float *scale, *slope, *shift;
};

// Where dz lies between the passes over bf16 as it is: nobody but dresidual and dx has room for it.
Bfloat* dz_of_halves(const Norm& n, const GradPorts& g) {
  const void* const to = g.dresidual ? g.dresidual : n.act == TENON_ACT_NONE ? g.dy : g.dx;
  return static_cast<Bfloat*>(const_cast<void*>(to));
}

// sum and dot [C] of piece p.
void grad_sums(const Norm& n, const GradPorts& g, int64_t p, float* room, float* sum) {
  std::fill_n(sum, 2 * n.c, 0.f);
  if (is_direct_half(n)) {
    const int64_t at = p * n.piece * n.c;
    IncomingGradient<Bfloat> from;
    from.dy = rows_at<Bfloat>(g.dy, at);
    if (n.act != TENON_ACT_NONE) from.y = rows_at<Bfloat>(g.y, at);
    from.ceiling = n.act == TENON_ACT_RELU6;
    return take_gradient(dz_of_halves(n, g) + at, rows_at<Bfloat>(g.x, at), from, g.mean, n.rows_of(p), n.c, n.c, sum,
                         sum + n.c);
  }
  each_tile(n, p, [&](int64_t r, int64_t rows) {
    const float* dz = tile_dz(n, g, r * n.c, rows * n.c, false, room);
    column_dots(dz, floats(n, g.x, r * n.c, rows * n.c, room + 2 * n.tile * n.c), g.mean, rows, n.c, sum, sum + n.c);
  });
}

// dx of piece p, and dresidual.
void grad_rows(const Norm& n, const GradPorts& g, int64_t p, float* room, const Slopes& s) {
  const int64_t size = n.tile * n.c, first = p * n.piece * n.c;
  if (is_direct_half(n))
    return grad_columns(dz_of_halves(n, g) + first, rows_at<Bfloat>(g.x, first), n.rows_of(p), n.c, g.mean, s.scale,
                        s.slope, s.shift, static_cast<Bfloat*>(g.dx) + first);
  each_tile(n, p, [&](int64_t r, int64_t rows) {
    const int64_t at = r * n.c, count = rows * n.c;
    const float* dz = tile_dz(n, g, at, count, true, room);
    float* const dx = place(n, g.dx, at, room + size);
    grad_columns(dz, floats(n, g.x, at, count, room + 2 * size), rows, n.c, g.mean, s.scale, s.slope, s.shift, dx);
    store(n, dx, g.dx, at, count);
  });
}

// scratch: [pieces][sum, dot][C], then scale, slope, shift [C]
void run_batch_norm_grad(const Call& call, const Norm& n, GradPorts g) {
  float *partial = static_cast<float*>(call.scratch), *room = static_cast<float*>(call.thread_scratch);
  float *scale = partial + 2 * n.pieces * n.c, *slope = scale + n.c, *shift = slope + n.c;
  float *dgamma = call.out(op::batch_norm_grad::out::dgamma), *dbeta = call.out(op::batch_norm_grad::out::dbeta);
  const Slice s = call.share(n.pieces);
  if (g.beta) {
    const Slice mine = call.share(n.c, 16);
    for (int64_t i = mine.begin; i < mine.end; ++i) scale[i] = g.gamma[i] * (1.f / std::sqrt(g.var[i] + n.eps));
    call.barrier();
    g.scale = scale;
  }
  for (int64_t p = s.begin; p < s.end; ++p) grad_sums(n, g, p, room, partial + 2 * p * n.c);
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
  for (int64_t p = s.end; p-- > s.begin;) grad_rows(n, g, p, room, {scale, slope, shift});
}

Kernel make_batch_norm_grad(const NodeView& node, const Env&) {
  const bool beta = node.op() == "cpu.batch_norm_grad";
  const bool y = node.has(op::batch_norm_grad::y), dresidual = node.has_result(op::batch_norm_grad::out::dresidual);
  const Norm n = norm_of(node, op::batch_norm_grad::x, dresidual || node.enumerator("act") != TENON_ACT_NONE);
  Kernel k;
  k.threads = threads_for(n.rows * n.c);
  k.scratch_bytes = static_cast<uint64_t>((2 * n.pieces + 3) * n.c) * sizeof(float);
  k.thread_scratch_bytes = static_cast<uint64_t>((is_half(n.dtype) ? 3 : 1) * n.tile * n.c) * sizeof(float);
  // dz in the place of dx would be where x still is.
  if (!beta && (dresidual || n.act == TENON_ACT_NONE || !is_direct_half(n)))
    k.in_place = {{op::batch_norm_grad::x, op::batch_norm_grad::out::dx}};
  k.in_place.push_back(
      {op::batch_norm_grad::dy, dresidual ? op::batch_norm_grad::out::dresidual : op::batch_norm_grad::out::dx});
  k.run = [=](const Call& call) {
    const GradPorts g{call.in(op::batch_norm_grad::dy),
                      call.in(op::batch_norm_grad::x),
                      y ? call.in(op::batch_norm_grad::y) : nullptr,
                      call.in(op::batch_norm_grad::gamma),
                      call.in(op::batch_norm_grad::mean),
                      call.in(op::batch_norm_grad::var),
                      call.out(op::batch_norm_grad::out::dx),
                      dresidual ? call.out(op::batch_norm_grad::out::dresidual) : nullptr,
                      beta ? call.in(own::batch_norm_grad::beta) : nullptr};
    run_batch_norm_grad(call, n, g);
  };
  return narrowed(node, std::move(k),
                  {{op::batch_norm_grad::dy, op::batch_norm_grad::x, op::batch_norm_grad::y},
                   {op::batch_norm_grad::out::dx, op::batch_norm_grad::out::dresidual}});
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
      "batch_norm", [](const NodeView& n) { return accept_norm(n, op::batch_norm::x, -1); }, make_batch_norm);
  table.add(
      "batch_norm_apply", [](const NodeView& n) { return accept_norm(n, op::batch_norm::x, -1); },
      make_batch_norm_apply);
  table.add(
      "batch_norm_grad",
      [](const NodeView& n) { return accept_norm(n, op::batch_norm_grad::x, op::batch_norm_grad::y); },
      make_batch_norm_grad);
  table.add_own("cpu.batch_norm_grad", make_batch_norm_grad);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
