// Graphs that cpu.so rewrites: the casts and the flush of a TPU's operands, as one pass.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "conformance/host/subject.h"

namespace tenon::conformance {
namespace {

using plugin::FlatGraph;
using plugin::GraphBuilder;
using reference::Tensor;

constexpr int64_t kN = 1 << 16;

Subject& cpu() {
  static Subject subject(std::string(std::getenv("TENON_PLUGIN_PATH")) + "/cpu.so", 1, 2);
  return subject;
}

uint32_t node(GraphBuilder& b, const char* op, const std::vector<uint32_t>& in, int32_t dtype = TENON_F32) {
  const uint32_t y = b.value(dtype, {kN});
  b.node(op, in, {y}).name(op + std::to_string(y));
  return y;
}

// The first result is x rounded to bf16 and flushed; what `shown` names is a result too.
FlatGraph rounding(const std::string& shown, float least = 0x1p-126f) {
  GraphBuilder b;
  const float zero = 0;
  const uint32_t x = b.input(TENON_F32, {kN}, TENON_ROLE_FEED);
  const uint32_t narrow = node(b, "cast", {x}, TENON_BF16);
  b.attr_dtype("to", TENON_BF16);
  const uint32_t r = node(b, "cast", {narrow});
  b.attr_dtype("to", TENON_F32);
  const uint32_t size = node(b, "abs", {r});
  const uint32_t small = node(b, "compare", {size, b.constant(TENON_F32, {}, &least, 4)}, TENON_BOOL);
  b.attr_enum("kind", TENON_COMPARE_LT);
  const uint32_t none = node(b, "mul", {r, b.constant(TENON_F32, {}, &zero, 4)});
  b.result(node(b, "select", {small, none, r}));
  for (const auto& [name, value] : {std::pair{"narrow", narrow}, {"wide", r}, {"size", size}, {"small", small}})
    if (shown == name) b.result(value);
  return b.build();
}

Tensor numbers() {
  Tensor x{TENON_F32, {kN}, {}, {}};
  for (uint32_t i = 0; i < kN; ++i) {
    const uint32_t bits = i << 16 | (i * 2654435761u >> 16);
    float f;
    std::memcpy(&f, &bits, sizeof f);
    x.f.push_back(f);
  }
  return x;
}

uint64_t workspace(const FlatGraph& g) { return Program(cpu(), cpu().device(), *g.graph()).info().workspace_bytes; }

void expect_same(const Tensor& a, const Tensor& b, const std::string& what) {
  for (size_t i = 0; i < a.f.size(); ++i) {
    if (std::isnan(a.f[i]) && std::isnan(b.f[i])) continue;
    ASSERT_EQ(a.f[i], b.f[i]) << what;
    ASSERT_EQ(std::signbit(a.f[i]), std::signbit(b.f[i])) << what;
  }
}

TEST(RoundedOperands, AreOnePassWithNothingInBetween) {
  EXPECT_LT(workspace(rounding("")), 4096u);
  for (const char* shown : {"narrow", "wide", "size", "small"})
    EXPECT_GE(workspace(rounding(shown)), uint64_t{kN}) << shown;
  EXPECT_GE(workspace(rounding("", 0x1p-125f)), uint64_t{kN});
}

TEST(RoundedOperands, AreWhatTheirNodesGive) {
  const Tensor x = numbers();
  const std::vector<Tensor> fused = run_graph(cpu(), *rounding("").graph(), {x});
  for (const char* shown : {"narrow", "wide", "size", "small"})
    expect_same(fused[0], run_graph(cpu(), *rounding(shown).graph(), {x})[0], shown);
}

}  // namespace
}  // namespace tenon::conformance
