// gather  y[b,p,j,s] = x[b,p,i[b,j],s]   scatter  y = x; y[b,p,i[b,j],s] += or = u[b,p,j,s]
// x [B, P, N, S], i [B, J], y and u [B, P, J, S]; an index outside [0, N) reads 0 and writes nothing.
#include <algorithm>
#include <cstring>

#include "kernels/element.h"
#include "kernels/movement/movement.h"
#include "tenon/op/names.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

struct Shape {
  int64_t b = 1, p = 1, n = 1, j = 1, s = 1;
};

Shape shape_of(const NodeView& node) {
  const auto x = node.in(op::gather::x), i = node.in(op::gather::i);
  const int axis = static_cast<int>(node.i64("axis")), batch = static_cast<int>(node.i64("batch"));
  Shape sh;
  for (int d = 0; d < batch; ++d) sh.b *= x.dim(d);
  for (int d = batch; d < axis; ++d) sh.p *= x.dim(d);
  sh.n = x.dim(axis);
  for (int d = axis + 1; d < x.rank(); ++d) sh.s *= x.dim(d);
  for (int d = batch; d < i.rank(); ++d) sh.j *= i.dim(d);
  return sh;
}

plugin::Verdict accept_gather(const NodeView& node) {
  const int32_t t = node.in(op::gather::i).dtype();
  if (t != TENON_I32 && t != TENON_I64) return plugin::refuse("indices must be i32 or i64");
  return take_any(node);
}

inline void copy_run(char* to, const char* from, int64_t bytes) {
  switch (bytes) {  // the common single elements without a call
    case 4:
      std::memcpy(to, from, 4);
      break;
    case 8:
      std::memcpy(to, from, 8);
      break;
    default:
      std::memcpy(to, from, static_cast<size_t>(bytes));
  }
}

template <class I>
void run_gather(const Call& call, const Shape& sh, int64_t run) {
  const Slice rows = call.share(sh.b * sh.p * sh.j);
  const I* index = call.in<I>(op::gather::i);
  int64_t j = rows.begin % sh.j, bp = rows.begin / sh.j;
  char* y = call.out<char>(0) + rows.begin * run;
  for (int64_t r = rows.begin; r < rows.end; ++r, y += run) {
    const I k = index[bp / sh.p * sh.j + j];
    if (k >= 0 && k < sh.n)
      copy_run(y, call.in<char>(op::gather::x) + (bp * sh.n + k) * run, run);
    else
      std::memset(y, 0, static_cast<size_t>(run));
    if (++j == sh.j) j = 0, ++bp;
  }
}

Kernel make_gather(const NodeView& node, const Env&) {
  const Shape sh = shape_of(node);
  const int64_t run = sh.s * plugin::dtype_bytes(node.in(op::gather::x).dtype());
  Kernel k;
  k.threads = threads_for(node.out(0).elements());
  if (node.in(op::gather::i).dtype() == TENON_I32)
    k.run = [=](const Call& call) { run_gather<int32_t>(call, sh, run); };
  else
    k.run = [=](const Call& call) { run_gather<int64_t>(call, sh, run); };
  return k;
}

// What scatter does with one run: A is what y's elements are while they are added to.
struct Set {
  template <class A, class T>
  static void apply(A* y, const T* u, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = u[i];
  }
};
struct Add {
  template <class A, class T>
  static void apply(A* y, const T* u, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<A>(y[i] + static_cast<A>(u[i]));
  }
};
struct Or {
  template <class A, class T>
  static void apply(A* y, const T* u, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] |= u[i];
  }
};

// A thread's part of y: (b, p) planes, columns of S and rows of N. Each element is written by one
// thread in the order of the updates, so the sums do not depend on the number of threads.
struct Part {
  Slice planes, columns, rows;
};

Part part_of(const Call& call, const Shape& sh) {
  const int64_t planes = sh.b * sh.p, threads = call.count;
  Part part{{0, planes}, {0, sh.s}, {0, sh.n}};
  if (planes >= 4 * threads)
    part.planes = call.share(planes);
  else if (sh.s >= 16 * threads)
    part.columns = call.share(sh.s, 16);
  else
    part.rows = call.share(sh.n);
  return part;
}

template <class Op, class I, class A, class T>
void scatter_part(const Shape& sh, const Part& part, const I* index, const T* u, A* y) {
  const int64_t width = part.columns.end - part.columns.begin;
  if (width <= 0) return;
  for (int64_t bp = part.planes.begin; bp < part.planes.end; ++bp) {
    const I* row = index + bp / sh.p * sh.j;
    for (int64_t j = 0; j < sh.j; ++j) {
      const int64_t k = row[j];
      if (k < part.rows.begin || k >= part.rows.end) continue;
      Op::apply(y + (bp * sh.n + k) * sh.s + part.columns.begin, u + (bp * sh.j + j) * sh.s + part.columns.begin,
                width);
    }
  }
}

