// minimize(): clipping, weight decay, added losses, slots, mistakes.
#include <gtest/gtest.h>

#include "base/strings.h"
#include "unit/optimizer/optimizer_testing.h"

namespace tenon {
namespace {

using model_testing::error_of;
using model_testing::feed;
using model_testing::Numbers;
using model_testing::Session;
using optimizer_testing::trained;
using optimizer_testing::values;

struct Two {  // variables a and b whose gradients are fed
  Graph graph;
  Tensor a, b, loss;
  Two() {
    const Tensor ga = feed(graph, "ga", {1}), gb = feed(graph, "gb", {1});
    a = variable(ga, "a", {1}, zeros());
    b = variable(gb, "b", {1}, zeros());
    loss = reduce_sum(a * ga) + reduce_sum(b * gb);
  }
  Numbers after(const Optimizer& optimizer, double ga, double gb) {
    minimize(optimizer, loss);
    Session session(graph, {});
    session.run({{"ga", {ga}}, {"gb", {gb}}});
    return {session.state("a")[0], session.state("b")[0]};
  }
};

TEST(Minimize, ClipsByTheNormOfEachVariableOrOfAll) {
  golden::expect_near(Two().after(SGD({.learning_rate = 1, .clipnorm = 1}), 3, 4), {-1, -1}, 1e-6);
  golden::expect_near(Two().after(SGD({.learning_rate = 1, .global_clipnorm = 1}), 3, 4), {-0.6, -0.8}, 1e-6);
  golden::expect_near(Two().after(SGD({.learning_rate = 1, .global_clipnorm = 10}), 3, 4), {-3, -4}, 1e-6);
  golden::expect_near(Two().after(SGD({.learning_rate = 1, .clipvalue = 3.5}), 3, -4), {-3, 3.5}, 1e-6);
}

TEST(Minimize, ClipsZeroGradientsToZero) {
  EXPECT_EQ(Two().after(SGD({.learning_rate = 1, .clipnorm = 1}), 0, 0), (Numbers{0, 0}));
  EXPECT_EQ(Two().after(SGD({.learning_rate = 1, .global_clipnorm = 1}), 0, 0), (Numbers{0, 0}));
}

TEST(Minimize, OnOneReplicaTakesTheSameStepsSharded) {
  for (const SGDOptions& o :
       {SGDOptions{.learning_rate = 1}, SGDOptions{.learning_rate = 1, .clipnorm = 1},
        SGDOptions{.learning_rate = 1, .global_clipnorm = 1}, SGDOptions{.learning_rate = 1, .clipvalue = 1}})
    golden::expect_near(Two().after(CrossShard(SGD(o)), 3, 4), Two().after(SGD(o), 3, 4), 1e-6);
}

TEST(Minimize, AddsTheLossesOfRegularizers) {
  Graph graph;
  const Tensor g = feed(graph, "g", {2}), w = variable(g, "w", {2}, values({2, -3}));
  add_loss(reduce_sum(square(w)) * 0.1);
  add_loss(reduce_sum(abs(w)) * 0.5);
  minimize(SGD({.learning_rate = 1}), reduce_sum(w * g));
  Session session(graph, {added_losses(graph)});
  golden::expect_near(session.run({{"g", {1, 1}}})[0], {0.1 * 13 + 0.5 * 5}, 1e-6);
  // w - (g + 0.2 w + 0.5 sign w)
  golden::expect_near(session.state("w"), {2 - 1.9, -3 - (1 - 0.6 - 0.5)}, 1e-6);
}

TEST(Minimize, LeavesFrozenAndUnusedVariablesAlone) {
  Graph graph;
  const Tensor g = feed(graph, "g", {1}), w = variable(g, "w", {1}, ones()),
               frozen = variable(g, "f", {1}, ones(), false);
  variable(g, "unused", {1}, ones());
  minimize(SGD({.learning_rate = 1, .momentum = 0.9}), reduce_sum(w * g * frozen));
  Session session(graph, {});
  session.run({{"g", {1}}});
  EXPECT_EQ(session.state("w"), Numbers{0});
  EXPECT_EQ(session.state("f"), Numbers{1});
  EXPECT_EQ(session.state("unused"), Numbers{1});
  EXPECT_EQ(graph.find_variable("unused/Momentum"), nullptr);
}

TEST(Minimize, KeepsTheSumsOfMomentumAndRMSprop) {
  EXPECT_EQ(trained(SGD({.learning_rate = 1, .momentum = 0.5}), {1}, {0}, {{1}, {1}, {0}}), (Numbers{-1, -2.5, -3.25}));
}

std::string slots(const Optimizer& optimizer) {
  Graph graph;
  const Tensor g = feed(graph, "g", {2, 3}), w = variable(g, "dense/kernel", {2, 3}, zeros());
  minimize(optimizer, reduce_sum(w * g));
  std::vector<std::string> names;
  for (const Variable& v : graph.variables)
    if (v.kind == VariableKind::kSlot)
      names.push_back(v.name.substr(v.name.find("kernel/") + 7) + graph.type(graph.inputs[v.input].value).shape.str() +
                      (v.initializer.a == 0 ? "" : cat("=", v.initializer.a)));
  return join(names, " ");
}

TEST(Minimize, NamesSlotsAsTensorFlow1Does) {
  EXPECT_EQ(slots(SGD()), "");
  EXPECT_EQ(slots(SGD({.momentum = 0.9})), "Momentum[2,3]");
  EXPECT_EQ(slots(Momentum(0.1, 0.9)), "MomentumOptimizer[2,3]");
  EXPECT_EQ(slots(Adam()), "Adam[2,3] Adam_1[2,3]");
  EXPECT_EQ(slots(AdamW({.amsgrad = true})), "Adam[2,3] Adam_1[2,3] Adam_2[2,3]");
  EXPECT_EQ(slots(Adagrad()), "Adagrad[2,3]=0.1");
  EXPECT_EQ(slots(RMSprop()), "RMSProp[2,3]");
  EXPECT_EQ(slots(RMSprop({.momentum = 0.9, .initial_velocity = 1})), "RMSProp[2,3]=1 RMSProp_1[2,3]");
  // TensorFlow's rmsprop.py: rms, then mg, then momentum
  EXPECT_EQ(slots(RMSprop({.momentum = 0.9, .centered = true})), "RMSProp[2,3] RMSProp_2[2,3] RMSProp_1[2,3]");
  EXPECT_EQ(slots(Adadelta()), "Adadelta[2,3] Adadelta_1[2,3]");
  EXPECT_EQ(slots(Ftrl()), "Ftrl[2,3]=0.1 Ftrl_1[2,3]");
  EXPECT_EQ(slots(Nadam()), "Nadam[2,3] Nadam_1[2,3] Nadam_2[]=1");
  EXPECT_EQ(slots(Adafactor()), "Adafactor[2] Adafactor_1[3]");
}

TEST(Minimize, PutsTheMeanOfGradientsInRMSProp1) {
  Graph graph;
  const Tensor g = feed(graph, "g", {1}), w = variable(g, "w", {1}, zeros());
  minimize(RMSprop({.learning_rate = 1, .rho = 0.9, .momentum = 0.5, .epsilon = 1, .centered = true}),
           reduce_sum(w * g));
  Session session(graph, {});
  session.run({{"g", {2}}});
  golden::expect_near(session.state("w/RMSProp"), {0.4}, 1e-6);
  golden::expect_near(session.state("w/RMSProp_1"), {0.2}, 1e-6);
  golden::expect_near(session.state("w/RMSProp_2"), {2 / std::sqrt(0.4 - 0.04 + 1)}, 1e-6);
}

TEST(Minimize, SaysWhatIsWrong) {
  EXPECT_EQ(error_of([&] { minimize(SGD(), {}); }), "minimize: the loss was never set");
  Graph graph;
  const Tensor x = feed(graph, "x", {2});
  EXPECT_EQ(error_of([&] { minimize(SGD(), reduce_sum(x)); }), "minimize: the loss depends on no trainable variable");
  const Tensor w = variable(x, "w", {2}, zeros());
  EXPECT_EQ(error_of([&] { minimize(SGD(), w * x); }), "gradients: the loss is f32[2], expected a float scalar");
}

TEST(Optimizers, SayWhatIsWrong) {
  EXPECT_EQ(error_of([] { SGD({.momentum = 1.5}); }), "SGD: momentum is 1.5, expected 0 to 1");
  EXPECT_EQ(error_of([] { SGD(-0.1); }), "SGD: learning_rate is -0.1, expected 0 or more");
  EXPECT_EQ(error_of([] { Adam({.beta_2 = 2}); }), "Adam: beta_2 is 2, expected 0 to 1");
  EXPECT_EQ(error_of([] { Adam({.clipnorm = 1, .clipvalue = 1}); }),
            "Adam: at most one of clipnorm, global_clipnorm and clipvalue may be set");
  EXPECT_EQ(error_of([] { Lamb({.amsgrad = true}); }), "Lamb: has no amsgrad");
  EXPECT_EQ(error_of([] { RMSprop({.rho = -1}); }), "RMSprop: rho is -1, expected 0 to 1");
}

}  // namespace
}  // namespace tenon
