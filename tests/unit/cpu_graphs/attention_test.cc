// Attention of one query a head, whose keys and values cpu.so reads where they were taken from.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "conformance/host/subject.h"

namespace tenon::conformance::attention_test {
namespace {

using plugin::FlatGraph;
using plugin::GraphBuilder;
using reference::Tensor;

struct Shape {
  int64_t sentences, heads, key_heads, size, length, rows;
  bool bias;
};

Subject& backend(uint32_t threads) {
  static Subject one(std::string(std::getenv("TENON_PLUGIN_PATH")) + "/cpu.so", 1, 1);
  static Subject two(std::string(std::getenv("TENON_PLUGIN_PATH")) + "/cpu.so", 1, 2);
  return threads == 1 ? one : two;
}

// apart: what is gathered is a result too, so that nothing is joined.
FlatGraph attention(const Shape& s, bool apart) {
  GraphBuilder b;
  const auto feed = [&](int32_t dtype, const std::vector<int64_t>& dims) {
    return b.input(dtype, dims, TENON_ROLE_FEED);
  };
  const uint32_t q = feed(TENON_F32, {s.sentences, 1, s.heads, s.size});
  const uint32_t k = feed(TENON_F32, {s.rows, s.key_heads * s.size}),
                 v = feed(TENON_F32, {s.rows, s.key_heads * s.size});
  const uint32_t i = feed(TENON_I32, {s.sentences * s.length});
  const uint32_t bias = s.bias ? feed(TENON_F32, {s.sentences, 1, 1, s.length}) : TENON_NONE;
  const auto taken = [&](uint32_t x) {
    const uint32_t rows = b.value(TENON_F32, {s.sentences * s.length, s.key_heads * s.size});
    b.node("gather", {x, i}, {rows}).attr_i64("axis", 0).attr_i64("batch", 0);
    const uint32_t y = b.value(TENON_F32, {s.sentences, s.length, s.key_heads, s.size});
    b.node("reshape", {rows}, {y}).attr_list("shape", {s.sentences, s.length, s.key_heads, s.size});
    if (apart) b.result(y);
    return y;
  };
  const uint32_t keys = taken(k), values = taken(v);
  const uint32_t y = b.value(TENON_F32, {s.sentences, 1, s.heads, s.size}),
                 lse = b.value(TENON_F32, {s.sentences, s.heads, 1});
  b.node("attention", {q, keys, values, bias}, {y, lse});
  b.attr_f64("scale", 0.25).attr_f64("rate", 0).attr_bool("causal", false).attr_i64("stream", 0);
  b.result(y), b.result(lse);
  return b.build();
}

// Some indices lie outside, whose rows are zeros.
std::vector<Tensor> numbers(const Shape& s) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<Tensor> all;
  const auto floats = [&](const std::vector<int64_t>& dims) {
    Tensor t{TENON_F32, dims, {}, {}};
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    for (int64_t i = 0; i < n; ++i) t.f.push_back(normal(random));
    all.push_back(t);
  };
  floats({s.sentences, 1, s.heads, s.size});
  floats({s.rows, s.key_heads * s.size});
  floats({s.rows, s.key_heads * s.size});
  Tensor index{TENON_I32, {s.sentences * s.length}, {}, {}};
  for (int64_t i = 0; i < s.sentences * s.length; ++i)
    index.i.push_back(std::uniform_int_distribution<int64_t>(-1, s.rows)(random));
  all.push_back(index);
  if (s.bias) floats({s.sentences, 1, 1, s.length});
  return all;
}

constexpr Shape kShapes[] = {
    {3, 8, 8, 64, 32, 96, true}, {2, 4, 2, 24, 5, 7, false}, {1, 1, 1, 3, 1, 1, true}, {70, 2, 1, 16, 9, 40, true}};

TEST(AttentionOfRows, HasTheBitsOfItsNodes) {
  for (const Shape& s : kShapes) {
    SCOPED_TRACE(&s - kShapes);
    const std::vector<Tensor> in = numbers(s), want = run_graph(backend(1), *attention(s, true).graph(), in);
    for (uint32_t threads : {1u, 2u}) {
      const std::vector<Tensor> got = run_graph(backend(threads), *attention(s, false).graph(), in);
      ASSERT_EQ(got.size(), 2u);
      EXPECT_EQ(got[0].f, want[2].f);
      EXPECT_EQ(got[1].f, want[3].f);
    }
  }
}

TEST(AttentionOfRows, KeepsNothingOfThem) {
  const Shape s = kShapes[0];
  const auto workspace = [](const FlatGraph& g) {
    return Program(backend(2), backend(2).device(), *g.graph()).info().workspace_bytes;
  };
  const auto bytes = static_cast<uint64_t>(s.sentences * s.length * s.key_heads * s.size * 4);
  EXPECT_LT(workspace(attention(s, false)), bytes);
}

}  // namespace
}  // namespace tenon::conformance::attention_test
