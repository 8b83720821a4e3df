// A convolution and its pool in one node are what the two are one after the other, and so are their gradients.
#include "isa_test.h"
#include "tenon/plugin/element.h"
#include "unit/pooled_case.h"

TENON_DECLARE_WIDE_FAMILY(add_convolution)
TENON_DECLARE_FAMILY(add_pooling)

namespace tenon::testing {
namespace {

using Case = PooledCase;

const Case kCases[] = {
    {{2, 8, 8, 3}, {3, 3, 3, 16}, 1, 1, true, true},      {{4, 37, 30, 3}, {3, 3, 3, 32}, 1, 1, true, true},
    {{8, 28, 28, 1}, {3, 3, 1, 32}, 0, 1, true, true},    {{5, 40, 41, 3}, {5, 5, 3, 10}, 2, 1, true, true},
    {{3, 13, 13, 32}, {3, 3, 32, 64}, 0, 1, true, true},  {{1, 90, 90, 16}, {3, 3, 16, 32}, 1, 1, true, true},
    {{2, 21, 30, 5}, {5, 5, 5, 10}, 2, 1, true, true},    {{9, 7, 5, 1}, {3, 3, 1, 7}, 1, 1, false, false},
    {{2, 19, 17, 8}, {3, 3, 8, 20}, 1, 2, true, false},   {{1, 4, 200, 4}, {2, 3, 4, 130}, 0, 1, false, true},
    {{16, 12, 12, 24}, {3, 3, 24, 24}, 1, 1, true, true}, {{2, 37, 47, 10}, {5, 5, 10, 20}, 0, 1, true, true},
    {{2, 33, 38, 17}, {5, 5, 17, 12}, 2, 1, true, true},  {{3, 30, 41, 12}, {5, 5, 12, 33}, 1, 1, false, false},
};

void convolve(plugin::GraphBuilder& node, const Case& c, int precision = TENON_PRECISION_HIGHEST) {
  node.attr_list("strides", {c.stride, c.stride}).attr_list("low", {c.low, c.low}).attr_list("high", {c.low, c.low});
  node.attr_list("dilation", {1, 1}).attr_i64("groups", 1).attr_enum("precision", precision);
}

struct PooledOperands {
  Floats x, w, bias;
};

// The gradient of the map: dp at the windows' winners, 0 elsewhere.
Floats unpooled(const Case& c, const Floats& dp, const std::vector<uint8_t>& winner) {
  const Dims y = c.y(), windows = c.pooled();
  Floats dy(static_cast<size_t>(product(y)));
  for (int64_t i = 0; i < product(windows); ++i) {
    const int64_t channel = i % windows[3], window = i / windows[3];
    const int64_t column = window % windows[2] * 2 + winner[i] % 2;
    const int64_t row = window / windows[2] % windows[1] * 2 + winner[i] / 2;
    const int64_t image = window / windows[2] / windows[1];
    dy[((image * y[1] + row) * y[2] + column) * y[3] + channel] = dp[i];
  }
  return dy;
}

class PooledConvolution : public IsaTest {
 protected:
  PooledConvolution() {
    TENON_USE_FAMILY(add_pooling);
    TENON_USE_WIDE_FAMILY(add_convolution);
  }
  // Some elements are equal, so that windows have ties.
  Floats few(int64_t n) {
    Floats v = random(n, -4, 4);
    for (float& x : v) x = std::nearbyint(x) / 4;
    return v;
  }
  PooledOperands operands_of(const Case& c) { return {few(product(c.x)), few(product(c.w)), few(c.w[3])}; }

