// Input of several hosts: who is called for what, and where the rows go.
#include "step/feed/step_input.h"

#include <stdexcept>

#include "base/strings.h"
#include "unit/train/estimator_testing.h"

namespace tenon {
namespace {

constexpr int kUnits = 32, kHosts = 4;
constexpr int64_t kBatch = 64;

Spread slice(InputPipelineConfig input) { return {.replicas = kUnits, .hosts = kHosts, .input = input}; }

std::vector<FeatureSpec> number_specs(bool batch_minor = false) {
  return {{"pair", {DType::kF32, Shape{2}}, batch_minor}, {"label", {DType::kI32, Shape{}}}};
}

// Examples of pipeline p: label 1000 p + i, pair (that, its negative).
InputFn numbers(int64_t size, bool batch_minor = false, InputOptions options = {}) {
  return [=](const InputContext& context, const Params&) -> Result<Dataset> {
    const int32_t first = 1000 * context.input_pipeline_id;
    const auto fill = [first](int64_t i, const Sample&, Slots& out) -> Status {
      const auto value = static_cast<int32_t>(first + i);
      out.get<float>(0)[0] = static_cast<float>(value);
      out.get<float>(0)[1] = -static_cast<float>(value);
      out.get<int32_t>(1)[0] = value;
      return {};
    };
    InputOptions o = options;
    o.batch_size = context.batch_size;
    return Dataset::from_function(size, number_specs(batch_minor), fill, o);
  };
}

// A few batches of memory, and a pipeline that fills it.
struct Pipeline {
  Pipeline(const StepInput& input, int blocks, PipelineState from = {}) : pool(make_thread_pool(2)) {
    for (int s = 0; s < 3; ++s) {
      pairs.emplace_back(2 * kBatch);
      labels.emplace_back(kBatch);
      slots.push_back({{pairs.back().data(), labels.back().data()}, blocks});
    }
    pipeline = StepPipeline::create(input, *pool, slots, from).take();
  }
  // The labels of the next batch, which is given back; empty at the end.
  std::vector<int32_t> next() {
    last = pipeline->next().take();
    if (last.end()) return {};
    const std::vector<int32_t> out = labels[static_cast<size_t>(last.slot)];
    state = pipeline->state_after(last);
    pipeline->release(last.slot);
    return out;
  }

