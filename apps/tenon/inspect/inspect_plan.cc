// What a device decided for a step, in 80 columns or as one JSON object.
#include <algorithm>

#include "inspect/inspect.h"

namespace tenon::runner {
namespace {

constexpr size_t kColumns = 80;

std::string size_text(uint64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

// Its end, which tells names apart.
std::string fitted(const std::string& text, size_t width) {
  return text.size() <= width ? text : ".." + text.substr(text.size() - (width - 2));
}

// Items behind `indent` columns, in as many lines as they take.
void print_list(const std::string& before, const std::vector<std::string>& items) {
  std::string line = before;
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string item = fitted(items[i], kColumns - 12) + (i + 1 < items.size() ? "," : "");
    if (line.size() + 1 + item.size() > kColumns) {
      print("%s\n", line.c_str());
      line = std::string(before.find_first_not_of(' ') + 2, ' ');
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

// ---- text ----

void print_step(size_t number, const PlannedStep& step) {
  std::string line = format("%4zu %-30s %-23s", number, fitted(step.name, 30).c_str(), fitted(step.op, 23).c_str());
  if (step.scratch_bytes) line += format(" %10s", size_text(step.scratch_bytes).c_str());
  print("%s\n", line.substr(0, line.find_last_not_of(' ') + 1).c_str());
  if (!step.algorithm.empty()) print("       by %s\n", fitted(step.algorithm, kColumns - 10).c_str());
  const bool own = step.nodes.size() > 1 || (step.nodes.size() == 1 && step.nodes[0].op != step.op);
  if (own) print_list("       does", names_of(step.nodes));
}

// "conv2d/conv f32[128,28,28,32]", or the name alone where there is no room for both.
std::string value_text(const PlannedValue& value, size_t width) {
  const std::string whole = value.type.empty() ? value.name : value.name + " " + value.type;
  return whole.size() <= width ? whole : fitted(value.name, width);
}

void print_buffer(size_t number, const PlannedBuffer& buffer) {
  constexpr size_t kWidth = kColumns - 40;
  std::vector<std::string> what;
  for (const PlannedValue& value : buffer.values) what.push_back(value_text(value, kWidth));
  if (what.empty()) what.push_back(buffer.name.empty() ? "scratch" : buffer.name);
  print("%4zu %13s %10s %8s  %s\n", number, with_commas(static_cast<int64_t>(buffer.offset)).c_str(),
        size_text(buffer.bytes).c_str(), format("%d-%d", buffer.first, buffer.last).c_str(), what[0].c_str());
  for (size_t i = 1; i < what.size(); ++i) print("%40s%s\n", "", what[i].c_str());
  if (buffer.after.empty()) return;
  std::vector<std::string> after;
  for (const int i : buffer.after) after.push_back(std::to_string(i));
  print_list("       after", after);
}

// What lies in memory of the caller's: of each kind how many, and with --verbose which.
void print_placed(const StepPlan& plan, const char* memory, const char* text, bool verbose) {
  int64_t count = 0;
  for (const PlannedBuffer& buffer : plan.buffers)
    if (buffer.memory == memory) count += static_cast<int64_t>(buffer.values.size());
  if (count == 0) return;
  print("%s %s\n", counted(count, "value").c_str(), text);
  for (const PlannedBuffer& buffer : plan.buffers)
    for (const PlannedValue& value : buffer.values)
      if (verbose && buffer.memory == memory)
        print("     %s\n",
              fitted(value.name + (buffer.name.empty() ? "" : " in " + buffer.name), kColumns - 5).c_str());
}

void print_text_of(const StepPlan& plan, const PlanTitle& title) {
  const PlannedMemory& m = plan.memory;
  print("%s, %s, batch %s on %s: %s for %d nodes\n", title.model.c_str(), title.mode.c_str(),
        with_commas(title.batch).c_str(), plan.device.c_str(),
        counted(static_cast<int64_t>(plan.steps.size()), "step").c_str(), plan.nodes);
  print("arguments %s, results %s, constants and code %s, workspace %s\n", size_text(m.arguments).c_str(),
        size_text(m.results).c_str(), size_text(m.code).c_str(), size_text(m.workspace).c_str());
  print("\nstep %-30s %-23s    scratch\n", "named after", "op");
  for (size_t i = 0; i < plan.steps.size(); ++i) print_step(i, plan.steps[i]);
  if (!plan.idle.empty()) {
    print("\n");
    print_list("in no step:", names_of(plan.idle));
  }
  print("\nworkspace: where it lies, between which steps, and after which buffers\n");
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    if (plan.buffers[i].memory == "workspace") print_buffer(i, plan.buffers[i]);
  print("\n");
  print_placed(plan, "input", "computed where an input lies", title.verbose);
  print_placed(plan, "result", "computed where a result is to be", title.verbose);
  print_placed(plan, "constant", "in constants", title.verbose);
}

// ---- JSON ----

template <class T, class F>
std::string list_of(const std::vector<T>& items, F json) {
  std::string out;
  for (const T& item : items) add_item(out, json(item));
  return json_list(out);
}

std::string json_of(const PlannedStep::Node& node) { return Json().add("name", node.name).add("op", node.op).str(); }

std::string json_of(const PlannedStep& step) {
  return Json()
      .add("name", step.name)
      .add("op", step.op)
      .add("algorithm", step.algorithm)
      .add("unit", step.unit)
      .add("scratch_bytes", step.scratch_bytes)
      .raw("nodes", list_of(step.nodes, [](const PlannedStep::Node& node) { return json_of(node); }))
      .str();
}

std::string json_of(const PlannedValue& value) {
  return Json()
      .add("name", value.name)
      .add("type", value.type)
      .add("unit", value.unit)
      .add("bytes", value.bytes)
      .add("offset", value.offset)
      .str();
}

std::string json_of(const PlannedBuffer& buffer) {
  return Json()
      .add("memory", buffer.memory)
      .add("name", buffer.name)
      .add("first", buffer.first)
      .add("last", buffer.last)
      .add("bytes", buffer.bytes)
      .add("offset", buffer.offset)
      .raw("values", list_of(buffer.values, [](const PlannedValue& value) { return json_of(value); }))
      .raw("after", list_of(buffer.after, [](int i) { return std::to_string(i); }))
      .str();
}

std::string json_of(const StepPlan& plan, const PlanTitle& title) {
  return Json("result")
      .add("model", title.model)
      .add("mode", title.mode)
      .add("batch_size", title.batch)
      .add("device", plan.device)
      .add("nodes", plan.nodes)
      .add("argument_bytes", plan.memory.arguments)
      .add("result_bytes", plan.memory.results)
      .add("code_bytes", plan.memory.code)
      .add("workspace_bytes", plan.memory.workspace)
      .raw("steps", list_of(plan.steps, [](const PlannedStep& step) { return json_of(step); }))
      .raw("idle", list_of(plan.idle, [](const PlannedStep::Node& node) { return json_of(node); }))
      .raw("buffers", list_of(plan.buffers, [](const PlannedBuffer& buffer) { return json_of(buffer); }))
      .str();
}

}  // namespace

void print_plan(const StepPlan& plan, const PlanTitle& title) {
  if (title.json)
    print_line(json_of(plan, title));
  else
    print_text_of(plan, title);
}

}  // namespace tenon::runner
