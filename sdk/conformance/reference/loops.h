// What the loops of the primitives share: indices, single elements, integer widths. Private to this folder.
#pragma once

#include <stdexcept>
#include <vector>

#include "conformance/reference/reference.h"

namespace tenon::reference {

using plugin::NodeView;
using Operands = std::vector<const Tensor*>;
using Results = std::vector<Tensor>;
using Dims = std::vector<int64_t>;
using Index = std::vector<int64_t>;  // one position per axis

// Thrown inside an op; evaluate_node turns it into its returned text.
inline void require(bool holds, const char* text) {
  if (!holds) throw std::runtime_error(text);
}

// Steps `index` to the next position in row-major order; false after the last. Rank 0 has one position.
//   Index i(dims.size()); do { .. } while (next(i, dims));
inline bool next(Index& index, const Dims& dims) {
  for (size_t axis = dims.size(); axis-- > 0;) {
    if (++index[axis] < dims[axis]) return true;
    index[axis] = 0;
  }
  return false;
}

// Row-major position of `index`.
inline int64_t offset(const Index& index, const Dims& dims) {
  int64_t at = 0;
  for (size_t axis = 0; axis < dims.size(); ++axis) at = at * dims[axis] + index[axis];
  return at;
}

inline bool inside(const Index& index, const Dims& dims) {
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (index[axis] < 0 || index[axis] >= dims[axis]) return false;
  }
  return true;
}

inline bool is_float(const Tensor& x) { return plugin::is_float(x.dtype); }

// y[to] = x[from], both of one dtype.
inline void copy(Tensor& y, int64_t to, const Tensor& x, int64_t from) {
  if (is_float(x)) {
    y.f[to] = x.f[from];
  } else {
    y.i[to] = x.i[from];
  }
}

// The low bits of v as a value of the integer dtype.
inline int64_t wrap(int32_t dtype, int64_t v) {
  switch (dtype) {
    case TENON_I32:
      return static_cast<int32_t>(static_cast<uint32_t>(v));
    case TENON_U8:
      return static_cast<uint8_t>(v);
    case TENON_BOOL:
      return v & 1;
    default:
      return v;
  }
}

// Sum, product, negative of integers, in 64 bits with wrap-around (signed overflow is undefined in C++).
inline int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t wrapping_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
inline int64_t wrapping_neg(int64_t a) { return static_cast<int64_t>(0 - static_cast<uint64_t>(a)); }

// The larger and the smaller; NaN wins.
inline double larger(double a, double b) { return a != a || a > b ? a : b; }
inline double smaller(double a, double b) { return a != a || a < b ? a : b; }

// A float cast to an integer dtype: toward 0; what does not fit gives the nearest that does; NaN gives 0.
int64_t to_integer(int32_t dtype, double x);

// An i64 list attribute of `size` items, each `missing` if the attribute is absent or empty.
Dims list(const NodeView& node, std::string_view name, size_t size, int64_t missing);
// The same, of any length; a missing one is empty.
Dims list(const NodeView& node, std::string_view name);
// An axis attribute: REQUIRED to lie in [0, rank).
size_t axis_of(const NodeView& node, size_t rank);

}  // namespace tenon::reference
