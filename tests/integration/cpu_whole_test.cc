// cpu.so takes every op whole in f32: one that fell back to its decomposition would still be right, and slow.
#include <gtest/gtest.h>

#include <cstdlib>

#include "conformance/corpus/corpus.h"
#include "conformance/host/subject.h"

namespace tenon::conformance {
namespace {

bool is_f32(const tenon_graph& graph) {
  const plugin::GraphView view(graph);
  for (uint32_t i = 0; i < view.n_inputs(); ++i) {
    const int32_t dtype = view.value(view.input(i).value).dtype();
    if (plugin::is_float(dtype) && dtype != TENON_F32) return false;
  }
  return true;
}

// A bias of one value for all keys, or one that repeats, whose gradient gathers from many heads.
bool is_left_attention(const plugin::NodeView& node) {
  const bool grad = node.op() == "attention_grad";
  const int q = grad ? 1 : 0, bias = grad ? 6 : 3;
  if (!node.has(bias)) return false;
  const auto b = node.in(bias), queries = node.in(q), keys = node.in(q + 1);
  if (b.dim(3) != keys.dim(1)) return true;
  const bool whole = b.dim(0) == queries.dim(0) && b.dim(1) == queries.dim(2) && b.dim(2) == queries.dim(1);
  return grad && node.flag("dbias") && !whole;
}

// What is left to its decomposition: images of integers, sums over no axis or over such as do not follow each other, and
// some attention.
bool is_left(const plugin::NodeView& node) {
  if (node.op() == "logsumexp") {
    const auto axes = node.list("axes");
    for (size_t i = 1; i < axes.size(); ++i)
      if (axes[i] != axes[i - 1] + 1) return true;
    return axes.empty();
  }
  if (node.op() == "affine_image") return !plugin::is_float(node.in(0).dtype());
  return (node.op() == "attention" || node.op() == "attention_grad") && is_left_attention(node);
}

TEST(Cpu, TakesEveryOpWhole) {
  const char* folder = std::getenv("TENON_PLUGIN_PATH");
  ASSERT_TRUE(folder) << "ctest sets TENON_PLUGIN_PATH to where cpu.so was built";
  Subject subject(std::string(folder) + "/cpu.so", 1);
  int tried = 0, left = 0;
  for (const Case& c : built_in_corpus()) {
    if (c.kind != Case::kOp || !is_f32(*c.whole.graph())) continue;
    const std::vector<Answer> found = answers(subject, subject.device(), *c.whole.graph());
    const plugin::GraphView view(*c.whole.graph());
    for (uint32_t i = 0; i < view.n_nodes(); ++i, ++tried) {
      const bool expected = !is_left(view.node(i));
      left += !expected;
      EXPECT_EQ(found[i].answer == TENON_TAKE, expected)
          << c.op << " '" << c.name << "': " << view.node(i).op() << ": " << found[i].reason;
    }
  }
  EXPECT_GT(tried, 1000);
  EXPECT_GT(left, 0);
}

}  // namespace
}  // namespace tenon::conformance
