// What the tests of single kernel families share: every test runs on each instruction set that this
// machine has and on 1, 2 and now and then 3 threads, whose results must be bit-equal.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "node_run.h"

#define TENON_DECLARE_FAMILY(add)        \
  namespace tenon::cpu::baseline {       \
  void add(tenon::plugin::KernelTable&); \
  }                                      \
  namespace tenon::cpu::avx2 {           \
  void add(tenon::plugin::KernelTable&); \
  }

#define TENON_DECLARE_WIDE_FAMILY(add)   \
  TENON_DECLARE_FAMILY(add)              \
  namespace tenon::cpu::avx512 {         \
  void add(tenon::plugin::KernelTable&); \
  }

// In the constructor of a test case: the family, for the instruction set that the case is about. For vectors of 16 lanes
// those of 8 stand beside it, whose bits must be the same.
#define TENON_USE_FAMILY(add) use(cpu::baseline::add, cpu::avx2::add, cpu::avx2::add)
#define TENON_USE_WIDE_FAMILY(add) use(cpu::baseline::add, cpu::avx2::add, cpu::avx512::add)

// A test case with that family alone.
#define TENON_FAMILY_FIXTURE(fixture, add) TENON_FIXTURE(fixture, TENON_DECLARE_FAMILY, TENON_USE_FAMILY, isas, add)
#define TENON_WIDE_FAMILY_FIXTURE(fixture, add) \
  TENON_FIXTURE(fixture, TENON_DECLARE_WIDE_FAMILY, TENON_USE_WIDE_FAMILY, wide_isas, add)
#define TENON_FIXTURE(fixture, declare, use_family, sets, add)                                                        \
  declare(add) namespace tenon::testing {                                                                             \
    class fixture : public IsaTest {                                                                                  \
     protected:                                                                                                       \
      fixture() { use_family(add); }                                                                                  \
    };                                                                                                                \
    INSTANTIATE_TEST_SUITE_P(Isa, fixture, ::testing::ValuesIn(sets()), [](const auto& info) { return info.param; }); \
  }

namespace tenon::testing {

std::vector<std::string> isas();
// And avx512: for families that are compiled for it (TENON_DECLARE_WIDE_FAMILY).
std::vector<std::string> wide_isas();

class Results {
 public:
  template <class T = float>
  std::vector<T> get(size_t i) const {
    std::vector<T> v(bytes[i].size() / sizeof(T));
    std::memcpy(v.data(), bytes[i].data(), bytes[i].size());
    return v;
  }
  std::vector<std::vector<uint8_t>> bytes;
};

using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;
using Dims = std::vector<int64_t>;
using Doubles = std::vector<double>;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

void expect_same_bits(const Results& want, const Results& got, const std::string& where);

class IsaTest : public ::testing::TestWithParam<std::string> {
 protected:
  using AddFamily = void (*)(plugin::KernelTable&);
  void use(AddFamily baseline, AddFamily avx2, AddFamily avx512);

  // `define` gives operands, results (n of them), op and attributes.
  Results run(size_t n, const std::function<void(NodeRun&)>& define);
  Floats random(int64_t n, float low = -1, float high = 1);
  Ints random_ints(int64_t n, int32_t low, int32_t high);
  template <class T, class U>
  static void expect_near(const std::vector<T>& got, const std::vector<U>& want, double tolerance) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      const double g = static_cast<double>(got[i]), w = static_cast<double>(want[i]);
      if (std::isnan(w) ? std::isnan(g) : g == w) continue;
      ASSERT_LE(std::abs(g - w), tolerance * (1 + std::abs(w))) << "element " << i << ": " << g << " expected " << w;
    }
  }

  plugin::KernelTable table_;
  std::optional<plugin::KernelTable> narrow_;  // kernels whose results must have the bits of table_'s
  std::mt19937 random_{7};
  int calls_ = 0;
};

int64_t product(const Dims& d);
double sigmoid(double x);

// n numbers in [-1, 1) that depend on the seed alone.
Floats uniform(int64_t n, uint32_t seed);

// The numbers of the row of tests/golden/FILE that begins with KEY; none where there is no such row.
Floats golden_row(const std::string& file, const std::string& key);

}  // namespace tenon::testing
