// tenon bench step CASE: times whole steps of training, or of prediction, on one batch in memory. bench op: bench_op.h, bench
// fit: bench_fit.h, bench decode: bench_decode.h, exchange: bench_exchange.h, input: bench_input.h, serve:
// bench_serve.h.
#include <unistd.h>

#include <ctime>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "bench/bench_decode.h"
#include "bench/bench_exchange.h"
#include "bench/bench_fit.h"
#include "bench/bench_input.h"
#include "bench/bench_serve.h"
#include "bench/machine_limits.h"
#include "bench/op/bench_op.h"
#include "command.h"
#include "model/model_flags.h"
#include "models/models.h"
#include "onnx/dims.h"
#include "process.h"
#include "profile.h"
#include "tenon/processes.h"
#include "tenon/step_runner.h"
#include "tenon/threads.h"

namespace tenon::runner {
namespace {

using Clock = std::chrono::steady_clock;

void declare_bench(Flags& flags, const std::vector<std::string>& words) {
  flags.leave_out({"verbose"});
  if (!words.empty() && words[0] == "op") return declare_bench_op(flags);
  if (!words.empty() && words[0] == "fit") return declare_bench_fit(flags);
  if (!words.empty() && words[0] == "decode") return declare_bench_decode(flags);
  if (!words.empty() && words[0] == "exchange") return declare_bench_exchange(flags);
  if (!words.empty() && words[0] == "input") return declare_bench_input(flags);
  if (!words.empty() && words[0] == "serve") return declare_bench_serve(flags);
  flags.integer("steps", 0, "steps in a round, whose mean is one measurement; 0: about a quarter of a second's", 0,
                1e9);
  flags.integer("rounds", 15, "measurements at most", 1, 1e6);
  flags.number("max_seconds", 20, "no round starts after this", 0, 1e6);
  flags.integer("batch_size", 0, "examples in a step; 0: the case's", 0, 1 << 24);
  add_dim_flag(flags);
  flags.text("mode", "train", "of a step, unless the case is one of prediction", {"train", "predict"});
  flags.boolean("deterministic", false, "let backends choose no kernel by the clock; cpu never does");
  flags.text("dtype_policy", "float32", "what layers compute in", {"float32", "mixed_bfloat16", "bfloat16"});
  add_replica_flags(flags);
  flags.boolean("profile", false, "print where the time goes, beside the limits of this machine");
  flags.text("profile_by", "op", "a line for each of these", {"op", "node"});
}

double seconds_since(Clock::time_point begun) { return std::chrono::duration<double>(Clock::now() - begun).count(); }

// Since the kernel made this process, dynamic linking included: what a user waits.
double seconds_since_process_start() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  char text[1024] = {};
  if (std::FILE* stat = std::fopen("/proc/self/stat", "re")) {
    const size_t n = std::fread(text, 1, sizeof text - 1, stat);
    text[n] = '\0';
    std::fclose(stat);
  }
  const char* field = std::strrchr(text, ')');  // the second; the start, in ticks since boot, is the 22nd
  for (int i = 2; field && i < 22; ++i) field = std::strchr(field + 1, ' ');
  if (!field) return 0;
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 -
         std::strtod(field, nullptr) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

MemoryFeature random_feature(const models::BenchFeature& f, int64_t batch_size, SampleRandom& random) {
  const auto count = static_cast<size_t>(f.example.elements() * batch_size);
  if (f.below == 0) {
    std::vector<float> numbers(count);
    for (float& x : numbers) x = random.uniform(-1, 1);
    return memory_feature<float>(f.name, DType::kF32, f.example, numbers);
  }
  std::vector<int32_t> numbers(count);
  for (int32_t& x : numbers) x = random.below(f.below);
  return memory_feature<int32_t>(f.name, DType::kI32, f.example, numbers);
}

std::vector<MemoryFeature> random_batch(const models::BenchCase& c, uint64_t seed) {
  SampleRandom random(seed, 0, 0);
  std::vector<MemoryFeature> batch;
  for (const models::BenchFeature& f : c.features) batch.push_back(random_feature(f, c.batch_size, random));
  return batch;
}

std::string list_of_cases() {
  std::string out = "Cases:\n";
  for (const models::BenchCase& c : models::bench_cases()) out += format("  %-20s %s\n", c.name, c.description.c_str());
  return out + list_of_applications();
}

// What hangs on the clock, the first process decides for all.
int64_t as_first_has(int64_t value) {
  return process_count() == 1 ? value : std::stoll(gather_from_processes(std::to_string(value)).take()[0]);
}

class Bench {
 public:
  Bench(models::BenchCase c, const Flags& flags) : case_(std::move(c)), flags_(flags) {}

