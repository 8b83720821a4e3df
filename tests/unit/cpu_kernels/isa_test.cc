#include "isa_test.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace tenon::testing {

std::vector<std::string> isas() {
  std::vector<std::string> names = {"baseline"};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) names.push_back("avx2");
  return names;
}

std::vector<std::string> wide_isas() {
  std::vector<std::string> names = isas();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  if (avx512) names.push_back("avx512");
  return names;
}

void IsaTest::use(AddFamily baseline, AddFamily avx2, AddFamily avx512) {
  (GetParam() == "avx512" ? avx512 : GetParam() == "avx2" ? avx2 : baseline)(table_);
  if (GetParam() != "avx512") return;
  if (!narrow_) narrow_.emplace();
  avx2(*narrow_);
}

void expect_same_bits(const Results& want, const Results& got, const std::string& where) {
  ASSERT_EQ(want.bytes.size(), got.bytes.size());
  for (size_t r = 0; r < got.bytes.size(); ++r) {
    const std::vector<uint8_t>&a = want.bytes[r], &b = got.bytes[r];
    ASSERT_EQ(a.size(), b.size());
    const auto differ = std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin();
    EXPECT_EQ(differ, static_cast<ptrdiff_t>(a.size())) << "result " << r << " has other bits with " << where;
  }
}

Results IsaTest::run(size_t n, const std::function<void(NodeRun&)>& define) {
  Results first;
  // Three threads on two cores wait for the scheduler at every barrier: not each time.
  const uint32_t last = calls_++ % 4 == 0 ? 3 : 2;
  const auto results = [&](const plugin::KernelTable& table, uint32_t threads) {
    NodeRun node(table);
    define(node);
    node.run(threads);
    Results got;
    for (size_t i = 0; i < n && !HasFatalFailure(); ++i) got.bytes.push_back(node.result<uint8_t>(static_cast<int>(i)));
    return got;
  };
  for (uint32_t threads = 1; threads <= last && !HasFatalFailure(); ++threads) {
    const Results got = results(table_, threads);
    if (threads == 1) first = got;
    expect_same_bits(first, got, std::to_string(threads) + " threads");
  }
  if (narrow_ && !HasFatalFailure()) expect_same_bits(first, results(*narrow_, 1), "vectors of 8 lanes");
  first.bytes.resize(n);
  return first;
}

Floats IsaTest::random(int64_t n, float low, float high) {
  std::uniform_real_distribution<float> d(low, high);
  Floats v(static_cast<size_t>(n));
  for (float& x : v) x = d(random_);
  return v;
}

Ints IsaTest::random_ints(int64_t n, int32_t low, int32_t high) {
  std::uniform_int_distribution<int32_t> d(low, high);
  Ints v(static_cast<size_t>(n));
  for (int32_t& x : v) x = d(random_);
  return v;
}

int64_t product(const Dims& d) {
  int64_t n = 1;
  for (int64_t x : d) n *= x;
  return n;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

Floats uniform(int64_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> pick(-1, 1);
  Floats v(static_cast<size_t>(n));
  for (float& x : v) x = pick(random);
  return v;
}

Floats golden_row(const std::string& file, const std::string& key) {
  std::ifstream in(std::string(TENON_GOLDEN "/") + file);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(key + ",", 0) != 0) continue;
    std::istringstream rest(line.substr(key.size() + 1));
    Floats v;
    for (std::string cell; std::getline(rest, cell, ',');) v.push_back(std::stof(cell));
    return v;
  }
  return {};
}

}  // namespace tenon::testing
