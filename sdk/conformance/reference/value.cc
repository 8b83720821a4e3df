// Tensors, their bytes, and rounding to the float formats.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "conformance/reference/loops.h"

namespace tenon::reference {
namespace {

// A binary floating-point format: significant bits (the hidden one too), exponents of normal numbers.
struct Format {
  int digits, min_exponent, max_exponent;
};

Format format_of(int32_t dtype) {
  switch (dtype) {
    case TENON_F32:
      return {24, -126, 127};
    case TENON_BF16:
      return {8, -126, 127};
    case TENON_F16:
      return {11, -14, 15};
    default:
      return {53, -1022, 1023};
  }
}

template <class T>
T load(const uint8_t* at) {
  T v;
  std::memcpy(&v, at, sizeof v);
  return v;
}

template <class T>
void store(uint8_t* at, T v) {
  std::memcpy(at, &v, sizeof v);
}

// bf16 is the upper half of f32. x is representable or NaN.
uint16_t bf16_bits(double x) {
  const float narrow = static_cast<float>(x);
  uint32_t bits;
  std::memcpy(&bits, &narrow, sizeof bits);
  return static_cast<uint16_t>(bits >> 16 | (std::isnan(x) ? 0x40 : 0));
}

double bf16_value(uint16_t half) {
  const uint32_t bits = static_cast<uint32_t>(half) << 16;
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// 1 sign, 5 exponent (bias 15), 10 fraction bits. x is representable, infinite or NaN.
uint16_t f16_bits(double x) {
  const unsigned sign = std::signbit(x) ? 0x8000 : 0;
  const double size = std::fabs(x);
  if (std::isnan(x)) return static_cast<uint16_t>(sign | 0x7E00);
  if (std::isinf(x)) return static_cast<uint16_t>(sign | 0x7C00);
  if (size < std::ldexp(1.0, -14)) return static_cast<uint16_t>(sign | static_cast<unsigned>(std::ldexp(size, 24)));
  const int exponent = std::ilogb(size);
  const unsigned fraction = static_cast<unsigned>(std::ldexp(size, 10 - exponent)) - 1024;
  return static_cast<uint16_t>(sign | static_cast<unsigned>(exponent + 15) << 10 | fraction);
}

double f16_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double size = std::ldexp(fraction + 1024, exponent - 25);
  if (exponent == 0) size = std::ldexp(fraction, -24);
  if (exponent == 31)
    size = fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  return bits & 0x8000 ? -size : size;
}

double load_float(int32_t dtype, const uint8_t* at) {
  switch (dtype) {
    case TENON_F32:
      return load<float>(at);
    case TENON_BF16:
      return bf16_value(load<uint16_t>(at));
    case TENON_F16:
      return f16_value(load<uint16_t>(at));
    default:
      return load<double>(at);
  }
}

int64_t load_int(int32_t dtype, const uint8_t* at) {
  switch (dtype) {
    case TENON_I32:
      return load<int32_t>(at);
    case TENON_I64:
      return load<int64_t>(at);
    case TENON_BOOL:
      return *at != 0;
    default:
      return *at;
  }
}

void store_float(int32_t dtype, double x, uint8_t* at) {
  x = round_to(dtype, x);
  switch (dtype) {
    case TENON_F32:
      return store(at, static_cast<float>(x));
    case TENON_BF16:
      return store(at, bf16_bits(x));
    case TENON_F16:
      return store(at, f16_bits(x));
    default:
      return store(at, x);
  }
}

void store_int(int32_t dtype, int64_t v, uint8_t* at) {
  switch (dtype) {
    case TENON_I32:
      return store(at, static_cast<int32_t>(wrap(dtype, v)));
    case TENON_I64:
      return store(at, v);
    default:
      return store(at, static_cast<uint8_t>(wrap(dtype, v)));
  }
}

int64_t product(const Dims& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

}  // namespace

Tensor zeros(int32_t dtype, const Dims& dims) {
  for (int64_t d : dims) {
    if (d < 1) throw std::invalid_argument("a dimension is " + std::to_string(d) + ", expected at least 1");
  }
  Tensor x;
  x.dtype = dtype;
  x.dims = dims;
  const size_t n = static_cast<size_t>(product(dims));
  if (plugin::is_float(dtype)) {
    x.f.assign(n, 0.0);
  } else {
    x.i.assign(n, 0);
  }
  return x;
}

int64_t elements(const Tensor& x) { return product(x.dims); }

Tensor from_bytes(int32_t dtype, const Dims& dims, const void* data) {
  Tensor x = zeros(dtype, dims);
  const uint8_t* at = static_cast<const uint8_t*>(data);
  const int64_t width = plugin::dtype_bytes(dtype);
  for (size_t i = 0; i < x.f.size(); ++i) x.f[i] = load_float(dtype, at + i * width);
  for (size_t i = 0; i < x.i.size(); ++i) x.i[i] = load_int(dtype, at + i * width);
  return x;
}

std::vector<uint8_t> to_bytes(const Tensor& x) {
  const int64_t width = plugin::dtype_bytes(x.dtype);
  std::vector<uint8_t> bytes(static_cast<size_t>(elements(x) * width));
  for (size_t i = 0; i < x.f.size(); ++i) store_float(x.dtype, x.f[i], bytes.data() + i * width);
  for (size_t i = 0; i < x.i.size(); ++i) store_int(x.dtype, x.i[i], bytes.data() + i * width);
  return bytes;
}

double smallest_normal(int32_t dtype) { return std::ldexp(1.0, format_of(dtype).min_exponent); }

double spacing(int32_t dtype, double x) {
  const Format format = format_of(dtype);
  const int exponent = x == 0 ? format.min_exponent : std::max(std::ilogb(x), format.min_exponent);
  return std::ldexp(1.0, exponent - format.digits + 1);
}

double round_to(int32_t dtype, double x) {
  if (dtype == TENON_F64 || !std::isfinite(x)) return x;
  const Format format = format_of(dtype);
  const double step = spacing(dtype, x);
  const double y = std::nearbyint(x / step) * step;  // halves to even; the rest is exact
  const double largest = std::ldexp(2 - std::ldexp(1.0, 1 - format.digits), format.max_exponent);
  return std::fabs(y) > largest ? std::copysign(std::numeric_limits<double>::infinity(), x) : y;
}

void round_to_dtype(Tensor& x) {
  for (double& v : x.f) v = round_to(x.dtype, v);
}

}  // namespace tenon::reference
