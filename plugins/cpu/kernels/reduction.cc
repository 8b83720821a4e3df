// reduce: y[kept] = fold of x[kept, reduced], any axes of rank <= 8.
//
// x is seen as rows: outer kept and reduced dimensions in any order, then one inner run of elements
// that is either reduced itself or kept. Pieces are cut by the shape alone, so the bits do not depend on
// the number of threads.
#include "kernels/reduction.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/element.h"
#include "kernels/simd.h"
#include "tenon/op/names.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// ---- folds ----

struct SumOf {
  template <class A>
  static A identity() {
    return A(0);
  }
  template <class A>
  static A fold(A a, A b) {
    return a + b;
  }
  static TENON_INLINE f32x8 fold8(f32x8 a, f32x8 b) { return a + b; }
};
struct ProdOf {
  template <class A>
  static A identity() {
    return A(1);
  }
  template <class A>
  static A fold(A a, A b) {
    return a * b;
  }
  static TENON_INLINE f32x8 fold8(f32x8 a, f32x8 b) { return a * b; }
};
struct MaxOf {
  template <class A>
  static A identity() {
    return std::is_floating_point_v<A> ? -std::numeric_limits<A>::infinity() : std::numeric_limits<A>::lowest();
  }
  template <class A>
  static A fold(A a, A b) {
    return b > a || b != b ? b : a;
  }
  static TENON_INLINE f32x8 fold8(f32x8 a, f32x8 b) { return vmax_nan(a, b); }
};
struct MinOf {
  template <class A>
  static A identity() {
    return std::is_floating_point_v<A> ? std::numeric_limits<A>::infinity() : std::numeric_limits<A>::max();
  }
  template <class A>
  static A fold(A a, A b) {
    return b < a || b != b ? b : a;
  }
  static TENON_INLINE f32x8 fold8(f32x8 a, f32x8 b) { return vmin_nan(a, b); }
};

// a, folded with x[0, n).
template <class Op, class A, class T>
A fold_run(const T* x, int64_t n, A a) {
  A lane[8];
  for (A& l : lane) l = Op::template identity<A>();
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int l = 0; l < 8; ++l) lane[l] = Op::fold(lane[l], static_cast<A>(x[i + l]));
  for (; i < n; ++i) lane[0] = Op::fold(lane[0], static_cast<A>(x[i]));
  for (A l : lane) a = Op::fold(a, l);
  return a;
}
template <class Op>
float fold_run(const float* x, int64_t n, float a) {
  const f32x8 none = splat<f32x8>(Op::template identity<float>());
  f32x8 s0 = none, s1 = none, s2 = none, s3 = none;
  int64_t i = 0;
  for (; i + 32 <= n; i += 32) {
    s0 = Op::fold8(s0, load8(x + i));
    s1 = Op::fold8(s1, load8(x + i + 8));
    s2 = Op::fold8(s2, load8(x + i + 16));
    s3 = Op::fold8(s3, load8(x + i + 24));
  }
  for (; i + 8 <= n; i += 8) s0 = Op::fold8(s0, load8(x + i));
  if (i < n) s1 = Op::fold8(s1, lane_mask(n - i) ? load8_part(x + i, n - i) : none);
  const f32x8 s = Op::fold8(Op::fold8(s0, s1), Op::fold8(s2, s3));
  float lane[8];
  store8(lane, s);
  const float even = Op::fold(Op::fold(lane[0], lane[4]), Op::fold(lane[2], lane[6]));
  const float odd = Op::fold(Op::fold(lane[1], lane[5]), Op::fold(lane[3], lane[7]));
  return Op::fold(a, Op::fold(even, odd));
}

// a[0, n) folded with x[0, n).
template <class Op, class A, class T>
void fold_columns(const T* x, int64_t n, A* a) {
  for (int64_t i = 0; i < n; ++i) a[i] = Op::fold(a[i], static_cast<A>(x[i]));
}
// Four rows, `step` apart.
template <class Op>
void fold_four(const float* x, int64_t step, int64_t n, float* a) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const f32x8 low = Op::fold8(load8(x + i), load8(x + i + step));
    const f32x8 high = Op::fold8(load8(x + i + 2 * step), load8(x + i + 3 * step));
    store8(a + i, Op::fold8(load8(a + i), Op::fold8(low, high)));
  }
  for (; i < n; ++i) {
    const float low = Op::fold(x[i], x[i + step]), high = Op::fold(x[i + 2 * step], x[i + 3 * step]);
    a[i] = Op::fold(a[i], Op::fold(low, high));
  }
}

// ---- plan ----

