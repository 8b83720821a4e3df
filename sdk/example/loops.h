// The loops of the op set. A function here makes the kernel of one node: what does not change from step to step
// is worked out now, and the lambda that is left runs every step.
//
//   M  y[i] = f(a[i], b[i], ..)           map
//   V  y[i] = x[src(i)] or a fill         move slice reverse pad concat iota random gather
//   R  y[drop(i)] = f(y[drop(i)], x[i])   reduce scatter; and sort
//      sums of products                   dot conv conv_grad_input conv_grad_filter
#pragma once

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "tenon/plugin/element.h"
#include "tenon/plugin/geometry.h"
#include "tenon/plugin/kernel.h"
#include "tenon/plugin/philox.h"
#include "tenon/plugin/strided.h"

namespace example {

using namespace tenon::plugin;

// ---- M ----

// y[i] = f(operand 0's element i, operand 1's, ..). An operand of rank 0 serves every i, by a step of 0.
template <class Y, class... X, class F, size_t... o>
Kernel map(const NodeView& node, F f, std::index_sequence<o...>) {
  Kernel k;  // y may be any operand of its size: each element is read before it is written
  for (int i = 0; i < node.operands(); ++i) k.in_place.push_back({i, 0});
  k.run = [f, n = node.out(0).elements(), steps = std::array<int64_t, sizeof...(X)>{node.in(o).rank() != 0 ...}](const Call& call) {
    const std::tuple<const X*...> x{call.in<X>(o)...};
    const auto step = steps;
    Y* y = call.out<Y>(0);
    for (int64_t i = 0, end = n; i < end; ++i) y[i] = f(std::get<o>(x)[i * step[o]]...);
  };
  return k;
}
template <class Y, class... X, class F>
Kernel map(const NodeView& node, F f) {
  return map<Y, X...>(node, f, std::index_sequence_for<X...>());
}

// f in the arithmetic of T: f32 for 16 bits, integers as if they were wide enough.
template <class T, class F>
Kernel unary(const NodeView& node, F f) {
  return map<T, T>(node, [f](T x) { return static_cast<T>(f(Wide<T>(x))); });
}
template <class T, class Y = T, class F>
Kernel binary(const NodeView& node, F f) {
  return map<Y, T, T>(node, [f](T a, T b) { return static_cast<Y>(f(Wide<T>(a), Wide<T>(b))); });
}

template <class T>
Kernel compare(const NodeView& node) {
  switch (node.enumerator("kind")) {
    case TENON_COMPARE_EQ: return binary<T, bool>(node, std::equal_to<>());
    case TENON_COMPARE_NE: return binary<T, bool>(node, std::not_equal_to<>());
    case TENON_COMPARE_LT: return binary<T, bool>(node, std::less<>());
    case TENON_COMPARE_LE: return binary<T, bool>(node, std::less_equal<>());
    case TENON_COMPARE_GT: return binary<T, bool>(node, std::greater<>());
    default: return binary<T, bool>(node, std::greater_equal<>());
  }
}

template <class T>
Kernel cast(const NodeView& node) {
  return dispatch(All{}, node.out(0).dtype(), [&](auto y) { return map<decltype(y), T>(node, convert<decltype(y), T>); });
}

template <class T>
Kernel select(const NodeView& node) {
  return map<T, bool, T, T>(node, [](bool c, T a, T b) { return c ? a : b; });
}

// The larger and the smaller of two; NaN wins. A quotient of integers truncates; by 0 it is a.
constexpr auto kLarger = [](auto a, auto b) { return a != a || a > b ? a : b; };
constexpr auto kSmaller = [](auto a, auto b) { return a != a || a < b ? a : b; };
constexpr auto kQuotient = [](auto a, auto b) { return std::is_floating_point_v<decltype(a)> || b != 0 ? a / b : a; };

// ---- V: a box of elements goes from one array, walked by strides, to another; T: integers of the elements' width ----

// Every element of y in order, from x by these strides.
template <class T>
Kernel move(const NodeView& node, const Dims& x_strides, int64_t x_start = 0) {
  Kernel k;
  k.run = [walk = Walk<2>(node.out(0).dims(), {x_strides, strides_of(node.out(0))}, {x_start, 0})](const Call& call) {
    copy(walk, call.in<T>(0), call.out<T>(0));
  };
  return k;
}

template <class T>
Kernel same(const NodeView& node) {
  return move<T>(node, strides_of(node.out(0)));
}

// y.dim[i] = x.dim[perm[i]]
template <class T>
Kernel transpose(const NodeView& node) {
  Dims strides;
  for (int64_t axis : node.list("perm")) strides.push_back(strides_of(node.in(0))[axis]);
  return move<T>(node, strides);
}

// x.dim[i], equal or 1, becomes y.dim[dims[i]]
template <class T>
Kernel broadcast(const NodeView& node) {
  Dims strides(node.out(0).rank());
  for (int i = 0; i < node.in(0).rank(); ++i)
    if (node.in(0).dim(i) != 1) strides[node.list("dims")[i]] = strides_of(node.in(0))[i];
  return move<T>(node, strides);
}

template <class T>
Kernel slice(const NodeView& node) {
  Dims strides = strides_of(node.in(0));
  int64_t start = 0;
  for (size_t d = 0; d < strides.size(); ++d) {
    start += item(node, "start", d, 0) * strides[d];
    strides[d] *= item(node, "stride", d, 1);
  }
  return move<T>(node, strides, start);
}

template <class T>
Kernel reverse(const NodeView& node) {
  Dims strides = strides_of(node.in(0));
  int64_t start = 0;
  for (int64_t d : node.list("axes")) {
    start += (node.in(0).dims()[d] - 1) * strides[d];
    strides[d] = -strides[d];
  }
  return move<T>(node, strides, start);
}

template <class T>
Kernel pad(const NodeView& node) {
  Dims strides = strides_of(node.out(0));
  int64_t start = 0;
  for (size_t d = 0; d < strides.size(); ++d) {
    start += item(node, "low", d, 0) * strides[d];
    strides[d] *= 1 + item(node, "interior", d, 0);
  }
  const Walk<2> walk(node.in(0).dims(), {strides_of(node.in(0)), strides}, {0, start});
  Kernel k;
  k.run = [walk, n = node.out(0).elements(), value = convert<T>(node.f64("value"))](const Call& call) {
    std::fill_n(call.out<T>(0), n, value);
    copy(walk, call.in<T>(0), call.out<T>(0));
  };
  return k;
}

template <class T>
Kernel concat(const NodeView& node) {
  const int axis = static_cast<int>(node.i64("axis"));
  const Dims strides = strides_of(node.out(0));
  std::vector<Walk<2>> walks;
  int64_t before = 0;
  for (int i = 0; i < node.operands(); before += node.in(i++).dim(axis))
    walks.push_back({node.in(i).dims(), {strides_of(node.in(i)), strides}, {0, before * strides[axis]}});
  Kernel k;
  k.run = [walks](const Call& call) {
    for (size_t i = 0; i < walks.size(); ++i) copy(walks[i], call.in<T>(static_cast<int>(i)), call.out<T>(0));
  };
  return k;
}

// y[i] = i[axis]
template <class T>
Kernel iota(const NodeView& node) {
  const ValueView y = node.out(0);
  const int axis = static_cast<int>(node.i64("axis"));
  Kernel k;
  k.run = [n = y.elements(), size = y.dim(axis), inner = strides_of(y)[axis]](const Call& call) {
    for (int64_t i = 0; i < n; ++i) call.out<T>(0)[i] = static_cast<T>(i / inner % size);
  };
  return k;
}

// This device is one unit: of the replicas of all devices it is number `first`.
template <class T>
Kernel replica_id(const NodeView& node) {
  Kernel k;
  k.run = [first = static_cast<T>(node.i64("first"))](const Call& call) { *call.out<T>(0) = first; };
  return k;
}

// Uniform numbers in [0, 1), the same on every device. Replicas draw one behind the other.
inline Kernel random(const NodeView& node) {
  const uint64_t n = static_cast<uint64_t>(node.out(0).elements());
  const uint64_t before = node.flag("per_replica") ? static_cast<uint64_t>(node.i64("first")) * n : 0;
  Kernel k;
  k.run = [n, before, stream = static_cast<uint32_t>(node.i64("stream"))](const Call& call) {
    const uint64_t seed = *call.in<uint64_t>(0), step = *call.in<uint64_t>(1);
    for (uint64_t e = 0; e < n;) {
      const auto words = philox({static_cast<uint32_t>((before + e) / 4), stream, static_cast<uint32_t>(step),
                                 static_cast<uint32_t>(step >> 32)}, seed);
      for (uint64_t i = (before + e) % 4; i < 4 && e < n; ++i, ++e)
        call.out(0)[e] = static_cast<float>(words[i] >> 8) * 0x1p-24f;
    }
  };
  return k;
}

// ---- gather y[b,p,j,s] = x[b,p,i[b,j],s], and scatter, its transpose ----

// f(place in x, place in y) for each row of s elements, in y's order; the first is -1 where the index lies outside.
template <class I, class F>
void for_each_index(const IndexShape& g, const I* index, F f) {
  for (int64_t b = 0; b < g.b; ++b)
    for (int64_t p = 0; p < g.p; ++p)
      for (int64_t j = 0; j < g.j; ++j) {
        const int64_t i = index[b * g.j + j], bp = b * g.p + p;
        f(i >= 0 && i < g.n ? (bp * g.n + i) * g.s : -1, (bp * g.j + j) * g.s);
      }
}

template <class T, class I>
Kernel gather(const NodeView& node) {
  Kernel k;
  k.run = [g = index_shape(node)](const Call& call) {
    const T* x = call.in<T>(0);
    T* y = call.out<T>(0);
    for_each_index(g, call.in<I>(1), [&](int64_t from, int64_t to) {
      for (int64_t s = 0; s < g.s; ++s) y[to + s] = from < 0 ? T(0) : x[from + s];
    });
  };
  return k;
}

// ---- R, and all that adds up: y is kept as S = Sum<T>, f32 for 16-bit floats, and rounded once, at the end ----

// The kernel that calls body(call, y, spare): y the result or, where that is narrower than S, scratch in its place;
// `spare` more elements of scratch.
template <class S, class Body>
Kernel sums(const NodeView& node, int64_t spare, Body body) {
  const int64_t n = node.out(0).elements();
  const int32_t dtype = node.out(0).dtype();
  const bool narrows = dtype != dtype_of<S>();
  Kernel k;
  k.scratch_bytes = sizeof(S) * static_cast<uint64_t>(spare + (narrows ? n : 0));
  k.run = [=](const Call& call) {
    S* scratch = static_cast<S*>(call.scratch);
    S* y = narrows ? scratch + spare : call.out<S>(0);
    body(call, y, scratch);
    if (narrows) dispatch(Floats{}, dtype, [&](auto t) { std::transform(y, y + n, call.out<decltype(t)>(0), convert<decltype(t), S>); });
  };
  return k;
}

template <class T, class I>
Kernel scatter(const NodeView& node) {
  using S = Sum<T>;
  const int64_t n = node.out(0).elements();
  const auto put = [n, g = index_shape(node)](const Call& call, auto* y, auto f) {
    std::copy_n(call.in<T>(0), n, y);
    for_each_index(g, call.in<I>(1), [&](int64_t to, int64_t from) {
      for (int64_t s = 0; s < g.s && to >= 0; ++s) y[to + s] = f(y[to + s], call.in<T>(2)[from + s]);
    });
  };
  Kernel k;
  k.run = [put](const Call& call) { put(call, call.out<T>(0), [](T, T u) { return u; }); };
  if (node.enumerator("kind") == TENON_SCATTER_SET) return k;
  return sums<S>(node, 0, [put](const Call& call, S* y, S*) {
    put(call, y, [](S a, T u) { return static_cast<S>(Wide<T>(a) + Wide<T>(u)); });
  });
}

template <class T, class F>
Kernel reduce(const NodeView& node, Sum<T> identity, F f) {
  using S = Sum<T>;
  const Span<int64_t> axes = node.list("axes");
  Dims kept = strides_of(node.out(0)), y_strides;  // 0 along the axes that are dropped
  for (int d = 0, next = 0; d < node.in(0).rank(); ++d)
    y_strides.push_back(std::find(axes.begin(), axes.end(), d) != axes.end() ? 0 : kept[next++]);
  const Walk<2> walk(node.in(0).dims(), {strides_of(node.in(0)), y_strides});
  return sums<S>(node, 0, [=, n = node.out(0).elements()](const Call& call, S* y, S*) {
    std::fill_n(y, n, identity);
    walk.rows([&](auto at, int64_t length, auto step) {
      const T* from = call.in<T>(0) + at[0];
      S* to = y + at[1];
      for (int64_t i = 0; i < length; ++i) to[i * step[1]] = static_cast<S>(f(Wide<T>(to[i * step[1]]), Wide<T>(from[i * step[0]])));
    });
  });
}

template <class T>
Kernel reduce(const NodeView& node) {
  switch (node.enumerator("kind")) {
    case TENON_REDUCE_SUM: return reduce<T>(node, Sum<T>(0), std::plus<>());
    case TENON_REDUCE_PROD: return reduce<T>(node, Sum<T>(1), std::multiplies<>());
    case TENON_REDUCE_MAX: return reduce<T>(node, lowest<Sum<T>>(), kLarger);
    default: return reduce<T>(node, highest<Sum<T>>(), kSmaller);
  }
}

// The first k of each row, and where they were. NaN stands above infinity; of equals the lowest index is first.
template <class T>
Kernel sort(const NodeView& node) {
  const int64_t n = node.in(0).dim(-1), rows = node.in(0).elements() / n, first = node.i64("k");
  Kernel k;
  k.scratch_bytes = static_cast<uint64_t>(n) * sizeof(int32_t);
  k.run = [=, descending = node.flag("descending")](const Call& call) {
    const auto below = [](Wide<T> a, Wide<T> b) { return a < b || (a == a && b != b); };
    int32_t* order = static_cast<int32_t*>(call.scratch);
    for (int64_t r = 0; r < rows; ++r) {
      const T* x = call.in<T>(0) + r * n;
      for (int64_t i = 0; i < n; ++i) order[i] = static_cast<int32_t>(i);
      std::sort(order, order + n, [&](int32_t i, int32_t j) {
        if (below(x[i], x[j]) || below(x[j], x[i])) return below(x[i], x[j]) != descending;
        return i < j;
      });
      for (int64_t i = 0; i < first; ++i) call.out<T>(0)[r * first + i] = x[order[i]];
      std::copy_n(order, first, call.out<int32_t>(1) + r * first);
    }
  };
  return k;
}

// ---- sums of products ----

// Zeroes y and calls body(a, b, y) on arrays of S; operands of 16 bits are widened into scratch first.
template <class T, class Body>
Kernel contraction(const NodeView& node, Body body) {
  using S = Sum<T>;
  const int64_t n_a = node.in(0).elements(), n_b = node.in(1).elements(), n_y = node.out(0).elements();
  const bool widens = sizeof(S) != sizeof(T);
  return sums<S>(node, widens ? n_a + n_b : 0, [=](const Call& call, S* y, S* spare) {
    if (widens) std::copy_n(call.in<T>(1), n_b, std::copy_n(call.in<T>(0), n_a, spare));
    std::fill_n(y, n_y, S(0));
    body(widens ? spare : call.in<S>(0), widens ? spare + n_a : call.in<S>(1), y);
  });
}

// y[i] += a x[i]
template <class S>
void add_product(S a, const S* x, S* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] += a * x[i];
}

