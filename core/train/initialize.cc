#include "train/initialize.h"

#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "base/crc32c.h"
#include "base/half.h"
#include "base/text.h"
#include "data/philox.h"

namespace tenon {
namespace {

// A stream of uniform and normal numbers for one variable.
class Draw {
 public:
  Draw(uint64_t seed, std::string_view name) : seed_(seed), stream_(crc32c(name)) {}

  // [0, 1) with 53 bits.
  double uniform() { return static_cast<double>(philox_bits64(seed_, stream_, 0, n_++) >> 11) * 0x1p-53; }

  double normal() {  // Box-Muller
    if (spare_) {
      spare_ = false;
      return second_;
    }
    const double r = std::sqrt(-2 * std::log(1 - uniform())), angle = 2 * std::numbers::pi * uniform();
    second_ = r * std::sin(angle);
    spare_ = true;
    return r * std::cos(angle);
  }

  double truncated() {
    for (;;)
      if (const double z = normal(); std::fabs(z) < 2) return z;
  }

 private:
  uint64_t seed_;
  uint32_t stream_;
  uint64_t n_ = 0;
  bool spare_ = false;
  double second_ = 0;
};

// Rows or columns, whichever are fewer, become orthonormal: Gram-Schmidt, twice for accuracy.
std::vector<double> orthogonal_matrix(Draw& draw, int64_t rows, int64_t cols, double gain) {
  const bool wide = rows < cols;
  const int64_t count = wide ? rows : cols, length = wide ? cols : rows;
  std::vector<double> v(static_cast<size_t>(count * length));
  for (double& x : v) x = draw.normal();
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

Status fill_orthogonal(const Initializer& init, const Type& type, std::string_view name, Draw& draw,
                       std::span<std::byte> out) {
  if (type.shape.rank() < 2)
    return invalid("variable '", name, "': orthogonal initializer for ", type.str(), ", expected rank 2 or more");
  const int64_t cols = type.shape[-1];
  const std::vector<double> m = orthogonal_matrix(draw, type.shape.elements() / cols, cols, init.a);
  for (size_t i = 0; i < m.size(); ++i) TENON_TRY(store(type.dtype, out, i, m[i]));
  return {};
}

double next(const Initializer& init, Draw& draw) {
  switch (init.kind) {
    case Initializer::Kind::kUniform:
      return init.a + (init.b - init.a) * draw.uniform();
    case Initializer::Kind::kNormal:
      return init.a + init.b * draw.normal();
    case Initializer::Kind::kTruncatedNormal:
      return init.a + init.b * draw.truncated();
    default:
      return init.a;
  }
}

}  // namespace

Status initialize(const Initializer& init, const Type& type, std::string_view name, uint64_t seed,
                  std::span<std::byte> out) {
  const auto n = static_cast<size_t>(type.shape.elements());
  Draw draw(seed, name);
  if (init.kind == Initializer::Kind::kValues && init.values.size() != n)
    return invalid("variable '", name, "': initializer has ", init.values.size(), " values, expected ", n);
  if (init.kind != Initializer::Kind::kConstant && init.kind != Initializer::Kind::kValues && !is_float(type.dtype))
    return invalid("variable '", name, "': random numbers for ", dtype_name(type.dtype), ", expected a float dtype");
  if (init.kind == Initializer::Kind::kOrthogonal) return fill_orthogonal(init, type, name, draw, out);
  for (size_t i = 0; i < n; ++i)
    TENON_TRY(store(type.dtype, out, i, init.kind == Initializer::Kind::kValues ? init.values[i] : next(init, draw)));
  return {};
}

}  // namespace tenon
