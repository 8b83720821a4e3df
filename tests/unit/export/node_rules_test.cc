// Which ops the exporters can write: composites that have no rule are written as what they are made of, primitives need one.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "export/onnx/onnx_node_rules.h"
#include "export/tensorflow/node_rules.h"
#include "tenon/op/table.h"

namespace tenon {
namespace {

struct Unwritten {
  std::string_view op, why;
};

constexpr Unwritten kByTensorFlow[] = {
    {"random", "it needs the seed and the step, which an exported graph does not have (portable_fit.cc)"},
    {"conv_grad_filter", "the gradient of weights, which answers of a trained model do not need"},
};
constexpr Unwritten kByOnnx[] = {
    {"random", "it needs the seed and the step, which an exported graph does not have (portable_fit.cc)"},
    {"conv_grad_filter", "the gradient of weights, which answers of a trained model do not need"},
    {"atan2", "ONNX has no op for it: Atan alone tells neither quadrants nor signs of zeros"},
};

template <class FindRule>
void expect_rules(std::string_view exporter, std::span<const Unwritten> unwritten, FindRule find_rule) {
  for (const op::Row* row : op::kRows) {
    if (row->level == op::Level::kComposite) continue;
    const bool listed =
        std::any_of(unwritten.begin(), unwritten.end(), [&](const Unwritten& u) { return u.op == row->name; });
    const bool has_rule = find_rule(row->name) != nullptr;
    EXPECT_TRUE(has_rule || listed) << "the primitive '" << row->name << "' has no rule in core/export/" << exporter
                                    << "/rules_*.cc: models that have it cannot be exported";
    EXPECT_FALSE(has_rule && listed) << "'" << row->name << "' has a rule in core/export/" << exporter
                                     << ": this test need not list it";
  }
  for (const Unwritten& u : unwritten) {
    const op::Row* row = op::find(u.op);
    EXPECT_TRUE(row && row->level != op::Level::kComposite) << "'" << u.op << "' is no primitive, yet listed here";
  }
}

template <class... Rules>
void expect_ops(const Rules&... families) {
  const auto expect_known = [](const auto& family) {
    for (const auto& rule : family)
      EXPECT_NE(op::find(rule.op), nullptr) << "a rule for '" << rule.op << "', which is no op";
  };
  (expect_known(families), ...);
}

TEST(NodeRules, WriteEachPrimitiveAsTensorFlowsNodes) {
  expect_rules("tensorflow", kByTensorFlow, tensorflow::find_rule);
}

TEST(NodeRules, WriteEachPrimitiveAsOnnxNodes) { expect_rules("onnx", kByOnnx, onnx::out::find_rule); }

TEST(NodeRules, AreOfOpsOfTheTable) {
  {
    using namespace tensorflow;
    expect_ops(elementwise_rules(), movement_rules(), index_rules(), reduction_rules(), product_rules(),
               network_rules());
  }
  using namespace onnx::out;
  expect_ops(elementwise_rules(), movement_rules(), index_rules(), reduction_rules(), network_rules());
}

}  // namespace
}  // namespace tenon
