#include "bench/bench_fit.h"

#include <algorithm>
#include <chrono>

#include "command.h"
#include "tenon/gradients.h"
#include "tenon/layer_classes.h"
#include "tenon/threads.h"

namespace tenon::runner {
namespace {

struct FitCase {
  const char* name;
  const char* description;
  int64_t inputs;
  std::vector<int64_t> hidden;
  int64_t classes, batch_size;
};

const std::vector<FitCase>& fit_cases() {
  static const std::vector<FitCase> cases = {
      {"mlp_tiny", "dense 4-16-16-3, batch 16, SGD", 4, {16, 16}, 3, 16},
      {"mlp_mnist", "dense 784-128-10, batch 64, SGD", 784, {128}, 10, 64},
  };
  return cases;
}

Sequential model_of(const FitCase& c) {
  Sequential model;
  for (const int64_t units : c.hidden) model.add(Dense({.units = units, .activation = relu}));
  model.add(Dense({.units = c.classes}));
  return model;
}

// So many batches of numbers and classes drawn at random.
std::pair<Array, Array> random_examples(const FitCase& c, int64_t batches, uint64_t seed) {
  SampleRandom random(seed, 0, 0);
  const int64_t n = batches * c.batch_size;
  std::vector<float> x(static_cast<size_t>(n * c.inputs));
  std::vector<int32_t> y(static_cast<size_t>(n));
  for (float& v : x) v = random.uniform(-1, 1);
  for (int32_t& v : y) v = random.below(static_cast<int>(c.classes));
  return {Array(x, {n, c.inputs}), Array(y)};
}

// The least of several rounds.
template <class Work>
double least_seconds(int64_t rounds, const Work& work) {
  double least = 1e300;
  for (int64_t r = 0; r < rounds; ++r) {
    const auto begun = std::chrono::steady_clock::now();
    work();
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count());
  }
  return least;
}

// A hundred steps in one call of the device, on one batch that stays where it is.
double bare_step_us(const FitCase& c, const std::string& device, uint64_t seed, int64_t rounds) {
  constexpr int kSteps = 100, kCalls = 20;
  Strategy strategy(device, {.seed = seed});
  Sequential model = model_of(c);
  const Optimizer sgd = SGD(0.01);
  const Loss loss_of = SparseCategoricalCrossentropy({.from_logits = true});
  Function step = strategy.function(
      [&](const Features& in) {
        const Tensor loss = loss_of(in["y"], model(in["x"]));
        const Tensors weights = model.trainable_variables();
        sgd.apply(gradients(loss, weights), weights);
        return Outputs{{"loss", last(loss)}};
      },
      {.mode = Mode::kTrain, .steps_per_call = kSteps});
  const auto [x, y] = random_examples(c, 1, seed);
  const Arrays batch{{"x", x}, {"y", y}};
  step.repeat(kSteps, batch);
  const double seconds = least_seconds(rounds, [&] {
    for (int i = 0; i < kCalls; ++i) step.repeat(kSteps, batch);
  });
  return seconds / (kSteps * kCalls) * 1e6;
}

double fit_step_us(const FitCase& c, const Flags& flags, double* loss) {
  constexpr int64_t kBatches = 512;
  const auto seed = static_cast<uint64_t>(flags.integer("seed"));
  Sequential model = model_of(c);
  model.compile({.optimizer = SGD(0.01),
                 .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                 .steps_per_execution = static_cast<int>(flags.integer("steps_per_execution")),
                 .strategy = Strategy(device_of(flags), {.seed = seed})});
  const auto [x, y] = random_examples(c, kBatches, seed);
  const FitOptions options{.batch_size = c.batch_size, .verbose = Verbose::kSilent};
  model.fit(x, y, options);
  constexpr int kEpochs = 4;
  FitOptions several = options;
  several.epochs = kEpochs;
  const double seconds =
      least_seconds(flags.integer("rounds"), [&] { *loss = model.fit(x, y, several)["loss"].back(); });
  return seconds / (kBatches * kEpochs) * 1e6;
}

}  // namespace

std::vector<std::string> bench_fit_names() {
  std::vector<std::string> names;
  for (const FitCase& c : fit_cases()) names.push_back(c.name);
  return names;
}

std::string list_of_fits() {
  std::string out = "Models that fit is timed with:\n";
  for (const FitCase& c : fit_cases()) out += format("  %-20s %s\n", c.name, c.description);
  return out;
}

void declare_bench_fit(Flags& flags) {
  flags.integer("steps_per_execution", 1, "batches that one call of the device takes", 1, 1e6);
  flags.integer("rounds", 15, "measurements, of which the least counts", 1, 1e6);
}

int run_bench_fit(const std::string& name, const Flags& flags) {
  const FitCase& c =
      *std::find_if(fit_cases().begin(), fit_cases().end(), [&](const FitCase& f) { return f.name == name; });
  const double bare =
      bare_step_us(c, device_of(flags), static_cast<uint64_t>(flags.integer("seed")), flags.integer("rounds"));
  double loss = 0;
  const double fit = fit_step_us(c, flags, &loss);
  if (flags.boolean("json")) {
    print_line(Json("result")
                   .add("case", c.name)
                   .add("bare_us", bare)
                   .add("fit_us", fit)
                   .add("overhead_us", fit - bare)
                   .add("steps_per_execution", flags.integer("steps_per_execution"))
                   .add("threads", process_threads())
                   .add("loss", loss)
                   .str());
    return 0;
  }
  print("%-19s overhead_us %.3g  fit_us %.4g  bare_us %.4g  (%s, %s in a call of the device, loss %s)\n", c.name,
        fit - bare, fit, bare, counted(process_threads(), "thread").c_str(),
        counted(flags.integer("steps_per_execution"), "step").c_str(), number_text(loss).c_str());
  return 0;
}

}  // namespace tenon::runner
