// Element types of 16 bits and the loop over dtypes that is not worth a fast path.
#pragma once

#include "kernels/kernels.h"
#include "tenon/plugin/element.h"

namespace tenon::cpu::TENON_CPU_ISA {

using Bfloat = plugin::Bf16;
using Half = plugin::F16;

// What sums of T are kept in.
template <class T>
struct WideOf {
  using type = float;
};
template <>
struct WideOf<double> {
  using type = double;
};
template <class T>
using Wide = typename WideOf<T>::type;

// Calls f with an element of the float dtype: the loops of one family, once for each type.
template <class F>
auto with_float(int32_t dtype, F&& f) {
  switch (dtype) {
    case TENON_BF16:
      return f(Bfloat{});
    case TENON_F16:
      return f(Half{});
    case TENON_F64:
      return f(double{});
    default:
      return f(float{});
  }
}

}  // namespace tenon::cpu::TENON_CPU_ISA
