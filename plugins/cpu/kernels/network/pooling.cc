// max_pool, avg_pool: x [N, S.., C] -> y [N, S'.., C]. max_pool_grad: x, y, dy -> dx. avg_pool_grad: dy -> dx.
// Vectors of channels; pads are no elements.
#include <limits>

#include "kernels/conv/gather/conv_halo.h"
#include "kernels/gemm/narrow.h"
#include "kernels/simd.h"
#include "tenon/op/names.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

struct PoolShape {
  int64_t batch = 1, c = 1;
  Point x{{1, 1, 1}}, y{{1, 1, 1}}, window{{1, 1, 1}}, stride{{1, 1, 1}}, low{{0, 0, 0}};
  bool count_pad = false;
  bool apart = true;           // no two windows share a point
  bool covers = true;          // every point of x lies in a window
  std::vector<int64_t> inner;  // offsets of a whole window's points from its first
};

void spread(plugin::Span<int64_t> list, Point* to) {
  const size_t n = list.size() < 3 ? list.size() : 3;
  for (size_t i = 0; i < n; ++i) (*to)[static_cast<int>(3 - n + i)] = list[i];
}

PoolShape pool_shape_of(const NodeView& node, const plugin::ValueView& x, const plugin::ValueView& y) {
  PoolShape s;
  s.batch = x.dim(0);
  s.c = x.dim(-1);
  spread({x.dims().data() + 1, static_cast<size_t>(x.rank() - 2)}, &s.x);
  spread({y.dims().data() + 1, static_cast<size_t>(y.rank() - 2)}, &s.y);
  spread(node.list("window"), &s.window);
  spread(node.list("strides"), &s.stride);
  spread(node.list("low"), &s.low);
  s.count_pad = node.flag("count_pad");
  for (int d = 0; d < 3; ++d) {
    s.apart = s.apart && s.stride[d] >= s.window[d];
    s.covers = s.covers && s.stride[d] <= s.window[d] && (s.y[d] - 1) * s.stride[d] + s.window[d] - s.low[d] >= s.x[d];
  }
  for (int64_t i = 0; i < s.window[0]; ++i)
    for (int64_t j = 0; j < s.window[1]; ++j)
      for (int64_t k = 0; k < s.window[2]; ++k) s.inner.push_back(((i * s.x[1] + j) * s.x[2] + k) * s.c);
  return s;
}

// The points of x in one window: offsets from the image's start, in row-major order.
struct WindowTaps {
  int64_t base;
  const int64_t* offsets;
  int64_t count;
};

WindowTaps taps_of(const PoolShape& s, int64_t point, int64_t* room) {
  const Point p{{point / (s.y[1] * s.y[2]), point / s.y[2] % s.y[1], point % s.y[2]}};
  Point first, last;
  bool whole = true;
  for (int d = 0; d < 3; ++d) {
    const int64_t at = p[d] * s.stride[d] - s.low[d];
    first[d] = std::max<int64_t>(at, 0);
    last[d] = std::min(at + s.window[d], s.x[d]);
    whole = whole && last[d] - first[d] == s.window[d];
  }
  const int64_t base = ((first[0] * s.x[1] + first[1]) * s.x[2] + first[2]) * s.c;
  if (whole) return {base, s.inner.data(), static_cast<int64_t>(s.inner.size())};
  int64_t n = 0;
  for (int64_t i = first[0]; i < last[0]; ++i)
    for (int64_t j = first[1]; j < last[1]; ++j)
      for (int64_t k = first[2]; k < last[2]; ++k) room[n++] = ((i * s.x[1] + j) * s.x[2] + k) * s.c;
  return {0, room, n};
}

// Vectors of f32 or f64, the last of `n` elements in part.
struct F32 {
  using T = float;
  using V = f32x8;
  using M = i32x8;
  static constexpr int64_t kLanes = 8;
};
struct F64 {
  using T = double;
  using V = f64x4;
  typedef int64_t M __attribute__((vector_size(32)));
  static constexpr int64_t kLanes = 4;
};

