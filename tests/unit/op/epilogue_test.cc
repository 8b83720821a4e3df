// activation, dot_bias_act, conv_bias_act and bias_act_grad against formulas and other ops.
#include <cmath>

#include "op/rules.h"
#include "unit/op/op_testing.h"

namespace tenon::op_testing {
namespace {

struct Case {
  Activation act;
  double alpha;
  double (*formula)(double x, double alpha);
};

double sigmoid(double x, double) { return 1 / (1 + std::exp(-x)); }
double softplus(double x, double) { return std::log1p(std::exp(x)); }

// The functions as Keras documents them.
const Case kCases[] = {
    {Activation::kNone, 0, [](double x, double) { return x; }},
    {Activation::kRelu, 0, [](double x, double) { return x > 0 ? x : 0; }},
    {Activation::kRelu6, 0, [](double x, double) { return std::min(std::max(x, 0.0), 6.0); }},
    {Activation::kLeakyRelu, 0.2, [](double x, double a) { return x > 0 ? x : a * x; }},
    {Activation::kElu, 0.7, [](double x, double a) { return x > 0 ? x : a * (std::exp(x) - 1); }},
    {Activation::kSelu, 0,
     [](double x, double) { return 1.05070098735548 * (x > 0 ? x : 1.67326324235438 * (std::exp(x) - 1)); }},
    {Activation::kSigmoid, 0, sigmoid},
    {Activation::kTanh, 0, [](double x, double) { return std::tanh(x); }},
    {Activation::kSoftplus, 0, softplus},
    {Activation::kGelu, 0, [](double x, double) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); }},
    {Activation::kGeluTanh, 0,
     [](double x, double) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }},
    {Activation::kSilu, 0, [](double x, double) { return x * sigmoid(x, 0); }},
    {Activation::kMish, 0, [](double x, double) { return x * std::tanh(softplus(x, 0)); }},
    {Activation::kHardSigmoid, 0, [](double x, double) { return std::min(std::max(x + 3, 0.0), 6.0) / 6; }},
    {Activation::kHardSwish, 0, [](double x, double) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; }},
};

Doubles mapped(const Case& c, Doubles x) {
  for (double& v : x) v = c.formula(v, c.alpha);
  return x;
}

TEST(Activation, EqualsItsFormulaFarFromZeroToo) {
  const Doubles x{-30, -7.5, -3.5, -1, -0.25, 0, 0.125, 1, 2.5, 4, 6.5, 30};
  for (const Case& c : kCases) {
    SCOPED_TRACE(activation_name(c.act));
    expect_near(value([&](const Tensors& in) { return Tensors{activation(in[0], c.act, c.alpha)}; }, {f64({12}, x)}),
                mapped(c, x), 1e-13);
  }
}

TEST(Activation, GradientEqualsDifferences) {
  const Doubles x{-8, -3.5, -2.5, -1, -0.25, 0.125, 1, 2.5, 3.5, 4, 6.5, 8};
  for (const Case& c : kCases) {
    SCOPED_TRACE(activation_name(c.act));
    expect_gradients([&](const Tensors& in) { return Tensors{activation(in[0], c.act, c.alpha)}; }, {f64({12}, x)});
  }
}

TEST(Activation, DoesNotOverflowWhereTheFormulaWould) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(activation_name(c.act));
    const Build f = [&](const Tensors& in) {
      const Tensor y = activation(in[0], c.act, c.alpha);
      return Tensors{y, gradients(reduce_sum(y), {in[0]})[0]};
    };
    for (const Evaluated& e : evaluate(f, {f64({2}, {-2000, 2000})}))
      for (double v : e.values) EXPECT_TRUE(std::isfinite(v)) << v;
  }
}

TEST(Activation, SlopeOfReluIsZeroAtZero) {
  for (Activation act : {Activation::kRelu, Activation::kRelu6}) {
    const Build f = [&](const Tensors& in) { return gradients(reduce_sum(activation(in[0], act)), {in[0]}); };
    expect_near(value(f, {f64({3}, {-1, 0, 1})}), {0, 0, 1});
  }
}

TEST(Activation, RoundsBf16Once) {
  // mish(1.5), computed exactly, is 1.40337.. : bf16 neighbours are 1.3984375 and 1.40625.
  const Build f = [](const Tensors& in) { return Tensors{activation(in[0], Activation::kMish)}; };
  expect_near(rounded_value(f, {of(DType::kBF16, {1}, {1.5})}), {1.40625}, 0);
}

