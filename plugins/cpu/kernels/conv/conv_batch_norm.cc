// cpu.batch_norm.conv (x, w, [bias O], gamma, beta, [residual as y]) -> t, y, mean, var
//   t = conv(x, w) + bias, then batch_norm of t
// cpu.batch_norm.grad_input (dy, w, [other as dx], x, gamma, mean, var, [y], [beta])
//     -> dx, dgamma, dbeta, [dresidual], [dbias]
//   conv_grad_input(dy, w) + other, then batch_norm_grad of it; the mask of ReLU or ReLU6 by y or, where there was no residual, by
//   x and beta; dbias[c] is the sum of dx's rows
// Values with rows, w, bias and dbias are f32 or bf16; the rest is f32.
// Each part of the convolution's result is summed while it is in cache. The shape alone cuts the parts, and their sums are
// added in order. A second pass over memory then makes y, or dx.
#include "kernels/conv/conv_batch_norm.h"

#include <algorithm>
#include <cmath>

#include "kernels/conv/visited_conv.h"
#include "kernels/norm/normalization.h"
#include "own_nodes.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

using normed = own::batch_norm_conv;
using input_grad = own::batch_norm_grad_input;

// What both directions have in common.
struct NormedConv : VisitedConv {
  float eps;
  int32_t act;
  uint64_t room;  // of this kernel, behind the convolution's own
};

NormedConv normed_conv(const NodeView& node) {
  NormedConv n{visited_conv(conv_problem(node)), 0, 0, 0};
  n.eps = static_cast<float>(node.f64("eps", 1e-3));
  n.act = node.enumerator("act");
  n.room = aligned_room(n.work.scratch_bytes());
  return n;
}

// In scratch memory: the two sums of each part and its rows, three vectors of channels, and for the gradient the sums of
// each piece for dbias.
struct NormSums {
  double* count;
  float *partial, *scale, *slope, *shift, *bias;
};
NormSums sums_of(const NormedConv& n, const Call& call) {
  NormSums s;
  s.count = reinterpret_cast<double*>(static_cast<char*>(call.scratch) + n.room);
  s.partial = reinterpret_cast<float*>(s.count + n.parts);
  s.scale = s.partial + 2 * n.parts * n.c;
  s.slope = s.scale + n.c;
  s.shift = s.slope + n.c;
  s.bias = s.shift + n.c;
  return s;
}

Kernel kernel_for(const NormedConv& n) {
  Kernel k = kernel_of(&n.work);
  k.algorithm = n.algorithm;
  k.threads = std::max(k.threads, threads_for(n.rows * n.c));
  k.scratch_bytes = n.room + static_cast<uint64_t>(n.parts) * sizeof(double) +
                    static_cast<uint64_t>((2 * n.parts + 3) * n.c) * sizeof(float);
  return k;
}

// Calls f(first row, rows) for this thread's pieces, the last ones first, as they are still in cache.
template <class F>
void each_piece(const NormedConv& n, const Call& call, F f) {
  const Slice mine = call.share(n.pieces);
  for (int64_t p = mine.end; p-- > mine.begin;) f(p * n.piece, std::min(n.piece, n.rows - p * n.piece));
}

// The same for tiles of pieces that stay in L1 between an activation and its argument.
template <class F>
void each_tile(const NormedConv& n, const Call& call, F f) {
  const int64_t tile = is_clip(n.act) ? n.piece : tile_rows(n.c);
  each_piece(n, call, [&](int64_t row, int64_t rows) {
    for (int64_t r = 0; r < rows; r += tile) f(row + r, std::min(tile, rows - r));
  });
}

// ---- forward ----

template <class T>
struct MomentSums {
  const T* t;
  int64_t c;
  NormSums sums;
};

// Moments of some rows of t, in two passes. The second also sums the mean's own error, by which both moments are
// corrected.
template <class T>
void add_moments(const void* context, int64_t part, const PointRun* runs, int64_t count, Slice channels) {
  constexpr int64_t kColumns = 64;  // at once
  const auto& m = *static_cast<const MomentSums<T>*>(context);
  int64_t rows = 0;
  for (int64_t i = 0; i < count; ++i) rows += runs[i].length;
  const float each = 1.f / static_cast<float>(rows);
  for (int64_t j = channels.begin; j < channels.end; j += kColumns) {
    const int64_t n = std::min(kColumns, channels.end - j);
    float *const mean = m.sums.partial + 2 * part * m.c + j, *const square = mean + m.c, rest[kColumns] = {};
    std::fill_n(mean, n, 0.f);
    std::fill_n(square, n, 0.f);
    for (int64_t i = 0; i < count; ++i) add_columns(m.t + runs[i].first * m.c + j, runs[i].length, n, m.c, mean);
    for (int64_t i = 0; i < n; ++i) mean[i] *= each;
    for (int64_t i = 0; i < count; ++i)
      add_squares(m.t + runs[i].first * m.c + j, runs[i].length, n, m.c, mean, square, rest);
    for (int64_t i = 0; i < n; ++i) {
      const float error = rest[i] * each;
      mean[i] += error;
      square[i] -= rest[i] * error;
    }
  }
  if (channels.begin == 0) m.sums.count[part] = static_cast<double>(rows);
}