template <class L>
TENON_INLINE typename L::V get(const typename L::T* p, int64_t left) {
  if (left >= L::kLanes) return load_as<typename L::V>(p);
  typename L::V v = {};
  for (int64_t i = 0; i < left; ++i) v[i] = p[i];
  return v;
}
template <class L>
TENON_INLINE void put_max(typename L::T* p, typename L::V v, int64_t left) {
  if (left >= L::kLanes) {
    std::memcpy(p, &v, sizeof v);
    return;
  }
  for (int64_t i = 0; i < left; ++i) p[i] = v[i];
}
template <>
TENON_INLINE f32x8 get<F32>(const float* p, int64_t left) {
  return left >= 8 ? load8(p) : load8_part(p, left);
}
template <>
TENON_INLINE void put_max<F32>(float* p, f32x8 v, int64_t left) {
  left >= 8 ? store8(p, v) : store8_part(p, v, left);
}

// Calls f(channel, channels left) for every vector of [begin, end).
template <class L, class F>
TENON_INLINE void each_vector(int64_t begin, int64_t end, F f) {
  int64_t c = begin;
  for (; c + L::kLanes <= end; c += L::kLanes) f(c, L::kLanes);
  if (c < end) f(c, end - c);
}

template <class L>
void max_point(const WindowTaps& taps, const typename L::T* x, int64_t c, typename L::T* y) {
  using V = typename L::V;
  each_vector<L>(
      0, c, [&](int64_t at, int64_t left) __attribute__((always_inline)) {
        const typename L::T* from = x + taps.base + at;
        V top = get<L>(from + taps.offsets[0], left);
        for (int64_t t = 1; t < taps.count; ++t) {
          const V v = get<L>(from + taps.offsets[t], left);
          const V larger = top > v ? top : v;  // v where either is NaN
          top = top == top ? larger : top;
        }
        put_max<L>(y + at, top, left);
      });
}

template <class L>
void sum_point(const WindowTaps& taps, const typename L::T* x, int64_t c, typename L::T count, typename L::T* y) {
  using V = typename L::V;
  each_vector<L>(
      0, c, [&](int64_t at, int64_t left) __attribute__((always_inline)) {
        const typename L::T* from = x + taps.base + at;
        V sum = {};
        for (int64_t t = 0; t < taps.count; ++t) sum += get<L>(from + taps.offsets[t], left);
        put_max<L>(y + at, sum / count, left);
      });
}

// dy to the first of the window's elements that equals y or is NaN.
template <class L, bool kApart>
void max_grad_point(const WindowTaps& taps, const typename L::T* x, const typename L::T* y, const typename L::T* dy,
                    Slice channels, typename L::T* dx) {
  using V = typename L::V;
  each_vector<L>(
      channels.begin, channels.end, [&](int64_t at, int64_t left) __attribute__((always_inline)) {
        const V top = get<L>(y + at, left), zero = {};
        V g = get<L>(dy + at, left);
        for (int64_t t = 0; t < taps.count; ++t) {
          const int64_t to = taps.base + taps.offsets[t] + at;
          const V v = get<L>(x + to, left);
          const typename L::M hit = (v == top) | (v != v);
          const V part = hit ? g : zero;
          put_max<L>(dx + to, kApart ? part : get<L>(dx + to, left) + part, left);
          g = hit ? zero : g;
        }
      });
}

template <class L>
void avg_grad_point(const WindowTaps& taps, const typename L::T* dy, typename L::T count, bool apart, Slice channels,
                    typename L::T* dx) {
  using V = typename L::V;
  each_vector<L>(
      channels.begin, channels.end, [&](int64_t at, int64_t left) __attribute__((always_inline)) {
        const V g = get<L>(dy + at, left) / count;
        for (int64_t t = 0; t < taps.count; ++t) {
          typename L::T* to = dx + taps.base + taps.offsets[t] + at;
          put_max<L>(to, apart ? g : get<L>(to, left) + g, left);
        }
      });
}

int64_t count_of(const PoolShape& s, const WindowTaps& taps) { return s.count_pad ? s.window.product() : taps.count; }

template <class L>
void forward(const PoolShape& s, bool max, const Call& call) {
  using T = typename L::T;
  int64_t* const room = static_cast<int64_t*>(call.thread_scratch);
  const int64_t points = s.y.product();
  const Slice part = call.share(s.batch * points);
  for (int64_t i = part.begin; i < part.end; ++i) {
    const WindowTaps taps = taps_of(s, i % points, room);
    const T* x = call.in<T>(op::max_pool::x) + i / points * s.x.product() * s.c;
    if (max)
      max_point<L>(taps, x, s.c, call.out<T>(0) + i * s.c);
    else
      sum_point<L>(taps, x, s.c, static_cast<T>(count_of(s, taps)), call.out<T>(0) + i * s.c);
  }
}

