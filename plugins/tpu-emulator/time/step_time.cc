#include "time/step_time.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "tenon/op/names.h"

namespace tpu {
namespace {

using tenon::plugin::GraphView;
using tenon::plugin::NodeView;

// Floats of labels that are rows, which the host made of class numbers, by value; 0: no such labels.
std::vector<double> one_hot_elements(const GraphView& graph) {
  std::vector<double> elements(graph.n_values(), 0);
  for (uint32_t i = 0; i < graph.n_nodes(); ++i) {
    const NodeView node = graph.node(i);
    constexpr int kLabel = tenon::op::softmax_cross_entropy::label;
    if (node.op() != "softmax_cross_entropy" || !node.has(kLabel)) continue;
    if (tenon::plugin::is_float(node.in(kLabel).dtype()))
      elements[node.operand_id(kLabel)] = static_cast<double>(node.in(kLabel).elements());
  }
  return elements;
}

// Times as many floats as one thread makes alone are dealt over all. Measured on a v2-8: 64,000 are not, 102,400 are; what
// is between is drawn as a line.
constexpr double kDealtWholly = 1.5;

// The share of labels of so many floats that one thread makes.
double serial_share(double floats, const Machine& machine) {
  const double most = machine.infeed_one_hot_serial_elements;
  if (floats <= most) return 1;
  if (floats >= kDealtWholly * most) return 0;
  return (kDealtWholly * most - floats) / ((kDealtWholly - 1) * most);
}

// How long one host takes, which feeds its cores one after another.
double infeed_seconds(const GraphView& graph, const Machine& machine) {
  const std::vector<double> one_hot = one_hot_elements(graph);
  const double cores = static_cast<double>(machine.cores) / machine.hosts;
  double seconds = 0, examples = 0, labelling = 0;
  for (uint32_t i = 0; i < graph.n_inputs(); ++i) {
    const tenon_input& input = graph.input(i);
    if (input.role != TENON_ROLE_FEED) continue;
    const auto value = graph.value(input.value);
    const double floats = cores * one_hot[input.value];
    seconds += floats > 0 ? 4 * floats / machine.infeed_one_hot_bytes_per_s
                          : cores * static_cast<double>(value.bytes()) / machine.infeed_bytes_per_s;
    if (floats > 0) labelling += serial_share(floats, machine) * floats * machine.infeed_one_hot_element_s;
    if (value.rank() > 0) examples = std::max(examples, cores * static_cast<double>(value.dim(0)));
  }
  if (examples == 0) return 0;
  return std::max(machine.infeed_step_s + seconds + machine.infeed_example_s * examples, labelling);
}

double outfeed_seconds(const GraphView& graph, const Machine& machine) {
  double bytes = 0;
  for (uint32_t i = 0; i < graph.n_results(); ++i)
    if (graph.result(i).mode == TENON_MODE_EACH)
      bytes += static_cast<double>(graph.value(graph.result(i).value).bytes());
  return bytes * machine.cores / machine.hosts / machine.outfeed_bytes_per_s;
}

// The mean of the larger of two normal times (Clark 1961), of which one varies by `deviation`.
double mean_of_larger(double fixed, double varying, double deviation) {
  if (deviation <= 0) return std::max(fixed, varying);
  const double a = (fixed - varying) / deviation;
  const double below = 0.5 * std::erfc(-a / std::sqrt(2.0));
  const double density = std::exp(-a * a / 2) / std::sqrt(2 * M_PI);
  return fixed * below + varying * (1 - below) + deviation * density;
}

void add_device_times(Forecast& forecast) {
  for (Kernel& kernel : forecast.kernels) {
    kernel.start_s = forecast.device_s;
    forecast.device_s += kernel.seconds;
    forecast.flops += kernel.flops;
    if (kernel.bound == Bound::kInterconnect) forecast.collective_s += kernel.seconds;
    if (std::string_view(kernel.category) == "update") forecast.update_s += kernel.seconds;
  }
}

std::string slowest_unit(const Forecast& forecast) {
  double by_bound[5] = {};
  for (const Kernel& kernel : forecast.kernels) by_bound[static_cast<int>(kernel.bound)] += kernel.seconds;
  return bound_name(static_cast<Bound>(std::max_element(by_bound, by_bound + 5) - by_bound));
}

}  // namespace

void time_step(const GraphView& graph, const Machine& machine, const ForecastOptions& options, Forecast& out) {
  add_device_times(out);
  out.infeed_s = infeed_seconds(graph, machine);
  out.outfeed_s = outfeed_seconds(graph, machine);
  out.host_s = machine.host_step_s * 100 / static_cast<double>(std::max<int64_t>(options.iterations_per_loop, 1));
  const double fed = std::max(out.infeed_s, out.outfeed_s);
  const double deviation = std::min(machine.infeed_jitter * out.infeed_s, machine.infeed_jitter_most_s);
  out.step_s = mean_of_larger(out.device_s, fed, deviation) + out.host_s;
  out.bottleneck = out.host_s > std::max(fed, out.device_s) ? "host"
                   : fed > out.device_s                     ? "infeed"
                                                            : slowest_unit(out);
  out.matrix_utilisation = static_cast<double>(out.flops) / (out.step_s * machine.peak_flops());
}

}  // namespace tpu
