// sort    values, indices [.., k] = the first k of the stably sorted last axis of x [.., n]
// argmax  y[o,i] = lowest index of the largest (smallest) x[o,:,i], or of the first NaN
// cumsum  y[o,a,i] = sum of x[o,0..a,i]
#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernels/element.h"
#include "kernels/reduction.h"
#include "kernels/simd.h"
#include "tenon/op/names.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// Calls f with an element of the number's dtype.
template <class F>
void with_number(int32_t dtype, F&& f) {
  if (dtype == TENON_I32)
    f(int32_t{});
  else if (dtype == TENON_I64)
    f(int64_t{});
  else
    with_float(dtype, f);
}

plugin::Verdict accept_number(const NodeView& node) {
  return is_number(node.in(0).dtype()) ? plugin::take() : plugin::refuse("the operand must be a number");
}

// ---- sort ----

// Unsigned numbers in the order of the elements: NaN above +inf, -0 beside 0.
inline uint32_t rank_of(float x) {
  if (x != x) return UINT32_MAX;
  const float v = x + 0.0f;
  uint32_t u;
  std::memcpy(&u, &v, 4);
  if (u == 0x80000000u) u = 0;
  return u >> 31 ? ~u : u | 0x80000000u;
}
inline uint64_t rank_of(double x) {
  if (x != x) return UINT64_MAX;
  uint64_t u;
  std::memcpy(&u, &x, 8);
  if (u == uint64_t{1} << 63) u = 0;
  return u >> 63 ? ~u : u | uint64_t{1} << 63;
}
inline uint32_t rank_of(int32_t x) { return static_cast<uint32_t>(x) ^ 0x80000000u; }
inline uint64_t rank_of(int64_t x) {
  return static_cast<uint64_t>(x) ^ uint64_t { 1 } << 63;
}
inline uint32_t rank_of(Bfloat x) { return rank_of(static_cast<float>(x)); }
inline uint32_t rank_of(Half x) { return rank_of(static_cast<float>(x)); }

// Rank and index in one: keys differ, so that any sort of them is stable.
using Key = uint64_t;
using LongKey = std::pair<uint64_t, uint32_t>;
template <class T>
using KeyOf = std::conditional_t<sizeof(T) == 8, LongKey, Key>;

inline Key key_of(uint32_t rank, uint32_t i) { return Key{rank} << 32 | i; }
inline LongKey key_of(uint64_t rank, uint32_t i) { return {rank, i}; }
inline uint32_t index_of(Key k) { return static_cast<uint32_t>(k); }
inline uint32_t index_of(const LongKey& k) { return k.second; }

template <class T>
void sort_row(const T* x, int64_t n, int64_t k, bool descending, KeyOf<T>* keys, T* values, int32_t* indices) {
  for (int64_t i = 0; i < n; ++i) {
    const auto rank = rank_of(x[i]);
    keys[i] = key_of(descending ? static_cast<decltype(rank)>(~rank) : rank, static_cast<uint32_t>(i));
  }
  if (k * 16 <= n)
    std::partial_sort(keys, keys + k, keys + n);
  else
    std::sort(keys, keys + n);
  for (int64_t i = 0; i < k; ++i) {
    const uint32_t from = index_of(keys[i]);
    values[i] = x[from];
    indices[i] = static_cast<int32_t>(from);
  }
}

Kernel make_sort(const NodeView& node, const Env&) {
  const auto x = node.in(op::sort::x);
  const int64_t n = x.rank() ? x.dim(-1) : 1, rows = x.elements() / n, first = node.i64("k", n);
  const bool descending = node.flag("descending");
  Kernel k;
  k.threads = threads_for(x.elements() * 8);
  with_number(x.dtype(), [&](auto e) {
    using T = decltype(e);
    k.thread_scratch_bytes = static_cast<uint64_t>(n) * sizeof(KeyOf<T>);
    k.run = [=](const Call& call) {
      const Slice s = call.share(rows);
      for (int64_t r = s.begin; r < s.end; ++r)
        sort_row(call.in<T>(op::sort::x) + r * n, n, first, descending, static_cast<KeyOf<T>*>(call.thread_scratch),
                 call.out<T>(op::sort::out::values) + r * first, call.out<int32_t>(op::sort::out::indices) + r * first);
    };
  });
  return k;
}

plugin::Verdict accept_sort(const NodeView& node) {
  const auto x = node.in(op::sort::x);
  if (x.rank() && x.dim(-1) > INT32_MAX) return plugin::refuse("sort: the last axis exceeds i32 indices");
  return accept_number(node);
}

// ---- argmax ----

