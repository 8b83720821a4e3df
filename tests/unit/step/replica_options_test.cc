// What several units do with an optimizer's gradients and state, by options of the Strategy.
#include <gtest/gtest.h>

#include <map>

#include "tenon/optimizers.h"
#include "tenon/strategy.h"
#include "unit/step/step_testing.h"

namespace tenon {
namespace {

using Floats = std::vector<float>;

// The variable w[2] after one step of SGD at rate 1 from 0; the gradient on unit u is row u of `rows`, of which the last units' are 0.
Floats after_a_step(const std::string& device, const StrategyOptions& options, const Floats& rows) {
  const Strategy strategy(device, options);
  const int64_t units = strategy.num_replicas_in_sync();
  Floats all = rows;
  all.resize(static_cast<size_t>(2 * units));
  Function step = strategy.function([](const Features& in) {
    const Tensor w = variable(in["x"], "w", {2}, constant_initializer(0));
    SGD(1.0).apply({reduce_sum(in["x"], {0})}, {w});
    return Outputs{};
  });
  step({{"x", Array(all, {units, 2})}});
  Floats out = strategy.read<float>("w");
  for (float& w : out) w *= -static_cast<float>(units);  // the sum of the gradients
  return out;
}

constexpr const char* kDevices[] = {"cpu:units=4", "tpu-emulator:v2-8"};
class OnUnits : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(ReplicaOptions, OnUnits, testing::ValuesIn(kDevices));

// bf16 has 8 bits: 1 + 2^-9 becomes 1, and so does each of 1 + 2^-8 + 2^-8 + 2^-8 where every sum is rounded. Added up before it is
// rounded that is 129.5 / 128, of which the even neighbour is 130 / 128.
TEST_P(OnUnits, GradientsGoInBf16AndAreAddedUpInF32) {
  const float e = 0x1p-8f;
  const Floats rows{1, 1 + e / 2, e, 0, e, 0, e, 0};
  EXPECT_EQ(after_a_step(GetParam(), {.all_reduce_dtype = DType::kBF16}, rows), (Floats{130.0f / 128, 1}));
  EXPECT_EQ(after_a_step(GetParam(), {}, rows), (Floats{1 + 3 * e, 1 + e / 2}));
}

TEST(ReplicaOptions, OneUnitSendsNothingAndRoundsNothing) {
  const Floats rows{1 + 0x1p-9f, 0};
  EXPECT_EQ(after_a_step("cpu", {.all_reduce_dtype = DType::kBF16}, rows), rows);
}

TEST(ReplicaOptions, OtherDtypesAreRefused) {
  EXPECT_EQ(message_of([] { Strategy("cpu", {.all_reduce_dtype = DType::kF16}); }),
            "StrategyOptions.all_reduce_dtype is f16, expected bf16, or none");
}

// ---- shard_optimizer_state ----

// Two variables, of which one divides by no number of units and one is too small to be dealt. Their gradients, each unit's own, have
// many different elements.
struct Model {
  Strategy strategy;
  Optimizer optimizer;
  Function step = strategy.function([optimizer = optimizer](const Features& in) {
    const Tensor x = in["x"];
    const Tensor w = variable(x, "w", {7, 331}, constant_initializer(0.5)),
                 b = variable(x, "b", {3}, constant_initializer(1));
    const Tensor mean = reshape(reduce_mean(x, {0}), {7, 331});
    optimizer.apply({mean * current(w), slice(reshape(mean, {7 * 331}), {0}, {3}, {1})}, {w, b});
    return Outputs{};
  });

