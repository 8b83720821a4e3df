// g exp(x - shift), with a shift and a g for each line of x, has the bits of its nodes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "conformance/host/subject.h"

namespace tenon::conformance {
namespace {

using plugin::FlatGraph;
using plugin::GraphBuilder;
using reference::Tensor;
using Dims = std::vector<int64_t>;

struct Lines {
  Dims x, rows, kept;
  bool one = false;  // g is a scalar
};

// apart: the exponential is a result, too, so that nothing is joined.
FlatGraph exponentials(const Lines& l, bool apart) {
  GraphBuilder b;
  const auto value = [&] { return b.value(TENON_F32, l.x); };
  const auto spread = [&](uint32_t v) {
    const uint32_t y = value();
    b.node("broadcast", {v}, {y}).attr_list("shape", l.x).attr_list("dims", l.kept);
    return y;
  };
  const uint32_t x = b.input(TENON_F32, l.x, TENON_ROLE_FEED), shift = b.input(TENON_F32, l.rows, TENON_ROLE_FEED),
                 g = b.input(TENON_F32, l.one ? Dims{} : l.rows, TENON_ROLE_FEED);
  const uint32_t difference = value(), e = value(), y = value();
  b.node("sub", {x, spread(shift)}, {difference});
  b.node("exp", {difference}, {e});
  b.node("mul", {l.one ? g : spread(g), e}, {y});
  b.result(y);
  if (apart) b.result(e);
  return b.build();
}

TEST(Exponentials, OfRowsHaveTheBitsOfTheirNodes) {
  Subject cpu(std::string(std::getenv("TENON_PLUGIN_PATH")) + "/cpu.so", 1, 2);
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  const auto noise = [&](const Dims& dims, float scale) {
    Tensor t{TENON_F32, dims, {}, {}};
    int64_t n = 1;
    for (int64_t d : dims) n *= d;
    for (int64_t i = 0; i < n; ++i) t.f.push_back(scale * normal(random));
    return t;
  };
  for (const bool one : {false, true})
    for (const Lines& l : {Lines{{7}, {}, {}}, Lines{{5, 1003}, {5}, {0}}, Lines{{40, 133}, {133}, {1}},
                           Lines{{3, 4, 5, 70}, {3, 70}, {0, 3}}, Lines{{3, 4, 5, 6}, {3, 4}, {0, 1}}}) {
      const Lines lines{l.x, l.rows, l.kept, one};
      const FlatGraph joined = exponentials(lines, false), apart = exponentials(lines, true);
      std::vector<Tensor> in{noise(l.x, 40), noise(l.rows, 5), noise(one ? Dims{} : l.rows, 2)};
      in[0].f[1] = -INFINITY, in[0].f[2] = NAN;
      const Tensor got = run_graph(cpu, *joined.graph(), in)[0], want = run_graph(cpu, *apart.graph(), in)[0];
      for (size_t i = 0; i < got.f.size(); ++i)
        ASSERT_TRUE(got.f[i] == want.f[i] || (std::isnan(got.f[i]) && std::isnan(want.f[i])))
            << i << " of " << got.f.size() << ": " << got.f[i] << ", expected " << want.f[i];
    }
}

}  // namespace
}  // namespace tenon::conformance
