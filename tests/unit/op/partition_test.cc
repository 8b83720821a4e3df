// partition(): which parts there are, what crosses between them, and where states are updated.
#include "compile/partition.h"

#include <algorithm>

#include "tenon/variables.h"
#include "unit/op/op_testing.h"

namespace tenon {
namespace {

// A graph of x f32[2,3], whose nodes of some ops move.
class Cut {
 public:
  using Function = std::function<Tensors(Tensor x)>;
  explicit Cut(const Function& function, const std::string& op = "tanh", int replicas = 1) {
    graph_.replicas = replicas;
    const Tensor x(&graph_, graph_.add_input({DType::kF32, {2, 3}}, Role::kFeed, "x"));
    graph_.inputs[0].split = replicas > 1;
    for (const Tensor& result : function(x)) graph_.results.push_back({result.id(), ResultMode::kLast, -1, false, "r"});
    for (const Variable& v : graph_.variables)
      if (v.next != kAbsent) graph_.results.push_back({v.next, ResultMode::kLast, v.input, false, v.name});
    std::vector<bool> moved;
    for (const Node& node : graph_.nodes) moved.push_back(node.op == op);
    found_ = partition(graph_, {.moved = std::move(moved)});
  }

  const Status& status() const { return found_.status(); }
  const std::vector<GraphPart>& parts() const { return *found_; }
  // "+neg+exp tanh neg": the ops of each part; + before those of one that moved.
  std::string text() const {
    std::string out;
    for (const GraphPart& part : parts()) {
      out += out.empty() ? "" : " ";
      out += part.kind == PartKind::kDevice ? "" : "+";
      for (size_t i = 0; i < part.graph.nodes.size(); ++i) out += (i ? "," : "") + part.graph.nodes[i].op;
    }
    return out;
  }
  std::vector<std::string> inputs(size_t part) const {
    std::vector<std::string> out;
    for (const GraphInput& input : parts()[part].graph.inputs) out.push_back(input.name);
    return out;
  }
  int updates_in_place(size_t part) const {
    const auto& results = parts()[part].graph.results;
    return static_cast<int>(
        std::count_if(results.begin(), results.end(), [](const Output& r) { return r.alias >= 0; }));
  }

 private:
  Graph graph_;
  Result<std::vector<GraphPart>> found_ = Status(Code::kInternal, "");
};

using Names = std::vector<std::string>;

TEST(Partition, NodesOfOneSideThatNeedNothingOfTheOtherAreOnePart) {
  const Cut cut([](Tensor x) { return Tensors{add(neg(exp(x)), tanh(x))}; });
  EXPECT_EQ(cut.text(), "+tanh exp,neg,add");
  EXPECT_EQ(cut.inputs(0), Names{"x"});
  EXPECT_EQ(cut.inputs(1), (Names{"x", "tanh:0"}));
}

TEST(Partition, HasTheFewestParts) {
  // Beginning on the device: neg, tanh, exp, tanh, abs. On the host there would be one more.
  const Cut cut([](Tensor x) { return Tensors{abs(tanh(exp(tanh(neg(x))))), tanh(exp(x))}; });
  EXPECT_EQ(cut.text(), "neg,exp +tanh,tanh exp +tanh abs");
}

TEST(Partition, AValueCrossesOnceForAllThatReadIt) {
  const Cut cut([](Tensor x) {
    const Tensor y = tanh(neg(x)), raised = exp(y);
    return Tensors{add(raised, abs(y)), y};
  });
  EXPECT_EQ(cut.text(), "neg +tanh exp,abs,add");
  EXPECT_EQ(cut.parts()[1].gives.size(), 1u);
  EXPECT_EQ(cut.inputs(2), Names{"tanh:0"});
}

TEST(Partition, EachPartHasItsOwnConstants) {
  const Cut cut([](Tensor x) {
    const Tensor two = full_like(x, 2);
    return Tensors{mul(tanh(mul(x, two)), two)};
  });
  for (const GraphPart& part : cut.parts()) EXPECT_LE(part.takes.size(), 2u) << "a constant is no input";
  EXPECT_EQ(cut.inputs(2), Names{"tanh:0"});
}

Tensor state(Tensor x) { return variable(x, "s", {2, 3}, zeros(), false); }

TEST(Partition, AStateIsUpdatedInPlaceWhereNothingReadsItLater) {
  const Cut cut([](Tensor x) {
    const Tensor s = state(x);
    assign(s, add(s, tanh(neg(x))));
    return Tensors{s};
  });
  ASSERT_EQ(cut.parts().size(), 3u);
  EXPECT_EQ(cut.updates_in_place(2), 1);
}

TEST(Partition, AStateThatALaterPartReadsIsNotUpdatedInPlace) {
  const Cut cut([](Tensor x) {
    const Tensor s = state(x);
    assign(s, exp(s));
    return Tensors{add(s, tanh(neg(x)))};
  });
  ASSERT_EQ(cut.parts().size(), 3u);
  for (size_t p = 0; p < 3; ++p) EXPECT_EQ(cut.updates_in_place(p), 0) << p;
  EXPECT_EQ(cut.parts()[0].gives.size(), 2u);  // what tanh takes, and the next value
}

TEST(Partition, AStateThatAMovedNodeMakesIsAResult) {
  const Cut cut([](Tensor x) {
    const Tensor s = state(x);
    assign(s, tanh(s));
    return Tensors{neg(x)};
  });
  EXPECT_EQ(cut.text(), "neg +tanh");
  EXPECT_EQ(cut.updates_in_place(1), 0);
  EXPECT_EQ(cut.parts()[1].gives.size(), 1u);
}

TEST(Partition, ResultsThatNoNodeMakesAreOfTheDevice) {
  const Cut cut([](Tensor x) { return Tensors{tanh(x), x}; });
  EXPECT_EQ(cut.text(), "+tanh ");
  EXPECT_EQ(cut.parts()[1].gives, std::vector<ValueId>{0});
}

TEST(Partition, WhatUnitsDifferInIsSplitBetweenPartsAScalarAsOneElement) {
  const Cut cut([](Tensor x) { return Tensors{neg(tanh(reduce_sum(x)))}; }, "tanh", 4);
  EXPECT_EQ(cut.text(), "reduce,reshape +tanh reshape,neg,reshape");
  const GraphPart &before = cut.parts()[0], &moved = cut.parts()[1], &behind = cut.parts()[2];
  EXPECT_TRUE(before.graph.results[0].split);
  EXPECT_EQ(before.graph.type(before.graph.results[0].value).shape, Shape({1}));
  EXPECT_EQ(moved.graph.replicas, 1);
  EXPECT_FALSE(moved.graph.inputs[0].split);
  EXPECT_EQ(moved.graph.type(moved.graph.inputs[0].value).shape, Shape());
  EXPECT_TRUE(behind.graph.inputs[0].split);
}

TEST(Partition, PartsAreGraphsThatVerify) {
  const Cut cut([](Tensor x) {
    const Tensor s = state(x);
    assign(s, add(s, tanh(neg(x))));
    return Tensors{abs(tanh(exp(tanh(neg(s)))))};
  });
  for (const GraphPart& part : cut.parts()) {
    EXPECT_TRUE(verify(part.graph).ok()) << verify(part.graph).message();
    EXPECT_EQ(part.takes.size(), part.graph.inputs.size());
    EXPECT_EQ(part.gives.size(), part.graph.results.size());
  }
}

}  // namespace
}  // namespace tenon