  std::shared_ptr<ThreadPool> pool;
  std::vector<std::vector<float>> pairs;
  std::vector<std::vector<int32_t>> labels;
  std::vector<BatchSlot> slots;
  std::unique_ptr<StepPipeline> pipeline;
  Batch last;
  PipelineState state;
};

// Labels of step `step` where each of `pipelines` gives its next examples.
std::vector<int32_t> expected(int pipelines, int step) {
  const auto rows = static_cast<int32_t>(kBatch / pipelines);
  std::vector<int32_t> out;
  for (int p = 0; p < pipelines; ++p)
    for (int32_t i = 0; i < rows; ++i) out.push_back(1000 * p + step * rows + i);
  return out;
}

struct Configuration {
  InputPipelineConfig input;
  int pipelines;
  int64_t batch_size;
};
const std::vector<Configuration> kModes{{InputPipelineConfig::kPerShardV1, 32, 2},
                                        {InputPipelineConfig::kPerHostV1, 4, 16},
                                        {InputPipelineConfig::kPerHostV2, 4, 2},
                                        {InputPipelineConfig::kBroadcast, 1, 64},
                                        {InputPipelineConfig::kSliced, 1, 64}};

TEST(StepInput, TheFunctionIsCalledOnceForEachPipelineOfItsConfiguration) {
  for (const Configuration& mode : kModes) {
    std::vector<InputContext> calls;
    const InputFn fn = numbers(100);
    const TrainInput input(
        [&](const InputContext& c, const Params& p) {
          calls.push_back(c);
          EXPECT_EQ(p.get<int64_t>("batch_size"), c.batch_size);
          EXPECT_EQ(p.get<int64_t>("units"), 7);
          return fn(c, p);
        },
        kBatch);
    const StepInput made = StepInput::make(input, slice(mode.input), {{"units", int64_t{7}}}).take();
    EXPECT_EQ(made.batch_size, kBatch);
    ASSERT_EQ(calls.size(), static_cast<size_t>(mode.pipelines));
    for (int p = 0; p < mode.pipelines; ++p) {
      const InputContext& c = calls[static_cast<size_t>(p)];
      EXPECT_EQ(c.input_pipeline_id, p);
      EXPECT_EQ(c.num_input_pipelines, mode.pipelines);
      EXPECT_EQ(c.host, mode.pipelines == 32 ? p / 8 : p);
      EXPECT_EQ(c.num_hosts, kHosts);
      EXPECT_EQ(c.num_replicas_in_sync, kUnits);
      EXPECT_EQ(c.batch_size, mode.batch_size);
    }
  }
}

TEST(StepInput, RowsStandInTheOrderOfTheHosts) {
  for (const Configuration& mode : kModes) {
    const StepInput input = StepInput::make({numbers(200), kBatch}, slice(mode.input), {}).take();
    Pipeline p(input, kUnits);
    for (int step = 0; step < 3; ++step) EXPECT_EQ(p.next(), expected(mode.pipelines, step)) << mode.pipelines;
    EXPECT_EQ(p.state.samples, 3u * kBatch);
  }
}

TEST(StepInput, ABatchThatIsMinorMostLiesInSharesOfUnits) {
  for (const Configuration& mode : kModes) {
    const StepInput input = StepInput::make({numbers(200, true), kBatch}, slice(mode.input), {}).take();
    Pipeline p(input, kUnits);
    const std::vector<int32_t> labels = p.next();
    const std::vector<float>& pair = p.pairs[static_cast<size_t>(p.last.slot)];
    for (size_t row = 0; row < kBatch; ++row) {  // [2, share] for each unit, whose share is two rows
      const size_t at = row / 2 * 4 + row % 2;
      EXPECT_EQ(pair[at], static_cast<float>(labels[row]));
      EXPECT_EQ(pair[at + 2], -static_cast<float>(labels[row]));
    }
  }
}

TEST(StepInput, GoesOnWhereItStood) {
  const InputOptions shuffled{.training = true, .repeat = true, .seed = 5};
  for (const Configuration& mode : kModes) {
    const StepInput input = StepInput::make({numbers(150, false, shuffled), kBatch}, slice(mode.input), {}).take();
    Pipeline whole(input, kUnits);
    for (int i = 0; i < 3; ++i) whole.next();
    Pipeline rest(input, kUnits, whole.state);
    EXPECT_TRUE(rest.pipeline->resumed_exactly());
    for (int i = 0; i < 4; ++i) EXPECT_EQ(rest.next(), whole.next()) << mode.pipelines << " " << i;
  }
  const auto made = [&](InputPipelineConfig c) {
    return StepInput::make({numbers(150, false, shuffled), kBatch}, slice(c), {}).take();
  };
  Pipeline four(made(InputPipelineConfig::kPerHostV1), kUnits);
  four.next();
  EXPECT_FALSE(Pipeline(made(InputPipelineConfig::kPerShardV1), kUnits, four.state).pipeline->resumed_exactly());
  EXPECT_FALSE(Pipeline(made(InputPipelineConfig::kBroadcast), kUnits, four.state).pipeline->resumed_exactly());
}

TEST(StepInput, EndsWithTheHostThatHasNoWholeBatchLeft) {
  const InputFn uneven = [](const InputContext& c, const Params& p) {
    return numbers(c.host == 2 ? 40 : 100)(c, p);  // two and a half batches, six and a quarter
  };
  const StepInput input = StepInput::make({uneven, kBatch}, slice(InputPipelineConfig::kPerHostV1), {}).take();
  Pipeline p(input, kUnits);
  EXPECT_EQ(p.next(), expected(4, 0));
  EXPECT_EQ(p.next(), expected(4, 1));
  EXPECT_TRUE(p.next().empty());
  EXPECT_TRUE(p.next().empty());
}

std::string refusal(const InputFn& fn, int64_t batch = kBatch, Spread spread = slice(InputPipelineConfig::kPerHostV1)) {
  return StepInput::make({fn, batch}, spread, {}).status().message();
}

TEST(StepInput, MistakesNameThePipeline) {
  EXPECT_EQ(refusal(numbers(100), 100), "train batch size 100 must be divisible by number of replicas 32");
  EXPECT_EQ(refusal(numbers(100), 36, {.replicas = 12, .hosts = 5}),
            "input for each host: expected as many cores on each, found 12 on 5 hosts");
  EXPECT_EQ(refusal(numbers(100), 0), "train batch size 0, expected 1 or more");
  EXPECT_EQ(refusal([](const InputContext& c, const Params&) -> Result<Dataset> {
              if (c.host == 3) throw std::runtime_error("no such disk");
              return examples(32, {.batch_size = 16});
            }),
            "input pipeline 3: the input function threw: no such disk");
  EXPECT_EQ(
      refusal([](const InputContext&, const Params&) -> Result<Dataset> { return examples(64, {.batch_size = 64}); }),
      "input pipeline 0: the input function gave batches of 64, expected params[\"batch_size\"], 16");
  EXPECT_EQ(refusal([](const InputContext& c, const Params& p) {
              return c.host == 1 ? numbers(32)(c, p) : Result<Dataset>(examples(32, {.batch_size = 16}));
            }),
            "input pipeline 1: the input function gave other features than for pipeline 0");
}

TEST(StepInput, ADamagedExampleIsNamedWithItsPipeline) {
  const InputFn fn = [](const InputContext& c, const Params&) {
    const auto fill = [host = c.host](int64_t i, const Sample&, Slots& out) -> Status {
      out.get<int32_t>(1)[0] = 0;
      return host == 2 && i == 17 ? invalid("cut off") : Status();
    };
    return Dataset::from_function(64, number_specs(), fill, {.batch_size = c.batch_size});
  };
  const StepInput input = StepInput::make({fn, kBatch}, slice(InputPipelineConfig::kPerHostV1), {}).take();
  Pipeline p(input, kUnits);
  p.next();
  EXPECT_EQ(p.pipeline->next().status().message(), "input pipeline 2: example 17: cut off");
}

TEST(StepInput, SaysWhereARowIsFrom) {
  for (const Configuration& mode : kModes) {
    const StepInput input = StepInput::make({numbers(200), kBatch}, slice(mode.input), {}).take();
    Pipeline p(input, kUnits);
    p.next();
    const Batch batch = p.pipeline->next().take();
    for (int64_t row = 0; row < kBatch; ++row) {
      const int32_t label = p.labels[static_cast<size_t>(batch.slot)][static_cast<size_t>(row)];
      const std::string example = "example " + std::to_string(label % 1000);
      EXPECT_EQ(p.pipeline->position(batch, row), label % 1000);
      EXPECT_EQ(p.pipeline->where(batch, row),
                mode.pipelines == 1 ? example : "input pipeline " + std::to_string(label / 1000) + ": " + example);
    }
  }
}

}  // namespace
}  // namespace tenon