constexpr int64_t kRun = 4096;         // the most of an inner run that is reduced at once
constexpr int64_t kKeptColumns = 512;  // the most of an inner run that is kept at once
constexpr int64_t kPieces = 64;        // enough pieces for all threads

struct Plan {
  StridedCopy kept, reduced;  // the outer dimensions; strides of x in `in`
  bool inner_reduced = false;
  int64_t n = 1;      // inner run
  int64_t cut = 1;    // an inner run comes in pieces of this
  int64_t cuts = 1;   // so many
  int64_t rows = 1;   // of reduced outer dimensions (times cuts, when the run is reduced)
  int64_t chunk = 1;  // rows of a chunk
  int64_t chunks = 1;
  int64_t outer = 1;  // of kept outer dimensions
  int64_t outputs = 1;
};

void merge_axes(const NodeView& node, Plan& p) {
  const auto x = node.in(op::reduce::x);
  bool reduced[TENON_MAX_RANK] = {};
  for (int64_t a : node.list("axes")) reduced[a] = true;
  struct Group {
    int64_t n;
    bool reduced;
  };
  std::vector<Group> groups;
  for (int i = 0; i < x.rank(); ++i) {
    if (x.dim(i) == 1) continue;
    if (!groups.empty() && groups.back().reduced == reduced[i])
      groups.back().n *= x.dim(i);
    else
      groups.push_back({x.dim(i), reduced[i]});
  }
  if (groups.empty()) groups.push_back({1, false});
  p.n = groups.back().n;
  p.inner_reduced = groups.back().reduced;
  groups.pop_back();
  int64_t stride = x.elements();
  for (const Group& g : groups) {
    stride /= g.n;
    (g.reduced ? p.reduced : p.kept).push(g.n, stride, 0);
  }
}

Plan plan_reduce(const NodeView& node) {
  Plan p;
  merge_axes(node, p);
  p.outer = p.kept.elements();
  p.rows = p.reduced.elements();
  p.cut = std::min(p.n, p.inner_reduced ? kRun : kKeptColumns);
  p.cuts = (p.n + p.cut - 1) / p.cut;
  p.outputs = p.outer * (p.inner_reduced ? 1 : p.n);
  if (p.inner_reduced) p.rows *= p.cuts;
  const int64_t units = p.outer * (p.inner_reduced ? 1 : p.cuts);
  p.chunk = p.rows;
  if (units < kPieces) {
    const int64_t wanted = (kPieces + units - 1) / units, least = std::max<int64_t>(1, 8192 / p.cut);
    p.chunk = std::min(p.rows, std::max(least, (p.rows + wanted - 1) / wanted));
  }
  p.chunks = (p.rows + p.chunk - 1) / p.chunk;
  return p;
}

// ---- run ----

template <class Op, class A, class T>
A reduce_rows(const Plan& p, const T* x, int64_t begin, int64_t end) {
  A a = Op::template identity<A>();
  Odometer at(p.reduced, p.reduced.rank, begin / p.cuts);
  for (int64_t r = begin, k = begin % p.cuts; r < end; ++r) {
    const int64_t from = k * p.cut;
    a = fold_run<Op>(x + at.in + from, std::min(p.cut, p.n - from), a);
    if (++k == p.cuts) k = 0, at.next();
  }
  return a;
}

template <class Op, class A, class T>
void reduce_columns(const Plan& p, const T* x, int64_t begin, int64_t end, int64_t width, A* a) {
  std::fill_n(a, width, Op::template identity<A>());
  Odometer at(p.reduced, p.reduced.rank, begin);
  int64_t r = begin;
  if constexpr (std::is_same_v<T, float>) {
    if (p.reduced.rank == 1) {
      const int64_t step = p.reduced.in[0];
      for (; r + 4 <= end; r += 4) fold_four<Op>(x + r * step, step, width, a);
      at = Odometer(p.reduced, 1, r % p.reduced.dims[0]);
    }
  }
  for (; r < end; ++r, at.next()) fold_columns<Op>(x + at.in, width, a);
}

