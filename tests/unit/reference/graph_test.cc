#include <algorithm>

#include "unit/reference/node.h"

namespace tenon::reference {
namespace {

using plugin::FlatGraph;
using plugin::GraphBuilder;

std::vector<Tensor> run(const FlatGraph& flat, const std::vector<Tensor>& inputs, Rounding rounding) {
  std::vector<Tensor> results;
  EXPECT_EQ(evaluate_graph(*flat.graph(), inputs, rounding, results), "");
  return results;
}

// y = (x + 0.1) * rate, z = x + 0.1, all bf16
FlatGraph affine() {
  GraphBuilder b;
  const uint16_t tenth = 0x3DCD;  // 0.10009765625
  const uint32_t x = b.input(TENON_BF16, {2}, TENON_ROLE_FEED);
  const uint32_t rate = b.input(TENON_BF16, {}, TENON_ROLE_SCALAR);
  const uint32_t c = b.constant(TENON_BF16, {2}, &tenth, 2);
  const uint32_t z = b.value(TENON_BF16, {2}), y = b.value(TENON_BF16, {2});
  b.node("add", {x, c}, {z}).name("z");
  b.node("mul", {z, rate}, {y}).name("y");
  b.result(y);
  b.result(z);
  return b.build();
}

TEST(Graph, ExactKeepsEveryBitAndDtypeRoundsOnceANode) {
  const std::vector<Tensor> inputs = {floats({2}, {1, 256}, TENON_BF16), floats({}, {3}, TENON_BF16)};
  const std::vector<Tensor> exact = run(affine(), inputs, Rounding::kExact);
  expect_floats(exact[1], {1.10009765625, 256.10009765625});
  expect_floats(exact[0], {3 * 1.10009765625, 3 * 256.10009765625});
  const std::vector<Tensor> rounded = run(affine(), inputs, Rounding::kDtype);
  expect_floats(rounded[1], {1.1015625, 256});
  expect_floats(rounded[0], {3.3125, 768});  // 3.3046875 = 211.5/64 goes to the even 212/64
}

TEST(Graph, ConstantsAreDenseOrOneElementForAll) {
  GraphBuilder b;
  const int32_t dense[] = {1, 2, 3}, one = 7;
  b.result(b.constant(TENON_I32, {3}, dense, sizeof dense));
  b.result(b.constant(TENON_I32, {2, 2}, &one, sizeof one));
  const std::vector<Tensor> results = run(b.build(), {}, Rounding::kDtype);
  EXPECT_EQ(results[0].i, (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(results[1].i, (std::vector<int64_t>{7, 7, 7, 7}));
}

TEST(Graph, AnInputMayBeAResult) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_F32, {1}, TENON_ROLE_STATE);
  b.result(x, TENON_MODE_LAST, 1);
  expect_floats(run(b.build(), {floats({1}, {4})}, Rounding::kDtype)[0], {4});
}

TEST(Graph, EveryPrimitiveIsNamed) {
  const std::vector<std::string_view> names = primitives();
  EXPECT_EQ(names.size(), 44u);
  EXPECT_TRUE(is_primitive("conv_grad_filter"));
  EXPECT_FALSE(is_primitive("softmax"));
  EXPECT_EQ(std::count(names.begin(), names.end(), "constant"), 1);
}

TEST(Graph, ACompositeIsRefusedByName) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_F32, {2}, TENON_ROLE_FEED), y = b.value(TENON_F32, {2});
  b.node("softmax", {x}, {y}).name("head/probabilities");
  b.result(y);
  std::vector<Tensor> results;
  const FlatGraph flat = b.build();
  EXPECT_EQ(evaluate_graph(*flat.graph(), {floats({2}, {1, 2})}, Rounding::kDtype, results),
            "softmax 'head/probabilities': is no primitive of this version");
}

TEST(Graph, WrongShapesAreErrorsNotReads) {
  std::vector<Tensor> out;
  EXPECT_EQ(Node("neg", {floats({2}, {1, 2})}).result(TENON_F32, {3}).evaluate(out),
            "neg 'n': result 0 is declared f32[3], found f32[2]");
  EXPECT_EQ(Node("add", {floats({2}, {1, 2})}).result(TENON_F32, {2}).evaluate(out),
            "add 'n': has 1 operands and 1 tensors, expected 2");
  EXPECT_EQ(Node("neg", {floats({2}, {1})}).result(TENON_F32, {2}).evaluate(out),
            "neg 'n': operand 0 holds 1 elements, expected 2");
  Node slice("slice", {floats({2}, {1, 2})});
  slice.list("start", {0}).list("limit", {3}).list("stride", {1}).result(TENON_F32, {3});
  EXPECT_EQ(slice.evaluate(out), "slice 'n': bad slice bounds");
  Node transpose("transpose", {floats({1, 2}, {1, 2})});
  EXPECT_EQ(transpose.list("perm", {1, 1}).result(TENON_F32, {2, 2}).evaluate(out),
            "transpose 'n': perm must name each axis once");
  Node iota("iota", {});
  iota.list("shape", {0}).dtype("dtype", TENON_I32).result(TENON_I32, {1});
  EXPECT_EQ(iota.evaluate(out), "iota 'n': a dimension is 0, expected at least 1");
}

TEST(Graph, InputsMustMatchTheirDeclaration) {
  std::vector<Tensor> results;
  const FlatGraph flat = affine();
  EXPECT_EQ(evaluate_graph(*flat.graph(), {}, Rounding::kExact, results), "the graph has 2 inputs, given 0");
  EXPECT_EQ(
      evaluate_graph(*flat.graph(), {floats({2}, {1, 2}), floats({}, {1}, TENON_BF16)}, Rounding::kExact, results),
      "input 0 is declared bf16[2], found f32[2]");
}

}  // namespace
}  // namespace tenon::reference
