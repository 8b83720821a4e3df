// What exporters write as several nodes: that it is one op, and gives the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tenon/onnx.h"
#include "tenon/strategy.h"
#include "unit/import/onnx/made_file.h"

namespace tenon {
namespace {

void constant(MadeFile& made, const std::string& name, float value) {
  onnx::AttributeProto& at = *made.node("Constant", {}, {name}).add_attribute();
  at.set_name("value");
  at.set_type(onnx::AttributeProto::TENSOR);
  at.mutable_t()->set_data_type(1);
  at.mutable_t()->add_float_data(value);
}

struct Traced {
  std::vector<float> y;
  std::vector<std::string> ops;
  size_t count(const std::string& op) const { return static_cast<size_t>(std::count(ops.begin(), ops.end(), op)); }
};

Traced traced(MadeFile& made, const std::vector<float>& x, const Shape& shape) {
  const TemporaryDirectory directory;
  made.input("x", shape.vec());
  Strategy strategy("cpu");
  Function f = strategy.function(import_onnx(made.write(directory.path())).take());
  Traced out;
  out.y = f({{"x", Array(x, shape)}}).all().begin()->second.to<float>();
  for (const GraphNode& node : f.graph()) out.ops.push_back(node.op);
  return out;
}

const std::vector<float> kNumbers = {-7, -3, -1.5f, -0.25f, 0, 0.5f, 2, 2.9f, 3.5f, 40};

void expect_near(const std::vector<float>& y, double (*of)(double)) {
  ASSERT_EQ(y.size(), kNumbers.size());
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], of(kNumbers[i]), 2e-6) << "at " << kNumbers[i];
}

TEST(OnnxSpelledOut, TimesItsSigmoidIsSilu) {
  for (const bool first : {true, false}) {
    MadeFile made;
    made.node("Sigmoid", {"x"}, {"s"});
    made.node("Mul", first ? std::vector<std::string>{"s", "x"} : std::vector<std::string>{"x", "s"}, {"y"});
    made.output("y", {10});
    const Traced t = traced(made, kNumbers, {10});
    expect_near(t.y, [](double x) { return x / (1 + std::exp(-x)); });
    EXPECT_EQ(t.count("mul"), 0);
  }
}

TEST(OnnxSpelledOut, TimesItsHardSigmoidIsHardSwish) {
  MadeFile made;
  onnx::NodeProto& hard = made.node("HardSigmoid", {"x"}, {"s"});
  onnx::AttributeProto& alpha = *hard.add_attribute();
  alpha.set_name("alpha");
  alpha.set_type(onnx::AttributeProto::FLOAT);
  alpha.set_f(1.0f / 6);
  made.node("Mul", {"x", "s"}, {"y"});
  made.output("y", {10});
  const Traced t = traced(made, kNumbers, {10});
  expect_near(t.y, [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); });
  EXPECT_EQ(t.count("mul"), 0);
}

// half: which product 0.5 is a factor of.
TEST(OnnxSpelledOut, TheNormalDistributionTimesItsArgumentIsGelu) {
  for (const bool half_last : {true, false}) {
    MadeFile made;
    constant(made, "root", std::sqrt(2.0f));
    constant(made, "one", 1);
    constant(made, "half", 0.5f);
    made.node("Div", {"x", "root"}, {"t"});
    made.node("Erf", {"t"}, {"e"});
    made.node("Add", {"e", "one"}, {"d"});
    made.node("Mul", {"x", half_last ? "d" : "half"}, {"p"});
    made.node("Mul", {"p", half_last ? "half" : "d"}, {"y"});
    made.output("y", {10});
    const Traced t = traced(made, kNumbers, {10});
    expect_near(t.y, [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); });
    EXPECT_EQ(t.count("activation"), 1);
  }
}

// Another number than sqrt 2, and another argument.
TEST(OnnxSpelledOut, OtherProductsStayWhatTheyAre) {
  MadeFile made;
  constant(made, "two", 2);
  constant(made, "one", 1);
  constant(made, "half", 0.5f);
  made.node("Div", {"x", "two"}, {"t"});
  made.node("Erf", {"t"}, {"e"});
  made.node("Add", {"e", "one"}, {"d"});
  made.node("Mul", {"x", "d"}, {"p"});
  made.node("Mul", {"p", "half"}, {"q"});
  made.node("Sigmoid", {"t"}, {"s"});
  made.node("Mul", {"q", "s"}, {"y"});
  made.output("y", {10});
  expect_near(traced(made, kNumbers, {10}).y,
              [](double x) { return 0.5 * x * (1 + std::erf(x / 2)) / (1 + std::exp(-x / 2)); });
}

// [1, 2, 2] by [2, 3]
TEST(OnnxSpelledOut, AProductAndItsBiasAreOneOp) {
  for (const bool first : {true, false}) {
    MadeFile made;
    made.floats("w", {2, 3}, {1, 0, -1, 2, 1, 0});
    made.floats("bias", {3}, {10, 20, 30});
    made.node("MatMul", {"x", "w"}, {"p"});
    made.node("Add", first ? std::vector<std::string>{"bias", "p"} : std::vector<std::string>{"p", "bias"}, {"y"});
    made.output("y", {1, 2, 3});
    const Traced t = traced(made, {1, 2, 3, 4}, {1, 2, 2});
    EXPECT_EQ(t.y, (std::vector<float>{15, 22, 29, 21, 24, 27}));
    EXPECT_EQ(t.count("dot_bias_act"), 1);
    EXPECT_EQ(t.count("add"), 0);
  }
}

}  // namespace
}  // namespace tenon