  static void add_operands(NodeRun& n, const Case& c, const PooledOperands& of) {
    n.in(TENON_F32, c.x, of.x).in(TENON_F32, c.w, of.w);
    if (c.bias) n.in(TENON_F32, {c.w[3]}, of.bias);
  }
  static void add_convolution(NodeRun& n, const char* op, const Case& c, int precision) {
    plugin::GraphBuilder& node = n.op(op);
    convolve(node, c, precision);
    node.attr_enum("act", c.relu ? TENON_ACT_RELU : TENON_ACT_NONE);
  }
  Floats map_of(const Case& c, const PooledOperands& of) {
    const Results found = run(1, [&](NodeRun& n) {
      add_operands(n, c, of);
      n.out(TENON_F32, c.y());
      add_convolution(n, "conv_bias_act", c, TENON_PRECISION_HIGHEST);
    });
    return found.get(0);
  }
  Floats pool_of(const Case& c, const Floats& map) {
    const Results found = run(1, [&](NodeRun& n) {
      n.in(TENON_F32, c.y(), map).out(TENON_F32, c.pooled());
      n.op("max_pool")
          .attr_list("window", {2, 2})
          .attr_list("strides", {2, 2})
          .attr_list("low", {0, 0})
          .attr_list("high", {0, 0});
    });
    return found.get(0);
  }
  Results conv_pool(const Case& c, const PooledOperands& of, int precision) {
    return run(2, [&](NodeRun& n) {
      add_operands(n, c, of);
      n.out(TENON_F32, c.pooled()).out(TENON_U8, c.pooled());
      add_convolution(n, "cpu.conv_pool", c, precision);
    });
  }
  // The gradient of x or of w from two operands; of the pooled map where there is a winner.
  Floats gradient(const char* op, const Case& c, const Dims& result, const std::function<void(NodeRun&)>& operands,
                  int precision) {
    const Results found = run(1, [&](NodeRun& n) {
      operands(n);
      n.out(TENON_F32, result);
      convolve(n.op(op), c, precision);
    });
    return found.get(0);
  }
  void check_forward(int precision, double tolerance);
  void check_gradients(int precision, double tolerance);
};
INSTANTIATE_TEST_SUITE_P(Isa, PooledConvolution, ::testing::ValuesIn(wide_isas()),
                         [](const auto& info) { return info.param; });

void PooledConvolution::check_forward(int precision, double tolerance) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(::testing::PrintToString(c.x));
    const PooledOperands operands = operands_of(c);
    const Floats map = map_of(c, operands);

    const Results found = conv_pool(c, operands, precision);

    const Floats pooled = found.get(0);
    const std::vector<uint8_t> winner = found.get<uint8_t>(1);
    expect_near(pooled, pool_of(c, map), tolerance);
    for (const uint8_t place : winner) ASSERT_LT(place, 4);
    const Floats ones(pooled.size(), 1), won = unpooled(c, ones, winner), values = unpooled(c, pooled, winner);
    for (size_t i = 0; i < map.size(); ++i)
      if (won[i] == 1) {
        ASSERT_NEAR(map[i], values[i], tolerance * (1 + std::abs(values[i]))) << "the winner is not the largest";
      }
  }
}

void PooledConvolution::check_gradients(int precision, double tolerance) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(::testing::PrintToString(c.x));
    const PooledOperands operands = operands_of(c);
    const Floats& x = operands.x;
    const Floats& w = operands.w;
    const Dims y = c.y(), windows = c.pooled();
    const std::vector<uint8_t> winner = conv_pool(c, operands, precision).get<uint8_t>(1);
    const Floats dp = random(product(windows)), dy = unpooled(c, dp, winner);

    const auto of_input = [&](NodeRun& n) {
      n.in(TENON_F32, windows, dp).in(TENON_F32, c.w, w).in(TENON_U8, windows, winner);
    };
    const auto of_filter = [&](NodeRun& n) {
      n.in(TENON_F32, c.x, x).in(TENON_F32, windows, dp).in(TENON_U8, windows, winner);
    };
    const Floats dx = gradient("cpu.pooled_grad_input", c, c.x, of_input, precision);
    const Floats dw = gradient("cpu.pooled_grad_filter", c, c.w, of_filter, precision);

    const auto plain_input = [&](NodeRun& n) { n.in(TENON_F32, y, dy).in(TENON_F32, c.w, w); };
    const auto plain_filter = [&](NodeRun& n) { n.in(TENON_F32, c.x, x).in(TENON_F32, y, dy); };
    constexpr int exact = TENON_PRECISION_HIGHEST;
    expect_near(dx, gradient("conv_grad_input", c, c.x, plain_input, exact), tolerance);
    expect_near(dw, gradient("conv_grad_filter", c, c.w, plain_filter, exact), 2 * tolerance);
  }
}

