// cast: x[..] of one dtype to another.
#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/element/elementwise.h"
#include "kernels/simd.h"
#include "tenon/op/names.h"

namespace tenon::cpu::TENON_CPU_ISA {
namespace {

// Tag for a bool on the way in (already 0 or 1) or out (x != 0).
struct Truth {
  uint8_t v;
};

template <class To, class From>
TENON_INLINE To convert(From x) {
  if constexpr (std::is_same_v<To, Truth>) {
    return {static_cast<uint8_t>(x != From(0))};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    constexpr From high =
        static_cast<From>(std::numeric_limits<To>::max());  // rounds up to a power of two at 31 and 63 bits
    constexpr From low = static_cast<From>(std::numeric_limits<To>::min());
    const bool above = sizeof(To) == 1 ? x > high : x >= high, below = x < low;
    const From inside = above || below || x != x ? From(0) : x;
    const To y = static_cast<To>(inside);
    return above ? std::numeric_limits<To>::max() : below ? std::numeric_limits<To>::min() : y;
  } else {
    return static_cast<To>(x);
  }
}

using CastLoop = void (*)(const void* src, void* dst, int64_t n);

template <class From, class To>
void cast_loop(const void* src, void* dst, int64_t n) {
  const From* x = static_cast<const From*>(src);
  To* y = static_cast<To*>(dst);
  TENON_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = convert<To>(x[i]);
}

template <class From>
CastLoop cast_from(int32_t to) {
  switch (to) {
    case TENON_F64:
      return cast_loop<From, double>;
    case TENON_I32:
      return cast_loop<From, int32_t>;
    case TENON_I64:
      return cast_loop<From, int64_t>;
    case TENON_U8:
      return cast_loop<From, uint8_t>;
    case TENON_BOOL:
      return cast_loop<From, Truth>;
    default:
      return cast_loop<From, float>;
  }
}

// To f32, inexact values to the odd neighbour: a second rounding to 16 bits then errs no more than one.
void odd_from_f64(const void* src, void* dst, int64_t n) {
  const double* x = static_cast<const double*>(src);
  float* y = static_cast<float*>(dst);
  for (int64_t i = 0; i < n; ++i) {
    const float f = static_cast<float>(x[i]);
    uint32_t bits;
    std::memcpy(&bits, &f, 4);
    const double wide = f, size = wide < 0 ? -wide : wide, want = x[i] < 0 ? -x[i] : x[i];
    if (size > want) --bits;
    if (size != want && x[i] == x[i]) bits |= 1;
    std::memcpy(y + i, &bits, 4);
  }
}
template <class T>
void odd_from_integer(const void* src, void* dst, int64_t n) {
  const T* x = static_cast<const T*>(src);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t v = x[i];
    const int64_t low = v & 0x7ff, exact = int64_t{1} << 53;
    // What 53 bits do not hold becomes one sticky bit.
    const double d = static_cast<double>(v > -exact && v < exact ? v : (v - low) | (low ? 0x400 : 0));
    odd_from_f64(&d, static_cast<float*>(dst) + i, 1);
  }
}

CastLoop find_loop(int32_t from, int32_t to) {
  if (is_half(to)) {
    if (from == TENON_F64) return odd_from_f64;
    if (from == TENON_I32) return odd_from_integer<int32_t>;
    if (from == TENON_I64) return odd_from_integer<int64_t>;
  }
  switch (from) {
    case TENON_F64:
      return cast_from<double>(to);
    case TENON_I32:
      return cast_from<int32_t>(to);
    case TENON_I64:
      return cast_from<int64_t>(to);
    case TENON_U8:
    case TENON_BOOL:
      return cast_from<uint8_t>(to);
    default:
      return cast_from<float>(to);
  }
}

struct Cast {
  CastLoop loop;
  int32_t from, to;
  int64_t n;

  void run(const Call& call) const {
    const Slice s = call.share(n, kGrain);
    const uint8_t* x = call.in<uint8_t>(op::cast::x) + s.begin * plugin::dtype_bytes(from);
    uint8_t* y = call.out<uint8_t>(0) + s.begin * plugin::dtype_bytes(to);
    if (from == to) {
      if (x != y) std::memcpy(y, x, static_cast<size_t>((s.end - s.begin) * plugin::dtype_bytes(to)));
    } else {
      run_blocks(x, y, s.end - s.begin);
    }
  }
  void run_blocks(const uint8_t* x, uint8_t* y, int64_t count) const {
    alignas(64) float wide[kBlock], rounded[kBlock];
    for (int64_t i = 0; i < count; i += kBlock) {
      const int64_t m = std::min(kBlock, count - i);
      const void* src = x + i * plugin::dtype_bytes(from);
      void* dst = y + i * plugin::dtype_bytes(to);
      if (is_half(from) && to == TENON_F32) {
        widen(from, src, static_cast<float*>(dst), m);
        continue;
      }
      if (is_half(from)) {
        widen(from, src, wide, m);
        src = wide;
      }
      if (is_half(to) && (is_half(from) || from == TENON_F32)) {
        narrow(to, static_cast<const float*>(src), dst, m);
      } else {
        loop(src, is_half(to) ? static_cast<void*>(rounded) : dst, m);
        if (is_half(to)) narrow(to, rounded, dst, m);
      }
    }
  }
};

}  // namespace

void add_cast(KernelTable& table) {
  const auto accept = [](const NodeView& node) {
    if (node.operands() != 1 || !node.has(op::cast::x) || !same_shape(node.in(op::cast::x), node.out(0)))
      return refusal(node, "expected one operand of the result's shape");
    return node.out(0).dtype() == node.enumerator("to", node.out(0).dtype())
               ? plugin::take()
               : refusal(node, "the result is not of the dtype `to`");
  };
  const auto make = [](const NodeView& node, const Env&) {
    const int32_t from = node.in(op::cast::x).dtype(), to = node.out(0).dtype();
    const Cast c{find_loop(from, to), from, to, node.out(0).elements()};
    Kernel k;
    k.threads = gang_for(c.n);
    if (plugin::dtype_bytes(from) == plugin::dtype_bytes(to)) k.in_place = {{0, 0}};
    k.run = [c](const Call& call) { c.run(call); };
    return k;
  };
  table.add("cast", accept, make);
}

}  // namespace tenon::cpu::TENON_CPU_ISA
