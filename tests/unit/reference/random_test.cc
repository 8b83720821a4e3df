#include "conformance/reference/reference_philox.h"
#include "unit/reference/node.h"

namespace tenon::reference {
namespace {

using Words = std::array<uint32_t, 4>;

// The known answers that Random123 publishes (kat_vectors, philox4x32 10).
TEST(Random, PhiloxGivesThePublishedAnswers) {
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint32_t ff = 0xffffffff;
  EXPECT_EQ(philox4x32_10({ff, ff, ff, ff}, {ff, ff}), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

Tensor draw(int64_t seed, int64_t step, int64_t stream, const std::vector<int64_t>& shape) {
  Node node("random", {ints({}, {seed}, TENON_I64), ints({}, {step}, TENON_I64)});
  return node.i64("stream", stream).list("shape", shape).flag("per_replica", false).run(TENON_F32, shape);
}

double uniform(uint32_t word) { return (word >> 8) / 16777216.0; }

TEST(Random, UsesTheFourWordsOfACounterInOrder) {
  expect_floats(draw(0, 0, 0, {2, 2}),
                {uniform(0x6627e8d5), uniform(0xe169c58d), uniform(0xbc57ac4c), uniform(0x9b00dbd8)});
}

TEST(Random, CounterAndKeyAreStreamStepAndSeed) {
  // The third known answer has counter word 0 = e >> 2, so only its other words can be set: against philox itself.
  const int64_t seed = 0x299f31d0a4093822, step = 0x0370734413198a2e, stream = 0x85a308d3;
  const Words w = philox4x32_10({1, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0});
  const Tensor y = draw(seed, step, stream, {6});
  EXPECT_EQ(y.f[4], uniform(w[0]));
  EXPECT_EQ(y.f[5], uniform(w[1]));
}

TEST(Random, IsUniformBelowOneAndExactInF32) {
  const Tensor y = draw(42, 7, 3, {10000});
  double sum = 0;
  for (double v : y.f) {
    ASSERT_GE(v, 0);
    ASSERT_LT(v, 1);
    ASSERT_EQ(v, round_to(TENON_F32, v));
    sum += v;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.01);
}

}  // namespace
}  // namespace tenon::reference
