// What `tenon preflight` says of one model on one machine, as text.
#include <algorithm>

#include "preflight/preflight_parts.h"

namespace tenon::runner {
namespace {

double share(uint64_t part, uint64_t whole) {
  return whole ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}
double percent(double of_one) { return 100 * of_one; }
std::string size_text(uint64_t bytes) { return bytes_text(static_cast<double>(bytes)); }
std::string ms_text(double ms) { return format(ms < 10 ? "%.3f ms" : ms < 1000 ? "%.2f ms" : "%.1f ms", ms); }

// The kernels that take longest first.
std::vector<PredictedKernel> by_time(const PredictedStep& step) {
  std::vector<PredictedKernel> out = step.kernels;
  std::stable_sort(out.begin(), out.end(),
                   [](const PredictedKernel& a, const PredictedKernel& b) { return a.ms > b.ms; });
  return out;
}

std::string expansion_text(const PlannedAllocation& a) {
  return a.dense_bytes ? format("%.1fx", share(a.bytes, a.dense_bytes)) : "";
}

std::string allocation_name(const PlannedAllocation& a) {
  if (!a.op.empty()) return a.name;
  return a.name.empty() ? "argument" : "argument " + a.name;
}

void print_memory(const PlannedMemory& m, int top) {
  if (m.peak == 0 && m.allocations.empty()) return;
  print("\nmemory of a core, planned: %s", size_text(m.peak).c_str());
  if (m.capacity) print(" of %s, %.1f %%", size_text(m.capacity).c_str(), percent(share(m.peak, m.capacity)));
  print("\n");
  print("  arguments %s, temporaries %s, code %s, reserved %s\n", size_text(m.arguments).c_str(),
        size_text(m.workspace).c_str(), size_text(m.code).c_str(), size_text(m.reserved).c_str());
  if (m.allocations.empty() || top == 0) return;
  print("  %12s %12s %8s  %-24s %s\n", "size", "unpadded", "padding", "type", "largest allocations");
  for (size_t i = 0; i < m.allocations.size() && i < static_cast<size_t>(top); ++i) {
    const PlannedAllocation& a = m.allocations[i];
    print("  %12s %12s %8s  %-24s %s\n", size_text(a.bytes).c_str(),
          a.dense_bytes ? size_text(a.dense_bytes).c_str() : "", expansion_text(a).c_str(), a.type.c_str(),
          allocation_name(a).c_str());
  }
}

void print_step(const Preflight& p) {
  const PredictedStep& s = p.step;
  print("\npredicted step: %s, %s examples/s; what it waits for: %s\n", ms_text(s.step_ms).c_str(),
        with_commas(static_cast<int64_t>(p.examples_per_second())).c_str(), s.bottleneck.c_str());
  print("  device %s, of which exchange of gradients %s and optimizer %s\n", ms_text(s.device_ms).c_str(),
        ms_text(s.collective_ms).c_str(), ms_text(s.update_ms).c_str());
  print("  infeed %s, outfeed %s, host %s\n", ms_text(s.infeed_ms).c_str(), ms_text(s.outfeed_ms).c_str(),
        ms_text(s.host_ms).c_str());
  print("  matrix units: %.1f %% of their %.1f TFLOP/s a core\n", percent(s.matrix_utilisation()),
        s.peak_flops * 1e-12);
}

void print_advice(const PredictedStep& s) {
  const std::vector<std::string> advice = lines_of(s.advice);
  if (advice.empty()) return;
  print("\nwhat would help:\n");
  for (const std::string& line : advice) print("  %s\n", line.c_str());
}

void print_padding(const PredictedStep& s, int top) {
  if (s.padded_layers.empty() || top == 0) return;
  print("\nlayers and inputs whose sizes fill no whole tiles, %s; the share that is padding:\n",
        with_commas(static_cast<int64_t>(s.padded_layers.size())).c_str());
  print("  %7s %7s  %-24s %-32s %s\n", "memory", "matrix", "result", "layer", "sizes, and what would cost no more");
  for (size_t i = 0; i < s.padded_layers.size() && i < static_cast<size_t>(top); ++i) {
    const PaddedLayer& l = s.padded_layers[i];
    print("  %5.1f %% %7s  %-24s %-32s %s\n", percent(l.memory_padding()),
          l.flops ? format("%.1f %%", percent(l.matrix_padding())).c_str() : "", l.type.c_str(), l.name.c_str(),
          l.sizes_text().c_str());
  }
}

std::string kernel_name(const PredictedKernel& k) {
  return k.name + (k.nodes > 1 ? format(" and %d more", k.nodes - 1) : "");
}

void print_kernels(const PredictedStep& s, int top) {
  if (s.kernels.empty() || top == 0) return;
  const std::vector<PredictedKernel> kernels = by_time(s);
  print("\nkernels that take longest, of %s:\n", with_commas(static_cast<int64_t>(kernels.size())).c_str());
  print("  %9s %6s  %-12s %-13s %9s %12s  %s\n", "ms", "%", "kind", "waits for", "GFLOP", "moved", "nodes");
  for (size_t i = 0; i < kernels.size() && i < static_cast<size_t>(top); ++i) {
    const PredictedKernel& k = kernels[i];
    print("  %9.4f %6.1f  %-12s %-13s %9.3f %12s  %s\n", k.ms, s.device_ms > 0 ? percent(k.ms / s.device_ms) : 0,
          k.category.c_str(), k.bound.c_str(), static_cast<double>(k.flops) * 1e-9, size_text(k.padded_bytes).c_str(),
          kernel_name(k).c_str());
  }
}

void print_run(const PredictedStep& s, const PlannedRun& run) {
  print("\nwhole run, predicted: %s in %s", counted(run.steps, "step").c_str(),
        time_text(run.seconds(s.step_ms)).c_str());
  if (run.price_per_hour > 0)
    print(", cost %s at %g an hour", cost_text(run.cost(s.step_ms)).c_str(), run.price_per_hour);
  print("; without start, evaluation and checkpoints\n");
}

std::string inputs_text(const Preflight& p) {
  std::string out;
  for (const Preflight::Input& input : p.inputs) add_item(out, input.name + " " + input.type);
  return out;
}

std::string beside(const std::string& bounded, const std::string& fixed) { return bounded + " (" + fixed + ")"; }

// Prints what one program for all batches takes, beside what the static form does.
void print_bounded(const Preflight& fixed, const Preflight& p) {
  print("\none program for batches of up to %s, in parentheses the static form: %s\n",
        with_commas(p.batch_size).c_str(),
        p.verdict == Verdict::kOutOfMemory ? "out of memory" : std::string(verdict_name(p.verdict)).c_str());
  if (!p.inputs.empty()) print("  inputs of a core: %s\n", inputs_text(p).c_str());
  if (p.verdict != Verdict::kAccepted) return;
  print("  predicted step: %s, device %s\n", beside(ms_text(p.step.step_ms), ms_text(fixed.step.step_ms)).c_str(),
        beside(ms_text(p.step.device_ms), ms_text(fixed.step.device_ms)).c_str());
  print("  memory of a core: %s\n", beside(size_text(p.memory.peak), size_text(fixed.memory.peak)).c_str());
  print("  a smaller batch takes as long; of the static form it is a program of its own\n");
}

}  // namespace

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::string time_text(double seconds) { return seconds < 60 ? format("%.3g s", seconds) : duration_text(seconds); }
std::string cost_text(double cost) { return format(cost < 1 ? "%.2g" : "%.2f", cost); }

std::string machine_text(const PredictedStep& step) {
  return format("%s, %s on %s, as fast as with %s; %s", step.machine.c_str(), counted(step.units, "core").c_str(),
                counted(step.hosts, "host").c_str(), step.software.c_str(),
                step.validated ? "held against measurements of such machines" : "never held against measurements");
}

void print_preflight(const std::string& title, const BothForms& found, const PlannedRun& run) {
  const Preflight& p = found.fixed;
  print("%s: %s\n", title.c_str(),
        p.verdict == Verdict::kOutOfMemory ? "out of memory" : std::string(verdict_name(p.verdict)).c_str());
  if (p.verdict == Verdict::kAccepted) print("modelled: %s\n", machine_text(p.step).c_str());
  if (p.unit_batch_size > 0)
    print("batch %s, %s a core; %s\n", with_commas(p.batch_size).c_str(), with_commas(p.unit_batch_size).c_str(),
          counted(p.parameters, "parameter").c_str());
  if (!p.inputs.empty()) print("inputs of a core: %s\n", inputs_text(p).c_str());
  for (const std::string& line : lines_of(p.warnings)) print("note: %s\n", line.c_str());
  print_memory(p.memory, run.top);
  if (p.verdict != Verdict::kAccepted) return;
  print_step(p);
  print_padding(p.step, run.top);
  print_advice(p.step);
  print_kernels(p.step, run.top);
  print_run(p.step, run);
  if (found.bounded) print_bounded(p, *found.bounded);
}

}  // namespace tenon::runner