TEST_P(PooledConvolution, IsConvolutionThenPool) { check_forward(TENON_PRECISION_HIGHEST, 1e-5); }
TEST_P(PooledConvolution, IsNearlySoByWinograd) { check_forward(TENON_PRECISION_DEFAULT, 1e-4); }
TEST_P(PooledConvolution, GradientsAreThoseOfTheUnpooledMap) { check_gradients(TENON_PRECISION_HIGHEST, 1e-5); }
TEST_P(PooledConvolution, GradientsAreNearlySoByWinograd) { check_gradients(TENON_PRECISION_DEFAULT, 1e-4); }

// Below HIGHEST other sums are taken, whose bits are not all those of plain sums.
TEST_P(PooledConvolution, IsWinogradsFor3x3And5x5) {
  for (const Case& c : {Case{{1, 90, 90, 16}, {3, 3, 16, 32}, 1, 1, true, true},
                        Case{{2, 37, 47, 12}, {5, 5, 12, 20}, 0, 1, true, true}}) {
    const Floats x = random(product(c.x)), w = random(product(c.w)), bias = random(c.w[3]),
                 dp = random(product(c.pooled()));
    const std::vector<uint8_t> winner(static_cast<size_t>(product(c.pooled())), 2);
    const auto forward = [&](int precision) {
      return run(2,
                 [&](NodeRun& n) {
                   n.in(TENON_F32, c.x, x).in(TENON_F32, c.w, w).in(TENON_F32, {c.w[3]}, bias);
                   n.out(TENON_F32, c.pooled()).out(TENON_U8, c.pooled());
                   convolve(n.op("cpu.conv_pool"), c, precision);
                 })
          .get(0);
    };
    const auto gradient = [&](int precision) {
      return run(1,
                 [&](NodeRun& n) {
                   n.in(TENON_F32, c.pooled(), dp).in(TENON_F32, c.w, w).in(TENON_U8, c.pooled(), winner);
                   convolve(n.out(TENON_F32, c.x).op("cpu.pooled_grad_input"), c, precision);
                 })
          .get(0);
    };
    EXPECT_NE(forward(TENON_PRECISION_DEFAULT), forward(TENON_PRECISION_HIGHEST));
    EXPECT_NE(gradient(TENON_PRECISION_DEFAULT), gradient(TENON_PRECISION_HIGHEST));
  }
}

TEST_P(PooledConvolution, FirstOfEqualsWinsAndNaNBeforeAll) {
  // 2 x 8: windows {1 1 / 0 1}, {0 NaN / 2 3}, {inf 0 / NaN NaN}, {3 2 / 1 NaN}
  const Floats x = {1, 1, 0, kNaN, kInf, 0, 3, 2, 0, 1, 2, 3, kNaN, kNaN, 1, kNaN}, w = {1};
  const Results found = run(2, [&](NodeRun& n) {
    n.in(TENON_F32, {1, 2, 8, 1}, x).in(TENON_F32, {1, 1, 1, 1}, w);
    n.out(TENON_F32, {1, 1, 4, 1}).out(TENON_U8, {1, 1, 4, 1});
    convolve(n.op("cpu.conv_pool"), {{1, 2, 8, 1}, {1, 1, 1, 1}, 0, 1, false, false});
  });
  EXPECT_EQ(found.get(0)[0], 1);
  for (const size_t window : {1, 2, 3}) EXPECT_TRUE(std::isnan(found.get(0)[window]));
  EXPECT_EQ(found.get<uint8_t>(1), (std::vector<uint8_t>{0, 1, 2, 3}));
}