template <bool kMax, class T>
bool better(T a, T b) {  // a after b
  if (a != a) return b == b;
  return kMax ? a > b : a < b;
}

template <bool kMax, class T>
int64_t best_of(const T* x, int64_t n, int64_t step) {
  int64_t at = 0;
  Wide<T> best = static_cast<Wide<T>>(x[0]);
  for (int64_t i = 1; i < n; ++i) {
    const Wide<T> v = static_cast<Wide<T>>(x[i * step]);
    if (better<kMax>(v, best)) best = v, at = i;
  }
  return at;
}
template <bool kMax>
int64_t best_of_run(const float* x, int64_t n) {
  f32x8 best = load8(x);
  for (int64_t i = 8; i + 8 <= n; i += 8) best = kMax ? vmax_nan(best, load8(x + i)) : vmin_nan(best, load8(x + i));
  best = kMax ? vmax_nan(best, load8(x + n - 8)) : vmin_nan(best, load8(x + n - 8));
  float lane[8];
  store8(lane, best);
  const float value = lane[best_of<kMax>(lane, 8, 1)];
  for (int64_t i = 0; i < n; ++i)
    if (x[i] == value || (x[i] != x[i] && value != value)) return i;
  return 0;
}

template <bool kMax, class T>
int64_t arg_of(const T* x, int64_t n, int64_t step) {
  if constexpr (std::is_same_v<T, float>) {
    if (step == 1 && n >= 16) return best_of_run<kMax>(x, n);
  }
  if constexpr (std::is_integral_v<T>) {  // f32 would lose bits
    int64_t at = 0;
    for (int64_t i = 1; i < n; ++i)
      if (better<kMax>(x[i * step], x[at * step])) at = i;
    return at;
  } else {
    return best_of<kMax>(x, n, step);
  }
}

template <class T, class I>
Kernel argmax_kernel(const AxisView& v, bool max) {
  Kernel k;
  k.run = [=](const Call& call) {
    const Slice s = call.share(v.outer * v.inner);
    for (int64_t r = s.begin; r < s.end; ++r) {
      const T* x = call.in<T>(op::argmax::x) + r / v.inner * v.n * v.inner + r % v.inner;
      call.out<I>(0)[r] = static_cast<I>(max ? arg_of<true>(x, v.n, v.inner) : arg_of<false>(x, v.n, v.inner));
    }
  };
  return k;
}

Kernel make_argmax(const NodeView& node, const Env&) {
  const AxisView v = axis_view(node.in(op::argmax::x), node.i64("axis"));
  const bool max = node.enumerator("kind", TENON_REDUCE_MAX) != TENON_REDUCE_MIN;
  Kernel k;
  with_number(node.in(op::argmax::x).dtype(), [&](auto e) {
    using T = decltype(e);
    k = node.out(0).dtype() == TENON_I64 ? argmax_kernel<T, int64_t>(v, max) : argmax_kernel<T, int32_t>(v, max);
  });
  k.threads = threads_for(node.in(op::argmax::x).elements());
  return k;
}

// ---- cumsum ----

// Integers wrap.
template <class T>
using SumType = std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, WideOf<T>>;

template <class T>
void cumsum_line(const T* x, int64_t n, int64_t step, bool exclusive, bool reverse, T* y) {
  using A = typename SumType<T>::type;
  A sum{};
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at = (reverse ? n - 1 - i : i) * step;
    const A before = sum;
    sum = sum + static_cast<A>(x[at]);
    y[at] = static_cast<T>(exclusive ? before : sum);
  }
}

Kernel make_cumsum(const NodeView& node, const Env&) {
  const AxisView v = axis_view(node.in(op::cumsum::x), node.i64("axis"));
  const bool exclusive = node.flag("exclusive"), reverse = node.flag("reverse");
  Kernel k;
  k.threads = threads_for(node.in(op::cumsum::x).elements());
  k.in_place = {{0, 0}};
  with_number(node.in(op::cumsum::x).dtype(), [&](auto e) {
    using T = decltype(e);
    k.run = [=](const Call& call) {
      const Slice s = call.share(v.outer * v.inner);
      for (int64_t r = s.begin; r < s.end; ++r) {
        const int64_t at = r / v.inner * v.n * v.inner + r % v.inner;
        cumsum_line(call.in<T>(op::cumsum::x) + at, v.n, v.inner, exclusive, reverse, call.out<T>(0) + at);
      }
    };
  });
  return k;
}

}  // namespace

void add_sort(KernelTable& table) {
  table.add("sort", accept_sort, make_sort);
  table.add("argmax", accept_number, make_argmax);
  table.add("cumsum", accept_number, make_cumsum);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