  void train(int steps, int from = 0) {
    const int64_t rows = strategy.num_replicas_in_sync();
    for (int s = from; s < from + steps; ++s) {
      Floats x(static_cast<size_t>(rows * 7 * 331));
      for (size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<float>((i * 7919 + static_cast<size_t>(s) * 104729) % 2003) / 1001.0f - 1.0f;
      step({{"x", Array(x, {rows, 7 * 331})}});
    }
  }
  std::map<std::string, Floats> all() const {
    std::map<std::string, Floats> out;
    for (const auto& v : strategy.variables()) out[v.name + " " + v.type.str()] = strategy.read<float>(v.name);
    return out;
  }
};

constexpr StrategyOptions kSharded{.shard_optimizer_state = true};

Optimizer halving() {  // an optimizer of one's own, each element by itself
  return CustomOptimizer({.name = "Halving", .learning_rate = 0.1, .update = [](Update& u) {
                            const Tensor mean = 0.5 * u.slot("mean", 0.25) + 0.5 * u.gradient();
                            u.assign("mean", mean);
                            u.assign(u.variable() - u.learning_rate() * mean / (1.0 + u.step()));
                          }});
}

struct Kind {
  const char* name;
  std::function<Optimizer()> make;
};
void PrintTo(const Kind& k, std::ostream* out) { *out << k.name; }

class Sharded : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(
    ReplicaOptions, Sharded,
    testing::Values(Kind{"Adam", [] { return Adam(); }},
                    Kind{"AdamW", [] { return AdamW(AdamWOptions{.amsgrad = true}); }},
                    Kind{"Nadam", [] { return Nadam(); }}, Kind{"Momentum", [] { return Momentum(0.1, 0.9); }},
                    Kind{"RMSprop", [] { return RMSprop(RMSpropOptions{.momentum = 0.5, .centered = true}); }},
                    Kind{"Ftrl", [] { return Ftrl(FtrlOptions{.l1_regularization_strength = 0.01}); }},
                    Kind{"Clipped", [] { return Adam(AdamOptions{.global_clipnorm = 0.01}); }},
                    Kind{"ClippedEach", [] { return Adam(AdamOptions{.clipnorm = 0.01}); }},
                    Kind{"ClippedValues", [] { return Adam(AdamOptions{.clipvalue = 0.001}); }},
                    Kind{"Accumulated", [] { return Adam(AdamOptions{.gradient_accumulation_steps = 2}); }},
                    Kind{"Averaged", [] { return Adam(AdamOptions{.use_ema = true, .ema_overwrite_frequency = 3}); }},
                    Kind{"Scaled", [] { return LossScaleOptimizer(Adam(), {.dynamic_growth_steps = 2}); }},
                    Kind{"Custom", halving}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_P(Sharded, HasTheBitsAndTheVariablesOfOneThatIsNot) {
  for (const char* device : {"cpu:units=3", "tpu-emulator:v2-8"}) {
    Model whole{Strategy(device), GetParam().make()}, dealt{Strategy(device, kSharded), GetParam().make()};
    whole.train(5);
    dealt.train(5);
    EXPECT_TRUE(dealt.all() == whole.all()) << device;
  }
}

TEST(ReplicaOptions, FilesOfAShardedTrainingGoOnWithAnyNumberOfUnits) {
  const std::string file = testing::TempDir() + "sharded.safetensors";
  Model first{Strategy("cpu:units=3", kSharded), Adam()};
  first.train(2);
  first.strategy.save(file);
  Model whole{Strategy("cpu:units=4"), Adam()}, dealt{Strategy("cpu:units=4", kSharded), Adam()};
  for (Model* m : {&whole, &dealt}) {
    m->strategy.load(file);
    m->train(2, 2);
  }
  EXPECT_TRUE(dealt.all() == whole.all());
  Floats replaced(7 * 331);
  for (size_t i = 0; i < replaced.size(); ++i) replaced[i] = static_cast<float>(i);
  dealt.strategy.write("w/Adam", Array(replaced, {7, 331}));
  EXPECT_EQ(dealt.strategy.read<float>("w/Adam"), replaced);
}

TEST(ReplicaOptions, UpdatesThatLookAtAllElementsAreNotSharded) {
  const auto refusal = [](const Optimizer& optimizer) {
    Model m{Strategy("cpu:units=2", kSharded), optimizer};
    return message_of([&] { m.train(1); });
  };
  const std::string begin = ": shard_optimizer_state is for optimizers that update each element by itself; ";
  EXPECT_EQ(refusal(Lamb()), "Lamb" + begin + "lamb_update 'w/update' does not");
  EXPECT_EQ(refusal(Adafactor()), "Adafactor" + begin + "adafactor_update 'w/update' does not");
  EXPECT_EQ(refusal(Muon()), "Muon" + begin + "'w' gets a step that is orthogonal as a whole");
  EXPECT_EQ(refusal(ScheduleFreeAdamW()), "ScheduleFreeAdamW" + begin + "its averages are what is evaluated");
  const auto own = [](std::function<void(Update&)> update) {
    return CustomOptimizer({.name = "Own", .update = std::move(update)});
  };
  EXPECT_EQ(refusal(own([](Update& u) { u.assign(u.variable() - u.gradient() / reduce_max(abs(u.gradient()))); })),
            "Own" + begin + "reduce 'w/update/reduce' does not");
  const auto rows = own([](Update& u) { u.assign(u.variable() - reduce_max(u.slot("rows", Shape({7})))); });
  EXPECT_TRUE(refusal(rows).starts_with("Own" + begin + "slot 'w/rows' is f32[7] of one variable of [7,331]"))
      << refusal(rows);
}

TEST(ReplicaOptions, ABatchThatAllUnitsComputeWholeIsRefusedBesideParts) {
  Strategy strategy("cpu:units=2", kSharded);
  Function step = strategy.function(
      [adam = Adam()](const Features& in) {
        const Tensor w = variable(in["x"], "w", {2000}, constant_initializer(0));
        adam.apply({reduce_mean(in["x"], {0})}, {w});
        return Outputs{};
      },
      {.remainder = Remainder::kWhole});
  step({{"x", Array(Floats(8000, 1), {4, 2000})}});
  EXPECT_EQ(
      message_of([&] {
        step({{"x", Array(Floats(6000, 1), {3, 2000})}});
      }),
      "the replicas have a part each of variable 'w/Adam', and a batch whose rows they cannot share needs all of it "
      "(shard_optimizer_state); expected batches that divide by their number");
}

}  // namespace
}  // namespace tenon
