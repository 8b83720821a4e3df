#include <gtest/gtest.h>

#include "tenon/gradients.h"
#include "tenon/layers.h"
#include "tenon/optimizers.h"
#include "tenon/strategy.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

const Arrays kOne{{"x", 1.0f}};

Tensor one(const Features& in, std::string_view name) { return variable(in["x"], name, {}, constant_initializer(1)); }

// loss w^2: w = 1 -> 1 - 0.25 * 2 = 0.5 -> 0.5 - 0.25 * 1 = 0.25, both in one step.
TEST(OptimizerObject, AppliedTwiceGoesOnFromWhatItAssigned) {
  Strategy strategy("cpu");
  const Optimizer sgd = SGD(0.25);
  Function f = strategy.function([&](const Features& in) {
    for (int i = 0; i < 2; ++i) {
      const Tensor w = current(one(in, "w" + std::string(i, '_')));
      sgd.apply(gradients(w * w, {w}), {w});
    }
    return Outputs{};
  });
  Function twice = strategy.function([&](const Features& in) {
    const Tensor v = one(in, "v");
    for (int i = 0; i < 2; ++i) {
      const Tensor now = current(v);
      sgd.apply(gradients(now * now, {now}), {now});
    }
    return Outputs{{"v", current(v)}};
  });
  f(kOne);
  EXPECT_EQ(strategy.read("w").item(), 0.5);
  EXPECT_EQ(strategy.read("w_").item(), 0.5);
  EXPECT_EQ(twice(kOne)["v"].item(), 0.25);
  EXPECT_EQ(strategy.read("global_step").item(), 4);
}

// As in a GAN: each with its own variables, slots and number of updates.
TEST(OptimizerObject, TwoOptimizersKeepApart) {
  Strategy strategy("cpu");
  const Optimizer first = Adam(0.1), second = Adam(0.2);
  Function f = strategy.function([&](const Features& in) {
    const Tensor a = one(in, "a"), b = one(in, "b");
    first.apply(gradients(a * a, {a}), {a});
    second.apply(gradients(b * b, {b}), {b});
    return Outputs{};
  });
  Function g = strategy.function([&](const Features& in) {
    const Tensor b = one(in, "b");
    second.apply(gradients(b * b, {b}), {b});
    return Outputs{};
  });
  f(kOne);
  EXPECT_NEAR(strategy.read("a").item(), 0.9, 1e-6);  // Adam's first step is its learning rate
  EXPECT_NEAR(strategy.read("b").item(), 0.8, 1e-6);
  g(kOne);
  EXPECT_EQ(names(strategy), (Names{"Adam_1/iterations", "a", "a/Adam", "a/Adam_1", "b", "b/Adam_1/Adam",
                                    "b/Adam_1/Adam_1", "global_step"}));
  EXPECT_EQ(strategy.read("global_step").item(), 1);
  EXPECT_EQ(strategy.read("Adam_1/iterations").item(), 2);
}

TEST(OptimizerObject, OptimizersMadeInsideAFunctionKeepApartToo) {
  Strategy strategy("cpu");
  Function f = strategy.function([&](const Features& in) {
    const Tensor a = one(in, "a"), b = one(in, "b");
    SGD(0.25).apply(gradients(a * a, {a}), {a});
    SGD(0.5).apply(gradients(b * b, {b}), {b});
    return Outputs{};
  });
  f(kOne);
  EXPECT_EQ(strategy.read("a").item(), 0.5);
  EXPECT_EQ(strategy.read("b").item(), 0);
  EXPECT_EQ(strategy.read("SGD_1/iterations").item(), 1);
}

TEST(OptimizerObject, SchedulesCountTheirOwnUpdates) {
  Strategy strategy("cpu");
  const Optimizer fixed = SGD(0.0), decaying = SGD(PiecewiseConstantDecay({0}, {0.5, 0.25}));
  Function f = strategy.function([&](const Features& in) {
    const Tensor w = one(in, "w");
    fixed.apply({w}, {w});
    decaying.apply({scalar_like(w, 1)}, {w});
    return Outputs{{"w", current(w)}};
  });
  EXPECT_EQ(f(kOne)["w"].item(), 0.5);
  EXPECT_EQ(f(kOne)["w"].item(), 0.25);
}

TEST(OptimizerObject, SaysWhatIsWrong) {
  Strategy strategy("cpu");
  const Optimizer sgd = SGD(0.25);
  const auto of = [&](const std::function<void(const Features&)>& f) {
    return message_of([&] {
      strategy.function([&](const Features& in) {
        f(in);
        return Outputs{};
      })(kOne);
    });
  };
  EXPECT_EQ(of([&](const Features& in) { sgd.apply({}, {one(in, "w")}); }),
            "SGD: 0 gradients are given for 1 variables");
  EXPECT_EQ(of([&](const Features& in) { sgd.apply({Tensor()}, {one(in, "w")}); }),
            "SGD: 'w' has no gradient: the loss does not depend on it");
  EXPECT_EQ(of([&](const Features& in) {
              Tensors all;
              for (const char* name : {"a", "b", "c", "d", "e", "f"}) all.push_back(one(in, name));
              sgd.apply(Tensors(6), all);
            }),
            "SGD: none of 'a', 'b', 'c', 'd' and 2 more has a gradient: the loss does not depend on them");
  EXPECT_EQ(of([&](const Features&) { sgd.apply({}, {}); }), "SGD: there are no variables to train");
  EXPECT_EQ(of([&](const Features& in) { sgd.apply({in["x"]}, {in["x"]}); }),
            "SGD: what input 'x' holds, f32[], is no variable; expected one of a layer, or of variable()");
  EXPECT_EQ(of([&](const Features& in) {
              const Tensor y = in["x"] * in["x"];
              sgd.apply({y}, {y});
            }),
            "SGD: what 'mul' gives, f32[], is no variable; expected one of a layer, or of variable()");
  EXPECT_EQ(of([&](const Features& in) { sgd.apply({reshape(in["x"], {1})}, {one(in, "w")}); }),
            "SGD: the gradient of 'w' is f32[1], expected f32[]");
}

}  // namespace
}  // namespace tenon
