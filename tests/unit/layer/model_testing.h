// Runs the graph of a model by the reference, as a device would: floats rounded to their dtype after each node, states
// carried from run to run.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compile/compile.h"
#include "compile/rewrite.h"
#include "conformance/reference/reference.h"
#include "graph/graph.h"
#include "tenon/ops.h"

namespace tenon::model_testing {

using Numbers = std::vector<double>;
using Feeds = std::map<std::string, Numbers>;

// A graph input that a test feeds.
inline Tensor feed(Graph& graph, const std::string& name, const Shape& shape, DType dtype = DType::kF32) {
  return Tensor(&graph, graph.add_input({dtype, shape}, Role::kFeed, name));
}

class Session {
 public:
  // Results of a run are those of `results`, in order. Variables start at their constant or listed first values.
  Session(Graph& graph, const Tensors& results) : wanted_(results.size()) {
    for (const Tensor& r : results) graph.results.push_back({r.id()});
    add_state_results(graph);
    const Status status = verify(graph);
    EXPECT_TRUE(status.ok()) << status.message();
    lowered_ = lower_to_primitives(graph);
    image_ = std::make_unique<GraphImage>(flatten(lowered_));
    for (const Variable& v : lowered_.variables) states_[v.name] = first_value(v);
  }

  std::vector<Numbers> run(const Feeds& feeds = {}) {
    std::vector<reference::Tensor> inputs, results;
    for (const GraphInput& input : lowered_.inputs) inputs.push_back(input_value(input, feeds));
    const std::string error = reference::evaluate_graph(*image_->flat(), inputs, reference::Rounding::kDtype, results);
    EXPECT_EQ(error, "");
    std::vector<Numbers> out;
    for (size_t i = 0; i < results.size(); ++i) {
      Numbers values = results[i].f;
      if (values.empty()) values.assign(results[i].i.begin(), results[i].i.end());
      if (i < wanted_)
        out.push_back(std::move(values));
      else
        states_[lowered_.results[i].name] = std::move(values);
    }
    return out;
  }

  const Numbers& state(const std::string& name) const {
    const auto it = states_.find(name);
    static const Numbers none;
    if (it == states_.end()) ADD_FAILURE() << "no variable '" << name << "'";
    return it == states_.end() ? none : it->second;
  }
  void set_state(const std::string& name, Numbers values) { states_[name] = std::move(values); }

 private:
  Numbers first_value(const Variable& v) const {
    const auto n = static_cast<size_t>(lowered_.type(lowered_.inputs[v.input].value).shape.elements());
    const Initializer& init = v.initializer;
    if (init.kind != Initializer::Kind::kValues)
      return Numbers(n, init.kind == Initializer::Kind::kConstant ? init.a : 0);
    EXPECT_EQ(init.values.size(), n) << v.name;
    return Numbers(init.values.begin(), init.values.end());
  }

  reference::Tensor input_value(const GraphInput& input, const Feeds& feeds) const {
    const Type& type = lowered_.type(input.value);
    reference::Tensor t = reference::zeros(static_cast<int32_t>(type.dtype), type.shape.vec());
    Numbers values;
    const auto fed = feeds.find(input.name);
    if (fed != feeds.end())
      values = fed->second;
    else if (input.role == Role::kState)
      values = states_.at(input.name);
    else
      values.assign(1, input.scalar);
    EXPECT_EQ(values.size(), static_cast<size_t>(type.shape.elements())) << input.name;
    if (is_float(type.dtype))
      t.f = values;
    else
      t.i.assign(values.begin(), values.end());
    reference::round_to_dtype(t);
    return t;
  }

  size_t wanted_;
  Graph lowered_;
  std::unique_ptr<GraphImage> image_;
  std::map<std::string, Numbers> states_;
};

// The message of the Error that `build` throws; fails the test when it throws none.
template <class Build>
std::string error_of(Build build) {
  try {
    build();
  } catch (const Error& e) {
    return e.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

// The numbers that the golden files are made with, by flat index.
inline Numbers golden_input(int64_t n) {
  Numbers out;
  for (int64_t i = 0; i < n; ++i) out.push_back(static_cast<double>((7 * i) % 11 - 5) / 4);
  return out;
}
inline Initializer golden_kernel(const Shape& shape) {
  std::vector<float> values;
  for (int64_t i = 0; i < shape.elements(); ++i) values.push_back(static_cast<float>((5 * i) % 7 - 3) / 8);
  return values_initializer(values);
}
inline Initializer golden_bias(const Shape& shape) {
  std::vector<float> values;
  for (int64_t i = 0; i < shape.elements(); ++i) values.push_back(static_cast<float>((3 * i) % 5 - 2) / 10);
  return values_initializer(values);
}

}  // namespace tenon::model_testing
