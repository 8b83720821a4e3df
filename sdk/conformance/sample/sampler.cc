#include "conformance/sample/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tenon::conformance {
namespace {

using reference::Tensor;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Around the widths of vectors and blocks, and primes.
const std::vector<int64_t> kSizes{1,  1,  2,  3,  4,  5,  7,  8,  9,  11, 13, 15,  16,  17,  23,  24,
                                  31, 32, 33, 37, 47, 48, 63, 64, 65, 96, 97, 127, 128, 129, 191, 257};

uint64_t mixed(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

double largest_exponent(int32_t dtype) { return dtype == TENON_F64 ? 1023 : dtype == TENON_F16 ? 15 : 127; }

}  // namespace

Sampler::Sampler(uint64_t seed, std::string_view what, uint64_t sample) : state_(mixed(seed)) {
  for (char c : what) state_ = mixed(state_ + static_cast<uint8_t>(c) + 0x9e3779b97f4a7c15u);
  state_ = mixed(state_ + sample);
}

uint64_t Sampler::bits() { return mixed(state_ += 0x9e3779b97f4a7c15u); }

int64_t Sampler::below(int64_t n) { return static_cast<int64_t>(bits() % static_cast<uint64_t>(n)); }

int64_t Sampler::between(int64_t low, int64_t high) { return low + below(high - low + 1); }

double Sampler::uniform(double low, double high) {
  return low + (high - low) * (static_cast<double>(bits() >> 11) * 0x1p-53);
}

int64_t Sampler::size(int64_t most) {
  if (most <= 1) return 1;
  for (int i = 0; i < 8; ++i)
    if (const int64_t n = one_of(kSizes); n <= most) return n;
  return between(1, most);
}

std::vector<int64_t> Sampler::dims(int64_t elements) {
  static const std::vector<size_t> ranks{0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6, 8};
  return dims_of_rank(one_of(ranks), elements);
}

std::vector<int64_t> Sampler::dims_of_rank(size_t rank, int64_t elements) {
  std::vector<int64_t> dims(rank, 1);
  // In an order by chance, so that no axis is always the large one.
  for (int64_t axis : permutation(rank)) {
    int64_t& d = dims[static_cast<size_t>(axis)];
    d = size(rank > 3 ? std::min<int64_t>(elements, 9) : elements);
    elements /= d;
  }
  return dims;
}

std::vector<int64_t> Sampler::permutation(size_t n) {
  std::vector<int64_t> p(n);
  std::iota(p.begin(), p.end(), 0);
  for (size_t i = n; i > 1; --i) std::swap(p[i - 1], p[static_cast<size_t>(below(static_cast<int64_t>(i)))]);
  return p;
}

std::vector<int64_t> Sampler::some_of(size_t n) {
  std::vector<int64_t> out;
  for (size_t i = 0; i < n; ++i)
    if (chance(2)) out.push_back(static_cast<int64_t>(i));
  return out;
}

Values Sampler::any_values() {
  return one_of<Values>({Values::kPlain, Values::kModerate, Values::kMagnitude, Values::kEdges, Values::kTies});
}

double Sampler::float_element(int32_t dtype, Values values) {
  const double plain = uniform(-2, 2), sign = chance(2) ? -1 : 1;
  switch (values) {
    case Values::kModerate:
      return sign * std::ldexp(uniform(1, 2), static_cast<int>(between(-14, 6)));
    case Values::kMagnitude: {
      // Not the very ends, where a last bit decides between the largest number and infinity, or 0 and the least.
      const double e = largest_exponent(dtype) - 2;
      return sign * std::ldexp(uniform(1, 2), static_cast<int>(uniform(3 - e, e)));
    }
    case Values::kBits:
      if (chance(4)) return sign * std::ldexp(uniform(0, 1), -static_cast<int>(largest_exponent(dtype)) + 1);
      [[fallthrough]];
    case Values::kEdges:
      return one_of<double>({plain, plain, plain, plain, 0, -0.0, kInf, -kInf, kNaN, sign});
    case Values::kZeros:
      return one_of<double>({plain, plain, 0, -0.0});
    case Values::kTies:
      return one_of<double>({0, 1, -1, 0.5, 2});
    default:
      return plain;
  }
}

int64_t Sampler::integer_element(int32_t dtype, Values values) {
  if (dtype == TENON_BOOL) return below(2);
  if (values == Values::kPlain || values == Values::kTies || values == Values::kZeros) {
    const int64_t v = values == Values::kPlain ? between(-9, 9) : between(-1, 1);
    return dtype == TENON_U8 ? v & 255 : v;
  }
  if (dtype == TENON_U8) return below(256);
  const int width = dtype == TENON_I32 ? 32 : 64;
  // A few powers, so that two tensors have neighbours in common: what a double takes for one number.
  const int power = static_cast<int>(one_of<int64_t>({0, 7, 8, 15, 16, 23, 24, 30, 31, 32, 52, 53, 54, 62, 63}));
  uint64_t v = power < width ? uint64_t{1} << power : 0;
  v += static_cast<uint64_t>(between(-2, 2));
  if (chance(2)) v = 0 - v;
  return width == 32 ? static_cast<int32_t>(static_cast<uint32_t>(v)) : static_cast<int64_t>(v);
}

Tensor Sampler::tensor(int32_t dtype, const std::vector<int64_t>& dims, Values values) {
  Tensor t = reference::zeros(dtype, dims);
  for (double& v : t.f) v = reference::round_to(dtype, float_element(dtype, values));
  for (int64_t& v : t.i) v = integer_element(dtype, values);
  return t;
}

Tensor Sampler::near_ties(int32_t dtype, int32_t to, const std::vector<int64_t>& dims) {
  Tensor t = reference::zeros(dtype, dims);
  for (double& v : t.f) {
    const double x = reference::round_to(to, uniform(1, 2) * std::ldexp(1.0, static_cast<int>(between(-6, 6))));
    const double middle = x + reference::spacing(to, x) / 2;
    const double beside = one_of<double>({0, 0x1p-51, -0x1p-51, 0x1p-40, -0x1p-40, 0x1p-25, -0x1p-25, 0x1p-22});
    v = reference::round_to(dtype, (chance(2) ? -1 : 1) * middle * (1 + beside));
  }
  return t;
}

Tensor Sampler::integers_near_ties(int32_t dtype, int32_t to, const std::vector<int64_t>& dims) {
  const int digits = 1 - std::ilogb(reference::spacing(to, 1));
  const int most = to == TENON_F16 ? 15 : dtype == TENON_I32 ? 30 : 62;  // the exponent
  Tensor t = reference::zeros(dtype, dims);
  for (int64_t& v : t.i) {
    const int64_t low = int64_t{1} << (digits - 1), number = between(low, 2 * low - 1);
    const int64_t middle = (2 * number + 1) << (between(digits, most) - digits);
    v = (chance(2) ? -1 : 1) * (middle + one_of<int64_t>({0, 1, -1}));
  }
  return t;
}

// ---- graphs ----

std::string text_of(const std::vector<int64_t>& list) {
  std::string s = "[";
  for (size_t i = 0; i < list.size(); ++i) s += (i ? "," : "") + std::to_string(list[i]);
  return s + "]";
}

std::string text_of(int32_t dtype, const std::vector<int64_t>& dims) {
  return plugin::dtype_name(dtype) + text_of(dims);
}

uint32_t Drawing::input(Tensor x, bool scalar) {
  what_ += (what_.empty() ? "" : " ") + text_of(x.dtype, x.dims) + (scalar ? " run-time scalar" : "");
  const uint32_t id = builder.input(x.dtype, x.dims, scalar ? TENON_ROLE_SCALAR : TENON_ROLE_STATE);
  inputs_.push_back(std::move(x));
  return id;
}

plugin::GraphBuilder& Drawing::node(const std::vector<uint32_t>& operands,
                                    const std::vector<std::pair<int32_t, std::vector<int64_t>>>& results) {
  for (const auto& [dtype, dims] : results) results_.push_back(builder.value(dtype, dims));
  builder.node(op_, operands, results_).name("sampled");
  for (uint32_t value : results_) builder.result(value);
  return builder;
}

Drawn Drawing::finish(const std::string& attributes) {
  return {builder.build(), std::move(inputs_), what_ + (attributes.empty() ? "" : " " + attributes)};
}

}  // namespace tenon::conformance