TEST(Activation, RefusesAnUnknownNumberAndASlopeThatHidesTheSign) {
  const Build unknown = [](const Tensors& in) { return emit_all("activation", in, {{"act", Enum{15}}}, "a"); };
  EXPECT_EQ(error_of(unknown, {{DType::kF32, {2}}}), "activation 'a': attribute 'act' is 15, expected 0 (none) to 14 (hard_swish)");
  const Build slope = [](const Tensors& in) { return Tensors{activation(in[0], Activation::kLeakyRelu, -0.5)}; };
  EXPECT_EQ(error_of(slope, {{DType::kF32, {2}}}),
            "activation 'leaky_relu': attribute 'alpha' of leaky_relu is -0.5, expected 0 or more");
}

// act(a b + bias + residual) by three loops: a [2,3], b [3,2].
Doubles plain_dense(const Case& c, const Doubles& a, const Doubles& b, const Doubles& bias, const Doubles& residual) {
  Doubles y(4);
  for (int m = 0; m < 2; ++m)
    for (int n = 0; n < 2; ++n) {
      double z = bias[n] + residual[m * 2 + n];
      for (int k = 0; k < 3; ++k) z += a[m * 3 + k] * b[k * 2 + n];
      y[m * 2 + n] = c.formula(z, c.alpha);
    }
  return y;
}

TEST(DotBiasAct, AddsBiasAndResidualBeforeTheActivation) {
  const Doubles a{0.5, -1, 2, 1.5, 0.25, -0.75}, b{1, -0.5, 0.75, 2, -1.25, 0.3}, bias{0.1, -0.2},
      residual{0.3, -0.6, 0.9, 0.4};
  for (const Case& c : kCases) {
    SCOPED_TRACE(activation_name(c.act));
    const Build f = [&](const Tensors& in) {
      return Tensors{dot_bias_act(in[0], in[1], in[2], in[3], c.act, c.alpha)};
    };
    const std::vector<Feed> feeds{f64({2, 3}, a), f64({3, 2}, b), f64({2}, bias), f64({2, 2}, residual)};
    expect_near(value(f, feeds), plain_dense(c, a, b, bias, residual));
    expect_gradients(f, feeds);
  }
}

TEST(DotBiasAct, GradientOfEveryTranspositionAndOfLeadingAxes) {
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      const Build f = [&](const Tensors& in) {
        return Tensors{dot_bias_act(in[0], in[1], in[2], Tensor(), Activation::kTanh, 0, {ta, tb})};
      };
      const Shape a = ta ? Shape{2, 3, 4} : Shape{2, 4, 3}, b = tb ? Shape{2, 5, 3} : Shape{2, 3, 5};
      expect_gradients(f, {noise(a, 1), noise(b, 2), noise({5}, 3)});
    }
}

TEST(DotBiasAct, WithoutBiasResidualOrActivationIsTheDot) {
  const std::vector<Feed> feeds{noise({3, 4}, 1), noise({4, 2}, 2)};
  const Build whole = [](const Tensors& in) {
    return Tensors{dot_bias_act(in[0], in[1], Tensor(), Tensor(), Activation::kNone)};
  };
  expect_near(value(whole, feeds), value([](const Tensors& in) { return Tensors{dot(in[0], in[1])}; }, feeds), 0);
  expect_gradients(whole, feeds);
}

TEST(DotBiasAct, NamesABiasThatDoesNotFit) {
  const Build f = [](const Tensors& in) {
    const NameScope scope(*in[0].graph(), "head");
    return Tensors{dot_bias_act(in[0], in[1], in[2], Tensor(), Activation::kRelu)};
  };
  EXPECT_EQ(error_of(f, {{DType::kF32, {8, 3}}, {DType::kF32, {3, 5}}, {DType::kF32, {4}}}),
            "dot_bias_act 'head/dot_bias_act': operand 2 'bias' has shape [4], expected [5]");
  EXPECT_EQ(error_of(f, {{DType::kF32, {8, 3}}, {DType::kF32, {3, 5}}, {DType::kBF16, {5}}}),
            "dot_bias_act 'head/dot_bias_act': operand 2 'bias' is bf16[5], expected f32 as the result");
}

