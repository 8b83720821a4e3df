// Numbers for inputs, the same everywhere.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "conformance/corpus/corpus.h"

namespace tenon::conformance {
namespace {

// Number `i` of the splitmix64 sequence of a seed, in [0, 1).
double uniform(uint64_t seed, uint64_t i) {
  uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

int64_t saturated(double x, double low, double high) {
  if (std::isnan(x)) return 0;
  if (x >= high) return high >= 0x1p63 ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(high);
  return static_cast<int64_t>(std::max(x, low));
}

// A power of two and a little more or less; i32 and u8 keep the low bits.
int64_t near_power(int32_t dtype, uint64_t seed, uint64_t i) {
  static constexpr int kPowers[] = {0, 7, 8, 15, 16, 23, 24, 30, 31, 32, 52, 53, 54, 62, 63};
  const auto below = [&](uint64_t salt, int n) { return static_cast<int>(uniform(seed + salt, i) * n); };
  uint64_t v = uint64_t{1} << kPowers[below(0, 15)];
  v += static_cast<uint64_t>(below(1, 5)) - 2;
  if (below(2, 2)) v = 0 - v;
  if (dtype == TENON_I32) return static_cast<int32_t>(static_cast<uint32_t>(v));
  return dtype == TENON_I64 ? static_cast<int64_t>(v) : static_cast<int64_t>(v & (dtype == TENON_U8 ? 255 : 1));
}

int64_t to_integer(int32_t dtype, double x) {
  switch (dtype) {
    case TENON_I32:
      return saturated(x, -0x1p31, 0x1p31 - 1);
    case TENON_U8:
      return saturated(x, 0, 255);
    default:
      return saturated(x, -0x1p63, 0x1p63);
  }
}

// Element i, before rounding.
double element(int32_t dtype, const Fill& fill, uint64_t seed, uint64_t i) {
  if (fill.kind == Fill::kValues) {
    const double v = fill.values[i % fill.values.size()];
    return dtype == TENON_BOOL ? v != 0 : v;
  }
  const double v = fill.low + (fill.high - fill.low) * uniform(seed, i);
  return dtype == TENON_BOOL ? v > 0 : plugin::is_float(dtype) ? v : std::floor(v);
}

void check(const Fill& fill) {
  if (fill.kind == Fill::kValues && fill.values.empty()) throw std::runtime_error("a fill has no values");
}

void fill_elements(reference::Tensor& t, const Fill& fill, uint64_t seed, uint64_t first) {
  for (size_t i = 0; i < t.f.size(); ++i)
    t.f[i] = reference::round_to(t.dtype, element(t.dtype, fill, seed, first + i));
  for (size_t i = 0; i < t.i.size(); ++i)
    t.i[i] = fill.kind == Fill::kPowers ? near_power(t.dtype, seed, first + i)
                                        : to_integer(t.dtype, element(t.dtype, fill, seed, first + i));
}

}  // namespace

reference::Tensor make_tensor(int32_t dtype, const std::vector<int64_t>& dims, const Fill& fill, uint64_t step) {
  check(fill);
  reference::Tensor t = reference::zeros(dtype, dims);
  if (!fill.each_step) step = 0;
  const bool uniform = fill.kind != Fill::kValues;
  fill_elements(t, fill, fill.seed + (uniform ? step : 0),
                uniform ? 0 : step * static_cast<uint64_t>(reference::elements(t)));
  return t;
}

void make_bytes(int32_t dtype, const Fill& fill, uint64_t first, uint64_t count, uint8_t* out) {
  check(fill);
  const bool periodic = fill.kind == Fill::kValues;
  const uint64_t width = static_cast<uint64_t>(plugin::dtype_bytes(dtype)),
                 period = periodic ? fill.values.size() : 4096;
  uint8_t* const begin = out;
  for (uint64_t left = count; left > 0;) {
    const uint64_t n = std::min(left, period);
    reference::Tensor t = reference::zeros(dtype, {static_cast<int64_t>(n)});
    fill_elements(t, fill, fill.seed, first);
    const std::vector<uint8_t> bytes = reference::to_bytes(t);
    out = std::copy(bytes.begin(), bytes.end(), out);
    first += n, left -= n;
    if (periodic) break;
  }
  // Periods that are there are copied, twice as many each time.
  for (uint64_t left = count * width - static_cast<uint64_t>(out - begin); left > 0;) {
    const uint64_t n = std::min(left, static_cast<uint64_t>(out - begin));
    std::memcpy(out, begin, n);
    out += n, left -= n;
  }
}

}  // namespace tenon::conformance
