// Recurrent layers beyond the values of tests/golden and tests/fixtures: dropout, first values, names, mistakes.
#include "tenon/recurrent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "unit/layer/golden.h"
#include "unit/layer/model_testing.h"

namespace tenon {
namespace {

using model_testing::error_of;
using model_testing::feed;
using model_testing::golden_input;
using model_testing::golden_kernel;
using model_testing::Numbers;
using model_testing::Session;

template <class Options>
Options with_kernels(Options o) {
  o.kernel_initializer = &golden_kernel;
  o.recurrent_initializer = &golden_kernel;
  return o;
}

std::string built(const Graph& graph) {
  std::vector<std::string> names;
  for (const Variable& v : graph.variables) names.push_back(v.name);
  return join(names, " ");
}

TEST(Recurrent, DefaultCellsAreOneOp) {
  Graph graph;
  const Tensor x = feed(graph, "x", {2, 5, 3});
  lstm(x, {.units = 4});
  gru(x, {.units = 4});
  const auto count = [&](std::string_view op) {
    return std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) { return n.op == op; });
  };
  EXPECT_EQ(count("lstm"), 1);
  EXPECT_EQ(count("gru"), 1);
  EXPECT_EQ(count("dot"), 0);
}

// One product for the inputs of all steps, then one a step.
TEST(Recurrent, UnrolledCellsTakeOneProductForAllInputs) {
  Graph graph;
  simple_rnn(feed(graph, "x", {2, 5, 3}), {.units = 4});
  EXPECT_EQ(std::count_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& n) { return n.op == "dot"; }), 1 + 5);
}

TEST(Lstm, StartsItsForgetGatesAtOne) {
  Graph graph;
  const Tensor x = feed(graph, "x", {2, 5, 3});
  lstm(x, {.units = 2});
  Session session(graph, {x});
  EXPECT_EQ(session.state("lstm/lstm_cell/bias"), (Numbers{0, 0, 1, 1, 0, 0, 0, 0}));
}

TEST(Recurrent, DropsInputsOfAllStepsAlikeWhileTraining) {
  const auto run = [](Mode mode, double rate, double recurrent_rate) {
    Graph graph;
    graph.mode = mode;
    const Tensor x = feed(graph, "x", {1, 3, 4});
    // h' = x W + h R, by whose sum over ones one sees which of the inputs are there.
    const Tensor y = simple_rnn(x, {.units = 1,
                                    .activation = linear,
                                    .use_bias = false,
                                    .kernel_initializer = values_initializer({1, 10, 100, 1000}),
                                    .recurrent_initializer = zeros(),
                                    .dropout = rate,
                                    .recurrent_dropout = recurrent_rate,
                                    .return_sequences = true});
    Session session(graph, {y});
    return session.run({{"x", Numbers(12, 1)}, {"seed", {3}}, {"global_step", {0}}})[0];
  };
  const Numbers dropped = run(Mode::kTrain, 0.5, 0);
  EXPECT_EQ(dropped[1], dropped[0]);
  EXPECT_EQ(dropped[2], dropped[0]);
  for (double rest = dropped[0]; rest >= 1; rest = std::floor(rest / 10))
    EXPECT_TRUE(std::fmod(rest, 10) == 0 || std::fmod(rest, 10) == 2) << dropped[0];
  EXPECT_NE(dropped[0], 1111);
  EXPECT_EQ(run(Mode::kEval, 0.5, 0.5), Numbers(3, 1111));
}

// With R the identity and no inputs a state goes on as it is; recurrent dropout halves or doubles it, alike in each step.
TEST(Recurrent, DropsStatesAlikeInEachStep) {
  Graph graph;
  const Tensor x = feed(graph, "x", {1, 3, 1}), h = feed(graph, "h", {1, 2});
  const Tensors ys = simple_rnn({x, h}, {.units = 2,
                                         .activation = linear,
                                         .use_bias = false,
                                         .kernel_initializer = zeros(),
                                         .recurrent_initializer = values_initializer({1, 0, 0, 1}),
                                         .recurrent_dropout = 0.5,
                                         .return_sequences = true});
  Session session(graph, ys);
  for (int seed = 0; seed < 8; ++seed) {
    const Numbers y = session.run({{"x", {0, 0, 0}}, {"h", {1, 1}}, {"seed", {double(seed)}}, {"global_step", {0}}})[0];
    for (size_t u = 0; u < 2; ++u) EXPECT_TRUE(y[u] == 0 || (y[u] == 2 && y[2 + u] == 4 && y[4 + u] == 8));
  }
}