TEST(ConvBiasAct, EqualsItsPartsAndTheirGradients) {
  ConvOptions o;
  o.strides = {2, 1};
  o.low = {1, 0};
  o.high = {1, 2};
  o.dilation = {1, 2};
  o.groups = 2;
  const std::vector<Feed> feeds{noise({2, 5, 4, 4}, 1), noise({3, 2, 2, 6}, 2), noise({6}, 3), noise({2, 3, 4, 6}, 4)};
  for (const Case& c : {kCases[1], kCases[7], kCases[9]}) {
    SCOPED_TRACE(activation_name(c.act));
    const Build whole = [&](const Tensors& in) {
      return Tensors{conv_bias_act(in[0], in[1], in[2], in[3], c.act, c.alpha, o)};
    };
    const Build parts = [&](const Tensors& in) { return Tensors{conv(in[0], in[1], o) + in[2] + in[3]}; };
    expect_near(value(whole, feeds), mapped(c, value(parts, feeds)));
    expect_gradients(whole, feeds);
  }
}

TEST(ConvBiasAct, NamesTheNodeWhoseChannelsDoNotFit) {
  const Build f = [](const Tensors& in) { return emit_all("conv", in, {}, "block3/a"); };
  EXPECT_EQ(error_of(f, {{DType::kF32, {1, 8, 8, 64}}, {DType::kF32, {3, 3, 32, 16}}}),
            "conv 'block3/a': input has 64 channels, filter expects 32");
}

TEST(BiasActGrad, SumsAllAxesButTheLast) {
  const Build f = [](const Tensors& in) {
    const BiasActGrad d = bias_act_grad(in[0], in[1], Activation::kRelu);
    return Tensors{d.dz, d.dbias};
  };
  const auto r = evaluate(f, {f64({2, 1, 2}, {1, 2, 3, 4}), f64({2, 1, 2}, {5, 0, 1, 2})});
  expect_near(r[0].values, {1, 0, 3, 4});
  expect_near(r[1].values, {4, 4});
}

TEST(Epilogue, GradientsOfMixedPrecisionHaveTheOperandsDtypes) {
  Graph graph;
  const auto feed = [&](DType dtype, const Shape& shape) {
    return Tensor(&graph, graph.add_input({dtype, shape}, Role::kFeed, "x"));
  };
  const Tensor x = feed(DType::kBF16, {1, 4, 4, 2}), w = feed(DType::kBF16, {3, 3, 2, 5}),
               bias = feed(DType::kF32, {5});
  for (Activation act : {Activation::kRelu, Activation::kGelu}) {
    ConvOptions o;
    o.out = DType::kF32;
    const Tensor y = conv_bias_act(x, w, bias, Tensor(), act, 0, o);
    const Tensors g = gradients(reduce_sum(y), {x, w, bias});
    EXPECT_EQ(y.dtype(), DType::kF32);
    EXPECT_EQ(g[0].dtype(), DType::kBF16);
    EXPECT_EQ(g[1].dtype(), DType::kBF16);
    EXPECT_EQ(g[2].dtype(), DType::kF32);
  }
}

TEST(Epilogue, KeepsDtypesThroughLowering) {
  const Build f = [](const Tensors& in) {
    const DotOptions to_f32{false, false, MathPrecision::kDefault, DType::kF32};
    const BiasActGrad d = bias_act_grad(in[0], in[0], Activation::kSelu);
    return Tensors{dot_bias_act(in[0], in[1], in[2], Tensor(), Activation::kGelu),
                   dot_bias_act(in[0], in[1], Tensor(), Tensor(), Activation::kRelu, 0, to_f32),
                   activation(in[0], Activation::kMish),
                   activation_grad(in[0], in[0], Activation::kHardSwish),
                   d.dz,
                   d.dbias};
  };
  expect_types_survive_lowering(f, {{DType::kF64, {2, 3}}, {DType::kF64, {3, 4}}, {DType::kF64, {4}}});
}

// 1.5 in each dtype: bf16 0x3fc0, f16 0x3e00, integers toward zero.
TEST(ConstantOf, HoldsElementsOfItsDtype) {
  const auto bytes = [](DType dtype, const Doubles& values) {
    Graph graph;
    const Tensor c = constant_of(graph, dtype, {static_cast<int64_t>(values.size())}, values);
    return std::get<std::string>(*find_attr(graph.defining_node(c.id())->attrs, "value"));
  };
  EXPECT_EQ(bytes(DType::kBool, {1, 0, 1}), std::string("\1\0\1", 3));
  EXPECT_EQ(bytes(DType::kBF16, {1.5, -1.5}), std::string("\xc0\x3f\xc0\xbf", 4));
  EXPECT_EQ(bytes(DType::kF16, {1.5}), std::string("\x00\x3e", 2));
  EXPECT_EQ(bytes(DType::kI64, {-2}), std::string("\xfe\xff\xff\xff\xff\xff\xff\xff", 8));
}

}  // namespace
}  // namespace tenon::op_testing
