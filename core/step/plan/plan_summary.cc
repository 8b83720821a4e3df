#include <algorithm>
#include <map>
#include <utility>

#include "tenon/step_plan.h"

namespace tenon {
namespace {

bool in_workspace(const PlannedBuffer& buffer) { return buffer.memory == "workspace"; }

void count_steps(const StepPlan& plan, PlanSummary& out) {
  std::map<std::string, int> algorithms;
  for (const PlannedStep& step : plan.steps) {
    out.units = std::max(out.units, step.unit + 1);
    out.flops += step.flops;
    out.bytes_accessed += step.bytes_accessed;
    if (step.nodes.size() > 1) {
      ++out.fused_steps;
      out.fused_nodes += static_cast<int>(step.nodes.size());
    }
    if (!step.algorithm.empty()) ++algorithms[step.algorithm];
  }
  for (const auto& [name, steps] : algorithms) out.algorithms.push_back({name, steps});
  std::stable_sort(out.algorithms.begin(), out.algorithms.end(),
                   [](const auto& a, const auto& b) { return a.steps > b.steps; });
}

void find_peak(const StepPlan& plan, PlanSummary& out) {
  std::vector<uint64_t> alive(plan.steps.size(), 0);
  for (const PlannedBuffer& buffer : plan.buffers)
    for (int step = buffer.first; in_workspace(buffer) && step <= buffer.last; ++step)
      alive.at(static_cast<size_t>(step)) += buffer.bytes;
  const auto most = std::max_element(alive.begin(), alive.end());
  if (most == alive.end() || *most == 0) return;
  out.peak_step = static_cast<int>(most - alive.begin());
  out.peak_bytes = *most;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const PlannedBuffer& buffer = plan.buffers[i];
    if (in_workspace(buffer) && buffer.first <= out.peak_step && out.peak_step <= buffer.last)
      out.alive_at_peak.push_back(static_cast<int>(i));
  }
  const auto bytes = [&](int i) { return plan.buffers[static_cast<size_t>(i)].bytes; };
  std::stable_sort(out.alive_at_peak.begin(), out.alive_at_peak.end(),
                   [&](int a, int b) { return bytes(a) > bytes(b); });
}

using Pieces = std::vector<std::pair<uint64_t, uint64_t>>;  // [begin, end)

// Takes [begin, end) out; whether some of it was there.
bool take(Pieces& pieces, uint64_t begin, uint64_t end) {
  Pieces left;
  bool found = false;
  for (const auto& [from, to] : pieces) {
    if (to <= begin || end <= from) {
      left.emplace_back(from, to);
      continue;
    }
    found = true;
    if (from < begin) left.emplace_back(from, begin);
    if (end < to) left.emplace_back(end, to);
  }
  pieces = std::move(left);
  return found;
}

}  // namespace

PlanSummary summary_of(const StepPlan& plan) {
  PlanSummary out;
  count_steps(plan, out);
  out.workspace_bytes = plan.memory.workspace;
  for (const PlannedBuffer& buffer : plan.buffers) {
    if (!in_workspace(buffer)) continue;
    ++out.buffers;
    out.buffer_bytes += buffer.bytes;
    out.workspace_bytes = std::max(out.workspace_bytes, buffer.offset + buffer.bytes);
  }
  find_peak(plan, out);
  return out;
}

std::vector<int> memory_reused_of(const StepPlan& plan, const PlannedBuffer& buffer) {
  std::vector<int> before = buffer.after, out;
  const auto at = [&](int i) -> const PlannedBuffer& { return plan.buffers[static_cast<size_t>(i)]; };
  std::stable_sort(before.begin(), before.end(), [&](int a, int b) { return at(a).last > at(b).last; });
  Pieces pieces = {{buffer.offset, buffer.offset + buffer.bytes}};
  for (const int i : before)
    if (take(pieces, at(i).offset, at(i).offset + at(i).bytes)) out.push_back(i);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace tenon
