#include "bench_op.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <functional>

#include "command.h"
#include "machine_limits.h"
#include "tenon/layers.h"
#include "tenon/losses.h"
#include "tenon/ops.h"
#include "tenon/step_runner.h"
#include "tenon/threads.h"
#include "tenon/variables.h"

namespace tenon::runner {
namespace {

using Clock = std::chrono::steady_clock;
using Sizes = std::vector<int64_t>;

constexpr int kStepsPerCall = 8;

// A second operand, or a gradient that comes in: numbers from -1 to 1, never trained.
Tensor operand(Tensor like, const char* name, const Shape& shape) {
  return variable(like, name, shape, random_uniform(-1, 1), false);
}

// x is the first operand, [sizes[0], ..]; the others are made here.
struct OpCase {
  const char* op;
  const char* form;  // what the sizes mean
  size_t least;      // sizes that must be there; the rest have defaults
  Sizes rest;        // those defaults
  Shape (*x)(const Sizes& s);
  Tensor (*result)(Tensor x, const Sizes& s);
  const char* shapes;  // of a sweep by default
};

// N H W C k O stride: SAME padding.
ConvOptions conv_options(const Sizes& s) {
  const int64_t size = (s[1] + s[6] - 1) / s[6], total = std::max<int64_t>((size - 1) * s[6] + s[4] - s[1], 0);
  const int64_t size_w = (s[2] + s[6] - 1) / s[6], total_w = std::max<int64_t>((size_w - 1) * s[6] + s[4] - s[2], 0);
  ConvOptions o;
  o.strides = {s[6], s[6]};
  o.low = {total / 2, total_w / 2};
  o.high = {total - total / 2, total_w - total_w / 2};
  return o;
}
Shape image(const Sizes& s) { return {s[0], s[1], s[2], s[3]}; }
Shape filtered(const Sizes& s) { return {s[0], (s[1] + s[6] - 1) / s[6], (s[2] + s[6] - 1) / s[6], s[5]}; }
Shape matrix(const Sizes& s) { return {s[0], s[1]}; }

const char* const kImages =
    "16x56x56x64x3x64,16x28x28x128x3x128,16x14x14x256x3x256,16x56x56x64x1x256,128x32x32x16x3x16";
const char* const kMatrices = "64x1024,2048x512,2048x8000,64x1000000";

const OpCase kOps[] = {
    {"dot",
     "MxKxN",
     3,
     {},
     [](const Sizes& s) {
       return Shape{s[0], s[1]};
     },
     [](Tensor x, const Sizes& s) {
       return dot(x, operand(x, "b", {s[1], s[2]}));
     },
     "64x64x64,256x256x256,1024x1024x1024,2048x512x512,2048x512x8000,32x4096x4096"},
    {"conv",
     "NxHxWxCxKxO[xSTRIDE]",
     6,
     {1},
     image,
     [](Tensor x, const Sizes& s) {
       return conv(x, operand(x, "w", {s[4], s[4], s[3], s[5]}), conv_options(s));
     },
     kImages},
    {"conv_grad_input",
     "NxHxWxCxKxO[xSTRIDE]",
     6,
     {1},
     filtered,
     [](Tensor dy, const Sizes& s) {
       return conv_grad_input(dy, operand(dy, "w", {s[4], s[4], s[3], s[5]}), {s[1], s[2]}, conv_options(s));
     },
     kImages},
    {"conv_grad_filter",
     "NxHxWxCxKxO[xSTRIDE]",
     6,
     {1},
     image,
     [](Tensor x, const Sizes& s) {
       return conv_grad_filter(x, operand(x, "dy", filtered(s)), {s[4], s[4]}, conv_options(s));
     },
     kImages},
    {"max_pool",
     "NxHxWxC[xWINDOW]",
     4,
     {2},
     image,
     [](Tensor x, const Sizes& s) {
       return max_pool(x, {.window = {s[4], s[4]}, .strides = {s[4], s[4]}});
     },
     "32x180x180x16,32x90x90x32,64x26x26x32"},
    {"batch_norm",
     "NxHxWxC",
     4,
     {},
     image,
     [](Tensor x, const Sizes& s) {
       return batch_norm(x, operand(x, "gamma", {s[3]}), operand(x, "beta", {s[3]}), Tensor(), {}).y;
     },
     "128x32x32x16,16x56x56x64,16x14x14x1024"},
    {"layer_norm",
     "ROWSxC",
     2,
     {},
     matrix,
     [](Tensor x, const Sizes& s) {
       return layer_norm(x, operand(x, "gamma", {s[1]}), operand(x, "beta", {s[1]}), {1}, 1e-3).y;
     },
     "2048x128,2048x512,2048x4096"},
    {"softmax", "ROWSxC", 2, {}, matrix, [](Tensor x, const Sizes&) { return softmax(x); }, kMatrices},
    {"attention",
     "BxTxHEADSxD",
     4,
     {},
     image,
     [](Tensor q, const Sizes& s) {
       const Shape shape{s[0], s[1], s[2], s[3]};
       return attention(q, operand(q, "k", shape), operand(q, "v", shape), Tensor(), Tensor(), Tensor(), {}).y;
     },
     "64x32x4x32,32x32x8x64,4x512x8x64,1x2048x8x64"},
    {"reduce", "ROWSxC", 2, {}, matrix, [](Tensor x, const Sizes&) { return reduce_sum(x, {0}); }, kMatrices},
    {"add",
     "ROWSxC",
     2,
     {},
     matrix,
     [](Tensor x, const Sizes& s) {
       return add(x, operand(x, "b", {s[0], s[1]}));
     },
     kMatrices},
    {"exp", "ROWSxC", 2, {}, matrix, [](Tensor x, const Sizes&) { return exp(x); }, kMatrices},
    {"transpose",
     "ROWSxC",
     2,
     {},
     matrix,
     [](Tensor x, const Sizes&) {
       return transpose(x, {1, 0});
     },
     kMatrices},
};

const OpCase& find_op(const std::string& name) {
  return *std::find_if(std::begin(kOps), std::end(kOps), [&](const OpCase& c) { return name == c.op; });
}

Sizes parse_sizes(std::string_view text, const OpCase& c) {
  Sizes sizes;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('x', at), text.size());
    int64_t n = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, n);
    if (error != std::errc() || stop != text.data() + end || n < 1 || n > 1'000'000'000)
      throw UsageError(
          format("--shapes: '%.*s' is no shape; expected %s", static_cast<int>(text.size()), text.data(), c.form));
    sizes.push_back(n);
    at = end + 1;
  }
  const size_t most = c.least + c.rest.size();
  if (sizes.size() < c.least || sizes.size() > most)
    throw UsageError(format("--shapes: '%.*s' has %zu sizes; expected %s", static_cast<int>(text.size()), text.data(),
                            sizes.size(), c.form));
  while (sizes.size() < most) sizes.push_back(c.rest[sizes.size() - c.least]);
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

StepRunner make_runner(const OpCase& c, const Sizes& sizes, const Flags& flags) {
  const Shape x = c.x(sizes);
  SampleRandom random(static_cast<uint64_t>(flags.integer("seed")), 0, 0);
  std::vector<float> numbers(static_cast<size_t>(x.elements()));
  for (float& v : numbers) v = random.uniform(-1, 1);
  Sizes example;
  for (int i = 1; i < x.rank(); ++i) example.push_back(x[i]);
  const ModelFn model = [&](const Features& features, const Tensor&, Mode, const Params&) {
    EstimatorSpec spec;
    spec.predictions = {{"y", c.result(features["x"], sizes)}};
    return spec;
  };
  RunConfig config;
  config.device = device_of(flags);
  config.trace = true;
  return StepRunner::create(model, {}, {memory_feature<float>("x", DType::kF32, Shape(example), numbers)}, x[0], config,
                            kStepsPerCall, Mode::kPredict)
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
  const double least_ms = std::max(node.flops / limits.flops, node.bytes / limits.bytes) * 1e3;
  if (json)
    print_line(Json("op")
                   .add("op", op)
                   .add("shape", shape)
                   .add("ms", node.ms)
                   .add("gflops", gflops)
                   .add("gbytes", gb)
                   .add("limit", least_ms / node.ms)
                   .str());
  else
    print("%-28s %10.4f %10.1f %8.1f %6.0f%%\n", shape.c_str(), node.ms, gflops, gb, 100 * least_ms / node.ms);
}

}  // namespace

