// iota, reshape, transpose, broadcast, slice, pad, concat, reverse: element order only, any dtype.
#include "kernels/movement/movement.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "kernels/element.h"
#include "tenon/op/names.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

using plugin::dtype_bytes;

// Copies bytes [0, n) in shares of whole cache lines.
void share_bytes(const Call& call, const void* src, void* dst, int64_t n) {
  const Slice s = call.share(n, 64);
  if (src != dst && s.end > s.begin)
    std::memcpy(static_cast<char*>(dst) + s.begin, static_cast<const char*>(src) + s.begin,
                static_cast<size_t>(s.end - s.begin));
}

// A kernel that copies operand 0 to result 0 through views that start at the given elements.
Kernel copy_kernel(StridedCopy copy, int64_t element_bytes, int64_t src_at, int64_t dst_at = 0) {
  Kernel k;
  k.threads = threads_for(copy.elements());
  copy.plan();
  k.run = [=](const Call& call) {
    copy.run(call, element_bytes, call.in<char>(0) + src_at * element_bytes,
             call.out<char>(0) + dst_at * element_bytes);
  };
  return k;
}

// y[.., i, ..] = i along `axis`.
Kernel make_iota(const NodeView& node, const Env&) {
  const auto y = node.out(0);
  const int64_t axis = node.i64("axis"), bytes = y.bytes() / y.elements(), n = y.dim(static_cast<int>(axis));
  int64_t inner = 1;
  for (int i = static_cast<int>(axis) + 1; i < y.rank(); ++i) inner *= y.dim(i);
  const int64_t rows = y.elements() / inner;
  Kernel k;
  k.threads = threads_for(y.elements());
  k.run = [=, dtype = y.dtype()](const Call& call) {
    const Slice s = call.share(rows);
    char* at = call.out<char>(0) + s.begin * inner * bytes;
    for (int64_t r = s.begin; r < s.end; ++r) {
      const ElementBits e = element_of_i64(dtype, r % n);
      for (int64_t j = 0; j < inner; ++j, at += bytes) std::memcpy(at, e.bytes, static_cast<size_t>(bytes));
    }
  };
  return k;
}

Kernel make_reshape(const NodeView& node, const Env&) {
  const int64_t n = node.in(op::reshape::x).bytes();
  Kernel k;
  k.threads = threads_for(n / 4);
  k.in_place = {{0, 0}};
  k.run = [n](const Call& call) { share_bytes(call, call.in<char>(op::reshape::x), call.out<char>(0), n); };
  return k;
}

Kernel make_transpose(const NodeView& node, const Env&) {
  const auto x = node.in(op::transpose::x), y = node.out(0);
  const auto perm = node.list("perm");
  int64_t in[TENON_MAX_RANK], out[TENON_MAX_RANK];
  dense_strides(x.dims().data(), x.rank(), in);
  dense_strides(y.dims().data(), y.rank(), out);
  StridedCopy copy;
  for (int i = 0; i < y.rank(); ++i) copy.push(y.dim(i), in[perm[static_cast<size_t>(i)]], out[i]);
  return copy_kernel(copy, dtype_bytes(x.dtype()), 0);
}

Kernel make_broadcast(const NodeView& node, const Env&) {
  const auto x = node.in(op::broadcast::x), y = node.out(0);
  const auto dims = node.list("dims");
  int64_t in[TENON_MAX_RANK], out[TENON_MAX_RANK], of_out[TENON_MAX_RANK] = {};
  dense_strides(x.dims().data(), x.rank(), in);
  dense_strides(y.dims().data(), y.rank(), out);
  for (int i = 0; i < x.rank(); ++i)
    if (x.dim(i) != 1) of_out[dims[static_cast<size_t>(i)]] = in[i];
  StridedCopy copy;
  for (int i = 0; i < y.rank(); ++i) copy.push(y.dim(i), of_out[i], out[i]);
  return copy_kernel(copy, dtype_bytes(x.dtype()), 0);
}

