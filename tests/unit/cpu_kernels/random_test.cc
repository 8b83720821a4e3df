#include "float_bits.h"
#include "isa_test.h"

TENON_DECLARE_WIDE_FAMILY(add_random)

namespace tenon::testing {
namespace {

using Longs = std::vector<int64_t>;

class RandomOps : public IsaTest {
 protected:
  RandomOps() { TENON_USE_WIDE_FAMILY(add_random); }
  Floats draw(int64_t seed, int64_t step, int64_t stream, const Dims& d, int64_t first = 0) {
    return run(1,
               [&](NodeRun& n) {
                 n.in(TENON_I64, {}, Longs{seed})
                     .in(TENON_I64, {}, Longs{step})
                     .out(TENON_F32, d)
                     .op("random")
                     .attr_i64("stream", stream)
                     .attr_list("shape", d)
                     .attr_bool("per_replica", true)
                     .attr_i64("first", first);
               })
        .get(0);
  }
  template <class T>
  std::vector<T> dropout(int32_t dtype, const std::vector<T>& x, double rate,
                         const std::vector<T>* residual = nullptr) {
    const Dims d = {static_cast<int64_t>(x.size())};
    return run(1,
               [&](NodeRun& n) {
                 n.in(dtype, d, x).in(TENON_I64, {}, Longs{11}).in(TENON_I64, {}, Longs{3});
                 if (residual) n.in(dtype, d, *residual);
                 n.out(dtype, d).op("dropout").attr_f64("rate", rate).attr_i64("stream", 5);
               })
        .template get<T>(0);
  }
};
INSTANTIATE_TEST_SUITE_P(Isa, RandomOps, ::testing::ValuesIn(wide_isas()), [](const auto& info) { return info.param; });

Floats units(const std::vector<uint32_t>& words) {
  Floats v;
  for (uint32_t w : words) v.push_back(static_cast<float>(w >> 8) * 0x1p-24f);
  return v;
}

// kat_vectors of Random123, philox4x32 10: counter words are element / 4, stream, step; the key is the seed.
TEST_P(RandomOps, ReproducesTheKnownAnswersOfPhilox) {
  EXPECT_EQ(draw(0, 0, 0, {4}), units({0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
}

// The textbook loop, one counter at a time.
std::vector<uint32_t> philox(std::vector<uint32_t> c, uint32_t k0, uint32_t k1) {
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85) {
    const uint64_t p0 = uint64_t{0xD2511F53} * c[0], p1 = uint64_t{0xCD9E8D57} * c[2];
    c = {uint32_t(p1 >> 32) ^ c[1] ^ k0, uint32_t(p1), uint32_t(p0 >> 32) ^ c[3] ^ k1, uint32_t(p0)};
  }
  return c;
}

TEST_P(RandomOps, TheLoopOfTheTestKnowsTheAnswersToo) {
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, ~0u, ~0u),
            (std::vector<uint32_t>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0),
            (std::vector<uint32_t>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST_P(RandomOps, EveryWordOfSeedStepAndStreamCounts) {
  const int64_t seed = 0x299f31d0a4093822, step = 0x0370734413198a2e, stream = 0x85a308d3;
  for (int64_t n : {1, 3, 15, 16, 17, 100, 1000, 50001}) {
    const Floats got = draw(seed, step, stream, {n});
    for (int64_t e = 0; e < n; ++e) {
      const uint32_t w = philox({uint32_t(e >> 2), 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0)[e & 3];
      ASSERT_EQ(got[size_t(e)], units({w})[0]) << "element " << e << " of " << n;
    }
  }
}

// Whether or not what they draw ends within a counter's four words or a vector's.
TEST_P(RandomOps, ReplicasDrawOneBehindTheOther) {
  for (int64_t n : {1, 3, 4, 17, 64, 129}) {
    const Floats whole = draw(1, 2, 3, {7 * n});
    for (int64_t first = 0; first < 7; ++first)
      EXPECT_EQ(draw(1, 2, 3, {n}, first), Floats(whole.begin() + first * n, whole.begin() + (first + 1) * n))
          << "replica " << first << " of " << n << " numbers each";
  }
}

TEST_P(RandomOps, ElementsDoNotDependOnTheShape) { EXPECT_EQ(draw(1, 2, 3, {5, 7, 9}), draw(1, 2, 3, {315})); }

TEST_P(RandomOps, DropoutKeepsWhatRandomDrawsAtOrAboveTheRate) {
  for (int64_t n : {1, 9, 16, 1000, 40001}) {
    const Floats x = random(n), r = random(n), u = draw(11, 3, 5, {n});
    for (double rate : {0.0, 0.1, 0.5, 0.9, 1.0}) {
      const Floats y = dropout(TENON_F32, x, rate), with = dropout(TENON_F32, x, rate, &r);
      for (size_t i = 0; i < x.size(); ++i) {
        const double want = u[i] >= static_cast<float>(rate) ? x[i] / (1 - rate) : 0;
        ASSERT_LE(ulps(y[i], want), 1.5) << "rate " << rate << " element " << i;
        ASSERT_NEAR(with[i], want + r[i], 1e-6 * (std::fabs(want) + 1));
      }
    }
  }
}

TEST_P(RandomOps, ARateThatADrawEqualsKeepsIt) {
  const Floats u = draw(11, 3, 5, {64});
  for (size_t i = 0; i < 8; ++i) {
    const Floats y = dropout(TENON_F32, Floats(64, 1.f), u[i]);
    EXPECT_GT(y[i], 0.f);
    const Floats above = dropout(TENON_F32, Floats(64, 1.f), std::nextafterf(u[i], 1.f));
    EXPECT_EQ(above[i], 0.f);
  }
}

TEST_P(RandomOps, DropoutOfEveryFloatTypeUsesTheSameMask) {
  const Floats x(3000, 1.f), y = dropout(TENON_F32, x, 0.5);
  const auto wide = dropout(TENON_F64, std::vector<double>(3000, 1.0), 0.5);
  EXPECT_EQ(Floats(wide.begin(), wide.end()), y);
  for (int32_t dtype : {TENON_BF16, TENON_F16})
    EXPECT_EQ(from_halves(dtype, dropout(dtype, to_halves(dtype, x), 0.5)), y);
}

TEST_P(RandomOps, DroppedElementsForgetNanAndInfinity) {
  const Floats u = draw(11, 3, 5, {64}), y = dropout(TENON_F32, Floats(64, NAN), 0.5);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), u[i] >= 0.5f);
}

TEST_P(RandomOps, RefusesMoreElementsThanTheCounterHolds) {
  plugin::GraphBuilder g;
  const uint32_t seed = g.input(TENON_I64, {}, TENON_ROLE_SCALAR), step = g.input(TENON_I64, {}, TENON_ROLE_STATE);
  const uint32_t y = g.value(TENON_F32, {int64_t{1} << 20, (int64_t{1} << 14) + 1});
  g.node("random", {seed, step}, {y}).name("big");
  const plugin::FlatGraph flat = g.build();
  EXPECT_EQ(table_.find("random", 1)->accept(plugin::GraphView(*flat.graph()).node(0)).answer, TENON_REFUSE);
}

}  // namespace
}  // namespace tenon::testing
