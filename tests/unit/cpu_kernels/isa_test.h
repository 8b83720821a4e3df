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

// FAMILY_TEST(Fixture, add): a test case whose `table()` holds that family alone.
#define TENON_FAMILY_FIXTURE(fixture, add)                                                                          \
  TENON_DECLARE_FAMILY(add)                                                                                         \
  namespace tenon::testing {                                                                                        \
  class fixture : public IsaTest {                                                                                  \
   protected:                                                                                                       \
    fixture() {                                                                                                     \
      if (GetParam() == "avx2")                                                                                     \
        cpu::avx2::add(table_);                                                                                     \
      else                                                                                                          \
        cpu::baseline::add(table_);                                                                                 \
    }                                                                                                               \
  };                                                                                                                \
  INSTANTIATE_TEST_SUITE_P(Isa, fixture, ::testing::ValuesIn(isas()), [](const auto& info) { return info.param; }); \
  }

// The same for a family that is compiled for vectors of 16 lanes too, whose bits must be those of 8 lanes; and only the class,
// which others are derived from.
#define TENON_WIDE_FAMILY_FIXTURE(fixture, add)                            \
  TENON_WIDE_FAMILY_CLASS(fixture, add)                                    \
  namespace tenon::testing {                                               \
  INSTANTIATE_TEST_SUITE_P(Isa, fixture, ::testing::ValuesIn(wide_isas()), \
                           [](const auto& info) { return info.param; });   \
  }
#define TENON_WIDE_FAMILY_CLASS(fixture, add)                                 \
  TENON_DECLARE_WIDE_FAMILY(add)                                              \
  namespace tenon::testing {                                                  \
  class fixture : public IsaTest {                                            \
   protected:                                                                 \
    fixture() {                                                               \
      if (GetParam() == "avx512") {                                           \
        cpu::avx512::add(table_);                                             \
        cpu::avx2::add(narrow_.emplace());                                    \
      } else {                                                                \
        (GetParam() == "avx2" ? cpu::avx2::add : cpu::baseline::add)(table_); \
      }                                                                       \
    }                                                                         \
  };                                                                          \
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

class IsaTest : public ::testing::TestWithParam<std::string> {
 protected:
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
