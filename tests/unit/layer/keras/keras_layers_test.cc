// Every layer of tests/fixtures/layers.csv, layers_attention.csv and layers_keras2.csv: outputs, gradients by inputs and weights, the weights' names and shapes.
#include <gtest/gtest.h>

#include <iostream>

#include "op/op.h"
#include "tenon/gradients.h"
#include "tenon/masking.h"
#include "tenon/ops.h"
#include "unit/layer/golden.h"
#include "unit/layer/keras/keras_layers.h"
#include "unit/layer/model_testing.h"

namespace tenon {
namespace {

using golden::Numbers;
using golden::Row;
using model_testing::feed;
using model_testing::Session;

Numbers counted(int64_t n, const std::function<double(int64_t)>& formula) {
  Numbers out;
  for (int64_t i = 0; i < n; ++i) out.push_back(formula(i));
  return out;
}

double of_loss(int64_t i) { return static_cast<double>((3 * i) % 7 - 2) / 4; }

Numbers input_numbers(int64_t n, int64_t k, bool whole) {
  return counted(n, [=](int64_t i) {
    return whole ? static_cast<double>(i % 5) : (static_cast<double>((37 * (i + 17 * k)) % 101) - 50.5) / 40;
  });
}

Numbers weight_numbers(const std::string& name, int64_t n) {
  const bool low = name.ends_with("/bias") || name.ends_with("/beta");
  return counted(n, [=](int64_t i) {
    return low ? static_cast<double>((3 * i) % 5 - 2) / 10 : static_cast<double>((5 * i) % 7 - 3) / 8;
  });
}

struct Case {
  std::string name, inputs;
  std::vector<Row> rows;  // of one case
};

std::vector<Case> cases() {
  std::vector<Case> out;
  std::vector<Row> rows = golden::rows("../fixtures/layers.csv");
  for (const char* more : {"../fixtures/layers_attention.csv", "../fixtures/layers_keras2.csv"})
    for (const Row& row : golden::rows(more)) rows.push_back(row);
  for (const Row& row : rows) {
    if (out.empty() || out.back().name != row.at("case") || out.back().inputs != row.at("inputs"))
      out.push_back({row.at("case"), row.at("inputs"), {}});
    out.back().rows.push_back(row);
  }
  return out;
}

Tensor loss_of(const Tensors& ys) {
  Tensor loss;
  for (const Tensor& y : ys) {
    const Numbers weights = counted(y.elements(), of_loss);
    const std::vector<float> narrow(weights.begin(), weights.end());
    const std::string_view bytes(reinterpret_cast<const char*>(narrow.data()), narrow.size() * sizeof(float));
    const Tensor term = reduce_sum(y * constant(*y.graph(), {DType::kF32, y.shape()}, bytes));
    loss = loss ? loss + term : term;
  }
  return loss;
}

// Sets which steps of x count, where the call of a case has a mask.
void give_mask(Tensor x) {
  const Numbers counts =
      counted(x.dim(0) * x.dim(1), [](int64_t i) { return static_cast<double>((5 * i + 3) % 7 > 2); });
  set_mask(x, constant(Array(std::vector<float>(counts.begin(), counts.end()), {x.dim(0), x.dim(1)})));
}

// What a row holds: an output, or what the gradient is by.
Tensor subject(Graph& graph, const Row& row, const Tensors& xs, const Tensors& ys) {
  const std::string& name = row.at("name");
  if (row.at("part") == "output") return ys.at(static_cast<size_t>(std::stoi(name)));
  if (name.starts_with("input ")) return xs.at(static_cast<size_t>(std::stoi(name.substr(6))));
  const Variable* v = graph.find_variable(name);
  return v ? Tensor(&graph, graph.inputs[static_cast<size_t>(v->input)].value) : Tensor();
}

void check_layer(const Case& c, const golden::Call& layer) {
  Graph graph;
  const Building building(graph);
  const std::string& call = c.rows[0].at("call");
  graph.mode = call.find("training") != std::string::npos ? Mode::kTrain : Mode::kEval;
  const bool whole = c.inputs.starts_with("int ");
  Tensors xs;
  model_testing::Feeds feeds;
  std::istringstream shapes(whole ? c.inputs.substr(4) : c.inputs);
  for (std::string text; shapes >> text;) {
    const std::string name = "x" + std::to_string(xs.size());
    const Shape shape(golden::integers(text));
    feeds[name] = input_numbers(shape.elements(), static_cast<int64_t>(xs.size()), whole);
    xs.push_back(feed(graph, name, shape, whole ? DType::kI32 : DType::kF32));
  }
  if (call.find("mask=mask") != std::string::npos || call.find("mask=[mask") != std::string::npos)
    for (const Tensor& x : xs)
      if (x.dim(1) == xs[0].dim(1)) give_mask(x);
  const Tensors ys = layer(xs);
  Tensors wanted, by;
  size_t outputs = 0;
  for (const Row& row : c.rows) {
    const Tensor t = subject(graph, row, xs, ys);
    ASSERT_TRUE(t) << "no variable " << row.at("name");
    EXPECT_EQ(t.shape().vec(), golden::integers(row.at("shape"))) << row.at("name");
    const bool is_output = row.at("part") == "output";
    outputs += is_output;
    (is_output ? wanted : by).push_back(t);
  }
  EXPECT_EQ(ys.size(), outputs);
  for (const Tensor& g : gradients(loss_of(ys), by)) {
    ASSERT_TRUE(g);
    wanted.push_back(g);
  }
  Session session(graph, wanted);
  for (const Variable& v : graph.variables) {
    const Type& type = graph.type(graph.inputs[static_cast<size_t>(v.input)].value);
    if (v.trainable) session.set_state(v.name, weight_numbers(v.name, type.shape.elements()));
  }
  const std::vector<Numbers> found = session.run(feeds);
  for (size_t i = 0; i < c.rows.size(); ++i) {
    SCOPED_TRACE(c.rows[i].at("part") + " " + c.rows[i].at("name"));
    golden::expect_near(found[i], golden::numbers(c.rows[i].at("values")), 1e-5);
  }
}

TEST(KerasLayers, GiveKerasOutputsAndGradients) {
  int tried = 0, right = 0;
  std::string wrong;
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name + " of " + c.inputs);
    auto layer = golden::keras_layers().find(c.name + " @ " + c.inputs);
    if (layer == golden::keras_layers().end()) layer = golden::keras_layers().find(c.name);
    ++tried;
    const int failures = ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
    if (layer == golden::keras_layers().end())
      ADD_FAILURE() << "no such layer";
    else
      check_layer(c, layer->second);
    if (::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count() == failures)
      ++right;
    else
      wrong += "\n  " + c.name;
  }
  std::cout << tried << " layers of Keras tried, " << right << " right" << (wrong.empty() ? "" : "; wrong:") << wrong
            << "\n";
  EXPECT_EQ(tried, 133);
}

}  // namespace
}  // namespace tenon