  int run() {
    RunConfig config;
    config.device = device_of(flags_);
    config.seed = static_cast<uint64_t>(flags_.integer("seed"));
    config.deterministic = flags_.boolean("deterministic");
    config.trace = flags_.boolean("profile");
    config.all_reduce_dtype = all_reduce_dtype_of(flags_);
    config.shard_optimizer_state = flags_.boolean("shard_optimizer_state");
    expect_replicas(config.device);
    Params params = case_.params;
    params.set("dtype_policy", flags_.text("dtype_policy"));
    StepRunner runner =
        StepRunner::create(case_.model, params, random_batch(case_, static_cast<uint64_t>(flags_.integer("seed"))),
                           case_.batch_size, config, case_.steps_per_call, case_.mode)
            .take();
    runner.run(1).take();
    first_step_ = seconds_since_process_start();
    measure(runner);
    if (config.trace) profile(runner);
    if (trains() && !case_.note.empty())
      print_line(flags_.boolean("json") ? Json("info").add("message", case_.note).str() : case_.note);
    print_result(runner);
    return 0;
  }

 private:
  void expect_replicas(const std::string& device) const {
    const std::string flag = given_replica_flag(flags_);
    if (flag.empty()) return;
    const ResolvedDevice found = resolve_device(device).take();
    if (found.replicas == 1) throw UsageError{of_one_replica(flag, found.device)};
  }

  // Profiles a tenth of a second, two calls at least.
  void profile(StepRunner& runner) {
    const double call_ms = ms_.front() * case_.steps_per_call;
    const auto calls = static_cast<int>(as_first_has(static_cast<int64_t>(std::clamp(100 / call_ms, 2.0, 1000.0))));
    const StepProfile found = runner.profile(calls, case_.steps_per_call).take();
    const MachineLimits limits = measure_limits(process_threads());
    print_profile(found, limits, flags_.text("profile_by") == "node", flags_.boolean("json"));
    if (found.predicted) return;
    backward_share_ = found.backward_share();
    if (runner.device() == "cpu") flops_per_byte_ = limits.flops / limits.bytes;
  }

  // A multiple of the steps in one call, at least one call.
  int64_t steps_a_round(StepRunner& runner) {
    const int64_t call = case_.steps_per_call;
    if (const int64_t wanted = flags_.integer("steps"); wanted > 0) return (wanted + call - 1) / call * call;
    const auto begun = Clock::now();  // the second call: caches are warm
    runner.run(case_.steps_per_call).take();
    const double fitting = std::clamp(0.25 / std::max(seconds_since(begun), 1e-9), 1.0, 1e6);
    return as_first_has(static_cast<int64_t>(fitting)) * call;
  }

  void measure(StepRunner& runner) {
    steps_ = steps_a_round(runner);
    const auto begun = Clock::now();
    for (int64_t r = 0; r < flags_.integer("rounds"); ++r) {
      if (r >= 3 && as_first_has(seconds_since(begun) > flags_.number("max_seconds"))) break;
      const auto round = Clock::now();
      for (int64_t done = 0; done < steps_; done += case_.steps_per_call)
        loss_ = runner.run(case_.steps_per_call).take();
      ms_.push_back(seconds_since(round) * 1e3 / static_cast<double>(steps_));
    }
    std::sort(ms_.begin(), ms_.end());
  }

  void print_result(const StepRunner& runner) const {
    const double min = ms_.front(), median = ms_[ms_.size() / 2];
    const double rate = static_cast<double>(case_.batch_size) * 1e3 / min;
    if (flags_.boolean("json")) {
      Json result("result");
      result.add("case", case_.name)
          .add("min_ms", min)
          .add("median_ms", median)
          .add("first_step_s", first_step_)
          .add("examples_per_second", rate)
          .add("device", runner.device())
          .add("threads", process_threads())
          .add("batch_size", case_.batch_size)
          .add("rounds", static_cast<int64_t>(ms_.size()))
          .add("steps_per_round", steps_)
          .add("loss", trains() ? static_cast<double>(loss_) : std::nan(""))
          .add("parameters", runner.parameters())
          .add("peak_bytes", runner.peak_bytes());
      if (backward_share_ > 0) result.add("backward_share", backward_share_);
      if (flops_per_byte_ > 0) result.add("flops_per_byte", flops_per_byte_);
      print_line(result.str());
      return;
    }
    const std::string loss = trains() ? ", loss " + number_text(static_cast<double>(loss_)) : "";
    print("%-19s min_ms %.4g  median_ms %.4g  first_step_s %.3f  examples_per_second %.4g  (%s, %s, %s of %s%s)\n",
          case_.name, min, median, first_step_, rate, runner.device().c_str(),
          counted(process_threads(), "thread").c_str(), counted(static_cast<int64_t>(ms_.size()), "round").c_str(),
          counted(steps_, "step").c_str(), loss.c_str());
  }