Kernel make_slice(const NodeView& node, const Env&) {
  const auto x = node.in(op::slice::x), y = node.out(0);
  const auto start = node.list("start"), stride = node.list("stride");
  int64_t in[TENON_MAX_RANK], out[TENON_MAX_RANK], at = 0;
  dense_strides(x.dims().data(), x.rank(), in);
  dense_strides(y.dims().data(), y.rank(), out);
  StridedCopy copy;
  for (size_t i = 0; i < static_cast<size_t>(x.rank()); ++i) {
    at += start[i] * in[i];
    copy.push(y.dim(static_cast<int>(i)), in[i] * (stride.empty() ? 1 : stride[i]), out[i]);
  }
  return copy_kernel(copy, dtype_bytes(x.dtype()), at);
}

Kernel make_reverse(const NodeView& node, const Env&) {
  const auto x = node.in(op::reverse::x);
  int64_t in[TENON_MAX_RANK], out[TENON_MAX_RANK], at = 0;
  dense_strides(x.dims().data(), x.rank(), out);
  std::copy_n(out, x.rank(), in);
  for (int64_t axis : node.list("axes")) {
    at += (x.dim(static_cast<int>(axis)) - 1) * out[axis];
    in[axis] = -out[axis];
  }
  StridedCopy copy;
  for (int i = 0; i < x.rank(); ++i) copy.push(x.dim(i), in[i], out[i]);
  return copy_kernel(copy, dtype_bytes(x.dtype()), at);
}

// x's dimensions as they lie in y: y[low + k step] = x[k], the rest is the value.
struct Pad {
  int rank = 0;
  int64_t x[TENON_MAX_RANK], y[TENON_MAX_RANK], low[TENON_MAX_RANK], step[TENON_MAX_RANK];
  int64_t rows = 1;  // of y
};

// An unpadded dimension joins the one before it when that keeps runs of x together.
Pad plan_pad(const NodeView& node) {
  const auto x = node.in(op::pad::x), y = node.out(0);
  const auto low = node.list("low"), interior = node.list("interior");
  Pad p;
  for (int i = 0; i < x.rank(); ++i) {
    const auto u = static_cast<size_t>(i);
    const int64_t n = x.dim(i), step = interior.empty() ? 1 : interior[u] + 1;
    const int last = p.rank - 1;
    if (p.rank && n == y.dim(i) && p.step[last] == 1) {
      p.x[last] *= n, p.y[last] *= n, p.low[last] *= n;
      continue;
    }
    p.x[p.rank] = n, p.y[p.rank] = y.dim(i), p.low[p.rank] = low[u], p.step[p.rank] = step;
    ++p.rank;
  }
  if (p.rank == 0) p.rank = 1, p.x[0] = p.y[0] = 1, p.low[0] = 0, p.step[0] = 1;
  for (int i = 0; i + 1 < p.rank; ++i) p.rows *= p.y[i];
  return p;
}

// The row of x that row `r` of y shows, or -1.
int64_t source_row(const Pad& p, int64_t r) {
  int64_t at = 0, scale = 1;
  for (int i = p.rank - 2; i >= 0; --i) {
    const int64_t k = r % p.y[i] - p.low[i];
    r /= p.y[i];
    if (k < 0 || k % p.step[i] || k / p.step[i] >= p.x[i]) return -1;
    at += k / p.step[i] * scale;
    scale *= p.x[i];
  }
  return at;
}

template <class T>
void run_pad(const Call& call, const Pad& p, T value) {
  const int last = p.rank - 1;
  const int64_t ny = p.y[last], nx = p.x[last], low = p.low[last], step = p.step[last];
  const Slice s = call.share(p.rows);
  for (int64_t r = s.begin; r < s.end; ++r) {
    T* y = call.out<T>(0) + r * ny;
    const int64_t from = source_row(p, r);
    if (from < 0 || step > 1) std::fill_n(y, ny, value);
    if (from < 0) continue;
    const T* x = call.in<T>(op::pad::x) + from * nx;
    if (step > 1) {
      for (int64_t i = 0; i < nx; ++i) y[low + i * step] = x[i];
    } else {
      std::fill_n(y, low, value);
      std::copy_n(x, nx, y + low);
      std::fill_n(y + low + nx, ny - low - nx, value);
    }
  }
}

