// batch_norm, batch_norm_apply and layer_norm against plain formulas.
#include <cmath>

#include "unit/op/op_testing.h"

namespace tenon::op_testing {
namespace {

constexpr double kEps = 1e-3;

struct Moments {
  double mean = 0, var = 0;
};

// The moments of the elements of x whose index e satisfies `in`.
template <class In>
Moments moments_of(const Doubles& x, In in, bool center = true) {
  Moments m;
  double n = 0;
  for (size_t e = 0; e < x.size(); ++e)
    if (in(e)) m.mean += x[e], ++n;
  m.mean = center ? m.mean / n : 0;
  for (size_t e = 0; e < x.size(); ++e)
    if (in(e)) m.var += (x[e] - m.mean) * (x[e] - m.mean) / n;
  return m;
}

TEST(BatchNorm, NormalisesEachChannelAddsTheResidualThenActivates) {
  const Feed x = noise({2, 3, 1, 2}, 1, -2, 5), residual = noise({2, 3, 1, 2}, 2);
  const Doubles gamma{1.5, -0.5}, beta{0.25, 1};
  const Build f = [](const Tensors& in) {
    const Normalized n = batch_norm(in[0], in[1], in[2], in[3], {kEps, Activation::kRelu});
    return Tensors{n.y, n.mean, n.var};
  };
  const auto r = evaluate(f, {x, f64({2}, gamma), f64({2}, beta), residual});
  Doubles y(12), mean(2), var(2);
  for (size_t c = 0; c < 2; ++c) {
    const Moments m = moments_of(x.values, [&](size_t e) { return e % 2 == c; });
    mean[c] = m.mean, var[c] = m.var;
    for (size_t e = c; e < 12; e += 2)
      y[e] = std::max(0.0, (x.values[e] - m.mean) / std::sqrt(m.var + kEps) * gamma[c] + beta[c] + residual.values[e]);
  }
  expect_near(r[0].values, y);
  expect_near(r[1].values, mean);
  expect_near(r[2].values, var);
}

TEST(BatchNorm, GradientEqualsDifferencesWithAndWithoutResidual) {
  for (Activation act : {Activation::kNone, Activation::kLeakyRelu, Activation::kTanh, Activation::kGelu})
    for (bool with_residual : {false, true}) {
      SCOPED_TRACE(activation_name(act));
      const Build f = [&](const Tensors& in) {
        return Tensors{batch_norm(in[0], in[1], in[2], with_residual ? in[3] : Tensor(), {kEps, act, 0.1}).y};
      };
      std::vector<Feed> feeds{noise({3, 2, 2}, 1, -2, 3), noise({2}, 2, 0.5, 2), noise({2}, 3)};
      if (with_residual) feeds.push_back(noise({3, 2, 2}, 4));
      expect_gradients(f, feeds, {}, 1e-5);
    }
}

TEST(BatchNorm, GradientFlowsThroughTheMomentsToo) {
  const Build f = [](const Tensors& in) {
    const Normalized n = batch_norm(in[0], in[1], in[2], Tensor(), {kEps, Activation::kTanh});
    return Tensors{n.y, n.mean, n.var};
  };
  expect_gradients(f, {noise({5, 2}, 1, -2, 3), noise({2}, 2, 0.5, 2), noise({2}, 3)});
  const Build moments = [](const Tensors& in) {
    const Normalized n = batch_norm(in[0], in[1], in[1], Tensor(), {});
    return Tensors{n.mean, n.var};
  };
  expect_gradients(moments, {noise({5, 2}, 1, -2, 3), noise({2}, 2)}, {1});
}

TEST(BatchNorm, IsOneNodeForwardAndOneBackward) {
  Graph graph;
  const Tensor x(&graph, graph.add_input({DType::kF32, {4, 8}}, Role::kFeed, "x"));
  const Tensor gamma(&graph, graph.add_input({DType::kF32, {8}}, Role::kState, "gamma"));
  const Tensor y = batch_norm(x, gamma, gamma, Tensor(), {kEps, Activation::kRelu}).y;
  gradients(reduce_sum(y), {x, gamma});
  EXPECT_EQ(count(graph, "batch_norm"), 1);
  EXPECT_EQ(count(graph, "batch_norm_grad"), 1);
  EXPECT_EQ(count(graph, "sqrt"), 0);
}

TEST(BatchNormApply, UsesTheMomentsThatAreGiven) {
  const Build f = [](const Tensors& in) {
    return Tensors{batch_norm_apply(in[0], in[1], in[2], in[3], in[4], in[5], {kEps, Activation::kRelu6})};
  };
  const std::vector<Feed> feeds{f64({2, 2}, {1, 2, 3, 4}), f64({2}, {2, 3}),    f64({2}, {0.5, 1}),
                                f64({2}, {0.5, 1}),        f64({2}, {4, 0.25}), f64({2, 2}, {0, 0.1, 0.2, -9})};
  Doubles y;
  for (int e = 0; e < 4; ++e) {
    const double g[] = {2, 3}, b[] = {0.5, 1}, m[] = {0.5, 1}, v[] = {4, 0.25}, r[] = {0, 0.1, 0.2, -9};
    const int c = e % 2;
    y.push_back(std::min(6.0, std::max(0.0, (e + 1 - m[c]) / std::sqrt(v[c] + kEps) * g[c] + b[c] + r[e])));
  }
  expect_near(value(f, feeds), y);
  const Build smooth = [](const Tensors& in) {
    return Tensors{batch_norm_apply(in[0], in[1], in[2], in[3], in[4], in[5], {kEps, Activation::kTanh})};
  };
  expect_gradients(smooth, feeds);
}

TEST(BatchNorm, NamesWhatDoesNotFit) {
  const Build f = [](const Tensors& in) { return Tensors{batch_norm(in[0], in[1], in[2], Tensor(), {}).y}; };
  EXPECT_EQ(error_of(f, {{DType::kBF16, {4, 8}}, {DType::kF32, {7}}, {DType::kF32, {8}}}),
            "batch_norm 'batch_norm': operand 1 'gamma' has shape [7], expected [8]");
  EXPECT_EQ(error_of(f, {{DType::kBF16, {4, 8}}, {DType::kF32, {8}}, {DType::kBF16, {8}}}),
            "batch_norm 'batch_norm': operand 2 'beta' is bf16[8], expected f32 as operand 1 'gamma'");
  const Build grad = [](const Tensors& in) {
    return Tensors{batch_norm_grad(in[0], in[0], in[1], in[1], in[1], Tensor(), false, {kEps, Activation::kRelu}).dx};
  };
  EXPECT_EQ(error_of(grad, {{DType::kF32, {4, 8}}, {DType::kF32, {8}}}),
            "batch_norm_grad 'batch_norm_grad': operand 5 'y' is missing, the gradient of relu needs it");
}

TEST(BatchNorm, TakesHalfPrecisionImagesWithF32Parameters) {
  for (DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    const Build f = [&](const Tensors& in) {
      const Tensor x = cast(in[0], dtype), gamma = cast(in[1], DType::kF32);
      const Normalized n = batch_norm(x, gamma, gamma, x, {kEps, Activation::kRelu});
      const BatchNormGrad d = batch_norm_grad(n.y, x, gamma, n.mean, n.var, n.y, true, {kEps, Activation::kRelu});
      EXPECT_EQ(n.mean.dtype(), DType::kF32);
      EXPECT_EQ(d.dx.dtype(), dtype);
      EXPECT_EQ(d.dgamma.dtype(), DType::kF32);
      return Tensors{n.y,      n.mean,  n.var,       d.dx,
                     d.dgamma, d.dbeta, d.dresidual, batch_norm_apply(x, gamma, gamma, n.mean, n.var, x, {})};
    };
    expect_types_survive_lowering(f, {{DType::kF64, {4, 3}}, {DType::kF64, {3}}});
  }
}

TEST(LayerNorm, NormalisesTheLastAxis) {
  const Feed x = noise({2, 3, 4}, 1, -1, 4), gamma = noise({4}, 2), beta = noise({4}, 3);
  const Build f = [](const Tensors& in) {
    const Normalized n = layer_norm(in[0], in[1], in[2], {-1}, kEps);
    return Tensors{n.y, n.mean, n.var};
  };
  const auto r = evaluate(f, {x, gamma, beta});
  for (size_t row = 0; row < 6; ++row) {
    const Moments m = moments_of(x.values, [&](size_t e) { return e / 4 == row; });
    EXPECT_NEAR(r[1].values[row], m.mean, 1e-12);
    EXPECT_NEAR(r[2].values[row], m.var, 1e-12);
    for (size_t c = 0; c < 4; ++c)
      EXPECT_NEAR(r[0].values[row * 4 + c],
                  (x.values[row * 4 + c] - m.mean) / std::sqrt(m.var + kEps) * gamma.values[c] + beta.values[c], 1e-12);
  }
  EXPECT_EQ(r[1].type.shape, (Shape{2, 3}));
}

TEST(LayerNorm, WithoutCenteringIsRms) {
  const Build f = [](const Tensors& in) {
    const Normalized n = layer_norm(in[0], in[1], Tensor(), {1}, 0, false);
    return Tensors{n.y, n.mean, n.var};
  };
  const auto r = evaluate(f, {f64({1, 2}, {3, 4}), f64({2}, {1, 2})});
  expect_near(r[0].values, {3 / std::sqrt(12.5), 8 / std::sqrt(12.5)});
  expect_near(r[1].values, {0});
  expect_near(r[2].values, {12.5});
}

TEST(LayerNorm, GradientEqualsDifferencesForLayerInstanceAndGroup) {
  struct Form {
    Shape x, parameters;
    Ints axes;
  };
  for (const Form& form : {Form{{2, 3, 4}, {4}, {2}}, Form{{2, 3, 4}, {3, 4}, {1, 2}}, Form{{2, 3, 2}, {2}, {1}},
                           Form{{2, 3, 2, 2}, {2, 2}, {1, 3}}})
    for (bool center : {true, false})
      for (bool with_beta : {true, false}) {
        const Build f = [&](const Tensors& in) {
          return Tensors{layer_norm(in[0], in[1], with_beta ? in[2] : Tensor(), form.axes, kEps, center).y};
        };
        std::vector<Feed> feeds{noise(form.x, 1, -1, 3), noise(form.parameters, 2, 0.5, 2)};
        if (with_beta) feeds.push_back(noise(form.parameters, 3));
        expect_gradients(f, feeds);
      }
}

TEST(LayerNorm, GradientFlowsThroughTheMomentsToo) {
  const Build f = [](const Tensors& in) {
    const Normalized n = layer_norm(in[0], in[1], Tensor(), {1}, kEps);
    return Tensors{n.y, n.mean, n.var};
  };
  expect_gradients(f, {noise({2, 5}, 1, -1, 3), noise({5}, 2)});
}

TEST(LayerNorm, KeepsDtypesThroughLoweringAndNamesWhatDoesNotFit) {
  const Build f = [](const Tensors& in) {
    const Normalized n = layer_norm(in[0], in[1], in[1], {-1}, kEps);
    const LayerNormGrad d = layer_norm_grad(n.y, in[0], in[1], n.mean, n.var, {-1}, kEps, true, true);
    return Tensors{n.y, n.mean, n.var, d.dx, d.dgamma, d.dbeta};
  };
  expect_types_survive_lowering(f, {{DType::kF64, {2, 3, 4}}, {DType::kF64, {4}}});
  EXPECT_EQ(error_of(f, {{DType::kF32, {2, 4}}, {DType::kF32, {3}}}),
            "layer_norm 'layer_norm': operand 1 'gamma' has shape [3], expected [4]");
}

}  // namespace
}  // namespace tenon::op_testing
