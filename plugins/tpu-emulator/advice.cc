#include "advice.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <set>

#include "report.h"
#include "tensorflow_names.h"

namespace tpu {
namespace {

using tenon::plugin::GraphView;
using tenon::plugin::ValueView;

constexpr size_t kLines = 8;
constexpr double kWorthSaying = 1.25;  // expansion

struct Waste {
  uint64_t bytes;  // that hold nothing
  std::string text;
};

// "dimension 3 is 10; 128 would cost no more".
std::string dimension_text(const ValueView& value, const Layout& layout) {
  std::string out;
  for (int axis = 0; axis < value.rank() && axis < static_cast<int>(layout.padded.size()); ++axis) {
    const int64_t padded = layout.padded[static_cast<size_t>(axis)];
    if (padded == value.dim(axis)) continue;
    if (!out.empty()) out += ", ";
    out += "dimension " + std::to_string(axis) + " is " + std::to_string(value.dim(axis)) + "; " +
           std::to_string(padded) + " would cost no more";
  }
  return out;
}

std::vector<Waste> padding_waste(const GraphView& graph, const MemoryPlan& plan) {
  std::vector<Waste> out;
  std::set<std::string> said;
  for (const Allocation& a : plan.allocations) {
    if (a.layout.expansion() < kWorthSaying) continue;
    const ValueView value = graph.value(a.value);
    const std::string owner =
        a.node < graph.n_nodes() ? std::string(graph.node(a.node).name()) : std::string(graph.value_name(a.value));
    const std::string dims = dimension_text(value, a.layout);
    if (dims.empty() || !said.insert(hlo_shape(value)).second) continue;
    char factor[32];
    std::snprintf(factor, sizeof factor, "%.1f", a.layout.expansion());
    const uint64_t extra = a.layout.bytes - a.layout.dense_bytes;
    out.push_back({extra, "padding: '" + owner + "' " + hlo_shape(value) + a.layout.str() + " takes " +
                              size_text(a.layout.bytes) + " instead of " + size_text(a.layout.dense_bytes) + " (" +
                              factor + "x): " + dims});
  }
  std::stable_sort(out.begin(), out.end(), [](const Waste& a, const Waste& b) { return a.bytes > b.bytes; });
  return out;
}

std::string lift_of(const Forecast& f) {
  const std::string& what = f.bottleneck;
  if (what == "infeed")
    return "more hosts, smaller examples (fewer pixels, bf16 features) or a larger model: the device has time to spare";
  if (what == "host") return "more iterations_per_loop, or a larger batch: the host's time is paid once a step";
  if (what == "HBM") return "bf16 activations, a batch and features that fill their tiles of 8 x 128";
  if (what == "vector unit") return "fewer elementwise passes, or features in multiples of 128";
  if (what == "interconnect") return "a larger batch a core, or bf16 gradients: all-reduces are paid once a step";
  if (what == "launch") return "larger and fewer kernels: a larger batch or wider layers";
  return "feature sizes in multiples of 128 and a batch a core in multiples of 8 fill the matrix unit";
}

}  // namespace

std::string advice(const GraphView& graph, const Machine& machine, const Forecast& forecast) {
  std::string out;
  const std::vector<Waste> waste = padding_waste(graph, forecast.memory);
  for (size_t i = 0; i < std::min(kLines, waste.size()); ++i) out += waste[i].text + "\n";
  uint64_t asked = 0, done = 0;
  for (const Kernel& k : forecast.kernels) asked += k.flops, done += k.padded_flops;
  if (asked && static_cast<double>(done) > kWorthSaying * static_cast<double>(asked)) {
    char text[160];
    std::snprintf(text, sizeof text, "padding: the matrix unit does %.1fx the arithmetic that was asked for\n",
                  static_cast<double>(done) / static_cast<double>(asked));
    out += text;
  }
  out += "bottleneck: " + forecast.bottleneck + "; " + lift_of(forecast) + "\n";
  if (!machine.validated)
    out += "machine: " + machine.name + " was never held against a measurement; its numbers are unvalidated\n";
  return out;
}

}  // namespace tpu
