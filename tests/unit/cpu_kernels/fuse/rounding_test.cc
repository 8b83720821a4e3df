// cpu.round_bf16 against the nodes whose place it takes, bit by bit.
#include "isa_test.h"

TENON_FAMILY_FIXTURE(Rounding, add_elementwise)

namespace tenon::testing {
namespace {

float of_bits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// Every sign, exponent and half of a bf16's last bit, and patterns all over.
Floats patterns() {
  Floats x;
  for (uint64_t high = 0; high < 0x10000; ++high)
    for (uint32_t low : {0x0000u, 0x0001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      x.push_back(of_bits(static_cast<uint32_t>(high << 16 | low)));
  for (uint64_t bits = 12345; bits >> 32 == 0; bits += 40961) x.push_back(of_bits(static_cast<uint32_t>(bits)));
  return x;
}

using Runs = std::function<Results(const std::function<void(NodeRun&)>& define)>;

// cast(cast(x, bf16), f32), and with `flush` select(abs(r) < 2^-126, r * 0, r).
Floats by_nodes(const Runs& run, const Floats& x, bool flush) {
  const Dims dims{static_cast<int64_t>(x.size())};
  const auto halves = run([&](NodeRun& n) {
                        n.in(TENON_F32, dims, x).out(TENON_BF16, dims).op("cast").attr_dtype("to", TENON_BF16);
                      }).get<uint16_t>(0);
  const Floats r = run([&](NodeRun& n) {
                     n.in(TENON_BF16, dims, halves).out(TENON_F32, dims).op("cast").attr_dtype("to", TENON_F32);
                   }).get(0);
  if (!flush) return r;
  const Floats size = run([&](NodeRun& n) { n.in(TENON_F32, dims, r).out(TENON_F32, dims).op("abs"); }).get(0);
  const auto small = run([&](NodeRun& n) {
                       n.in(TENON_F32, dims, size)
                           .in(TENON_F32, {}, Floats{0x1p-126f})
                           .out(TENON_BOOL, dims)
                           .op("compare")
                           .attr_enum("kind", TENON_COMPARE_LT);
                     }).get<uint8_t>(0);
  const Floats zero = run([&](NodeRun& n) {
                        n.in(TENON_F32, dims, r).in(TENON_F32, {}, Floats{0}).out(TENON_F32, dims).op("mul");
                      }).get(0);
  return run([&](NodeRun& n) {
           n.in(TENON_BOOL, dims, small)
               .in(TENON_F32, dims, zero)
               .in(TENON_F32, dims, r)
               .out(TENON_F32, dims)
               .op("select");
         })
      .get(0);
}

Floats fused(const Runs& run, const Floats& x, bool flush) {
  const Dims dims{static_cast<int64_t>(x.size())};
  return run([&](NodeRun& n) {
           n.in(TENON_F32, dims, x).out(TENON_F32, dims).op("cpu.round_bf16").attr_bool("flush", flush);
         })
      .get(0);
}

void expect_same_bits(const Floats& x, const Floats& a, const Floats& b) {
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(std::memcmp(&a[i], &b[i], sizeof a[i]), 0) << x[i] << " gives " << a[i] << ", expected " << b[i];
}

TEST_P(Rounding, GivesTheBitsOfItsNodes) {
  const Runs one = [&](const auto& define) { return run(1, define); };
  const Floats x = patterns();
  for (bool flush : {false, true}) expect_same_bits(x, fused(one, x, flush), by_nodes(one, x, flush));
}

TEST_P(Rounding, RoundsToNearestEven) {
  const Runs one = [&](const auto& define) { return run(1, define); };
  const Floats x{1 + 0x1p-8f, 1 + 0x3p-8f, 3.4e38f, -3.4e38f, -0.f, 0x1p-133f, -0x1p-130f, 0x1.fffp-127f};
  const Floats kept{1, 1 + 0x1p-6f, kInf, -kInf, -0.f, 0x1p-133f, -0x1p-130f, 0x1p-126f};
  const Floats flushed{1, 1 + 0x1p-6f, kInf, -kInf, -0.f, 0, -0.f, 0x1p-126f};
  expect_same_bits(x, fused(one, x, false), kept);
  expect_same_bits(x, fused(one, x, true), flushed);
  EXPECT_TRUE(std::isnan(fused(one, {kNaN}, true)[0]));
}

}  // namespace
}  // namespace tenon::testing
