
#include "float_bits.h"
#include "isa_test.h"
#include "tenon/abi/op.h"

TENON_DECLARE_FAMILY(add_elementwise)

namespace tenon::testing {
namespace {

struct Case {
  const char* golden;  // name and arguments in activations.csv
  int32_t act;
  double alpha;
};
const Case kActivations[] = {
    {"linear,\"\"", TENON_ACT_NONE, 0},
    {"relu,\"\"", TENON_ACT_RELU, 0},
    {"relu6,\"\"", TENON_ACT_RELU6, 0},
    {"leaky_relu,\"\"", TENON_ACT_LEAKY_RELU, 0.2},
    {"elu,\"\"", TENON_ACT_ELU, 1},
    {"selu,\"\"", TENON_ACT_SELU, 0},
    {"sigmoid,\"\"", TENON_ACT_SIGMOID, 0},
    {"tanh,\"\"", TENON_ACT_TANH, 0},
    {"softplus,\"\"", TENON_ACT_SOFTPLUS, 0},
    {"gelu,\"\"", TENON_ACT_GELU, 0},
    {"gelu,\"approximate=True\"", TENON_ACT_GELU_TANH, 0},
    {"silu,\"\"", TENON_ACT_SILU, 0},
    {"mish,\"\"", TENON_ACT_MISH, 0},
    {"hard_sigmoid,\"\"", TENON_ACT_HARD_SIGMOID, 0},
    {"hard_silu,\"\"", TENON_ACT_HARD_SWISH, 0},
};
const Floats kX = {-10, -3, -1, -0.6f, -0.4f, 0, 0.4f, 0.6f, 1, 3, 10};

// The eleven numbers of a case: "value" or "gradient".
Floats keras(const Case& c, const char* what) {
  return golden_row("activations.csv", std::string(c.golden) + "," + what);
}

class Activations : public IsaTest {
 protected:
  Activations() {
    if (GetParam() == "avx2")
      cpu::avx2::add_elementwise(table_);
    else
      cpu::baseline::add_elementwise(table_);
  }
  template <class T>
  std::vector<T> forward(int32_t dtype, const std::vector<T>& x, const Case& c) {
    const Dims d = {static_cast<int64_t>(x.size())};
    return run(1,
               [&](NodeRun& n) {
                 n.in(dtype, d, x).out(dtype, d).op("activation").attr_enum("act", c.act).attr_f64("alpha", c.alpha);
               })
        .template get<T>(0);
  }
  template <class T>
  std::vector<T> gradient(int32_t dtype, const std::vector<T>& g, const std::vector<T>& t, const Case& c) {
    const Dims d = {static_cast<int64_t>(t.size())};
    return run(1,
               [&](NodeRun& n) {
                 n.in(dtype, d, g)
                     .in(dtype, d, t)
                     .out(dtype, d)
                     .op("activation_grad")
                     .attr_enum("act", c.act)
                     .attr_f64("alpha", c.alpha);
               })
        .template get<T>(0);
  }
};

INSTANTIATE_TEST_SUITE_P(Isa, Activations, ::testing::ValuesIn(isas()), [](const auto& info) { return info.param; });

bool reads_result(int32_t act) { return act <= TENON_ACT_SOFTPLUS; }

TEST_P(Activations, ValuesAndGradientsAreThoseOfKeras) {
  for (const Case& c : kActivations) {
    SCOPED_TRACE(c.golden);
    const Floats value = keras(c, "value"), slope = keras(c, "gradient");
    ASSERT_EQ(value.size(), kX.size());
    const Floats y = forward(TENON_F32, kX, c);
    const Floats g = gradient(TENON_F32, Floats(kX.size(), 1), reads_result(c.act) ? y : kX, c);
    for (size_t i = 0; i < kX.size(); ++i) {
      EXPECT_NEAR(y[i], value[i], 2e-6 * std::fabs(value[i]) + 1e-7) << "at " << kX[i];
      EXPECT_NEAR(g[i], slope[i], 2e-6 * std::fabs(slope[i]) + 1e-6) << "at " << kX[i];
    }
  }
}

TEST_P(Activations, DoublesAgreeWithFloatsAndWithFiniteDifferences) {
  std::vector<double> x;
  for (float v : random(301, -8, 8)) x.push_back(v);
  const Floats f(x.begin(), x.end());
  for (const Case& c : kActivations) {
    SCOPED_TRACE(c.golden);
    const auto y = forward(TENON_F64, x, c);
    const Floats y32 = forward(TENON_F32, f, c);
    auto up = x, down = x;
    for (double& v : up) v += 1e-6;
    for (double& v : down) v -= 1e-6;
    const auto high = forward(TENON_F64, up, c), low = forward(TENON_F64, down, c);
    const auto g = gradient(TENON_F64, std::vector<double>(x.size(), 3.0), reads_result(c.act) ? y : x, c);
    const Floats g32 = gradient(TENON_F32, Floats(x.size(), 3.f), reads_result(c.act) ? y32 : f, c);
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_NEAR(y32[i], y[i], 1e-6 * std::fabs(y[i]) + 1e-7) << "at " << x[i];
      ASSERT_NEAR(g[i], 3 * (high[i] - low[i]) / 2e-6, 1e-6) << "at " << x[i];
      ASSERT_NEAR(g32[i], g[i], 1e-5) << "at " << x[i];
    }
  }
}

TEST_P(Activations, NanPassesThrough) {
  for (const Case& c : kActivations) {
    SCOPED_TRACE(c.golden);
    for (float y : forward(TENON_F32, Floats(9, NAN), c)) EXPECT_TRUE(std::isnan(y));
  }
}

TEST_P(Activations, SixteenBitTypesRoundOnce) {
  const Floats x = random(1000, -6, 6);
  for (int32_t dtype : {TENON_BF16, TENON_F16}) {
    const auto h = to_halves(dtype, x);
    const Floats y = forward(TENON_F32, from_halves(dtype, h), kActivations[2]);
    EXPECT_EQ(forward(dtype, h, kActivations[2]), to_halves(dtype, y));
    const Floats s = forward(TENON_F32, from_halves(dtype, h), kActivations[11]);
    EXPECT_EQ(forward(dtype, h, kActivations[11]), to_halves(dtype, s));
  }
}

// ---- bias_act_grad ----

TEST_P(Activations, BiasGradientIsTheGradientAndItsColumnSums) {
  for (const Dims& d : {Dims{1, 1}, Dims{5, 3}, Dims{37, 10}, Dims{4, 9, 9, 10}, Dims{3000, 16}, Dims{700, 130},
                        Dims{65, 1031}, Dims{2, 40000}}) {
    const int64_t columns = d.back(), n = product(d);
    const Floats g = random(n), t = random(n);
    for (const Case& c : {kActivations[1], kActivations[6], kActivations[9]}) {
      const Floats dz = gradient(TENON_F32, g, t, c);
      const Results r = run(2, [&](NodeRun& node) {
        node.in(TENON_F32, d, g)
            .in(TENON_F32, d, t)
            .out(TENON_F32, d)
            .out(TENON_F32, {columns})
            .op("bias_act_grad")
            .attr_enum("act", c.act);
      });
      EXPECT_EQ(r.get(0), dz);
      std::vector<double> sum(static_cast<size_t>(columns));
      for (size_t i = 0; i < dz.size(); ++i) sum[i % sum.size()] += dz[i];
      const Floats got = r.get(1);
      for (size_t i = 0; i < sum.size(); ++i)
        ASSERT_NEAR(got[i], sum[i], 2e-7 * double(n / columns) + 1e-6) << "column " << i;
    }
  }
}

TEST_P(Activations, BiasGradientSumsSixteenBitTypesInFloatAndDoublesInDouble) {
  const Dims d = {513, 33};
  const Floats g = random(product(d)), t = random(product(d));
  const auto sum = [&](int32_t dtype, const auto& a, const auto& b) {
    return run(2, [&](NodeRun& n) {
      n.in(dtype, d, a)
          .in(dtype, d, b)
          .out(dtype, d)
          .out(dtype, {33})
          .op("bias_act_grad")
          .attr_enum("act", TENON_ACT_RELU);
    });
  };
  const auto exact =
      sum(TENON_F64, std::vector<double>(g.begin(), g.end()), std::vector<double>(t.begin(), t.end())).get<double>(1);
  std::vector<double> want(33);
  for (size_t i = 0; i < g.size(); ++i) want[i % 33] += t[i] > 0 ? g[i] : 0;
  for (size_t i = 0; i < 33; ++i) EXPECT_NEAR(exact[i], want[i], 1e-12);
  const Floats half =
      from_halves(TENON_BF16, sum(TENON_BF16, to_halves(TENON_BF16, g), to_halves(TENON_BF16, t)).get<uint16_t>(1));
  const Floats rounded = from_halves(TENON_BF16, to_halves(TENON_BF16, g));
  std::vector<double> coarse(33);
  for (size_t i = 0; i < g.size(); ++i) coarse[i % 33] += t[i] > 0 ? rounded[i] : 0;
  for (size_t i = 0; i < 33; ++i) EXPECT_NEAR(half[i], coarse[i], std::fabs(coarse[i]) * 0x1.01p-8 + 1e-4);
}

}  // namespace
}  // namespace tenon::testing
