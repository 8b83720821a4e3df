// Whole messages of a TPU's compiler, as users have seen them (TensorFlow's texts with Tenon's node names).
#include "rules.h"

#include <gtest/gtest.h>

#include "tenon/plugin/graph_builder.h"

namespace {

using tenon::plugin::FlatGraph;
using tenon::plugin::GraphBuilder;
using tenon::plugin::GraphView;
using tenon::plugin::NodeView;

std::string message_of(const FlatGraph& graph) { return tpu::refusal_of(GraphView(*graph.graph()).node(0)); }

TEST(Rules, OpWithoutKernelIsNamedAsTensorFlowNamesIt) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_F32, {8, 28, 28, 1}, TENON_ROLE_FEED),
                 t = b.input(TENON_F32, {8, 8}, TENON_ROLE_FEED);
  const uint32_t y = b.value(TENON_F32, {8, 28, 28, 1});
  b.node("affine_image", {x, t}, {y}).name("augment/rotate");
  b.result(y);
  EXPECT_EQ(
      message_of(b.build()),
      "Compilation failure: Detected unsupported operations when trying to compile graph tenon_step[] on "
      "XLA_TPU_JIT: ImageProjectiveTransformV3 (No registered 'ImageProjectiveTransformV3' OpKernel for XLA_TPU_JIT "
      "devices compatible with node {{node augment/rotate}})\n"
      "    One approach is to outside compile the unsupported ops to run on CPUs by enabling soft placement "
      "(--soft_placement). This has a potential performance penalty.\n"
      "    TPU compilation failed");
}

TEST(Rules, LaterSoftwareHasMoreKernels) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_F32, {8, 28, 28, 1}, TENON_ROLE_FEED);
  const uint32_t t = b.input(TENON_F32, {8, 8}, TENON_ROLE_FEED);
  const uint32_t y = b.value(TENON_F32, {8, 28, 28, 1});
  b.node("affine_image", {x, t}, {y}).name("augment/rotate");
  b.result(y);
  const FlatGraph graph = b.build();
  const NodeView node = GraphView(*graph.graph()).node(0);
  EXPECT_NE(tpu::refusal_of(node), "");
  EXPECT_EQ(tpu::refusal_of(node, {"ImageProjectiveTransformV3"}), "");
}

TEST(Rules, RandomCropHasNoKernel) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_F32, {8, 32, 32, 3}, TENON_ROLE_FEED), i = b.input(TENON_I32, {8}, TENON_ROLE_FEED);
  const uint32_t y = b.value(TENON_F32, {8, 28, 28, 3});
  b.node("crop_flip", {x, i, i, TENON_NONE}, {y}).name("crop");
  b.result(y);
  EXPECT_NE(message_of(b.build()).find("RandomCrop (No registered 'RandomCrop' OpKernel"), std::string::npos);
}

TEST(Rules, ImportedOpsKeepTheirNames) {
  for (const std::string op : {"Unique", "DynamicPartition", "PyFunc", "SegmentSum", "StringSplit", "Svd"}) {
    GraphBuilder b;
    const uint32_t x = b.input(TENON_F32, {8}, TENON_ROLE_FEED), y = b.value(TENON_F32, {8});
    b.node("foreign", {x}, {y}).name("n").attr_bytes("origin", op.data(), op.size());
    b.result(y);
    EXPECT_NE(message_of(b.build()).find(op + " (No registered '" + op + "' OpKernel"), std::string::npos) << op;
  }
}

TEST(Rules, ShapeArgumentsAreConstants) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_F32, {8, 4}, TENON_ROLE_FEED), sizes = b.input(TENON_I32, {2}, TENON_ROLE_FEED);
  const uint32_t y = b.value(TENON_F32, {4, 4});
  const std::string op = "SplitV";
  b.node("foreign", {x, sizes}, {y}).name("split").attr_bytes("origin", op.data(), op.size());
  b.result(y);
  EXPECT_EQ(message_of(b.build()),
            "Compilation failure: Input 1 to node `split` with op SplitV must be a compile-time constant.\n"
            "    TPU compilation failed");
}

TEST(Rules, NoDoubleAndNoHalf) {
  for (const auto& [dtype, name] : {std::pair{TENON_F64, "double"}, std::pair{TENON_F16, "half"}}) {
    GraphBuilder b;
    const uint32_t x = b.input(dtype, {8, 4}, TENON_ROLE_FEED), w = b.input(dtype, {4, 2}, TENON_ROLE_STATE);
    const uint32_t y = b.value(dtype, {8, 2});
    b.node("dot", {x, w}, {y}).name("dense/dot");
    b.result(y);
    EXPECT_EQ(message_of(b.build()), std::string("Value for attr 'T' of ") + name +
                                         " is not in the list of allowed values: bfloat16, float32, int32, uint32\n"
                                         "    ; NodeDef: {{node dense/dot}}; Op<name=MatMul>");
  }
}

TEST(Rules, ReplicasSumNoIntegers) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_I32, {8}, TENON_ROLE_FEED), y = b.value(TENON_I32, {8});
  b.node("all_reduce", {x}, {y}).name("count");
  b.result(y);
  EXPECT_EQ(message_of(b.build()),
            "Value for attr 'T' of int32 is not in the list of allowed values: bfloat16, float32\n"
            "    ; NodeDef: {{node count}}; Op<name=CrossReplicaSum>");
}

TEST(Rules, NoBytes) {
  GraphBuilder b;
  const uint32_t x = b.input(TENON_U8, {8, 28, 28, 1}, TENON_ROLE_FEED), y = b.value(TENON_F32, {8, 28, 28, 1});
  b.node("cast", {x}, {y}).name("scale");
  b.result(y);
  EXPECT_EQ(
      message_of(b.build()),
      "Compilation failure: Invalid HLO for TPU: U8 and S8 types are not supported: %scale = u8[8,28,28,1] cast(...)\n"
      "    TPU compilation failed");
}

TEST(Rules, WhatModelsUseIsAllowed) {
  for (const char* op : {"dot", "add", "exp", "reduce", "gather", "scatter", "sort", "all_reduce", "softmax"}) {
    GraphBuilder b;
    const uint32_t x = b.input(TENON_F32, {8, 8}, TENON_ROLE_FEED), y = b.value(TENON_F32, {8, 8});
    b.node(op, {x, x}, {y}).name("n");
    b.result(y);
    EXPECT_EQ(message_of(b.build()), "") << op;
  }
}

}  // namespace