Kernel make_pad(const NodeView& node, const Env&) {
  const Pad p = plan_pad(node);
  const int32_t dtype = node.in(op::pad::x).dtype();
  const tenon_attr* value = node.find("value");
  const ElementBits bits = value && value->type == TENON_ATTR_F64 ? element_of_f64(dtype, node.f64("value"))
                                                                  : element_of_i64(dtype, node.i64("value"));
  Kernel k;
  k.threads = threads_for(node.out(0).elements());
  k.run = [=, bytes = dtype_bytes(dtype)](const Call& call) {
    const auto typed = [&](auto v) {
      std::memcpy(&v, bits.bytes, sizeof v);
      run_pad(call, p, v);
    };
    switch (bytes) {
      case 1:
        return typed(uint8_t{});
      case 2:
        return typed(uint16_t{});
      case 4:
        return typed(uint32_t{});
      default:
        return typed(uint64_t{});
    }
  };
  return k;
}

plugin::Verdict accept_pad(const NodeView& node) {
  for (const char* name : {"low", "high", "interior"})
    for (int64_t v : node.list(name))
      if (v < 0) return plugin::refuse(std::string("pad: negative ") + name);
  return take_any(node);
}

// y[outer, all, inner] from x_i[outer, n_i, inner]
Kernel make_concat(const NodeView& node, const Env&) {
  const auto y = node.out(0);
  const int axis = static_cast<int>(node.i64("axis"));
  int64_t outer = 1, total = 0;
  for (int i = 0; i < axis; ++i) outer *= y.dim(i);
  auto runs = std::make_shared<std::vector<int64_t>>();
  for (int i = 0; i < node.operands(); ++i) runs->push_back(node.in(i).bytes() / outer);
  for (int64_t r : *runs) total += r;
  Kernel k;
  k.threads = threads_for(y.elements());
  k.run = [=](const Call& call) {
    const bool cut_runs = outer < 4 * call.count;
    const Slice s = cut_runs ? Slice{0, outer} : call.share(outer);
    int64_t at = 0;
    for (size_t i = 0; i < runs->size(); ++i) {
      const int64_t run = (*runs)[i];
      const Slice part = cut_runs ? call.share(run, 64) : Slice{0, run};
      const char* x = call.in<char>(static_cast<int>(i)) + part.begin;
      char* to = call.out<char>(0) + at + part.begin;
      if (part.end > part.begin)
        for (int64_t o = s.begin; o < s.end; ++o)
          std::memcpy(to + o * total, x + o * run, static_cast<size_t>(part.end - part.begin));
      at += run;
    }
  };
  return k;
}

plugin::Verdict accept_iota(const NodeView& node) {
  const int32_t t = node.out(0).dtype();
  if (!plugin::is_float(t) && t != TENON_I32 && t != TENON_I64) return plugin::refuse("iota: not a number");
  return plugin::take();
}

}  // namespace

ElementBits element_of_f64(int32_t dtype, double value) {
  ElementBits e{};
  const auto put = [&](auto v) { std::memcpy(e.bytes, &v, sizeof v); };
  switch (dtype) {
    case TENON_F64:
      put(value);
      break;
    case TENON_F32:
      put(static_cast<float>(value));
      break;
    case TENON_F16:
      put(static_cast<Half>(value));
      break;
    case TENON_BF16:
      put(static_cast<Bfloat>(value));
      break;
    default: {  // saturating: the cast of a number out of range is undefined
      const double limit = 9223372036854775808.0;
      const bool fits = value > -limit && value < limit;
      return element_of_i64(dtype, fits ? static_cast<int64_t>(value) : value < 0 ? INT64_MIN : INT64_MAX);
    }
  }
  return e;
}

ElementBits element_of_i64(int32_t dtype, int64_t value) {
  if (plugin::is_float(dtype)) return element_of_f64(dtype, static_cast<double>(value));
  if (dtype == TENON_BOOL) value = value != 0;
  ElementBits e{};
  std::memcpy(e.bytes, &value, static_cast<size_t>(dtype_bytes(dtype)));  // little-endian: the low bytes
  return e;
}

void add_movement(KernelTable& table) {
  table.add("iota", accept_iota, make_iota);
  table.add("reshape", take_any, make_reshape);
  table.add("transpose", take_any, make_transpose);
  table.add("broadcast", take_any, make_broadcast);
  table.add("slice", take_any, make_slice);
  table.add("pad", accept_pad, make_pad);
  table.add("concat", take_any, make_concat);
  table.add("reverse", take_any, make_reverse);
  add_gather(table);
  add_image(table);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
