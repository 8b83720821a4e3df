#include "bench/op/bench_op.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include "bench/op/bench_op_case.h"
#include "bench/machine_limits.h"
#include "command.h"
#include "tenon/step_runner.h"
#include "tenon/threads.h"

namespace tenon::runner {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kStepsPerCall = 8;
constexpr size_t kDrawn = 65537;  // numbers of the first operand, which repeat

std::vector<OpCase> all_cases() {
  std::vector<OpCase> all;
  for (const std::span<const OpCase> room : {product_cases(), layer_cases(), update_cases()})
    all.insert(all.end(), room.begin(), room.end());
  return all;
}

OpCase find_op(const std::string& name) {
  const std::vector<OpCase> all = all_cases();
  return *std::find_if(all.begin(), all.end(), [&](const OpCase& c) { return name == c.op; });
}

// The most sizes that a form such as "ROWSxC[xRATE]" takes.
size_t most_sizes(const OpCase& c) {
  const std::string_view form = c.form;
  return 1 + static_cast<size_t>(std::count(form.begin(), form.end(), 'x'));
}

Sizes parse_sizes(const std::string& text, const OpCase& c) {
  const auto refuse = [&](const std::string& what) { throw UsageError("--shapes: '" + text + "' " + what); };
  Sizes sizes;
  const size_t most = most_sizes(c), least = most - c.defaults.size();
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('x', at), text.size()), i = sizes.size();
    const bool may_be_0 = i >= least && i < most && c.defaults[i - least] == 0;
    int64_t n = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, n);
    if (error != std::errc() || stop != text.data() + end || n < !may_be_0 || n > 1'000'000'000)
      refuse(format("is no shape; expected %s, each from 1 to 1,000,000,000", c.form));
    sizes.push_back(n);
    at = end + 1;
  }
  if (sizes.size() < least || sizes.size() > most)
    refuse(format("has %s; expected %s", counted(static_cast<int64_t>(sizes.size()), "size").c_str(), c.form));
  while (sizes.size() < most) sizes.push_back(c.defaults[sizes.size() - least]);
  if (const std::string wrong = c.wrong ? c.wrong(sizes) : ""; !wrong.empty()) refuse("has " + wrong);
  return sizes;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// A step that predicts what the op gives or, of an optimizer or a gradient that only training has, one that trains.
StepRunner make_runner(const OpCase& c, const std::string& shape, const Sizes& sizes, const Flags& flags) {
  const Shape first = c.first(sizes);
  Operands operands(shape);
  operands.take(first, 3);  // here, with the features, on the device
  SampleRandom random(static_cast<uint64_t>(flags.integer("seed")), 0, 0);
  std::vector<float> numbers(static_cast<size_t>(first.elements()));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = i < kDrawn ? random.uniform(-1, 1) : numbers[i - kDrawn];
  const Shape example(Sizes(first.begin() + 1, first.end()));
  const ModelFn model = [&](const Features& features, const Tensor&, Mode, const Params&) {
    operands.set_first(features["x"]);
    const Tensors results = c.results(features["x"], sizes, operands);
    for (const Tensor& r : results) operands.take(r.shape());
    EstimatorSpec spec;
    if (c.optimizer) {
      spec.loss = results[0];
      spec.train_op = minimize(c.optimizer(), results[0]);
    }
    for (size_t i = 0; i < results.size(); ++i) spec.predictions.push_back({format("y%zu", i), results[i]});
    return spec;
  };
  RunConfig config;
  config.device = device_of(flags);
  config.trace = true;
  return StepRunner::create(model, {}, {memory_feature<float>("x", DType::kF32, example, numbers)}, first[0], config,
                            kStepsPerCall, c.optimizer ? Mode::kTrain : Mode::kPredict)
      .take();
}

// The least time of the op in some profiles: what else a step does is not its.
NodeTime measure(StepRunner& runner, const std::string& op, double seconds) {
  NodeTime best;
  const auto begun = Clock::now();
  for (int round = 0; round < 3 || std::chrono::duration<double>(Clock::now() - begun).count() < seconds; ++round) {
    NodeTime sum;
    const StepProfile profile = runner.profile(1, kStepsPerCall).take();
    for (const NodeTime& node : profile.nodes) {
      if (node.op != op && node.op != op + "_bias_act") continue;
      sum.ms += node.ms;
      sum.flops += node.flops;
      sum.bytes += node.bytes;
    }
    if (round == 0 || sum.ms < best.ms) best = sum;
  }
  if (best.ms == 0)
    throw Error(Status(Code::kUnsupported, "the device took '" + op + "' apart: there is no such op to time"));
  return best;
}

void print_measured(const std::string& op, const std::string& shape, const NodeTime& node, const MachineLimits& limits,
                    bool json) {
  const double gflops = node.flops / node.ms * 1e-6, gb = node.bytes / node.ms * 1e-6;
  const double percent = percent_of_limit(limits, node.flops, node.bytes, node.ms);
  if (json)
    print_line(Json("op")
                   .add("op", op)
                   .add("shape", shape)
                   .add("ms", node.ms)
                   .add("gflops", gflops)
                   .add("gbytes", gb)
                   .add("limit", percent / 100)
                   .str());
  else
    print("%-30s %10.4f %10.1f %8.1f %6.0f%%\n", shape.c_str(), node.ms, gflops, gb, percent);
}

}  // namespace

void declare_bench_op(Flags& flags) {
  flags.text("shapes", "", "sizes of each shape, as --help says for the op, with commas between: 64x64x64,256x256x256");
  flags.number("seconds", 0.5, "for each shape", 0, 1e4);
}

int run_bench_op(const std::string& op, const Flags& flags) {
  const OpCase c = find_op(op);
  const std::string& asked = flags.text("shapes");
  const bool json = flags.boolean("json");
  std::vector<std::pair<std::string, Sizes>> shapes;
  for (const std::string& shape : split(asked.empty() ? c.shapes : asked))
    shapes.push_back({shape, parse_sizes(shape, c)});
  const MachineLimits limits = measure_limits(process_threads());
  if (!json) {
    print("%s, %s; this machine: %.0f GFLOP/s, %.1f GB/s\n", op.c_str(), counted(process_threads(), "thread").c_str(),
          limits.flops * 1e-9, limits.bytes * 1e-9);
    print("%-30s %10s %10s %8s %7s\n", c.form, "ms", "GFLOP/s", "GB/s", "limit");
  }
  for (const auto& [shape, sizes] : shapes) {
    StepRunner runner = make_runner(c, shape, sizes, flags);
    runner.run(1).take();
    print_measured(op, shape, measure(runner, op, flags.number("seconds")), limits, json);
  }
  return 0;
}

std::vector<std::string> bench_op_names() {
  std::vector<std::string> names;
  for (const OpCase& c : all_cases()) names.push_back(c.op);
  return names;
}

std::string list_of_ops() {
  std::string out = "Ops, and their shapes (SAME padding; RATE: percent that dropout takes):\n";
  for (const OpCase& c : all_cases()) out += format("  %-28s %s\n", c.op, c.form);
  return out;
}

}  // namespace tenon::runner
