// What the tests of single kernel families share: every test runs on each instruction set that this
// machine has and on 1, 2 and now and then 3 threads, whose results must be bit-equal.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "unit/cpu/harness.h"

#define TENON_DECLARE_FAMILY(add)                                                   \
  namespace tenon::cpu::baseline { void add(tenon::plugin::KernelTable&); }         \
  namespace tenon::cpu::avx2 { void add(tenon::plugin::KernelTable&); }

// FAMILY_TEST(Fixture, add): a test case whose `table()` holds that family alone.
#define TENON_FAMILY_FIXTURE(fixture, add)                                          \
  TENON_DECLARE_FAMILY(add)                                                         \
  namespace tenon::testing {                                                        \
  class fixture : public IsaTest {                                                  \
   protected:                                                                       \
    fixture() {                                                                     \
      if (GetParam() == "avx2") cpu::avx2::add(table_);                             \
      else cpu::baseline::add(table_);                                              \
    }                                                                               \
  };                                                                                \
  INSTANTIATE_TEST_SUITE_P(Isa, fixture, ::testing::ValuesIn(isas()),               \
                           [](const auto& info) { return info.param; });            \
  }

namespace tenon::testing {

inline std::vector<std::string> isas() {
  std::vector<std::string> names = {"baseline"};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) names.push_back("avx2");
  return names;
}

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

class IsaTest : public ::testing::TestWithParam<std::string> {
 protected:
  // `define` gives operands, results (n of them), op and attributes.
  Results run(size_t n, const std::function<void(NodeRun&)>& define) {
    Results first;
    // Three threads on two cores wait for the scheduler at every barrier: not each time.
    const uint32_t last = calls_++ % 4 == 0 ? 3 : 2;
    for (uint32_t threads = 1; threads <= last; ++threads) {
      NodeRun node(table_);
      define(node);
      node.run(threads);
      if (HasFatalFailure()) break;
      Results got;
      for (size_t i = 0; i < n; ++i) got.bytes.push_back(node.result<uint8_t>(static_cast<int>(i)));
      if (threads == 1) first = got;
      EXPECT_EQ(first.bytes, got.bytes) << "bits differ on " << threads << " threads";
    }
    first.bytes.resize(n);
    return first;
  }
  Floats random(int64_t n, float low = -1, float high = 1) {
    std::uniform_real_distribution<float> d(low, high);
    Floats v(static_cast<size_t>(n));
    for (float& x : v) x = d(random_);
    return v;
  }
  Ints random_ints(int64_t n, int32_t low, int32_t high) {
    std::uniform_int_distribution<int32_t> d(low, high);
    Ints v(static_cast<size_t>(n));
    for (int32_t& x : v) x = d(random_);
    return v;
  }
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
  std::mt19937 random_{7};
  int calls_ = 0;
};

inline int64_t product(const Dims& d) {
  int64_t n = 1;
  for (int64_t x : d) n *= x;
  return n;
}

}  // namespace tenon::testing