constexpr int64_t kMerged = 16;  // channels at once

void merge_parts(const NormedConv& n, const Call& call, const NormSums& sums, const float* gamma, float* mean,
                 float* var) {
  const Slice mine = call.share(ceil_div(n.c, kMerged));
  for (int64_t b = mine.begin; b < mine.end; ++b) {
    const Slice channels{b * kMerged, std::min(n.c, (b + 1) * kMerged)};
    double m[kMerged], square[kMerged];
    merge_moments(sums.partial, n.parts, sums.count, n.c, channels, m, square);
    for (int64_t i = channels.begin; i < channels.end; ++i) {
      mean[i] = static_cast<float>(m[i - channels.begin]);
      var[i] = static_cast<float>(square[i - channels.begin] / static_cast<double>(n.rows));
      sums.scale[i] = gamma[i] / std::sqrt(var[i] + n.eps);
    }
  }
  call.barrier();
}

// A convolution's data, as any dtype.
ConvData data_of(const void* from, const void* weights, const void* bias, void* to) {
  return {static_cast<const float*>(from), static_cast<const float*>(weights), static_cast<const float*>(bias), nullptr,
          static_cast<float*>(to)};
}

template <class T>
Kernel make_normed_conv(const NodeView& node) {
  const bool bias = node.has(normed::bias), residual = node.has(normed::residual);
  auto n = std::make_shared<NormedConv>(normed_conv(node));
  Kernel k = kernel_for(*n);
  if (residual) k.in_place = {{normed::residual, normed::out::y}};
  k.run = [=](const Call& call) {
    T *const t = call.out<T>(normed::out::t), *const y = call.out<T>(normed::out::y);
    float* const mean = call.out(normed::out::mean);
    const MomentSums<T> moments{t, n->c, sums_of(*n, call)};
    n->run(call, data_of(call.in<T>(normed::x), call.in<T>(normed::w), bias ? call.in<T>(normed::bias) : nullptr, t),
           {&moments, add_moments<T>});
    merge_parts(*n, call, moments.sums, call.in(normed::gamma), mean, call.out(normed::out::var));
    each_tile(*n, call, [&](int64_t row, int64_t rows) {
      const int64_t at = row * n->c;
      apply_columns(t + at, residual ? call.in<T>(normed::residual) + at : nullptr, rows, n->c, n->c, mean,
                    moments.sums.scale, call.in(normed::beta), Clip::of(n->act), y + at);
      if constexpr (std::is_same_v<T, float>)
        if (!is_clip(n->act)) act_loop(n->act)(y + at, y + at, rows * n->c, 0);
    });
  };
  return k;
}

// ---- backward ----

template <class T>
struct DotSums {
  T* dz;
  const T* x;
  const float* mean;
  IncomingGradient<T> from;
  int64_t c;
  NormSums sums;
  ActGradLoop slope = nullptr;  // of an activation whose argument is computed of x, with `scale` and `beta`
  const float *scale = nullptr, *beta = nullptr;
};

// dz = (dz + other) times the slope, of some rows of some channels.
void take_slope(const DotSums<float>& g, const float* other, int64_t at, int64_t rows, Slice channels) {
  constexpr int64_t kTile = 2048;
  float z[kTile];
  const bool whole = channels.end - channels.begin == g.c && g.c <= kTile;  // several rows are one stretch of memory
  const int64_t together = whole ? kTile / g.c : 1;
  for (int64_t r = 0, m; r < rows; r += m) {
    m = std::min(together, rows - r);
    for (int64_t c = channels.begin, n; c < channels.end; c += n) {
      n = std::min(kTile, channels.end - c);
      const int64_t from = at + r * g.c + c;
      float* const dz = g.dz + from;
      for (int64_t i = 0; other && i < m * n; ++i) dz[i] += other[from + i];
      apply_columns(g.x + from, nullptr, m, n, n, g.mean + c, g.scale + c, g.beta + c, {}, z);
      g.slope(dz, z, dz, m * n, 0);
    }
  }
}

template <class T>
void add_dots_of(const void* context, int64_t part, const PointRun* runs, int64_t count, Slice channels) {
  const auto& g = *static_cast<const DotSums<T>*>(context);
  const int64_t n = channels.end - channels.begin;
  float *const sum = g.sums.partial + 2 * part * g.c + channels.begin, *const dot = sum + g.c;
  std::fill_n(sum, n, 0.f);
  std::fill_n(dot, n, 0.f);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = runs[i].first * g.c + channels.begin;
    IncomingGradient<T> from = g.from;
    if (from.other) from.other += at;
    if (from.y) from.y += at;
    if (from.scale) from.scale += channels.begin, from.beta += channels.begin;
    if constexpr (std::is_same_v<T, float>)
      if (g.slope) {
        take_slope(g, g.from.other, runs[i].first * g.c, runs[i].length, channels);
        from.other = nullptr;
      }
    take_gradient(g.dz + at, g.x + at, from, g.mean + channels.begin, runs[i].length, n, g.c, sum, dot);
  }
}

