// Every layer against tests/golden/layers.csv (shapes, parameters, variables) and layer_values.csv (numbers).
#include <gtest/gtest.h>

#include <numeric>

#include "base/strings.h"
#include "op/op.h"
#include "tenon/gradients.h"
#include "tenon/layers.h"
#include "unit/layer/golden.h"
#include "unit/layer/golden/golden_layers.h"
#include "unit/layer/model_testing.h"

namespace tenon {
namespace {

using model_testing::feed;
using model_testing::golden_input;
using model_testing::Numbers;
using model_testing::Session;

std::string variable_list(const Graph& graph) {
  std::vector<std::string> out;
  for (const Variable& v : graph.variables) {
    if (v.kind != VariableKind::kWeight) continue;
    out.push_back(cat(v.name.substr(v.name.rfind('/') + 1), "(",
                      join(graph.type(graph.inputs[v.input].value).shape.vec(), ","), ")"));
  }
  return join(out, " ");
}

int64_t parameters(const Graph& graph, bool trainable_only) {
  int64_t sum = 0;
  for (const Variable& v : graph.variables)
    if (v.kind == VariableKind::kWeight && (v.trainable || !trainable_only))
      sum += graph.type(graph.inputs[v.input].value).shape.elements();
  return sum;
}

TEST(Layers, HaveKerasShapesParametersAndVariables) {
  int seen = 0;
  for (const golden::Row& row : golden::rows("layers.csv")) {
    const std::string& name = row.at("layer");
    SCOPED_TRACE(name);
    const auto layer = golden::layers().find(name);
    EXPECT_NE(layer != golden::layers().end(), golden::is_absent(name));
    if (layer == golden::layers().end()) continue;
    Graph graph;
    const Tensor y = layer->second(feed(graph, "x", Shape(golden::integers(row.at("input")))));
    EXPECT_EQ(y.shape().vec(), golden::integers(row.at("output")));
    EXPECT_EQ(std::to_string(parameters(graph, false)), row.at("params"));
    EXPECT_EQ(std::to_string(parameters(graph, true)), row.at("trainable"));
    EXPECT_EQ(variable_list(graph), row.at("weights"));
    ++seen;
  }
  EXPECT_EQ(seen, 86);
}

Numbers input_of(const std::string& layer, int64_t elements) {
  if (layer.find("on ids") != std::string::npos) return {1, 4};
  if (layer.find("input 0..15") == std::string::npos) return golden_input(elements);
  Numbers counted(static_cast<size_t>(elements));
  std::iota(counted.begin(), counted.end(), 0);
  return counted;
}

TEST(Layers, GiveKerasNumbers) {
  int seen = 0;
  for (const golden::Row& row : golden::rows("layer_values.csv")) {
    const std::string& name = row.at("case");
    SCOPED_TRACE(name);
    const auto layer = golden::layers().find(name);
    const bool is_batch_norm = name.find("BatchNormalization") != std::string::npos || name.find("  its") == 0;
    EXPECT_NE(layer != golden::layers().end(), golden::is_absent(name) || is_batch_norm);
    if (layer == golden::layers().end()) continue;
    Graph graph;
    const Tensor x = feed(graph, "x", Shape(golden::integers(row.at("input"))));
    const Tensor y = layer->second(x);
    EXPECT_EQ(y.shape().vec(), golden::integers(row.at("output")));
    Session session(graph, {y});
    golden::expect_near(session.run({{"x", input_of(name, x.elements())}})[0], golden::numbers(row.at("values")), 1e-6);
    ++seen;
  }
  EXPECT_EQ(seen, 66);
}

Numbers golden_values(const std::string& name) {
  for (const golden::Row& row : golden::rows("layer_values.csv"))
    if (row.at("case") == name) return golden::numbers(row.at("values"));
  ADD_FAILURE() << "no row '" << name << "'";
  return {};
}

Numbers moving(const Session& s) {
  Numbers out = s.state("batch_normalization/moving_mean");
  const Numbers& variance = s.state("batch_normalization/moving_variance");
  out.insert(out.end(), variance.begin(), variance.end());
  return out;
}

Session batch_norm_session(Graph& graph, const Shape& shape, Mode mode) {
  graph.mode = mode;
  const Tensor x = feed(graph, "x", shape);
  return Session(graph, {batch_normalization(x)});
}

TEST(BatchNormalization, UsesBatchMomentsAndMovesTheAveragesWhileTraining) {
  Graph train;
  Session session = batch_norm_session(train, {4, 2}, Mode::kTrain);
  golden::expect_near(session.run({{"x", golden_input(8)}})[0], golden_values("BatchNormalization() training"), 2e-6);
  golden::expect_near(moving(session), golden_values("  its moving_mean moving_variance after"), 1e-6);
}

TEST(BatchNormalization, UsesTheMovingAveragesOtherwise) {
  Graph train, predict;
  Session session = batch_norm_session(train, {4, 2}, Mode::kTrain);
  session.run({{"x", golden_input(8)}});
  Session inference = batch_norm_session(predict, {4, 2}, Mode::kPredict);
  for (const char* name : {"batch_normalization/moving_mean", "batch_normalization/moving_variance"})
    inference.set_state(name, session.state(name));
  golden::expect_near(inference.run({{"x", golden_input(8)}})[0],
                      golden_values("BatchNormalization() inference after that step"), 2e-6);
}

TEST(BatchNormalization, TakesMomentsOverImagesWithThePopulationVariance) {
  Graph train;
  Session session = batch_norm_session(train, {2, 2, 2, 2}, Mode::kTrain);
  golden::expect_near(session.run({{"x", golden_input(16)}})[0], golden_values("BatchNormalization() training rank 4"),
                      2e-6);
  golden::expect_near(moving(session), golden_values("  its moving_mean moving_variance after "), 1e-6);
}

TEST(BatchNormalization, MovesTheAveragesAgainInTheSecondStep) {
  Graph train;
  Session session = batch_norm_session(train, {4, 2}, Mode::kTrain);
  session.run({{"x", golden_input(8)}});
  Numbers second;  // channels 0 1 2 3 and 10 10 20 20: means 1.5 and 15, variances 1.25 and 25
  for (int i = 0; i < 4; ++i) second.insert(second.end(), {double(i), i < 2 ? 10.0 : 20.0});
  session.run({{"x", second}});
  const Numbers first = golden_values("  its moving_mean moving_variance after");
  golden::expect_near(
      moving(session),
      {0.99 * first[0] + 0.015, 0.99 * first[1] + 0.15, 0.99 * first[2] + 0.0125, 0.99 * first[3] + 0.25}, 1e-6);
}

TEST(BatchNormalization, IsFrozenWhenNotTrainable) {
  Graph graph;
  const Tensor x = feed(graph, "x", {2, 1});
  Session session(graph, {batch_normalization(x, {.epsilon = 0, .trainable = false})});
  session.set_state("batch_normalization/moving_mean", {1});
  session.set_state("batch_normalization/moving_variance", {4});
  golden::expect_near(session.run({{"x", {1, 5}}})[0], {0, 2}, 1e-6);
  EXPECT_EQ(session.state("batch_normalization/moving_mean"), Numbers{1});
  for (const Variable& v : graph.variables) EXPECT_FALSE(v.trainable) << v.name;
}

TEST(BatchNormalization, KeepsItsNumbersInF32BesideSixteenBits) {
  Graph graph;
  const Tensor x = feed(graph, "x", {4, 2}, DType::kBF16);
  Session session(graph, {batch_normalization(x)});
  session.run({{"x", golden_input(8)}});
  golden::expect_near(moving(session), golden_values("  its moving_mean moving_variance after"), 1e-6);
}

TEST(LayerNormalization, TakesAxesThatAreNotTheLast) {
  Graph graph;
  const Tensor x = feed(graph, "x", {1, 2, 3});
  Session session(graph, {layer_normalization(x, {.axes = {1}, .epsilon = 0})});
  // pairs (1, 3), (2, 2.5), (-1, 7) of the axis: always -1 and 1
  golden::expect_near(session.run({{"x", {1, 2, -1, 3, 2.5, 7}}})[0], {-1, -1, -1, 1, 1, 1}, 1e-6);
  EXPECT_EQ(variable_list(graph), "gamma(2) beta(2)");
}

TEST(GroupNormalization, OfEachChannelIsItsOwn) {
  Graph graph;
  const Tensor x = feed(graph, "x", {1, 2, 1, 2});
  Session session(graph, {group_normalization(x, {.groups = -1, .epsilon = 0})});
  golden::expect_near(session.run({{"x", {1, 10, 3, 30}}})[0], {-1, -1, 1, 1}, 1e-6);
}

TEST(UnitNormalization, LeavesZerosAlone) {
  Graph graph;
  const Tensor x = feed(graph, "x", {1, 2});
  Session session(graph, {unit_normalization(x)});
  EXPECT_EQ(session.run({{"x", {0, 0}}})[0], (Numbers{0, 0}));
}

TEST(Layers, NameTheirVariablesByOrderAndScope) {
  Graph graph;
  Tensor x = feed(graph, "x", {2, 4});
  x = dense(x, {.units = 3});
  x = dense(x, {.units = 3});
  {
    const Scope scope(x, "block");
    x = dense(x, {.units = 3});
    x = dense(x, {.units = 3, .name = "head"});
  }
  std::vector<std::string> names;
  for (const Variable& v : graph.variables) names.push_back(v.name);
  EXPECT_EQ(join(names, " "),
            "dense/kernel dense/bias dense_1/kernel dense_1/bias block/dense/kernel block/dense/bias "
            "block/head/kernel block/head/bias");
}

TEST(Layers, NameTheirVariablesAlikeInEveryMode) {
  std::string first;
  for (Mode mode : {Mode::kTrain, Mode::kEval, Mode::kPredict}) {
    Graph graph;
    graph.mode = mode;
    Tensor x = feed(graph, "x", {2, 8, 8, 3});
    x = batch_normalization(conv2d(x, {.filters = 4, .kernel = 3}));
    x = dropout(spatial_dropout2d(x, 0.2), 0.5);
    dense(flatten(max_pool2d(x, 2)), {.units = 5});
    const std::string names = variable_list(graph);
    if (first.empty()) first = names;
    EXPECT_EQ(names, first);
  }
}

TEST(Layers, PassGradientsToEveryTrainableVariable) {
  for (const auto& [name, layer] : golden::layers()) {
    SCOPED_TRACE(name);
    std::vector<int64_t> dims;
    for (const char* file : {"layers.csv", "layer_values.csv"})
      for (const golden::Row& row : golden::rows(file))
        if (row.count("layer") ? row.at("layer") == name : row.at("case") == name)
          dims = golden::integers(row.at("input"));
    Graph graph;
    const Tensor y = layer(feed(graph, "x", Shape(dims)));
    Tensors weights;
    for (size_t i = 0; i < graph.variables.size(); ++i)
      if (graph.variables[i].trainable) weights.emplace_back(&graph, graph.variable_value(static_cast<int>(i)));
    if (weights.empty()) continue;
    for (const Tensor& g : gradients(reduce_sum(square(y)), weights)) EXPECT_TRUE(g);
  }
}

}  // namespace
}  // namespace tenon
