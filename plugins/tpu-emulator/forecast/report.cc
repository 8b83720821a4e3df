#include "forecast/report.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "tensorflow_names.h"

namespace tpu {
namespace {

using tenon::plugin::GraphView;

constexpr size_t kListed = 5;

__attribute__((format(printf, 1, 2))) std::string format(const char* pattern, ...) {
  char text[512];
  va_list args;
  va_start(args, pattern);
  std::vsnprintf(text, sizeof text, pattern, args);
  va_end(args);
  return text;
}

double ratio(uint64_t a, uint64_t b) { return b ? static_cast<double>(a) / static_cast<double>(b) : 0; }

struct Source {
  std::string type, name, label;
};

Source source_of(const GraphView& graph, const Allocation& a) {
  if (a.node >= graph.n_nodes()) return {"Parameter", std::string(graph.value_name(a.value)), "parameter"};
  const auto node = graph.node(a.node);
  return {tensorflow_op(node), std::string(node.name()), std::string(node.op())};
}

std::string entry(const GraphView& graph, const Allocation& a, size_t number) {
  const Source source = source_of(graph, a);
  const bool argument = a.node >= graph.n_nodes();
  const std::string shape = hlo_shape(graph.value(a.value)) + a.layout.str();
  const uint64_t extra = a.layout.bytes - std::min(a.layout.bytes, a.layout.dense_bytes);
  std::string out = format("  %zu. Size: %s\n", number, size_text(a.layout.bytes).c_str());
  out += "     Operator: op_type=\"" + source.type + "\" op_name=\"" + source.name + "\"\n";
  out += "     Shape: " + shape + "\n";
  out += "     Unpadded size: " + size_text(a.layout.dense_bytes) + "\n";
  if (extra)
    out += format("     Extra memory due to padding: %s (%.1fx expansion)\n", size_text(extra).c_str(),
                  a.layout.expansion());
  out += format("     XLA label: %%%s.%u = %s %s(...)\n", source.label.c_str(), a.value, shape.c_str(),
                source.label.c_str());
  out += std::string("     Allocation type: ") + (argument ? "parameter" : "HLO temp") + "\n";
  out += "     ==========================\n";
  return out;
}

// "    reserved        528.00M".
std::string row(const char* what, uint64_t bytes) { return format("    %-13s%10s\n", what, size_text(bytes).c_str()); }

uint64_t dense_of(const MemoryPlan& plan) {
  uint64_t live = 0;
  for (const Allocation& a : plan.allocations) live += a.layout.dense_bytes;
  return live;
}

}  // namespace

std::string size_text(uint64_t bytes) {
  if (bytes < 1024) return format("%lluB", static_cast<unsigned long long>(bytes));
  const auto b = static_cast<double>(bytes);
  if (bytes < 1 << 20) return format("%.1fK", b / 1024);
  if (bytes < 1 << 30) return format("%.2fM", b / (1 << 20));
  return format("%.2fG", b / (1 << 30));
}

std::string out_of_memory_text(const GraphView& graph, const MemoryPlan& plan) {
  const std::string used = size_text(plan.total_bytes), capacity = size_text(plan.capacity_bytes);
  const std::string over = size_text(plan.total_bytes - plan.capacity_bytes);
  uint64_t padded = 0;
  for (const Allocation& a : plan.allocations) padded += a.layout.bytes;
  const uint64_t lost = plan.temp_bytes - std::min(plan.temp_bytes, plan.temp_live_bytes);
  const uint64_t global = plan.program_bytes - std::min(plan.program_bytes, plan.temp_bytes);
  std::string out = "Compilation failure: Ran out of memory in memory space hbm. Used " + used + " of " + capacity +
                    " hbm. Exceeded hbm capacity by " + over + ".\n\n";
  out += "Total hbm usage >= " + used + ":\n";
  out +=
      row("reserved", plan.reserved_bytes) + row("program", plan.program_bytes) + row("arguments", plan.argument_bytes);
  out += "Output size unknown.\n";
  out += "Program hbm requirement " + size_text(plan.program_bytes) + ":\n";
  out += row("global", global);
  out += format("    %-13s%10s (%.1f%% utilization, %.1f%% fragmentation (%s))\n", "HLO temp",
                size_text(plan.temp_bytes).c_str(), 100 * ratio(dense_of(plan), padded),
                100 * ratio(lost, plan.temp_bytes), size_text(lost).c_str());
  out += "  Largest program allocations in hbm:\n";
  for (size_t i = 0; i < std::min(kListed, plan.allocations.size()); ++i)
    out += entry(graph, plan.allocations[i], i + 1);
  return out;
}

}  // namespace tpu