// Both ways of computing a step, of one layer: dropout at a rate that drops nothing takes the other.
TEST(Recurrent, UnrolledGatesGiveTheOpsResults) {
  const auto run = [](double rate) {
    Graph graph;
    const Tensor x = feed(graph, "x", {2, 3, 2});
    Tensors ys{lstm(x, with_kernels(LSTMOptions{.units = 2, .recurrent_dropout = rate})),
               gru(x, with_kernels(GRUOptions{.units = 2, .recurrent_dropout = rate}))};
    Session session(graph, ys);
    std::vector<Numbers> out = session.run({{"x", golden_input(12)}, {"seed", {1}}, {"global_step", {0}}});
    return out;
  };
  const std::vector<Numbers> op = run(0), steps = run(1e-12);
  for (size_t i = 0; i < op.size(); ++i) golden::expect_near(steps[i], op[i], 2e-6);
}

TEST(Recurrent, ObjectsShareTheirWeightsAndTakeStates) {
  Graph graph;
  const Tensor x = feed(graph, "x", {2, 3, 2});
  LSTM layer({.units = 2, .return_state = true});
  const Tensors first = layer.all({x});
  const Tensors second = layer.all({x, first[1], first[2]});
  EXPECT_EQ(second.size(), 3u);
  EXPECT_EQ(built(graph), "lstm/lstm_cell/kernel lstm/lstm_cell/recurrent_kernel lstm/lstm_cell/bias");
  EXPECT_EQ(error_of([&] { layer(x); }), "layer 'lstm' gives 3 tensors: all() has them");
}

TEST(Bidirectional, NamesBothWays) {
  Graph graph;
  const Tensor x = feed(graph, "x", {2, 3, 2});
  Bidirectional both(SimpleRNN({.units = 2, .use_bias = false}));
  both(x);
  both(x);
  EXPECT_EQ(built(graph),
            "bidirectional/forward_simple_rnn/simple_rnn_cell/kernel "
            "bidirectional/forward_simple_rnn/simple_rnn_cell/recurrent_kernel "
            "bidirectional/backward_simple_rnn/simple_rnn_cell/kernel "
            "bidirectional/backward_simple_rnn/simple_rnn_cell/recurrent_kernel");
}

TEST(Recurrent, SaysWhatIsWrong) {
  Graph graph;
  const Tensor x = feed(graph, "x", {2, 3, 4}), flat = feed(graph, "flat", {2, 3}), h = feed(graph, "h", {2, 5});
  EXPECT_EQ(error_of([&] { lstm(flat, {.units = 2, .name = "a"}); }),
            "lstm 'a': input is f32[2,3], expected a float of rank 3");
  EXPECT_EQ(error_of([&] { gru(x, {.units = 0, .name = "b"}); }), "gru 'b': units is 0, expected 1 or more");
  EXPECT_EQ(error_of([&] { lstm({x, h}, {.units = 5, .name = "c"}); }), "lstm 'c': given 1 states, expected 2");
  EXPECT_EQ(error_of([&] {
              gru({x, h}, {.units = 4, .name = "d"});
            }),
            "gru 'd': state 0 is f32[2,5], expected f32[2,4]");
  EXPECT_EQ(error_of([&] { simple_rnn(x, {.units = 4, .dropout = 1, .name = "e"}); }),
            "simple_rnn 'e': dropout is 1, expected 0 to less than 1");
  EXPECT_EQ(error_of([&] { lstm(x, {.units = 4, .bias_initializer = random_uniform(), .name = "f"}); }),
            "lstm 'f': bias_initializer draws numbers, expected constants beside unit_forget_bias");
  EXPECT_EQ(error_of([&] { Bidirectional(LSTM({.units = 2}), LSTM({.units = 2})); }),
            "bidirectional: both layers go the same way, expected one with go_backwards");
}

}  // namespace
}  // namespace tenon
