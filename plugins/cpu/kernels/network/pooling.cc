// max_pool, avg_pool: x [N, S.., C] -> y [N, S'.., C]. max_pool_grad: x, y, dy -> dx. avg_pool_grad: dy -> dx.
// Vectors of channels; pads are no elements.
#include <algorithm>
#include <cstring>

#include "kernels/conv/gather/conv_halo.h"
#include "kernels/gemm/narrow.h"
#include "kernels/stored.h"
#include "kernels/work.h"
#include "tenon/op/names.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

struct PoolShape {
  int64_t batch = 1, c = 1;
  Point x{{1, 1, 1}}, y{{1, 1, 1}}, window{{1, 1, 1}}, stride{{1, 1, 1}}, low{{0, 0, 0}};
  bool count_pad = false;
  std::vector<int64_t> inner;  // offsets of a whole window's points from its first
  int row_axis = 2;            // the outermost one that is more than one point
  int64_t band_rows = 1;       // along it, that a window covers

  // Elements of x in a row.
  int64_t row_size() const {
    int64_t size = c;
    for (int d = row_axis + 1; d < 3; ++d) size *= x[d];
    return size;
  }
  uint64_t taps_bytes() const { return aligned_room(inner.size() * sizeof(int64_t)); }
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
  for (int d = 2; d >= 0; --d)
    if (s.x[d] > 1 || s.y[d] > 1 || s.window[d] > 1) s.row_axis = d;
  s.band_rows = std::min(s.window[s.row_axis], s.x[s.row_axis]);
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

// Elements in memory, and vectors of them in the precision in which they are added up. The last of a row has `left` lanes.
template <class Element>
struct Stored {  // float, Bfloat
  using T = Element;
  using Sum = float;
  using V = Lanes::Vector;
  static constexpr int64_t kLanes = Lanes::kLanes;
  template <class P>
  static TENON_INLINE V get(const P* p, int64_t left) {
    return left >= kLanes ? load_stored(p) : load_stored(p, left);
  }
  template <class P>
  static TENON_INLINE void put(P* p, V v, int64_t left) {
    left >= kLanes ? store_stored(p, v) : store_stored(p, v, left);
  }
};
struct F64 {
  using T = double;
  using Sum = double;
  using V = f64x4;
  static constexpr int64_t kLanes = 4;
  static TENON_INLINE V get(const double* p, int64_t left) {
    V v = {};
    if (left >= kLanes) return load_as<V>(p);
    for (int64_t i = 0; i < left; ++i) v[i] = p[i];
    return v;
  }
  static TENON_INLINE void put(double* p, V v, int64_t left) {
    std::memcpy(p, &v, static_cast<size_t>(std::min(left, kLanes)) * sizeof *p);
  }
};

// Calls f(channel, channels left) for every vector of the channels.
template <class L, class F>
TENON_INLINE void each_vector(Slice channels, F f) {
  int64_t c = channels.begin;
  for (; c + L::kLanes <= channels.end; c += L::kLanes) f(c, L::kLanes);
  if (c < channels.end) f(c, channels.end - c);
}

template <class L>
void max_point(const WindowTaps& taps, const typename L::T* x, int64_t c, typename L::T* y) {
  using V = typename L::V;
  each_vector<L>(
      {0, c}, [&](int64_t at, int64_t left) __attribute__((always_inline)) {
        const typename L::T* from = x + taps.base + at;
        V top = L::get(from + taps.offsets[0], left);
        for (int64_t t = 1; t < taps.count; ++t) {
          const V v = L::get(from + taps.offsets[t], left);
          const V larger = top > v ? top : v;  // v where either is NaN
          top = top == top ? larger : top;
        }
        L::put(y + at, top, left);
      });
}

template <class L>
void sum_point(const WindowTaps& taps, const typename L::T* x, int64_t c, typename L::Sum count, typename L::T* y) {
  using V = typename L::V;
  each_vector<L>(
      {0, c}, [&](int64_t at, int64_t left) __attribute__((always_inline)) {
        const typename L::T* from = x + taps.base + at;
        V sum = {};
        for (int64_t t = 0; t < taps.count; ++t) sum += L::get(from + taps.offsets[t], left);
        L::put(y + at, sum / count, left);
      });
}

// Adds dy to the first of the window's elements that equals y or is NaN. Offsets of `sums` are those of x.
template <class L>
void max_grad_point(const WindowTaps& taps, const typename L::T* x, const typename L::T* y, const typename L::T* dy,
                    Slice channels, typename L::Sum* sums) {
  using V = typename L::V;
  each_vector<L>(
      channels, [&](int64_t at, int64_t left) __attribute__((always_inline)) {
        const V top = L::get(y + at, left), zero = {};
        V g = L::get(dy + at, left);
        for (int64_t t = 0; t < taps.count; ++t) {
          const int64_t to = taps.base + taps.offsets[t] + at;
          const V v = L::get(x + to, left);
          const V of_equal = v == top ? g : zero, behind_equal = v == top ? zero : g;
          const V part = v == v ? of_equal : g;
          L::put(sums + to, L::get(sums + to, left) + part, left);
          g = v == v ? behind_equal : zero;
        }
      });
}

template <class L>
void avg_grad_point(const WindowTaps& taps, const typename L::T* dy, typename L::Sum count, Slice channels,
                    typename L::Sum* sums) {
  using V = typename L::V;
  each_vector<L>(
      channels, [&](int64_t at, int64_t left) __attribute__((always_inline)) {
        const V g = L::get(dy + at, left) / count;
        for (int64_t t = 0; t < taps.count; ++t) {
          typename L::Sum* to = sums + taps.base + taps.offsets[t] + at;
          L::put(to, L::get(to, left) + g, left);
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
      sum_point<L>(taps, x, s.c, static_cast<typename L::Sum>(count_of(s, taps)), call.out<T>(0) + i * s.c);
  }
}

// The sums of the rows of dx that a row of windows adds to, and what becomes of them.
template <class L>
class Band {
 public:
  using Sum = typename L::Sum;
  Band(const PoolShape& s, Slice channels, typename L::T* dx, Sum* room)
      : s_(s), channels_(channels), dx_(dx), room_(room) {
    std::fill(room_, room_ + s_.band_rows * s_.row_size(), Sum(0));
  }
  // As if all of dx lay there.
  Sum* sums() const { return room_ - first_ * s_.row_size(); }

  // Rows before `row` are complete; it and those behind it come next.
  void go_to(int64_t row) {
    const int64_t size = s_.row_size(), rows = std::max<int64_t>(row - first_, 0), held = std::min(rows, s_.band_rows);
    for (int64_t i = 0; i < held; ++i) put_row(first_ + i, room_ + i * size);
    const int64_t kept = s_.band_rows - held;
    std::memmove(room_, room_ + held * size, static_cast<size_t>(kept * size) * sizeof(Sum));
    std::fill(room_ + kept * size, room_ + s_.band_rows * size, Sum(0));
    for (int64_t i = held; i < rows; ++i) put_row(first_ + i, room_ + kept * size);  // in no window: zeros
    first_ += rows;
  }

 private:
  void put_row(int64_t row, const Sum* sums) const {
    const int64_t size = s_.row_size();
    typename L::T* const to = dx_ + row * size;
    const bool whole = channels_.end - channels_.begin == s_.c;
    const int64_t step = whole ? size : s_.c;
    const Slice part = whole ? Slice{0, size} : channels_;
    for (int64_t at = 0; at < size; at += step)
      each_vector<L>(part, [&](int64_t c, int64_t left) { L::put(to + at + c, L::get(sums + at + c, left), left); });
  }

  const PoolShape& s_;
  const Slice channels_;
  typename L::T* const dx_;
  Sum* const room_;
  int64_t first_ = 0;  // row of dx
};

constexpr int64_t kUnitChannels = 16;  // of a unit, where images are few

// Windows may share points, so a thread owns images, or channels of images.
template <class L>
void backward(const PoolShape& s, bool max, const Call& call) {
  using T = typename L::T;
  using Sum = typename L::Sum;
  uint8_t* const scratch = static_cast<uint8_t*>(call.thread_scratch);
  int64_t* const room = reinterpret_cast<int64_t*>(scratch);
  const int64_t points = s.y.product(), row_points = points / s.y[s.row_axis];
  const int64_t step = s.batch >= 8 ? s.c : kUnitChannels, parts = ceil_div(s.c, step);
  const Slice share = call.share(s.batch * parts);
  for (int64_t u = share.begin; u < share.end; ++u) {
    const int64_t image = u / parts, x_at = image * s.x.product() * s.c;
    const Slice channels{u % parts * step, std::min(s.c, (u % parts + 1) * step)};
    Band<L> band(s, channels, call.out<T>(0) + x_at, reinterpret_cast<Sum*>(scratch + s.taps_bytes()));
    for (int64_t p = 0; p < points; ++p) {
      if (p % row_points == 0) band.go_to(p / row_points * s.stride[s.row_axis] - s.low[s.row_axis]);
      const WindowTaps taps = taps_of(s, p, room);
      const int64_t at = (image * points + p) * s.c;
      if (max)
        max_grad_point<L>(taps, call.in<T>(op::max_pool_grad::x) + x_at, call.in<T>(op::max_pool_grad::y) + at,
                          call.in<T>(op::max_pool_grad::dy) + at, channels, band.sums());
      else
        avg_grad_point<L>(taps, call.in<T>(op::avg_pool_grad::dy) + at, static_cast<Sum>(count_of(s, taps)), channels,
                          band.sums());
    }
    band.go_to(s.x[s.row_axis]);
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
  using F32 = Stored<float>;
  using Bf16 = Stored<Bfloat>;
  const bool doubles = x.dtype() == TENON_F64, halves = x.dtype() == TENON_BF16;
  const auto walk = grad ? (doubles  ? backward<F64>
                            : halves ? backward<Bf16>
                                     : backward<F32>)
                         : (doubles  ? forward<F64>
                            : halves ? forward<Bf16>
                                     : forward<F32>);
  Kernel kernel;
  kernel.threads = s->batch * s->y.product() * s->window.product() * s->c < 16384 ? 1 : plugin::kAllThreads;
  kernel.thread_scratch_bytes = s->taps_bytes();
  if (grad) kernel.thread_scratch_bytes += static_cast<uint64_t>(s->band_rows * s->row_size()) * (doubles ? 8 : 4);
  kernel.run = [=](const Call& call) { walk(*s, max, call); };
  return halves ? kernel : narrowed(node, std::move(kernel));
}

}  // namespace

void add_pooling(KernelTable& table) {
  for (const char* op : {"max_pool", "avg_pool", "max_pool_grad", "avg_pool_grad"})
    table.add(op, accept_pool, make_pool);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
