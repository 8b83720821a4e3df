// What options do around an update: accumulation, averages, exclusions from decay, scales of the loss, their order.
#include <gtest/gtest.h>

#include <limits>

#include "tenon/constraints.h"
#include "unit/optimizer/optimizer_testing.h"

namespace tenon {
namespace {

using model_testing::error_of;
using model_testing::feed;
using model_testing::Numbers;
using model_testing::Session;
using optimizer_testing::trained;
using optimizer_testing::values;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Variable w[2] with the gradient that is fed.
struct One {
  Graph graph;
  Tensor g, w;
  explicit One(const Optimizer& optimizer, const Numbers& start = {1, -2}) {
    g = feed(graph, "g", {2});
    w = variable(g, "w", {2}, values(start));
    optimizer.apply({g}, {w});
  }
};

Optimizer own(std::function<void(Update&)> update) {
  return CustomOptimizer({.name = "own", .learning_rate = 0.1, .update = std::move(update)});
}

TEST(OwnOptimizer, TakesTheStepsOfTheBuiltInOne) {
  const Optimizer mine = own([](Update& u) {
    const Tensor velocity = 0.9 * u.slot("velocity") - u.learning_rate() * u.gradient();
    u.assign("velocity", velocity);
    u.assign(u.variable() + velocity);
  });
  const std::vector<Numbers> gradients{{0.5, -1}, {0.25, 0.5}, {-0.125, 2}};
  golden::expect_near(trained(mine, {2}, {1, -2}, gradients),
                      trained(SGD({.learning_rate = 0.1, .momentum = 0.9}), {2}, {1, -2}, gradients), 1e-7);
}

TEST(OwnOptimizer, SeesNameStepAndSlotsOfAnyShape) {
  const Optimizer mine = own([](Update& u) {
    EXPECT_EQ(u.name(), "w");
    const Tensor calls = u.slot("calls", Shape(), 5) + 1;
    u.assign("calls", calls);
    u.assign(u.variable() + u.step() * 10 + calls);
  });
  // step 0, calls 6; step 1, calls 7
  EXPECT_EQ(trained(mine, {1}, {0}, {{0}, {0}}), (Numbers{6, 23}));
}

TEST(OwnOptimizer, ComputesInF32WhatIsKeptIn16Bits) {
  Graph graph;
  const Tensor g = feed(graph, "g", {1}, DType::kBF16);
  const Tensor w = variable(g, "w", {1}, ones(), true, DType::kBF16);
  own([](Update& u) {
    EXPECT_EQ(u.gradient().dtype(), DType::kF32);
    EXPECT_EQ(u.variable().dtype(), DType::kF32);
    u.assign(u.variable() + 0.003 + 0.003);  // each alone is lost beside 1 in bf16, whose next number is 1.0078125
  }).apply({g}, {w});
  Session session(graph, {});
  session.run({{"g", {0}}});
  EXPECT_EQ(session.state("w"), Numbers{1.0078125});
}

TEST(OwnOptimizer, SaysWhatIsWrong) {
  EXPECT_EQ(error_of([] { CustomOptimizer({.name = "own"}); }), "own: has no update");
  EXPECT_EQ(error_of([] { One one(own([](Update&) {})); }), "own: the update of 'w' assigns no next value to it");
  EXPECT_EQ(error_of([] { One one(own([](Update& u) { u.assign(u.learning_rate()); })); }),
            "own: the next value of 'w' is f32[], expected f32[2]");
  EXPECT_EQ(error_of([] { One one(own([](Update& u) { u.assign("m", u.gradient()); })); }),
            "own: slot 'm' of 'w' is assigned, and slot() was not called for it before");
  EXPECT_EQ(error_of([] { One one(Optimizer{}); }), "an optimizer is applied that was never set");
}

TEST(OwnOptimizer, TakesEveryOption) {
  const auto descent = [](Update& u) { u.assign(u.variable() - u.learning_rate() * u.gradient()); };
  const std::vector<Numbers> gradients{{3, 4}, {-1, 2}, {1, 1}, {0.5, 0}};
  const auto same = [&](auto set) {
    SGDOptions theirs{.learning_rate = 0.1};
    CustomOptimizerOptions ours{.name = "own", .learning_rate = 0.1, .update = descent};
    set(theirs), set(ours);
    golden::expect_near(trained(CustomOptimizer(ours), {2}, {1, -2}, gradients),
                        trained(SGD(theirs), {2}, {1, -2}, gradients), 1e-7);
  };
  same([](auto& o) { o.weight_decay = 0.1; });
  same([](auto& o) { o.clipnorm = 1; });
  same([](auto& o) { o.global_clipnorm = 1; });
  same([](auto& o) { o.clipvalue = 1; });
  same([](auto& o) { o.loss_scale_factor = 8; });
  same([](auto& o) { o.gradient_accumulation_steps = 3; });
  same([](auto& o) { o.use_ema = true, o.ema_momentum = 0.5, o.ema_overwrite_frequency = 2; });
}

// Whatever the optimizer: between updates nothing but the sums and the number of calls changes, to the bit.
TEST(Accumulation, LeavesVariablesAndSlotsAsTheyAreBetweenUpdates) {
  const Optimizer all[] = {
      SGD({.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.1, .gradient_accumulation_steps = 3}),
      Adam({.learning_rate = 0.1, .use_ema = true, .ema_overwrite_frequency = 1, .gradient_accumulation_steps = 3}),
      AdamW({.learning_rate = 0.1, .clipnorm = 1, .gradient_accumulation_steps = 3}),
      Muon({.learning_rate = 0.1, .gradient_accumulation_steps = 3}),
      Adafactor({.learning_rate = 0.1, .gradient_accumulation_steps = 3})};
  for (const Optimizer& optimizer : all) {
    SCOPED_TRACE(optimizer.name);
    One one(optimizer);
    Session session(one.graph, {});
    std::map<std::string, Numbers> before;
    for (int call = 0; call < 9; ++call) {
      session.run({{"g", {0.1 * call + 0.3, -0.7}}});
      for (const Variable& v : one.graph.variables) {
        if (v.name == "global_step" || v.name == "w/gradient_accumulator") continue;
        if (call > 2) {
          EXPECT_EQ(session.state(v.name) == before[v.name], call % 3 != 2) << v.name << " in call " << call;
        }
        before[v.name] = session.state(v.name);
      }
    }
    EXPECT_EQ(session.state("global_step"), Numbers{9});
    EXPECT_EQ(session.state("w/gradient_accumulator"), (Numbers{0, 0}));
  }
}

TEST(Accumulation, UpdatesByTheMeanAndCountsUpdates) {
  // Adam's bias correction counts updates: two updates by means 2 and 2 are those of one call each.
  const Numbers by_threes =
      trained(Adam({.learning_rate = 0.1, .gradient_accumulation_steps = 3}), {1}, {0}, {{1}, {2}, {3}, {0}, {5}, {1}});
  const Numbers plain = trained(Adam({.learning_rate = 0.1}), {1}, {0}, {{2}, {2}});
  golden::expect_near({by_threes[2], by_threes[5]}, plain, 1e-7);
}

TEST(Order, IsUnscaleMeanClipDecayUpdateAverageConstraint) {
  // g = (6 + 10) / 2 / 2 = 4, clipped to 1; w = 8 - 0.5 * 0.1 * 8 = 7.6, - 0.5 * 1 = 7.1; average = w; then halved.
  const Optimizer sgd = SGD({.learning_rate = 0.5,
                             .weight_decay = 0.1,
                             .clipnorm = 1,
                             .use_ema = true,
                             .loss_scale_factor = 2,
                             .gradient_accumulation_steps = 2});
  Graph graph;
  const Tensor g = feed(graph, "g", {1}), w = variable(g, "w", {1}, values({8}));
  constrain(w, {[](Tensor x) { return x * 0.5; }});
  sgd.apply({g}, {w});
  Session session(graph, {});
  session.run({{"g", {6}}});
  EXPECT_EQ(session.state("w"), Numbers{8});
  EXPECT_EQ(session.state("w/gradient_accumulator"), Numbers{3});
  session.run({{"g", {10}}});
  golden::expect_near(session.state("w/ExponentialMovingAverage"), {7.1}, 1e-6);
  golden::expect_near(session.state("w"), {3.55}, 1e-6);
}

TEST(WeightDecay, LeavesOutWhatIsExcludedByName) {
  const auto after = [](const Optimizer& optimizer) {
    Graph graph;
    const Tensor g = feed(graph, "g", {1});
    Tensors all;
    for (const char* name : {"dense/kernel", "dense/bias", "norm/gamma"}) all.push_back(variable(g, name, {1}, ones()));
    optimizer.apply({g, g, g}, all);
    Session session(graph, {});
    session.run({{"g", {0}}});
    return Numbers{session.state("dense/kernel")[0], session.state("dense/bias")[0], session.state("norm/gamma")[0]};
  };
  const std::vector<std::string> no{"bias", "^norm/"};
  golden::expect_near(after(SGD({.learning_rate = 0.5, .weight_decay = 0.2, .exclude_from_weight_decay = no})),
                      {0.9, 1, 1}, 1e-6);
  golden::expect_near(after(AdamW({.learning_rate = 0.5, .weight_decay = 0.2, .exclude_from_weight_decay = no})),
                      {0.9, 1, 1}, 1e-6);
  golden::expect_near(after(AdamW({.learning_rate = 0.5, .weight_decay = 0.2})), {0.9, 0.9, 0.9}, 1e-6);
}

TEST(Averages, FollowTheVariableFromTheFirstUpdateOn) {
  One one(SGD({.learning_rate = 1, .use_ema = true, .ema_momentum = 0.75}), {0, 0});
  Session session(one.graph, {});
  // w = -1 -2 -3; average = -1, then a quarter of the way each
  for (int i = 0; i < 3; ++i) session.run({{"g", {1, 2}}});
  EXPECT_EQ(session.state("w"), (Numbers{-3, -6}));
  golden::expect_near(session.state("w/ExponentialMovingAverage"), {-1.6875, -3.375}, 1e-6);
}

TEST(Averages, NeedUseEma) {
  Graph graph;
  const Tensor g = feed(graph, "g", {1}), w = variable(g, "w", {1}, ones());
  EXPECT_EQ(error_of([&] { SGD(0.1).assign_averages({w}); }), "SGD: keeps no averages, as use_ema is not set");
  EXPECT_EQ(error_of([&] { SGD({.use_ema = true}).averages({g}); }),
            "SGD: what input 'g' holds, f32[1], is no variable; expected one of a layer, or of variable()");
}

// What is not finite changes nothing but the scale, whichever gradient it is in.
TEST(LossScale, SkipsWhatIsNotFiniteAndHalves) {
  for (const double bad : {kInfinity, -kInfinity, std::nan("")}) {
    Graph graph;
    const Tensor g = feed(graph, "g", {1}), h = feed(graph, "h", {1});
    const Tensor a = variable(g, "a", {1}, ones()), b = variable(g, "b", {1}, ones());
    LossScaleOptimizer(SGD({.learning_rate = 1,
                            .momentum = 0.5,
                            .weight_decay = 0.1,
                            .clipnorm = 100,
                            .use_ema = true,
                            .gradient_accumulation_steps = 2}),
                       {.initial_scale = 8, .dynamic_growth_steps = 3})
        .apply({g, h}, {a, b});
    Session session(graph, {});
    session.run({{"g", {8}}, {"h", {16}}});
    std::map<std::string, Numbers> before;
    for (const Variable& v : graph.variables) before[v.name] = session.state(v.name);
    EXPECT_EQ(before["step_counter"], Numbers{1});
    session.run({{"g", {8}}, {"h", {bad}}});
    for (const Variable& v : graph.variables)
      if (v.name != "dynamic_scale" && v.name != "step_counter") {
        EXPECT_EQ(session.state(v.name), before[v.name]) << v.name;
      }
    EXPECT_EQ(session.state("dynamic_scale"), Numbers{4});
    EXPECT_EQ(session.state("step_counter"), Numbers{0});
    for (int i = 0; i < 3; ++i) session.run({{"g", {4}}, {"h", {4}}});
    EXPECT_EQ(session.state("dynamic_scale"), Numbers{8});
    EXPECT_EQ(session.state("step_counter"), Numbers{0});
    EXPECT_EQ(session.state("global_step"), Numbers{4});
  }
}

TEST(LossScale, IsWhatMinimizeTakesGradientsOf) {
  for (const Optimizer& optimizer :
       {SGD({.learning_rate = 1, .loss_scale_factor = 64}), LossScaleOptimizer(SGD(1.0))}) {
    Graph graph;
    const Tensor g = feed(graph, "g", {1}), w = variable(g, "w", {1}, ones());
    minimize(optimizer, reduce_sum(w * g));
    const Tensor scaled = optimizer.scale_loss(scalar_like(g, 1));
    Session session(graph, {scaled});
    EXPECT_EQ(session.run({{"g", {3}}})[0][0], optimizer.loss_scale ? 32768 : 64);
    EXPECT_EQ(session.state("w"), Numbers{-2});
  }
}

TEST(LearningRateVariable, IsReadInEachStep) {
  One one(SGD(LearningRate::variable(0.5)));
  Session session(one.graph, {});
  session.run({{"g", {1, 1}}});
  EXPECT_EQ(session.state("w"), (Numbers{0.5, -2.5}));
  session.set_state("learning_rate", {0.25});
  session.run({{"g", {1, 1}}});
  EXPECT_EQ(session.state("w"), (Numbers{0.25, -2.75}));
}

TEST(Options, SayWhatIsWrong) {
  EXPECT_EQ(error_of([] { SGD({.ema_momentum = 1.5}); }), "SGD: ema_momentum is 1.5, expected 0 to 1");
  EXPECT_EQ(error_of([] { SGD({.ema_overwrite_frequency = 2}); }),
            "SGD: ema_overwrite_frequency is set, and use_ema is not");
  EXPECT_EQ(error_of([] { Adam({.gradient_accumulation_steps = -1}); }),
            "Adam: gradient_accumulation_steps is -1, expected 0 or more");
  EXPECT_EQ(error_of([] { Adam({.gradient_accumulation_steps = 1}); }),  // as in Keras
            "Adam: gradient_accumulation_steps is 1, expected 2 or more, or 0 for an update in each call");
  const std::string open = error_of([] { Adam({.exclude_from_weight_decay = {"(bias"}}); });
  EXPECT_TRUE(open.starts_with("Adam: exclude_from_weight_decay: '(bias' is no regular expression: ")) << open;
  EXPECT_EQ(error_of([] { LossScaleOptimizer(SGD({.loss_scale_factor = 2})); }),
            "LossScaleOptimizer: SGD has a loss_scale_factor, expected none");
  EXPECT_EQ(error_of([] { LossScaleOptimizer(LossScaleOptimizer(SGD()), {.initial_scale = 2}); }),
            "LossScaleOptimizer: SGD is one already, expected an optimizer without");
  EXPECT_EQ(error_of([] { LossScaleOptimizer(SGD(), {.dynamic_growth_steps = 0}); }),
            "LossScaleOptimizer: dynamic_growth_steps is 0, expected 1 or more");
  EXPECT_EQ(error_of([] { Muon({.momentum = 2}); }), "Muon: momentum is 2, expected 0 to 1");
  EXPECT_EQ(error_of([] { LearningRate::variable(-1); }), "LearningRate: the initial rate is -1, expected 0 or more");
}

// Rows of the transposed matrix and columns change places with it.
TEST(Muon, TakesTallMatricesAsItTakesWideOnes) {
  const std::vector<Numbers> wide{{0.5, -1, 0.25, 2, 1, -0.5}}, tall{{0.5, 2, -1, 1, 0.25, -0.5}};
  const Numbers a = trained(Muon({.learning_rate = 0.1}), {2, 3}, {1, 2, 3, 4, 5, 6}, wide);
  const Numbers b = trained(Muon({.learning_rate = 0.1}), {3, 2}, {1, 4, 2, 5, 3, 6}, tall);
  golden::expect_near({a[0], a[3], a[1], a[4], a[2], a[5]}, b, 1e-6);
}

TEST(Muon, LeavesToAdamWWhatIsNoMatrixOfWeights) {
  const auto slots = [](const char* name, const Shape& shape, const MuonOptions& options) {
    Graph graph;
    const Tensor g = feed(graph, "g", shape), w = variable(g, name, shape, ones());
    Muon(options).apply({g}, {w});
    std::string out;
    for (const Variable& v : graph.variables)
      if (v.kind == VariableKind::kSlot) out += v.name + " ";
    return out;
  };
  EXPECT_EQ(slots("dense/kernel", {2, 3}, {}), "dense/kernel/Muon ");
  EXPECT_EQ(slots("dense/bias", {3}, {}), "dense/bias/Adam dense/bias/Adam_1 ");
  EXPECT_EQ(slots("conv2d/kernel", {1, 1, 2, 3}, {}), "conv2d/kernel/Adam conv2d/kernel/Adam_1 ");
  EXPECT_EQ(slots("Embedding/table", {2, 3}, {}), "Embedding/table/Adam Embedding/table/Adam_1 ");
  EXPECT_EQ(slots("embedding/table", {2, 3}, {.exclude_embeddings = false}), "embedding/table/Muon ");
  EXPECT_EQ(slots("head/kernel", {2, 3}, {.exclude_layers = {"^head"}}), "head/kernel/Adam head/kernel/Adam_1 ");
}

// By hand: a quarter of the rate, 1 (1 - 0.25 0.1) - 0.25 2 = 0.475, of the first expression that is found.
TEST(LearningRateMultipliers, AreThoseOfTheNameAndOfWeightDecay) {
  const SGDOptions options{
      .learning_rate = 1, .weight_decay = 0.1, .learning_rate_multipliers = {{"^v", 7}, {"^w$", 0.25}, {"w", 9}}};
  const Numbers found = trained(SGD(options), {1}, {1}, {{2}});
  EXPECT_NEAR(found[0], 0.475, 1e-6);
  SGDOptions still = options;
  still.learning_rate_multipliers = {{"", 0}};
  EXPECT_EQ(trained(SGD(still), {1}, {1}, {{2}}), Numbers{1});
}

TEST(LearningRateMultipliers, ThatAreFoundInNoneOfSomeNamesAreNamedWithTheNearest) {
  EXPECT_TRUE(expect_found("^conv", {"dense/kernel", "conv2d/kernel"}).ok());
  EXPECT_EQ(
      expect_found("conv3d/kernel", {"dense/kernel", "conv2d/kernel"}).message(),
      "'conv3d/kernel' is found in no variable's name; variables are 'dense/kernel', 'conv2d/kernel'; did you mean "
      "'conv2d/kernel'?");
  EXPECT_NE(expect_found("(", {"dense/kernel"}).message().find("no regular expression"), std::string::npos);
}

TEST(LearningRateMultipliers, HaveToBeNumbersOfNamesThatCanBeFound) {
  EXPECT_NE(error_of([] {
              (void)SGD(SGDOptions{.learning_rate_multipliers = {{"(", 1}}});
            }).find("learning_rate_multipliers"),
            std::string::npos);
  EXPECT_NE(error_of([] {
              (void)SGD(SGDOptions{.learning_rate_multipliers = {{"w", -1}}});
            }).find("that of 'w' is -1"),
            std::string::npos);
}

}  // namespace
}  // namespace tenon
