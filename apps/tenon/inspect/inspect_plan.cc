// What a device decided for a step: a summary, the steps, and with --buffers the memory.
#include <algorithm>
#include <map>

#include "inspect/inspect.h"
#include "inspect/short_name.h"

namespace tenon::runner {
namespace {

constexpr size_t kMostLargest = 5, kMostReused = 8;

size_t columns() { return output_is_terminal() ? std::max<size_t>(terminal_columns(), 80) : 100; }

std::string size_text(uint64_t bytes) { return bytes_text(static_cast<double>(bytes)); }
std::string cell(uint64_t bytes) { return bytes ? size_text(bytes) : ""; }

// "1.2 G"
std::string flops_text(uint64_t flops) {
  constexpr const char* kUnits[] = {"", "k", "M", "G", "T", "P"};
  auto value = static_cast<double>(flops);
  size_t u = 0;
  while (value >= 999.95 && u + 1 < std::size(kUnits)) value /= 1000, ++u;
  return u == 0 ? std::to_string(flops) : format("%.1f %s", value, kUnits[u]);
}

std::string counted_size(size_t n, const char* thing) { return counted(static_cast<int64_t>(n), thing); }

// Items behind `before`, in as many lines as they take; those after the first are indented by `indent`.
void print_list(const std::string& before, const std::vector<std::string>& items, size_t indent,
                const char* separator = ",") {
  std::string line = before;
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string item = short_name(items[i], columns() - indent - 2) + (i + 1 < items.size() ? separator : "");
    if (line.size() + 1 + item.size() > columns() && line.find_last_not_of(' ') != std::string::npos) {
      print("%s\n", line.c_str());
      line = std::string(indent - 1, ' ');
    }
    line += " " + item;
  }
  print("%s\n", line.c_str());
}

std::vector<std::string> names_of(const std::vector<PlannedStep::Node>& nodes) {
  std::vector<std::string> out;
  for (const PlannedStep::Node& node : nodes) out.push_back(node.name);
  return out;
}

// "conv2d/conv f32[128,28,28,32]", the type whole; without one it is none of the graph's.
std::string value_text(const PlannedValue& value, size_t width) {
  const std::string type = value.type.empty() ? "(internal)" : value.type;
  const size_t rest = width - std::min(width, type.size() + 1);
  return rest < std::min<size_t>(16, value.name.size()) ? short_name(value.name, width)
                                                        : short_name(value.name, rest) + " " + type;
}

// What lies in a buffer without values: a scalar of the caller's, a step's scratch or that of all.
std::string scratch_text(const StepPlan& plan, const PlannedBuffer& buffer, size_t width) {
  if (!buffer.name.empty()) return short_name(buffer.name, width);
  if (buffer.first != buffer.last) return format("scratch of steps %d to %d", buffer.first, buffer.last);
  const std::string before = "scratch of ";
  return before + short_name(plan.steps[static_cast<size_t>(buffer.first)].name, width - before.size());
}

// ---- summary ----

constexpr size_t kSummaryIndent = 12;

void print_nodes(const StepPlan& plan, const PlanSummary& s) {
  std::string line = counted(plan.nodes, "node") + " became " + counted_size(plan.steps.size(), "step");
  if (s.units > 1) line += " of " + counted(s.units, "unit");
  if (s.fused_steps)
    line += format("; %s of them %s %s", with_commas(s.fused_steps).c_str(), s.fused_steps == 1 ? "fuses" : "fuse",
                   counted(s.fused_nodes, "node").c_str());
  print("%-12s%s\n", "steps", line.c_str());
  std::map<std::string, int64_t> ops;
  for (const PlannedStep::Node& node : plan.idle) ++ops[node.op];
  std::vector<std::string> items;
  for (const auto& [op, count] : ops) items.push_back(with_commas(count) + " " + op);
  if (!items.empty()) print_list(std::string(kSummaryIndent, ' ') + "without a step:", items, kSummaryIndent + 2);
  if (s.flops)
    print("%-12s%sFLOP, %s accessed\n", "work", (flops_text(s.flops) + (s.flops < 1000 ? " " : "")).c_str(),
          size_text(s.bytes_accessed).c_str());
}

int64_t values_in(const StepPlan& plan, const char* memory) {
  int64_t count = 0;
  for (const PlannedBuffer& buffer : plan.buffers)
    if (buffer.memory == memory) count += static_cast<int64_t>(buffer.values.size());
  return count;
}

constexpr std::pair<const char*, const char*> kElsewhere[] = {
    {"input", "arguments"}, {"result", "results"}, {"constant", "constants"}};

void print_memory(const StepPlan& plan, const PlanSummary& s) {
  const PlannedMemory& m = plan.memory;
  print("%-12sarguments %s, results %s, constants and code %s%s\n", "memory", size_text(m.arguments).c_str(),
        size_text(m.results).c_str(), size_text(m.code).c_str(), s.units > 1 ? " of each unit" : "");
  std::string line = format("%-12s%s", "workspace", size_text(s.workspace_bytes).c_str());
  if (s.units > 1) line += " of all units";
  if (s.buffers) line += " for " + counted(s.buffers, "buffer");
  if (s.buffer_bytes > s.workspace_bytes) {
    const uint64_t saved = s.buffer_bytes - s.workspace_bytes;
    line += format(" of %s: sharing saves %s (%.0f %%)", size_text(s.buffer_bytes).c_str(), size_text(saved).c_str(),
                   100 * static_cast<double>(saved) / static_cast<double>(s.buffer_bytes));
  } else if (s.buffers > 1) {
    line += ", none of which shares memory";
  }
  print("%s\n", line.c_str());
  std::vector<std::string> elsewhere;
  for (const auto& [memory, name] : kElsewhere)
    if (const int64_t count = values_in(plan, memory)) elsewhere.push_back(with_commas(count) + " in " + name);
  if (!elsewhere.empty())
    print_list(std::string(kSummaryIndent, ' ') + "values outside of it:", elsewhere, kSummaryIndent + 2);
}

void print_peak(const StepPlan& plan, const PlanSummary& s) {
  if (s.peak_step < 0) return;
  const std::string line = format("%-12s%s in %s alive at step %d, ", "peak", size_text(s.peak_bytes).c_str(),
                                  counted_size(s.alive_at_peak.size(), "buffer").c_str(), s.peak_step);
  const std::string& name = plan.steps[static_cast<size_t>(s.peak_step)].name;
  print("%s%s\n", line.c_str(), short_name(name, columns() - line.size()).c_str());
  for (size_t i = 0; i < std::min(kMostLargest, s.alive_at_peak.size()); ++i) {
    const PlannedBuffer& buffer = plan.buffers[static_cast<size_t>(s.alive_at_peak[i])];
    const std::string before = format("%21s  buffer %-4d ", size_text(buffer.bytes).c_str(), s.alive_at_peak[i]);
    const size_t others = buffer.values.empty() ? 0 : buffer.values.size() - 1;
    const std::string more = others ? format(" + %zu more", others) : "";
    const size_t width = columns() - before.size() - more.size();
    const std::string what =
        buffer.values.empty() ? scratch_text(plan, buffer, width) : value_text(buffer.values[0], width);
    print("%s%s%s\n", before.c_str(), what.c_str(), more.c_str());
  }
}

void print_algorithms(const PlanSummary& s) {
  std::vector<std::string> items;
  for (const auto& [name, steps] : s.algorithms) items.push_back(format("%d x ", steps) + name);
  if (!items.empty()) print_list(format("%-11s", "algorithms"), items, kSummaryIndent, ";");
}

// ---- steps ----

// There is no scratch where there is no room.
struct StepColumns {
  bool unit = false, scratch = false;
  size_t op = 2;
};

StepColumns columns_of(const StepPlan& plan) {
  StepColumns out;
  for (const PlannedStep& step : plan.steps) {
    out.unit |= step.unit > 0;
    out.scratch |= step.scratch_bytes > 0 && columns() >= 100;
    out.op = std::max(out.op, step.op.size());
  }
  out.op = std::min(out.op, columns() - (out.scratch ? 65 : 53) - (out.unit ? 6 : 0));
  return out;
}

// Whether there was room for all of the name.
bool print_row(const StepColumns& c, const std::vector<std::string>& cells) {
  std::string line = format("%4s", cells[0].c_str());
  if (c.unit) line += format("  %4s", cells[1].c_str());
  line += format("  %7s  %10s", cells[2].c_str(), cells[3].c_str());
  if (c.scratch) line += format("  %10s", cells[4].c_str());
  line += format("  %-*s  ", static_cast<int>(c.op), short_name(cells[5], c.op).c_str());
  const std::string name = short_name(cells[6], columns() - line.size());
  print("%s%s\n", line.c_str(), name.c_str());
  return name == cells[6];
}

void print_step(const StepColumns& c, size_t number, const PlannedStep& step) {
  const bool whole =
      print_row(c, {std::to_string(number), std::to_string(step.unit), step.flops ? flops_text(step.flops) : "",
                    cell(step.bytes_accessed), cell(step.scratch_bytes), step.op, step.name});
  constexpr size_t kIndent = 6;
  std::string line(kIndent, ' ');
  const auto add = [&](const std::string& what) { line += (line.size() > kIndent ? "; " : "") + what; };
  if (step.scratch_bytes && !c.scratch) add("scratch " + size_text(step.scratch_bytes));
  if (!step.algorithm.empty()) add("by " + step.algorithm);
  const bool fused = step.nodes.size() > 1;
  if (fused || (step.nodes.size() == 1 && (!whole || step.nodes[0].op != step.op))) {
    add(fused ? "fuses" : "does");
    const bool same = !fused && whole && step.nodes[0].name == step.name;
    print_list(line, same ? std::vector{step.nodes[0].op} : names_of(step.nodes), kIndent + 2);
  } else if (line.size() > kIndent) {
    print("%s\n", line.c_str());
  }
}

void print_steps(const StepPlan& plan, bool verbose) {
  const StepColumns c = columns_of(plan);
  print("\n");
  print_row(c, {"step", "unit", "FLOP", "accessed", "scratch", "op", "node"});
  for (size_t i = 0; i < plan.steps.size(); ++i) print_step(c, i, plan.steps[i]);
  if (!verbose || plan.idle.empty()) return;
  print("\n");
  print_list("in no step:", names_of(plan.idle), 2);
}

// ---- buffers ----

constexpr size_t kValuesColumn = 49;

void print_buffer(const StepPlan& plan, int number, bool verbose) {
  const PlannedBuffer& buffer = plan.buffers[static_cast<size_t>(number)];
  const size_t width = columns() - kValuesColumn;
  std::vector<std::string> what;
  for (const PlannedValue& value : buffer.values) what.push_back(value_text(value, width));
  if (what.empty()) what.push_back(scratch_text(plan, buffer, width));
  print("%6d  %14s  %10s  %5d  %4d  %s\n", number, with_commas(static_cast<int64_t>(buffer.offset)).c_str(),
        size_text(buffer.bytes).c_str(), buffer.first, buffer.last, what[0].c_str());
  const std::string indent(kValuesColumn, ' ');
  for (size_t i = 1; i < what.size(); ++i) print("%s%s\n", indent.c_str(), what[i].c_str());
  std::vector<std::string> reused;
  for (const int i : memory_reused_of(plan, buffer)) reused.push_back(std::to_string(i));
  if (reused.empty()) return;
  if (!verbose && reused.size() > kMostReused) {
    const size_t more = reused.size() - kMostReused;
    reused.resize(kMostReused);
    reused.back() += format(" and %zu more", more);
  }
  print_list(indent + "reuses the memory of", reused, kValuesColumn + 2);
}

// What is computed where something of the caller's lies.
void print_placed(const StepPlan& plan, const char* memory, const char* name) {
  if (values_in(plan, memory) == 0) return;
  print("\nvalues in the memory of %s\n", name);
  for (const PlannedBuffer& buffer : plan.buffers)
    for (const PlannedValue& value : buffer.values)
      if (buffer.memory == memory) {
        const std::string in = buffer.name.empty() ? "" : " in " + short_name(buffer.name, columns() / 2 - 6);
        print("  %s%s\n", short_name(value.name, columns() - 2 - in.size()).c_str(), in.c_str());
      }
}

void print_buffers(const StepPlan& plan, bool verbose) {
  std::vector<int> order;
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    if (plan.buffers[i].memory == "workspace") order.push_back(static_cast<int>(i));
  const auto key = [&](int i) {
    const PlannedBuffer& b = plan.buffers[static_cast<size_t>(i)];
    return std::pair(b.offset, b.first);
  };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return key(a) < key(b); });
  print("\nbuffers of the workspace, by offset, then by step\n");
  print("%6s  %14s  %10s  %5s  %4s  %s\n", "buffer", "offset", "bytes", "from", "to", "values");
  for (const int i : order) print_buffer(plan, i, verbose);
  for (const auto& [memory, name] : kElsewhere) print_placed(plan, memory, name);
}

void print_text_of(const StepPlan& plan, const PlanTitle& title) {
  const PlanSummary summary = summary_of(plan);
  print("%s, %s, batch %s on %s\n\n", title.model.c_str(), title.mode.c_str(), with_commas(title.batch).c_str(),
        plan.device.c_str());
  print_nodes(plan, summary);
  print_memory(plan, summary);
  print_peak(plan, summary);
  print_algorithms(summary);
  print_steps(plan, title.verbose);
  if (title.buffers) print_buffers(plan, title.verbose);
}

}  // namespace

void print_plan(const StepPlan& plan, const PlanTitle& title) {
  if (title.json)
    print_line(plan_json(plan, title));
  else
    print_text_of(plan, title);
}

}  // namespace tenon::runner
