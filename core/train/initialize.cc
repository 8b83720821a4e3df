#include "train/initialize.h"

#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "base/crc32c.h"
#include "base/half.h"
#include "base/number.h"
#include "base/process_pool.h"
#include "base/text.h"
#include "data/philox.h"

namespace tenon {
namespace {

// The numbers of one variable. Each element has numbers of its own, counted by its place, so that
// elements can be drawn in any order and by any number of threads.
class Draw {
 public:
  Draw(uint64_t seed, std::string_view name) : seed_(seed), stream_(crc32c(name)) {}

  double uniform(uint64_t i) const { return unit(philox_bits64(seed_, stream_, 0, i)); }
  // Box-Muller on the two halves of one block; `attempt` counts redraws.
  double normal(uint64_t i, uint64_t attempt = 0) const {
    const auto [first, second] = philox_pair(seed_, stream_, attempt, i);
    return std::sqrt(-2 * std::log(1 - unit(first))) * std::cos(2 * std::numbers::pi * unit(second));
  }
  double truncated(uint64_t i) const {
    for (uint64_t attempt = 0;; ++attempt)
      if (const double z = normal(i, attempt); std::fabs(z) < 2) return z;
  }

 private:
  // [0, 1) with 53 bits.
  static double unit(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

  uint64_t seed_;
  uint32_t stream_;
};

// Rows or columns, whichever are fewer, become orthonormal: Gram-Schmidt, twice for accuracy.
std::vector<double> orthogonal_matrix(const Draw& draw, int64_t rows, int64_t cols, double gain) {
  const bool wide = rows < cols;
  const int64_t count = wide ? rows : cols, length = wide ? cols : rows;
  std::vector<double> v(static_cast<size_t>(count * length));
  for (size_t i = 0; i < v.size(); ++i) v[i] = draw.normal(i);
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

template <class T>
void put(std::span<std::byte> out, size_t i, T value) {
  std::memcpy(out.data() + i * sizeof value, &value, sizeof value);
}

Status store(DType dtype, std::span<std::byte> out, size_t i, double value) {
  switch (dtype) {
    case DType::kF32:
      put(out, i, static_cast<float>(value));
      break;
    case DType::kF64:
      put(out, i, value);
      break;
    case DType::kBF16:
      put(out, i, to_bf16(static_cast<float>(value)));
      break;
    case DType::kF16:
      put(out, i, to_f16(static_cast<float>(value)));
      break;
    case DType::kI32:
      put(out, i, static_cast<int32_t>(value));
      break;
    case DType::kI64:
      put(out, i, static_cast<int64_t>(value));
      break;
    case DType::kU8:
    case DType::kBool:
      put(out, i, static_cast<uint8_t>(value));
      break;
    case DType::kNone:
      return invalid("a variable has no dtype");
  }
  return {};
}

Status fill_orthogonal(const Initializer& init, const Type& type, std::string_view name, const Draw& draw,
                       std::span<std::byte> out) {
  if (type.shape.rank() < 2)
    return invalid("variable '", name, "': orthogonal initializer for ", type.str(), ", expected rank 2 or more");
  const int64_t cols = type.shape[-1];
  const std::vector<double> m = orthogonal_matrix(draw, type.shape.elements() / cols, cols, init.a);
  for (size_t i = 0; i < m.size(); ++i) TENON_TRY(store(type.dtype, out, i, m[i]));
  return {};
}

double element(const Initializer& init, const Draw& draw, uint64_t i) {
  switch (init.kind) {
    case Initializer::Kind::kUniform:
      return init.a + (init.b - init.a) * draw.uniform(i);
    case Initializer::Kind::kNormal:
      return init.a + init.b * draw.normal(i);
    case Initializer::Kind::kTruncatedNormal:
      return init.a + init.b * draw.truncated(i);
    case Initializer::Kind::kValues:
      return init.values[i];
    default:
      return init.a;
  }
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

// Elements [begin, end) of a variable.
struct Fill {
  const Initializer& init;
  const Draw& draw;
  DType dtype;
  std::span<std::byte> out;
  size_t elements;

  static void part(void* arg, uint32_t index, uint32_t count) {
    const Fill& f = *static_cast<const Fill*>(arg);
    const size_t end = f.elements * (index + 1) / count;
    for (size_t i = f.elements * index / count; i < end; ++i)
      (void)store(f.dtype, f.out, i, element(f.init, f.draw, i));
  }
};

}  // namespace

Status initialize(const Initializer& init, const Type& type, std::string_view name, uint64_t seed,
                  std::span<std::byte> out) {
  const auto n = static_cast<size_t>(type.shape.elements());
  const Draw draw(seed, name);
  if (init.kind == Initializer::Kind::kValues && init.values.size() != n)
    return invalid("variable '", name, "': initializer has ", init.values.size(), " values, expected ", n);
  if (init.kind != Initializer::Kind::kConstant && init.kind != Initializer::Kind::kValues && !is_float(type.dtype))
    return invalid("variable '", name, "': random numbers for ", dtype_name(type.dtype), ", expected a float dtype");
  if (init.kind == Initializer::Kind::kOrthogonal) return fill_orthogonal(init, type, name, draw, out);
  if (type.dtype == DType::kNone) return invalid("variable '", name, "' has no dtype");
  TENON_TRY(check_values(init, type.dtype, name));
  Fill fill{init, draw, type.dtype, out, n};
  constexpr size_t kShare = 1 << 14;  // elements that are worth a thread
  process_pool().gang(static_cast<uint32_t>(n / kShare + 1), Fill::part, &fill);
  return {};
}

}  // namespace tenon
