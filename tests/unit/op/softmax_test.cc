// softmax, log_softmax and softmax_cross_entropy against plain formulas.
#include <cmath>

#include "unit/op/op_testing.h"

namespace tenon::op_testing {
namespace {

constexpr int64_t kNever = INT64_MIN;

Doubles plain_softmax(const Doubles& row) {
  Doubles e;
  double sum = 0;
  for (double v : row) e.push_back(std::exp(v)), sum += e.back();
  for (double& v : e) v /= sum;
  return e;
}

TEST(Softmax, EqualsItsFormulaAndItsLogarithm) {
  const Doubles row{0.5, -1, 2, 0.25};
  Doubles logs = plain_softmax(row);
  for (double& v : logs) v = std::log(v);
  expect_near(value([](const Tensors& in) { return Tensors{softmax(in[0])}; }, {f64({4}, row)}), plain_softmax(row));
  expect_near(value([](const Tensors& in) { return Tensors{log_softmax(in[0])}; }, {f64({4}, row)}), logs);
}

TEST(Softmax, NormalisesAnyAxis) {
  for (int64_t axis : {0, 1, 2}) {
    const auto r = evaluate([&](const Tensors& in) { return Tensors{reduce_sum(softmax(in[0], axis), {axis})}; },
                            {noise({2, 3, 4}, 1, -5, 5)});
    for (double v : r[0].values) EXPECT_NEAR(v, 1, 1e-14);
  }
}

TEST(Softmax, GradientEqualsDifferencesOnAnyAxis) {
  for (int64_t axis : {0, 1, -1}) {
    expect_gradients([&](const Tensors& in) { return Tensors{softmax(in[0], axis)}; }, {noise({2, 3, 2}, 1)});
    expect_gradients([&](const Tensors& in) { return Tensors{log_softmax(in[0], axis)}; }, {noise({2, 3, 2}, 1)});
  }
}

TEST(Softmax, LargeLogitsDoNotOverflow) {
  expect_near(value([](const Tensors& in) { return Tensors{softmax(in[0])}; }, {f64({3}, {1e300, 1e300, -1e300})}),
              {0.5, 0.5, 0});
  expect_near(value([](const Tensors& in) { return Tensors{softmax(in[0])}; }, {f64({2}, {-kInf, 3})}), {0, 1});
}

TEST(Softmax, NamesAnAxisOutOfRange) {
  const Build f = [](const Tensors& in) { return emit_all("softmax", in, {{"axis", int64_t{2}}}); };
  EXPECT_EQ(error_of(f, {{DType::kF32, {2, 3}}}), "softmax 'softmax': axis 2 is out of range for f32[2,3]");
}

// sum over classes of t (lse - x), t = on at the label, off elsewhere.
double plain_loss(const Doubles& row, int64_t label, double on, double off) {
  double sum = 0, loss = 0;
  for (double v : row) sum += std::exp(v);
  for (size_t i = 0; i < row.size(); ++i)
    loss += (static_cast<int64_t>(i) == label ? on : off) * (std::log(sum) - row[i]);
  return loss;
}

Build cross_entropy(CrossEntropyOptions o, bool with_lse = false) {
  return [=](const Tensors& in) {
    const CrossEntropy c = softmax_cross_entropy_per_example(in[0], in[1], o);
    return with_lse ? Tensors{c.loss, c.lse} : Tensors{c.loss};
  };
}

const Doubles kLogits{0.5, -1, 2, 1, 0, -0.5, 3, 0.25, -2};  // [3,3]

TEST(SoftmaxCrossEntropy, OfIntegerLabelsWithAndWithoutSmoothing) {
  for (DType dtype : {DType::kI32, DType::kI64})
    for (auto [on, off] : {std::pair(1.0, 0.0), std::pair(0.9, 0.05)}) {
      const Feed label = of(dtype, {3}, {2, 0, 1});
      Doubles expected;
      for (int r = 0; r < 3; ++r)
        expected.push_back(plain_loss({kLogits.begin() + 3 * r, kLogits.begin() + 3 * r + 3},
                                      static_cast<int64_t>(label.values[r]), on, off));
      expect_near(value(cross_entropy({on, off}), {f64({3, 3}, kLogits), label}), expected);
      expect_gradients(cross_entropy({on, off}), {f64({3, 3}, kLogits), label});
      expect_gradients(cross_entropy({on, off}, true), {f64({3, 3}, kLogits), label});
    }
}

TEST(SoftmaxCrossEntropy, OfDistributionsThatNeedNotSumToOne) {
  const Doubles t{0.2, 0.5, 0.3, 1, 0.5, 0, 0, 0, 2};
  Doubles expected;
  for (int r = 0; r < 3; ++r) {
    const Doubles row(kLogits.begin() + 3 * r, kLogits.begin() + 3 * r + 3);
    double loss = 0;
    for (int c = 0; c < 3; ++c) loss -= t[3 * r + c] * std::log(plain_softmax(row)[c]);
    expected.push_back(loss);
  }
  expect_near(value(cross_entropy({}), {f64({3, 3}, kLogits), f64({3, 3}, t)}), expected);
  expect_gradients(cross_entropy({}, true), {f64({3, 3}, kLogits), f64({3, 3}, t)});
}

TEST(SoftmaxCrossEntropy, IgnoredLabelsCostNothingAndUnknownOnesAreNan) {
  const CrossEntropyOptions o{1, 0, -1};
  const Build f = [&](const Tensors& in) {
    const CrossEntropy c = softmax_cross_entropy_per_example(in[0], in[1], o);
    return Tensors{c.loss, softmax_cross_entropy_grad(full_like(c.loss, 1), in[0], in[1], c.lse, o)};
  };
  const auto r = evaluate(f, {f64({3, 2}, {1, 2, 0, 0, 5, 5}), of(DType::kI64, {3}, {-1, 0, 2})});
  expect_near(r[0].values, {0, std::log(2.0), kNaN});
  expect_near(r[1].values, {0, 0, -0.5, 0.5, kNaN, kNaN});
}

TEST(SoftmaxCrossEntropy, TellsLargeLabelsApart) {
  constexpr int64_t kLarge = (int64_t{1} << 53) + 1;  // no double
  const Build f = [&](const Tensors& in) {
    const Tensor label = add(in[1], cast(scalar_like(in[1], 1), DType::kI64));
    return Tensors{softmax_cross_entropy_per_example(in[0], label, {1, 0, kLarge}).loss};
  };
  expect_near(value(f, {f64({2, 2}, {1, 2, 0, 0}), of(DType::kI64, {2}, {0x1p53, 0})}), {0, std::log(2.0)});
}

TEST(SoftmaxCrossEntropy, MaskedClassesDoNotMakeNan) {
  const auto r = evaluate(cross_entropy({}), {f64({1, 3}, {-kInf, 1, 1}), of(DType::kI32, {1}, {2})});
  expect_near(r[0].values, {std::log(2.0)});
}

TEST(SoftmaxCrossEntropy, LossOfHalfPrecisionLogitsIsF32) {
  Graph graph;
  const Tensor x(&graph, graph.add_input({DType::kBF16, {4, 10}}, Role::kFeed, "x"));
  const Tensor label(&graph, graph.add_input({DType::kI32, {4}}, Role::kFeed, "label"));
  const CrossEntropy c = softmax_cross_entropy_per_example(x, label);
  EXPECT_EQ(c.loss.type().str(), "f32[4]");
  EXPECT_EQ(softmax_cross_entropy_grad(c.loss, x, label, c.lse, {}).type().str(), "bf16[4,10]");
}

TEST(SoftmaxCrossEntropy, NamesALabelThatDoesNotFit) {
  EXPECT_EQ(error_of(cross_entropy({1, 0, kNever}), {{DType::kF32, {8, 10}}, {DType::kI32, {8, 1}}}),
            "softmax_cross_entropy 'softmax_cross_entropy': operand 1 'label' has shape [8,1], expected [8]");
  EXPECT_EQ(
      error_of(cross_entropy({1, 0, kNever}), {{DType::kF32, {8, 10}}, {DType::kF32, {8}}}),
      "softmax_cross_entropy 'softmax_cross_entropy': operand 1 'label' is f32[8], expected f32[8,10] as operand 0 "
      "'x'");
}

TEST(Softmax, KeepsDtypesThroughLowering) {
  const Build f = [](const Tensors& in) {
    const Tensor y = softmax(in[0]), z = log_softmax(in[0], 0);
    const CrossEntropy c = softmax_cross_entropy_per_example(in[0], in[1], {0.9, 0.1, 7}),
                       d = softmax_cross_entropy_per_example(in[0], y);
    return Tensors{y,
                   z,
                   softmax_grad(z, y, -1),
                   log_softmax_grad(y, z, 0),
                   c.loss,
                   c.lse,
                   d.loss,
                   d.lse,
                   softmax_cross_entropy_grad(c.loss, in[0], in[1], c.lse, {}),
                   softmax_cross_entropy_grad(d.loss, in[0], y, d.lse, {})};
  };
  expect_types_survive_lowering(f, {{DType::kF64, {3, 4}}, {DType::kI64, {3}}});
}

}  // namespace
}  // namespace tenon::op_testing
