#include "profile.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "output.h"

namespace tenon::runner {
namespace {

struct Line {
  std::string name, op;
  int nodes = 0;
  double ms = 0, flops = 0, bytes = 0;
};

std::vector<Line> lines_of(const StepProfile& profile, bool by_node) {
  std::vector<Line> lines;
  std::map<std::string, size_t> index;
  double sum = 0;
  for (const NodeTime& node : profile.nodes) {
    const auto [at, fresh] = index.try_emplace(by_node ? node.name : node.op, lines.size());
    if (fresh) lines.push_back({by_node ? node.name : node.op, node.op, 0, 0, 0, 0});
    Line& line = lines[at->second];
    ++line.nodes;
    line.ms += node.ms;
    line.flops += node.flops;
    line.bytes += node.bytes;
    sum += node.ms;
  }
  lines.push_back({"(waiting)", "-", 0, std::max(0.0, profile.step_ms - sum), 0, 0});
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.ms > b.ms; });
  return lines;
}

double a_second(double amount, double ms) { return ms > 0 ? amount / ms * 1e-6 : 0; }

void print_head(const StepProfile& profile, const MachineLimits& limits, bool by_node) {
  if (profile.predicted)
    print("predicted for a unit of the machine that this device stands for, not measured: %.4g ms a step in kernels\n",
          profile.step_ms);
  else
    print("limits of this machine: %.0f GFLOP/s, %.1f GB/s; a step took %.4g ms\n", limits.flops * 1e-9,
          limits.bytes * 1e-9, profile.step_ms);
  print("%10s %6s %9s %8s %7s  %5s  %s\n", "ms", "share", "GFLOP/s", "GB/s", "limit", "nodes", by_node ? "node" : "op");
}

}  // namespace

void print_profile(const StepProfile& profile, const MachineLimits& limits, bool by_node, bool json) {
  if (!json) print_head(profile, limits, by_node);
  for (const Line& line : lines_of(profile, by_node)) {
    const double share = 100 * line.ms / profile.step_ms;
    const double gflops = a_second(line.flops, line.ms), gbytes = a_second(line.bytes, line.ms);
    const double percent = percent_of_limit(limits, line.flops, line.bytes, line.ms);
    if (json) {
      Json out(by_node ? "node" : "op");
      out.add("name", line.name).add("op", line.op).add("nodes", static_cast<int64_t>(line.nodes));
      out.add(profile.predicted ? "predicted_ms" : "ms", line.ms).add("share_percent", share);
      out.add("gflops", gflops).add("gbytes_per_second", gbytes);
      if (!profile.predicted) out.add("limit_percent", percent);
      print_line(out.str());
      continue;
    }
    char limit[32] = "-";
    if (!profile.predicted) std::snprintf(limit, sizeof limit, "%.0f%%", percent);
    print("%10.4f %5.1f%% %9.1f %8.1f %7s  %5d  %s\n", line.ms, share, gflops, gbytes, limit, line.nodes,
          (by_node && line.op != "-" ? line.name + "  (" + line.op + ")" : line.name).c_str());
  }
}

}  // namespace tenon::runner
