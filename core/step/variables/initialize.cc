#include "step/variables/initialize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/half.h"
#include "base/number.h"
#include "base/process/process_pool.h"
#include "base/strings.h"
#include "step/variables/draw.h"

namespace tenon {
namespace {

// Rows or columns, whichever are fewer, become orthonormal: Gram-Schmidt, twice for accuracy.
std::vector<double> orthogonal_matrix(const Draw& draw, int64_t rows, int64_t cols, double gain) {
  const bool wide = rows < cols;
  const int64_t count = wide ? rows : cols, length = wide ? cols : rows;
  std::vector<double> v(static_cast<size_t>(count * length));
  draw.normals(0, v);
  for (int64_t i = 0; i < count; ++i) {
    double* a = &v[static_cast<size_t>(i * length)];
    for (int pass = 0; pass < 2; ++pass)
      for (int64_t j = 0; j < i; ++j) {
        const double* b = &v[static_cast<size_t>(j * length)];
        double dot = 0;
        for (int64_t k = 0; k < length; ++k) dot += a[k] * b[k];
        for (int64_t k = 0; k < length; ++k) a[k] -= dot * b[k];
      }
    double norm = 0;
    for (int64_t k = 0; k < length; ++k) norm += a[k] * a[k];
    for (int64_t k = 0; k < length; ++k) a[k] /= std::sqrt(norm);
  }
  std::vector<double> out(v.size());
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c)
      out[static_cast<size_t>(r * cols + c)] = gain * v[static_cast<size_t>(wide ? r * cols + c : c * rows + r)];
  return out;
}

// What an element of a dtype is in memory, of a value that fits.
template <class T>
struct Plain {
  using Bits = T;
  static Bits of(double value) { return static_cast<T>(value); }
};
template <uint16_t (*kRound)(float)>
struct Half {
  using Bits = uint16_t;
  static Bits of(double value) { return kRound(static_cast<float>(value)); }
};

// what(Element{}), of the dtype's.
template <class F>
Status with_element(DType dtype, const F& what) {
  switch (dtype) {
    case DType::kF32:
      return what(Plain<float>{});
    case DType::kF64:
      return what(Plain<double>{});
    case DType::kBF16:
      return what(Half<to_bf16>{});
    case DType::kF16:
      return what(Half<to_f16>{});
    case DType::kI32:
      return what(Plain<int32_t>{});
    case DType::kI64:
      return what(Plain<int64_t>{});
    case DType::kU8:
    case DType::kBool:
      return what(Plain<uint8_t>{});
    case DType::kNone:
      break;
  }
  return invalid("a variable has no dtype");
}

template <class Element>
void put(std::span<std::byte> out, size_t i, double value) {
  const typename Element::Bits bits = Element::of(value);
  std::memcpy(out.data() + i * sizeof bits, &bits, sizeof bits);
}

Status fill_orthogonal(const Initializer& init, const Type& type, std::string_view name, const Draw& draw,
                       std::span<std::byte> out) {
  if (type.shape.rank() < 2)
    return invalid("variable '", name, "': orthogonal initializer for ", type.str(), ", expected rank 2 or more");
  const int64_t cols = type.shape[-1];
  const std::vector<double> m = orthogonal_matrix(draw, type.shape.elements() / cols, cols, init.a);
  return with_element(type.dtype, [&](auto element) -> Status {
    for (size_t i = 0; i < m.size(); ++i) put<decltype(element)>(out, i, m[i]);
    return {};
  });
}

// Constants and values may be no number of an integer dtype.
Status check_values(const Initializer& init, DType dtype, std::string_view name) {
  const auto check = [&](double value) -> Status {
    if (fits(dtype, value)) return {};
    return invalid("variable '", name, "': initial value ", value, " is outside ", dtype_name(dtype));
  };
  if (init.kind == Initializer::Kind::kConstant) return check(init.a);
  for (const float value : init.values) TENON_TRY(check(value));
  return {};
}

// The elements of a variable, each of which depends on its place alone; a thread of a gang fills its share of them.
struct Fill {
  const Initializer& init;
  const Draw& draw;
  std::span<std::byte> out;
  size_t elements;

  template <class Element>
  static void part(void* arg, uint32_t index, uint32_t count) {
    const Fill& fill = *static_cast<const Fill*>(arg);
    const size_t pairs = fill.elements / 2;
    fill.range<Element>(pairs * index / count * 2, index + 1 < count ? pairs * (index + 1) / count * 2 : fill.elements);
  }

 private:
  // REQUIRES an even `begin`.
  template <class Element>
  void range(size_t begin, size_t end) const {
    const double a = init.a, b = init.b;
    switch (init.kind) {
      case Initializer::Kind::kUniform:
        return drawn<Element>(begin, end, &Draw::uniforms, a, b - a);
      case Initializer::Kind::kNormal:
        return drawn<Element>(begin, end, &Draw::normals, a, b);
      case Initializer::Kind::kTruncatedNormal:
        return drawn<Element>(begin, end, &Draw::truncated_normals, a, b);
      case Initializer::Kind::kValues:
        for (size_t i = begin; i < end; ++i) put<Element>(out, i, init.values[i]);
        return;
      default:
        for (size_t i = begin; i < end; ++i) put<Element>(out, i, a);
    }
  }

  template <class Element>
  void drawn(size_t begin, size_t end, void (Draw::*numbers)(uint64_t, std::span<double>) const, double shift,
             double scale) const {
    double some[512];
    for (size_t i = begin, n; i < end; i += n) {
      n = std::min(std::size(some), end - i);
      (draw.*numbers)(i, {some, n});
      for (size_t j = 0; j < n; ++j) put<Element>(out, i + j, shift + scale * some[j]);
    }
  }
};

}  // namespace

Status initialize(const Initializer& init, const Type& type, std::string_view name, uint64_t seed,
                  std::span<std::byte> out) {
  const auto n = static_cast<size_t>(type.shape.elements());
  const Draw draw(seed, name);
  if (init.kind == Initializer::Kind::kValues && init.values.size() != n)
    return invalid("variable '", name, "': initializer has ", init.values.size(), " values, expected ", n);
  if (init.kind == Initializer::Kind::kRead) return init.source->read(type, out);
  if (init.kind != Initializer::Kind::kConstant && init.kind != Initializer::Kind::kValues && !is_float(type.dtype))
    return invalid("variable '", name, "': random numbers for ", dtype_name(type.dtype), ", expected a float dtype");
  if (init.kind == Initializer::Kind::kOrthogonal) return fill_orthogonal(init, type, name, draw, out);
  if (type.dtype == DType::kNone) return invalid("variable '", name, "' has no dtype");
  TENON_TRY(check_values(init, type.dtype, name));
  Fill fill{init, draw, out, n};
  constexpr size_t kShare = 1 << 14;  // elements that are worth a thread
  return with_element(type.dtype, [&](auto element) -> Status {
    process_pool().gang(static_cast<uint32_t>(n / kShare + 1), Fill::part<decltype(element)>, &fill);
    return {};
  });
}

}  // namespace tenon