// a . b in eight sums, which the compiler keeps in vector registers; their order is fixed.
template <class S>
S inner_product(const S* a, const S* b, int64_t n) {
  S sum[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int64_t j = 0; j < 8; ++j) sum[j] += a[i + j] * b[i + j];
  for (; i < n; ++i) sum[i % 8] += a[i] * b[i];
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

// y[p,m,n] = sum_k a[p,m,k] b[p,k,n]; ta, tb: that operand's last two axes are swapped.
template <class T>
Kernel dot(const NodeView& node) {
  using S = Sum<T>;
  const bool ta = node.flag("ta"), tb = node.flag("tb");
  const int64_t M = node.out(0).dim(-2), N = node.out(0).dim(-1), K = node.in(0).dim(ta ? -2 : -1);
  const int64_t batch = node.out(0).elements() / (M * N);
  return contraction<T>(node, [=](const S* a, const S* b, S* y) {
    for (int64_t p = 0; p < batch; ++p, a += M * K, b += K * N)
      for (int64_t m = 0; m < M; ++m, y += N) {
        for (int64_t k = 0; k < K && !tb; ++k) add_product(a[ta ? k * M + m : m * K + k], b + k * N, y, N);
        for (int64_t n = 0; n < N && tb && !ta; ++n) y[n] = inner_product(a + m * K, b + n * K, K);
        for (int64_t n = 0; n < N && tb && ta; ++n)
          for (int64_t k = 0; k < K; ++k) y[n] += a[k * M + m] * b[n * K + k];
      }
  });
}

// The loop of all three: f(place in x, in w, in y, n) for each tap of each window that lies inside x, each channel
// of x there, and the n outputs of its group.
template <class F>
void for_each_product(const ConvShape& s, F f) {
  const int64_t points = s.out[0] * s.out[1] * s.out[2], taps = s.taps[0] * s.taps[1] * s.taps[2];
  const int64_t inputs = s.c / s.groups, outputs = s.o / s.groups;
  const auto place = [&s](int d, int64_t p, int64_t t) { return p * s.stride[d] + t * s.dilation[d] - s.low[d]; };
  for (int64_t np = 0; np < s.batch * points; ++np)
    for (int64_t t = 0; t < taps; ++t) {
      const int64_t n = np / points, p = np % points, i = place(0, p / (s.out[1] * s.out[2]), t / (s.taps[1] * s.taps[2]));
      const int64_t j = place(1, p / s.out[2] % s.out[1], t / s.taps[2] % s.taps[1]), k = place(2, p % s.out[2], t % s.taps[2]);
      if (i < 0 || i >= s.size[0] || j < 0 || j >= s.size[1] || k < 0 || k >= s.size[2]) continue;
      const int64_t x = (((n * s.size[0] + i) * s.size[1] + j) * s.size[2] + k) * s.c, w = t * inputs * s.o;
      for (int64_t g = 0; g < s.groups; ++g)
        for (int64_t c = 0; c < inputs; ++c) f(x + g * inputs + c, w + c * s.o + g * outputs, np * s.o + g * outputs, outputs);
    }
}

template <class T>
Kernel conv(const NodeView& node) {
  using S = Sum<T>;
  return contraction<T>(node, [s = conv_shape(node)](const S* x, const S* w, S* y) {
    for_each_product(s, [=](int64_t i, int64_t j, int64_t k, int64_t n) { add_product(x[i], w + j, y + k, n); });
  });
}

template <class T>
Kernel conv_grad_input(const NodeView& node) {
  using S = Sum<T>;
  return contraction<T>(node, [s = conv_shape(node)](const S* dy, const S* w, S* dx) {
    for_each_product(s, [=](int64_t i, int64_t j, int64_t k, int64_t n) { dx[i] += inner_product(dy + k, w + j, n); });
  });
}

template <class T>
Kernel conv_grad_filter(const NodeView& node) {
  using S = Sum<T>;
  return contraction<T>(node, [s = conv_shape(node)](const S* x, const S* dy, S* dw) {
    for_each_product(s, [=](int64_t i, int64_t j, int64_t k, int64_t n) { add_product(x[i], dy + k, dw + j, n); });
  });
}

}  // namespace example
