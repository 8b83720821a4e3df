// Gradient cases against central differences of their forward graphs, both in f64 without rounding.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "conformance/corpus/corpus.h"
#include "op/op.h"
#include "tenon/plugin/graph.h"

namespace tenon::conformance {
namespace {

using Tensors = std::vector<reference::Tensor>;

Tensors evaluated(const plugin::FlatGraph& graph, const Tensors& inputs) {
  Tensors results;
  EXPECT_EQ(reference::evaluate_graph(*graph.graph(), inputs, reference::Rounding::kExact, results), "");
  return results;
}

Tensors inputs_of_case(const Case& c) {
  const plugin::GraphView view(*c.lowered.graph());
  Tensors out;
  for (uint32_t i = 0; i < view.n_inputs(); ++i) {
    const plugin::ValueView v = view.value(view.input(i).value);
    out.push_back(make_tensor(v.dtype(), v.dims().vec(), c.inputs[i]));
  }
  return out;
}

void expect_central_differences(const Case& c) {
  Tensors inputs = inputs_of_case(c);
  const Tensors gradients = evaluated(c.lowered, inputs);
  const auto loss_at = [&](double& x, double value) {
    const double saved = x;
    x = value;
    const double y = evaluated(c.forward, inputs).at(0).f.at(0);
    x = saved;
    return y;
  };
  for (size_t k = 0; k < gradients.size(); ++k) {
    ASSERT_EQ(gradients[k].dims, inputs[k].dims) << c.op << " '" << c.name << "'";
    ASSERT_EQ(gradients[k].dtype, inputs[k].dtype);
    std::vector<double>& x = inputs[k].f;
    for (size_t e = 0; e < x.size(); e += std::max<size_t>(1, x.size() / 10)) {
      constexpr double kStep = 1e-5;
      const double expected = (loss_at(x[e], x[e] + kStep) - loss_at(x[e], x[e] - kStep)) / (2 * kStep);
      // Constants have the graph's dtype: 2 / sqrt(pi) in bf16.
      const double tolerance = inputs[k].dtype == TENON_BF16 ? 4e-3 : 2e-6;
      EXPECT_NEAR(gradients[k].f[e], expected, tolerance * std::max(1.0, std::fabs(expected)))
          << c.op << " '" << c.name << "' input " << k << " element " << e;
    }
  }
}

TEST(CorpusGradients, AreCentralDifferences) {
  for (const Case& c : built_in_corpus())
    if (c.kind == Case::kGradient) expect_central_differences(c);
}

TEST(CorpusGradients, AreThereForEveryOpThatHasOne) {
  std::set<std::string> found;
  for (const Case& c : built_in_corpus())
    if (c.kind == Case::kGradient) found.insert(c.op);
  for (const OpDef* op : all_ops()) EXPECT_TRUE(!op->gradient || found.count(std::string(op->name))) << op->name;
}

}  // namespace
}  // namespace tenon::conformance