constexpr int64_t kUnitChannels = 16;  // of a unit, where images are few

template <class L>
void clear(const PoolShape& s, Slice channels, typename L::T* dx) {
  if (channels.end - channels.begin == s.c) {
    std::memset(dx, 0, static_cast<size_t>(s.x.product() * s.c) * sizeof *dx);
    return;
  }
  for (int64_t p = 0; p < s.x.product(); ++p)
    std::fill(dx + p * s.c + channels.begin, dx + p * s.c + channels.end, typename L::T(0));
}

// Windows may share points, so a thread owns images, or channels of images.
template <class L>
void backward(const PoolShape& s, bool max, const Call& call) {
  using T = typename L::T;
  int64_t* const room = static_cast<int64_t*>(call.thread_scratch);
  const int64_t points = s.y.product(), step = s.batch >= 8 ? s.c : kUnitChannels, parts = ceil_div(s.c, step);
  const Slice share = call.share(s.batch * parts);
  for (int64_t u = share.begin; u < share.end; ++u) {
    const int64_t image = u / parts;
    const Slice channels{u % parts * step, std::min(s.c, (u % parts + 1) * step)};
    T* const dx = call.out<T>(0) + image * s.x.product() * s.c;
    if (!s.apart || !s.covers) clear<L>(s, channels, dx);
    for (int64_t p = 0; p < points; ++p) {
      const WindowTaps taps = taps_of(s, p, room);
      const int64_t at = (image * points + p) * s.c;
      if (!max)
        avg_grad_point<L>(taps, call.in<T>(op::avg_pool_grad::dy) + at, static_cast<T>(count_of(s, taps)), s.apart,
                          channels, dx);
      else if (s.apart)
        max_grad_point<L, true>(taps, call.in<T>(op::max_pool_grad::x) + image * s.x.product() * s.c,
                                call.in<T>(op::max_pool_grad::y) + at, call.in<T>(op::max_pool_grad::dy) + at, channels,
                                dx);
      else
        max_grad_point<L, false>(taps, call.in<T>(op::max_pool_grad::x) + image * s.x.product() * s.c,
                                 call.in<T>(op::max_pool_grad::y) + at, call.in<T>(op::max_pool_grad::dy) + at,
                                 channels, dx);
    }
  }
}

plugin::Verdict accept_pool(const NodeView& node) {
  for (int i = 0; i < node.operands(); ++i)
    if (!plugin::is_float(node.in(i).dtype()))
      return plugin::refuse(std::string("operands of dtype ") + plugin::dtype_name(node.in(i).dtype()));
  if (node.in(0).rank() < 3 || node.in(0).rank() > 5) return plugin::refuse("1 to 3 spatial dimensions only");
  return plugin::take();
}

Kernel make_pool(const NodeView& node, const Env&) {
  const bool max = node.op().substr(0, 3) == "max", grad = node.op().size() > 8;
  const plugin::ValueView x = grad ? node.out(0) : node.in(op::max_pool::x);
  const plugin::ValueView y = !grad ? node.out(0)
                              : max ? node.in(op::max_pool_grad::y)
                                    : node.in(op::avg_pool_grad::dy);
  auto s = std::make_shared<PoolShape>(pool_shape_of(node, x, y));
  const bool doubles = x.dtype() == TENON_F64;
  const auto walk = grad ? (doubles ? backward<F64> : backward<F32>) : (doubles ? forward<F64> : forward<F32>);
  Kernel kernel;
  kernel.threads = s->batch * s->y.product() * s->window.product() * s->c < 16384 ? 1 : plugin::kAllThreads;
  kernel.thread_scratch_bytes = s->inner.size() * sizeof(int64_t);
  kernel.run = [=](const Call& call) { walk(*s, max, call); };
  return narrowed(node, std::move(kernel));
}

}  // namespace

void add_pooling(KernelTable& table) {
  for (const char* op : {"max_pool", "avg_pool", "max_pool_grad", "avg_pool_grad"})
    table.add(op, accept_pool, make_pool);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