  bool trains() const { return case_.mode == Mode::kTrain; }

  const models::BenchCase case_;
  const Flags& flags_;
  double first_step_ = 0;
  int64_t steps_ = 1;
  float loss_ = 0;
  std::vector<double> ms_;
  double backward_share_ = 0, flops_per_byte_ = 0;  // of a profile, for preflight --cluster; 0: unknown
};

// What is named, of the size and mode that flags ask for.
models::BenchCase case_of(const std::vector<std::string>& words, const Flags& flags) {
  std::vector<std::string> names;
  for (const models::BenchCase& c : models::bench_cases()) names.push_back(c.name);
  const bool is_file = words.size() == 1 && models::is_onnx_file(words[0]);
  if (flags.given("dim") && !is_file) throw UsageError{"--dim is for an ONNX file"};
  const models::BenchCase* found = is_file             ? &models::onnx_case(words[0], dims_of(flags))
                                   : words.size() == 1 ? models::find_bench_case(words[0])
                                                       : nullptr;
  models::BenchCase out = found ? *found : *models::find_bench_case(only_word(words, "case", names));
  if (flags.integer("batch_size") > 0) out.batch_size = flags.integer("batch_size");
  if (flags.given("mode")) out.mode = flags.text("mode") == "train" ? Mode::kTrain : Mode::kPredict;
  return out;
}

int run_bench(const Flags& flags, const std::vector<std::string>& words) {
  expect_words(words, 1, 2,
               "what to time: step CASE, fit CASE, input CASE, decode PARAM_SET, op OP, exchange or serve");
  only_word({words[0]}, "benchmark", {"step", "fit", "input", "decode", "op", "exchange", "serve"});
  if (words[0] == "exchange" || words[0] == "step" || words[0] == "fit") meet_processes();
  if (words[0] == "exchange") return expect_words(words, 1, 1, "no argument"), run_bench_exchange(flags);
  if (words[0] == "serve") return expect_words(words, 1, 1, "no argument"), run_bench_serve(flags);
  if (words[0] == "op") return run_bench_op(only_word({words.begin() + 1, words.end()}, "op", bench_op_names()), flags);
  if (words[0] == "input") {
    const std::vector<std::string> which(words.begin() + 1, words.end());
    return run_bench_input(which.empty() ? bench_input_names()[0] : only_word(which, "case", bench_input_names()),
                           flags);
  }
  if (words[0] == "fit")
    return run_bench_fit(only_word({words.begin() + 1, words.end()}, "case", bench_fit_names()), flags);
  if (words[0] == "decode")
    return run_bench_decode(only_word({words.begin() + 1, words.end()}, "param_set", bench_decode_names()), flags);
  return Bench(case_of({words.begin() + 1, words.end()}, flags), flags).run();
}

// What the benchmark can time; of all where none is chosen.
std::string bench_details(const std::vector<std::string>& words) {
  const std::string which = words.empty() ? "" : words[0];
  if (which == "serve")
    return "Asks one `tenon serve`, again and again, and prints how long answers take: --rate as often as it says, "
           "else as fast "
           "as answers come.\n";
  if (which == "step") return list_of_cases();
  if (which == "op") return list_of_ops();
  if (which == "fit") return list_of_fits();
  if (which == "input") return list_of_inputs();
  if (which == "exchange" || which == "decode") return "";
  return list_of_cases() + list_of_ops() + list_of_fits() + list_of_inputs();
}

}  // namespace

const Command kBench{
    .name = "bench",
    .arguments = "step CASE|fit CASE|input [CASE]|decode PARAM_SET|op OP|exchange|serve [FLAGS]",
    .summary =
        "Times whole steps of training, or of prediction, what fit() adds to them, the input, the writing of "
        "text, one op over many shapes, sums over several processes, or a server under load",
    .declare = declare_bench,
    .run = run_bench,
    .details = bench_details,
};

}  // namespace tenon::runner
