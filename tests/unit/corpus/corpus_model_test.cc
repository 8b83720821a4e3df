// Training and inference cases, run by the reference.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "conformance/corpus/corpus.h"
#include "tenon/plugin/graph.h"

namespace tenon::conformance {
namespace {

using Tensors = std::vector<reference::Tensor>;

// What is fed in a step; states are kept from the step before.
void feed(const Case& c, const plugin::GraphView& view, uint64_t step, Tensors& inputs) {
  for (uint32_t i = 0; i < view.n_inputs(); ++i) {
    if (step > 0 && view.input(i).role == TENON_ROLE_STATE) continue;
    const plugin::ValueView v = view.value(view.input(i).value);
    inputs[i] = make_tensor(v.dtype(), v.dims().vec(), c.inputs[i], step);
  }
}

// The results of each step but the states; the states at the end in `inputs`.
std::vector<Tensors> run(const Case& c, reference::Rounding rounding, Tensors& inputs, bool same_batch = false) {
  const plugin::GraphView view(*c.lowered.graph());
  inputs.assign(view.n_inputs(), {});
  std::vector<Tensors> steps;
  for (uint32_t k = 0; k < c.steps; ++k) {
    if (k == 0 || !same_batch) feed(c, view, k, inputs);
    Tensors results, others;
    EXPECT_EQ(reference::evaluate_graph(*c.lowered.graph(), inputs, rounding, results), "") << c.op;
    for (uint32_t r = 0; r < view.n_results(); ++r) {
      if (view.result(r).alias)
        inputs[view.result(r).alias - 1] = results[r];
      else
        others.push_back(results[r]);
    }
    steps.push_back(std::move(others));
  }
  return steps;
}

bool finite(const reference::Tensor& x) {
  for (double v : x.f)
    if (!std::isfinite(v)) return false;
  return true;
}

std::string model_name(const Case& c) { return c.op + " '" + c.name + "'"; }

TEST(CorpusModels, LearnTheirFirstBatch) {
  int tried = 0;
  for (const Case& c : built_in_corpus()) {
    if (c.kind != Case::kTraining) continue;
    ++tried;
    Tensors states;
    const std::vector<Tensors> losses = run(c, reference::Rounding::kExact, states, true);
    ASSERT_EQ(losses[0].size(), 1u) << model_name(c);
    EXPECT_EQ(losses[0][0].dims.size(), 0u);
    const double first = losses.front()[0].f[0], last = losses.back()[0].f[0];
    EXPECT_LT(last, first) << model_name(c);
    for (const reference::Tensor& s : states) EXPECT_TRUE(finite(s)) << model_name(c);
  }
  EXPECT_EQ(tried, 13);
}

// What f32 and f64 disagree in after all steps is far below what a wrong update would change.
TEST(CorpusModels, AreNotChaotic) {
  for (const Case& c : built_in_corpus()) {
    if (c.kind != Case::kTraining) continue;
    Tensors exact_states, states;
    const std::vector<Tensors> exact = run(c, reference::Rounding::kExact, exact_states),
                               rounded = run(c, reference::Rounding::kDtype, states);
    for (uint32_t k = 0; k < c.steps; ++k)
      EXPECT_NEAR(rounded[k][0].f[0], exact[k][0].f[0], 1e-4) << model_name(c) << " step " << k;
  }
}

TEST(CorpusModels, InferFiniteNumbers) {
  std::set<std::string> trained, inferred;
  for (const Case& c : built_in_corpus()) {
    if (c.kind == Case::kTraining) trained.insert(model_name(c));
    if (c.kind != Case::kInference) continue;
    inferred.insert(model_name(c));
    Tensors inputs;
    const std::vector<Tensors> results = run(c, reference::Rounding::kDtype, inputs);
    ASSERT_FALSE(results[0].empty());
    for (const reference::Tensor& t : results[0]) EXPECT_TRUE(finite(t)) << model_name(c);
  }
  EXPECT_EQ(trained, inferred);
}

// Ten steps of an update change what they should, and nothing where the gate is closed.
TEST(CorpusUpdates, AliasEveryResult) {
  for (const Case& c : built_in_corpus()) {
    if (c.kind != Case::kUpdate) continue;
    EXPECT_EQ(c.steps, 10u);
    const plugin::GraphView view(*c.whole.graph());
    uint32_t states = 0;
    for (uint32_t i = 0; i < view.n_inputs(); ++i) states += view.input(i).role == TENON_ROLE_STATE;
    EXPECT_EQ(states, view.n_results()) << model_name(c);
    for (uint32_t r = 0; r < view.n_results(); ++r) EXPECT_NE(view.result(r).alias, 0u) << model_name(c);
    Tensors inputs, first(view.n_inputs());
    feed(c, view, 0, first);
    run(c, reference::Rounding::kDtype, inputs);
    EXPECT_NE(inputs[0].f, first[0].f) << model_name(c);
    EXPECT_TRUE(finite(inputs[0])) << model_name(c);
  }
}

}  // namespace
}  // namespace tenon::conformance