template <class Op, class A, class T>
void run_reduce(const Call& call, const Plan& p) {
  const T* x = call.in<T>(op::reduce::x);
  T* y = call.out<T>(0);
  A* partial = static_cast<A*>(call.scratch);
  const int64_t blocks = p.inner_reduced ? 1 : p.cuts;
  const Slice units = call.share(p.outer * blocks * p.chunks);
  for (int64_t u = units.begin; u < units.end; ++u) {
    const int64_t c = u % p.chunks, block = u / p.chunks % blocks, o = u / p.chunks / blocks;
    const int64_t begin = c * p.chunk, end = std::min(p.rows, begin + p.chunk);
    const T* from = x + Odometer(p.kept, p.kept.rank, o).in;
    if (p.inner_reduced) {
      const A a = reduce_rows<Op, A>(p, from, begin, end);
      if (p.chunks > 1)
        partial[c * p.outputs + o] = a;
      else
        y[o] = static_cast<T>(a);
      continue;
    }
    const int64_t column = block * p.cut, width = std::min(p.cut, p.n - column), to = o * p.n + column;
    A sums[kKeptColumns];
    A* a = p.chunks > 1 ? partial + c * p.outputs + to : sums;
    reduce_columns<Op>(p, from + column, begin, end, width, a);
    if (p.chunks == 1)
      for (int64_t i = 0; i < width; ++i) y[to + i] = static_cast<T>(a[i]);
  }
  if (p.chunks == 1) return;
  call.barrier();
  const Slice out = call.share(p.outputs, 16);
  for (int64_t i = out.begin; i < out.end; ++i) {
    A a = partial[i];
    for (int64_t c = 1; c < p.chunks; ++c) a = Op::fold(a, partial[c * p.outputs + i]);
    y[i] = static_cast<T>(a);
  }
}

template <class A, class T>
Kernel reduce_kernel(const Plan& p, int32_t kind) {
  Kernel k;
  k.scratch_bytes = p.chunks > 1 ? static_cast<uint64_t>(p.chunks * p.outputs) * sizeof(A) : 0;
  switch (kind) {
    case TENON_REDUCE_SUM:
      k.run = [p](const Call& call) { run_reduce<SumOf, A, T>(call, p); };
      break;
    case TENON_REDUCE_PROD:
      k.run = [p](const Call& call) { run_reduce<ProdOf, A, T>(call, p); };
      break;
    case TENON_REDUCE_MAX:
      k.run = [p](const Call& call) { run_reduce<MaxOf, A, T>(call, p); };
      break;
    default:
      k.run = [p](const Call& call) { run_reduce<MinOf, A, T>(call, p); };
  }
  return k;
}

template <class A, class T>
Kernel extreme_kernel(const Plan& p, int32_t kind) {
  Kernel k;
  k.scratch_bytes = p.chunks > 1 ? static_cast<uint64_t>(p.chunks * p.outputs) * sizeof(A) : 0;
  if (kind == TENON_REDUCE_MAX)
    k.run = [p](const Call& call) { run_reduce<MaxOf, A, T>(call, p); };
  else
    k.run = [p](const Call& call) { run_reduce<MinOf, A, T>(call, p); };
  return k;
}

Kernel typed_reduce(const Plan& p, int32_t dtype, int32_t kind) {
  const bool extreme = kind == TENON_REDUCE_MAX || kind == TENON_REDUCE_MIN;
  switch (dtype) {  // integer sums and products wrap: unsigned
    case TENON_BF16:
      return reduce_kernel<float, Bfloat>(p, kind);
    case TENON_F16:
      return reduce_kernel<float, Half>(p, kind);
    case TENON_F64:
      return reduce_kernel<double, double>(p, kind);
    case TENON_I32:
      return extreme ? extreme_kernel<int32_t, int32_t>(p, kind) : reduce_kernel<uint32_t, uint32_t>(p, kind);
    case TENON_I64:
      return extreme ? extreme_kernel<int64_t, int64_t>(p, kind) : reduce_kernel<uint64_t, uint64_t>(p, kind);
    case TENON_BOOL:
      return extreme_kernel<uint8_t, uint8_t>(p, kind);
    default:
      return reduce_kernel<float, float>(p, kind);
  }
}

Kernel make_reduce(const NodeView& node, const Env&) {
  const Plan p = plan_reduce(node);
  Kernel k = typed_reduce(p, node.in(op::reduce::x).dtype(), node.enumerator("kind"));
  k.threads = threads_for(node.in(op::reduce::x).elements());
  return k;
}

plugin::Verdict accept_reduce(const NodeView& node) {
  const int32_t t = node.in(op::reduce::x).dtype(), kind = node.enumerator("kind");
  if (kind < TENON_REDUCE_SUM || kind > TENON_REDUCE_MIN) return plugin::refuse("reduce: unknown kind");
  if (t == TENON_BOOL && kind < TENON_REDUCE_MAX) return plugin::refuse("reduce: bool has max and min only");
  if (t != TENON_BOOL && !is_number(t)) return plugin::refuse("reduce: not a number or bool");
  return plugin::take();
}

}  // namespace

void add_reduction(KernelTable& table) {
  table.add("reduce", accept_reduce, make_reduce);
  add_global_norm(table);
  add_sort(table);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