void scale_by(const NormedConv& n, const Call& call, float* scale) {
  const Slice channels = call.share(n.c, 16);
  for (int64_t i = channels.begin; i < channels.end; ++i)
    scale[i] = call.in(input_grad::gamma)[i] / std::sqrt(call.in(input_grad::var)[i] + n.eps);
  call.barrier();
}

// dgamma and dbeta of all parts, and what the second pass needs of them.
void add_dots(const NormedConv& n, const Call& call, const NormSums& s) {
  float *const dgamma = call.out(input_grad::out::dgamma), *const dbeta = call.out(input_grad::out::dbeta);
  const Slice channels = call.share(n.c, 16);
  add_pieces(s.partial, n.parts, 2 * n.c, channels, dbeta);
  add_pieces(s.partial + n.c, n.parts, 2 * n.c, channels, dgamma);
  const float each = 1.f / static_cast<float>(n.rows);
  for (int64_t i = channels.begin; i < channels.end; ++i) {
    const float inverse = 1.f / std::sqrt(call.in(input_grad::var)[i] + n.eps);
    s.slope[i] = s.scale[i] * dgamma[i] * inverse * inverse * each;
    s.shift[i] = s.scale[i] * dbeta[i] * each;
    dgamma[i] *= inverse;
  }
  call.barrier();
}

// dx, and dbias unless it is nullptr.
template <class T>
void give_gradient(const NormedConv& n, const Call& call, const DotSums<T>& g, T* dx, T* dbias) {
  const NormSums& s = g.sums;
  each_piece(n, call, [&](int64_t row, int64_t rows) {
    const int64_t at = row * n.c;
    if (!dbias) return grad_columns(g.dz + at, g.x + at, rows, n.c, g.mean, s.scale, s.slope, s.shift, dx + at);
    float* const sum = s.bias + row / n.piece * n.c;
    std::fill_n(sum, n.c, 0.f);
    grad_columns(g.dz + at, g.x + at, rows, n.c, g.mean, s.scale, s.slope, s.shift, dx + at, sum);
  });
  if (!dbias) return;
  call.barrier();
  add_pieces(s.bias, n.pieces, n.c, call.share(n.c, 16), dbias);
}

template <class T>
Kernel make_normed_grad(const NodeView& node) {
  const bool other = node.has(input_grad::other), y = node.has(input_grad::y),
             dresidual = node.has_result(input_grad::out::dresidual);
  const bool dbias = node.has_result(input_grad::out::dbias);
  auto n = std::make_shared<NormedConv>(normed_conv(node));
  Kernel k = kernel_for(*n);
  if (dresidual) k.in_place = {{input_grad::x, input_grad::out::dx}};
  if (dbias) k.scratch_bytes += static_cast<uint64_t>(n->pieces * n->c) * sizeof(float);
  k.run = [=](const Call& call) {
    T* const dx = call.out<T>(input_grad::out::dx);
    DotSums<T> g{dresidual ? call.out<T>(input_grad::out::dresidual) : dx,
                 call.in<T>(input_grad::x),
                 call.in(input_grad::mean),
                 {},
                 n->c,
                 sums_of(*n, call)};
    scale_by(*n, call, g.sums.scale);
    g.from.other = other ? call.in<T>(input_grad::other) : nullptr;
    const bool clips = n->act != TENON_ACT_NONE && is_clip(n->act);
    if (!is_clip(n->act)) g.slope = act_grad_loop(n->act), g.scale = g.sums.scale, g.beta = call.in(input_grad::beta);
    g.from.ceiling = n->act == TENON_ACT_RELU6;
    if (clips && y) g.from.y = call.in<T>(input_grad::y);
    if (clips && !y) g.from.scale = g.sums.scale, g.from.beta = call.in(input_grad::beta);
    n->run(call, data_of(call.in<T>(input_grad::dy), call.in<T>(input_grad::w), nullptr, g.dz), {&g, add_dots_of<T>});
    add_dots(*n, call, g.sums);
    give_gradient(*n, call, g, dx, dbias ? call.out<T>(input_grad::out::dbias) : nullptr);
  };
  return k;
}

}  // namespace

void add_normed_convolution(KernelTable& table) {
  const auto is_bf16 = [](const NodeView& node) { return node.in(0).dtype() == TENON_BF16; };
  table.add_own("cpu.batch_norm.conv", [=](const NodeView& node, const Env&) {
    return is_bf16(node) ? make_normed_conv<Bfloat>(node) : make_normed_conv<float>(node);
  });
  table.add_own("cpu.batch_norm.grad_input", [=](const NodeView& node, const Env&) {
    return is_bf16(node) ? make_normed_grad<Bfloat>(node) : make_normed_grad<float>(node);
  });
}

}  // namespace tenon::cpu::TENON_CPU_ISA