template <class Op, class A, class T>
void scatter_typed(const Call& call, const Shape& sh, bool wide, const T* u, A* y) {
  const Part part = part_of(call, sh);
  if (wide)
    scatter_part<Op>(sh, part, call.in<int64_t>(op::scatter::i), u, y);
  else
    scatter_part<Op>(sh, part, call.in<int32_t>(op::scatter::i), u, y);
}

template <class T, class Op>
void run_scatter(const Call& call, const Shape& sh, bool wide) {
  const T* x = call.in<T>(op::scatter::x);
  T* y = call.out<T>(0);
  if (x != y) {
    const Slice s = call.share(sh.b * sh.p * sh.n * sh.s, 64);
    if (s.end > s.begin) std::memcpy(y + s.begin, x + s.begin, static_cast<size_t>(s.end - s.begin) * sizeof(T));
    call.barrier();
  }
  scatter_typed<Op>(call, sh, wide, call.in<T>(op::scatter::u), y);
}

// 16-bit sums are kept in f32 and rounded once.
template <class T>
void run_scatter_narrow(const Call& call, const Shape& sh, bool wide) {
  const Slice s = call.share(sh.b * sh.p * sh.n * sh.s, 64);
  float* sum = static_cast<float*>(call.scratch);
  for (int64_t i = s.begin; i < s.end; ++i) sum[i] = static_cast<float>(call.in<T>(op::scatter::x)[i]);
  call.barrier();
  scatter_typed<Add>(call, sh, wide, call.in<T>(op::scatter::u), sum);
  call.barrier();
  for (int64_t i = s.begin; i < s.end; ++i) call.out<T>(0)[i] = static_cast<T>(sum[i]);
}

template <class T, class Op>
Kernel scatter_kernel(const Shape& sh, bool wide) {
  Kernel k;
  k.run = [=](const Call& call) { run_scatter<T, Op>(call, sh, wide); };
  return k;
}

template <class T>
Kernel narrow_kernel(const Shape& sh, bool wide) {
  Kernel k;
  k.scratch_bytes = static_cast<uint64_t>(sh.b * sh.p * sh.n * sh.s) * 4;
  k.run = [=](const Call& call) { run_scatter_narrow<T>(call, sh, wide); };
  return k;
}

Kernel set_kernel(int64_t bytes, const Shape& sh, bool wide) {
  switch (bytes) {
    case 1:
      return scatter_kernel<uint8_t, Set>(sh, wide);
    case 2:
      return scatter_kernel<uint16_t, Set>(sh, wide);
    case 4:
      return scatter_kernel<uint32_t, Set>(sh, wide);
    default:
      return scatter_kernel<uint64_t, Set>(sh, wide);
  }
}

Kernel add_kernel(int32_t dtype, const Shape& sh, bool wide) {
  switch (dtype) {  // unsigned: integers wrap
    case TENON_F32:
      return scatter_kernel<float, Add>(sh, wide);
    case TENON_F64:
      return scatter_kernel<double, Add>(sh, wide);
    case TENON_BF16:
      return narrow_kernel<Bfloat>(sh, wide);
    case TENON_F16:
      return narrow_kernel<Half>(sh, wide);
    case TENON_I32:
      return scatter_kernel<uint32_t, Add>(sh, wide);
    case TENON_I64:
      return scatter_kernel<uint64_t, Add>(sh, wide);
    case TENON_BOOL:
      return scatter_kernel<uint8_t, Or>(sh, wide);
    default:
      return scatter_kernel<uint8_t, Add>(sh, wide);
  }
}

Kernel make_scatter(const NodeView& node, const Env&) {
  const Shape sh = shape_of(node);
  const bool wide = node.in(op::scatter::i).dtype() == TENON_I64;
  const int32_t dtype = node.in(op::scatter::x).dtype();
  Kernel k = node.enumerator("kind") == TENON_SCATTER_SET ? set_kernel(plugin::dtype_bytes(dtype), sh, wide)
                                                          : add_kernel(dtype, sh, wide);
  k.threads = threads_for(node.in(op::scatter::x).elements() + node.in(op::scatter::u).elements());
  k.in_place = {{0, 0}};
  return k;
}

}  // namespace

void add_gather(KernelTable& table) {
  table.add("gather", accept_gather, make_gather);
  table.add("scatter", accept_gather, make_scatter);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