// A bias of NaN makes a channel's map NaN: the first of each window has won, and the other channels are as they were.
TEST_P(PooledConvolution, OfNaNAloneTheFirstWins) {
  for (const int precision : {TENON_PRECISION_HIGHEST, TENON_PRECISION_DEFAULT})
    for (const Case& c : kCases) {
      SCOPED_TRACE(::testing::PrintToString(c.x));
      const Floats x = random(product(c.x)), w = random(product(c.w));
      const auto pooled = [&](const Floats& bias) {
        return run(2, [&](NodeRun& n) {
          n.in(TENON_F32, c.x, x).in(TENON_F32, c.w, w).in(TENON_F32, {c.w[3]}, bias);
          n.out(TENON_F32, c.pooled()).out(TENON_U8, c.pooled());
          plugin::GraphBuilder& node = n.op("cpu.conv_pool");
          convolve(node, c, precision);
          node.attr_enum("act", c.relu ? TENON_ACT_RELU : TENON_ACT_NONE);
        });
      };
      Floats bias(static_cast<size_t>(c.w[3]), 0.25f);
      const Results good = pooled(bias);
      for (size_t o = 1; o < bias.size(); o += 3) bias[o] = kNaN;
      const Results found = pooled(bias);
      const Floats expected = good.get(0), p = found.get(0);
      const std::vector<uint8_t> expected_winner = good.get<uint8_t>(1), winner = found.get<uint8_t>(1);
      for (size_t i = 0; i < p.size(); ++i)
        if (std::isnan(bias[i % bias.size()])) {
          ASSERT_TRUE(std::isnan(p[i])) << i;
          ASSERT_EQ(winner[i], 0) << i;
        } else {
          ASSERT_EQ(p[i], expected[i]) << i;
          ASSERT_EQ(winner[i], expected_winner[i]) << i;
        }
    }
}

std::vector<uint16_t> in_bf16(const Floats& x) {
  std::vector<uint16_t> v;
  for (const float f : x) v.push_back(plugin::Bf16(f).bits);
  return v;
}

// The last is worked on a few images at a time.
TEST_P(PooledConvolution, OfBf16IsThatOfF32Rounded) {
  std::vector<Case> cases(std::begin(kCases), std::end(kCases));
  cases.push_back({{7, 160, 160, 3}, {3, 3, 3, 16}, 1, 1, true, true});
  for (const Case& c : cases) {
    SCOPED_TRACE(::testing::PrintToString(c.x));
    const Floats x = few(product(c.x)), w = few(product(c.w)), bias = few(c.w[3]), dp = few(product(c.pooled()));
    const auto in = [&](NodeRun& n, const Dims& dims, const Floats& v, bool half) {
      half ? n.in(TENON_BF16, dims, in_bf16(v)) : n.in(TENON_F32, dims, v);
    };
    const auto forward = [&](bool half) {
      return run(2, [&](NodeRun& n) {
        in(n, c.x, x, half), in(n, c.w, w, half);
        if (c.bias) in(n, {c.w[3]}, bias, half);
        n.out(half ? TENON_BF16 : TENON_F32, c.pooled()).out(TENON_U8, c.pooled());
        plugin::GraphBuilder& node = n.op("cpu.conv_pool");
        convolve(node, c, TENON_PRECISION_DEFAULT);
        node.attr_enum("act", c.relu ? TENON_ACT_RELU : TENON_ACT_NONE);
      });
    };
    const Results wide = forward(false), half = forward(true);
    EXPECT_EQ(half.get<uint16_t>(0), in_bf16(wide.get(0)));
    EXPECT_EQ(half.bytes[1], wide.bytes[1]);
    const std::vector<uint8_t> winner = wide.get<uint8_t>(1);
    const auto gradient = [&](bool of_filter, bool is_half) {
      return run(1, [&](NodeRun& n) {
        of_filter ? in(n, c.x, x, is_half) : in(n, c.pooled(), dp, is_half);
        of_filter ? in(n, c.pooled(), dp, is_half) : in(n, c.w, w, is_half);
        n.in(TENON_U8, c.pooled(), winner).out(is_half ? TENON_BF16 : TENON_F32, of_filter ? c.w : c.x);
        convolve(n.op(of_filter ? "cpu.pooled_grad_filter" : "cpu.pooled_grad_input"), c, TENON_PRECISION_DEFAULT);
      });
    };
    for (const bool of_filter : {false, true})
      EXPECT_EQ(gradient(of_filter, true).get<uint16_t>(0), in_bf16(gradient(of_filter, false).get(0)));
  }
}

}  // namespace
}  // namespace tenon::testing