void declare_bench_op(Flags& flags) {
  flags.text("shapes", "", "sizes of each shape, as --help says for the op, with commas between: 64x64x64,256x256x256");
  flags.number("seconds", 0.5, "for each shape", 0, 1e4);
}

int run_bench_op(const std::string& op, const Flags& flags) {
  const OpCase& c = find_op(op);
  const std::string& asked = flags.text("shapes");
  const bool json = flags.boolean("json");
  std::vector<std::pair<std::string, Sizes>> shapes;
  for (const std::string& shape : split(asked.empty() ? c.shapes : asked))
    shapes.push_back({shape, parse_sizes(shape, c)});
  const MachineLimits limits = measure_limits(process_threads());
  if (!json) {
    print("%s, %s; this machine: %.0f GFLOP/s, %.1f GB/s\n", op.c_str(), counted(process_threads(), "thread").c_str(),
          limits.flops * 1e-9, limits.bytes * 1e-9);
    print("%-28s %10s %10s %8s %7s\n", c.form, "ms", "GFLOP/s", "GB/s", "limit");
  }
  for (const auto& [shape, sizes] : shapes) {
    StepRunner runner = make_runner(c, sizes, flags);
    runner.run(1).take();
    print_measured(op, shape, measure(runner, op, flags.number("seconds")), limits, json);
  }
  return 0;
}

std::vector<std::string> bench_op_names() {
  std::vector<std::string> names;
  for (const OpCase& c : kOps) names.push_back(c.op);
  return names;
}

std::string list_of_ops() {
  std::string out = "Ops, and their shapes:\n";
  for (const OpCase& c : kOps) out += format("  %-20s %s\n", c.op, c.form);
  return out;
}

}  // namespace tenon::runner
