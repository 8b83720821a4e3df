// Sums of which each process gets its share, and shares put together, by threads: the bits of one loop over all replicas.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "exchange/collectives.h"
#include "threads_transport.h"

namespace tenon {
namespace {

struct SharedOut {
  int processes;
  size_t units;
  std::vector<size_t> shares;  // elements of each array that a process gets
};

// Their sizes differ so much that each order of additions has a sum of its own.
std::vector<float> numbers(size_t n, size_t array, size_t replica) {
  std::mt19937 random(static_cast<uint32_t>(77 * array + replica));
  std::vector<float> out;
  for (size_t i = 0; i < n; ++i)
    out.push_back(std::ldexp(static_cast<float>(random() % 2001) - 1000.0f, static_cast<int>(random() % 40) - 20));
  return out;
}

const std::byte* bytes(const std::vector<float>& v) { return reinterpret_cast<const std::byte*>(v.data()); }
std::byte* bytes(std::vector<float>& v) { return reinterpret_cast<std::byte*>(v.data()); }

class Shares : public testing::TestWithParam<SharedOut> {
 protected:
  void expect_shares(bool one_host) const;
  std::vector<float> expected(size_t array) const {
    const auto n = static_cast<size_t>(GetParam().processes);
    std::vector<float> sum = numbers(GetParam().shares[array] * n, array, 0);
    for (size_t r = 1; r < n * GetParam().units; ++r) {
      const std::vector<float> next = numbers(sum.size(), array, r);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += next[i];
    }
    return sum;
  }
};
INSTANTIATE_TEST_SUITE_P(Of, Shares,
                         testing::Values(SharedOut{2, 1, {1}}, SharedOut{3, 2, {7, 1, 300}}, SharedOut{2, 1, {70000}},
                                         SharedOut{3, 1, {200000, 5, 64, 1000}}, SharedOut{2, 4, {30000, 0, 9}},
                                         SharedOut{4, 2, {30001, 3, 50000, 20000, 1}}));

void Shares::expect_shares(bool one_host) const {
  const SharedOut& c = GetParam();
  Mailbox box(static_cast<uint32_t>(c.processes), one_host);
  box.run([&](Wire& wire, int rank) {
    const auto n = static_cast<size_t>(c.processes), me = static_cast<size_t>(rank);
    std::vector<std::vector<float>> parts, own, all;
    for (size_t a = 0; a < c.shares.size(); ++a) {
      for (size_t u = 0; u < c.units; ++u) parts.push_back(numbers(c.shares[a] * n, a, me * c.units + u));
      own.emplace_back(c.shares[a]);
      all.emplace_back(c.shares[a] * n);
    }
    std::vector<ReducedArray> dealt, joined, summed;
    std::vector<std::vector<float>> sums = all;
    for (size_t a = 0; a < c.shares.size(); ++a) {
      const size_t whole = c.shares[a] * n * sizeof(float);
      dealt.push_back({{}, bytes(own[a]), whole});
      for (size_t u = 0; u < c.units; ++u) dealt.back().from.push_back(bytes(parts[a * c.units + u]));
      joined.push_back({{bytes(own[a])}, bytes(all[a]), whole});
      summed.push_back({dealt.back().from, bytes(sums[a]), whole});
    }
    Reducer reducer(wire, SharedRoom::open(wire).take());
    for (int twice = 0; twice < 2; ++twice) {
      ASSERT_TRUE(reducer.reduce_scatter(ReduceKind::kSum, DType::kF32, dealt).ok());
      ASSERT_TRUE(reducer.all_gather(joined).ok());
      ASSERT_TRUE(reducer.all_reduce(ReduceKind::kSum, DType::kF32, summed).ok());
    }
    for (size_t a = 0; a < c.shares.size(); ++a) {
      EXPECT_EQ(all[a], expected(a)) << "array " << a << ", process " << rank;
      EXPECT_EQ(sums[a], all[a]) << "array " << a << ", process " << rank;
    }
  });
}

TEST_P(Shares, AreAddedUpInTheOrderOfTheReplicasAndPutTogether) { expect_shares(false); }
TEST_P(Shares, AreTheSameThroughMemoryOfOneMachine) { expect_shares(true); }

}  // namespace
}  // namespace tenon
