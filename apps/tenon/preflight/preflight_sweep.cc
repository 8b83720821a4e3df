// tenon preflight --sweep: one line a batch size.
#include <algorithm>
#include <charconv>

#include "preflight/preflight_parts.h"

namespace tenon::runner {
namespace {

constexpr int64_t kMaxBatch = 1 << 24;
constexpr size_t kMaxSizes = 256;

[[noreturn]] void bad_sweep(const std::string& text) {
  throw UsageError{"--sweep: expected batch=256,512 or batch=256..4096, sizes from 1 to " + with_commas(kMaxBatch) +
                   ", found '" + text + "'"};
}

int64_t size_of(std::string_view digits, const std::string& text) {
  int64_t n = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
  if (error != std::errc() || end != digits.data() + digits.size() || n < 1 || n > kMaxBatch) bad_sweep(text);
  return n;
}

std::vector<int64_t> doubling(int64_t from, int64_t to, const std::string& text) {
  if (from > to) bad_sweep(text);
  std::vector<int64_t> out;
  for (; from <= to; from *= 2) out.push_back(from);
  return out;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// For as many examples as the run has with its own batch size, so that rows can be compared.
struct Sweep {
  double examples;
  PlannedRun run;

  double seconds(const Preflight& p) const { return examples / p.examples_per_second(); }
  double cost(const Preflight& p) const { return seconds(p) / 3600 * run.price_per_hour; }
};

std::string row_text(const Preflight& p, const Sweep& sweep) {
  const std::string memory = p.memory.peak ? bytes_text(static_cast<double>(p.memory.peak)) : "";
  if (p.verdict != Verdict::kAccepted)
    return format("%9s  %-8s %10s %12s %12s  %s", with_commas(p.batch_size).c_str(),
                  std::string(verdict_name(p.verdict)).c_str(), "", "", memory.c_str(),
                  first_line(p.status.message()).c_str());
  const std::string cost = sweep.run.price_per_hour > 0 ? format(" %9s", cost_text(sweep.cost(p)).c_str()) : "";
  return format("%9s  %-8s %10.3f %12s %12s %8.1f %9s%s  %s", with_commas(p.batch_size).c_str(), "accepted",
                p.step.step_ms, with_commas(static_cast<int64_t>(p.examples_per_second())).c_str(), memory.c_str(),
                100 * p.step.matrix_utilisation(), time_text(sweep.seconds(p)).c_str(), cost.c_str(),
                p.step.bottleneck.c_str());
}

std::string row_json(const Preflight& p, const Sweep& sweep) {
  Json json;
  json.add("batch_size", p.batch_size)
      .add("verdict", verdict_name(p.verdict))
      .add("message", p.status.message())
      .add("peak_bytes", p.memory.peak)
      .add("capacity_bytes", p.memory.capacity);
  if (p.verdict != Verdict::kAccepted) return json.str();
  json.add("predicted_ms", p.step.step_ms)
      .add("examples_per_second", p.examples_per_second())
      .add("matrix_utilisation", p.step.matrix_utilisation())
      .add("bottleneck", p.step.bottleneck)
      .add("predicted_seconds", sweep.seconds(p));
  if (sweep.run.price_per_hour > 0) json.add("cost", sweep.cost(p));
  return json.str();
}

void print_table(const std::vector<Preflight>& rows, const Sweep& sweep) {
  for (const Preflight& p : rows)
    if (p.verdict == Verdict::kAccepted) {
      print("modelled: %s\n", machine_text(p.step).c_str());
      break;
    }
  print("%9s  %-8s %10s %12s %12s %8s %9s%s  %s\n", "batch", "verdict", "step ms", "examples/s", "a core", "matrix %",
        "run", sweep.run.price_per_hour > 0 ? "      cost" : "", "waits for");
  for (const Preflight& p : rows) print_line(row_text(p, sweep));
  print("All of it predicted; run%s: %s examples.\n", sweep.run.price_per_hour > 0 ? " and cost" : "",
        with_commas(static_cast<int64_t>(sweep.examples)).c_str());
}

void print_json(const std::vector<Preflight>& rows, const Sweep& sweep, const std::string& model,
                const std::string& device) {
  Json json("result");
  json.add("model", model).add("device", device).add("examples", sweep.examples);
  const auto accepted =
      std::find_if(rows.begin(), rows.end(), [](const Preflight& p) { return p.verdict == Verdict::kAccepted; });
  if (accepted != rows.end())
    json.add("machine", accepted->step.machine)
        .add("software", accepted->step.software)
        .add("validated", accepted->step.validated);
  const auto row = [&](const Preflight& p) { return row_json(p, sweep); };
  print_line(json.raw("sweep", json_list_of(rows, row)).str());
}

}  // namespace

std::vector<int64_t> sweep_sizes(const std::string& text) {
  const std::string_view key = "batch=";
  if (!text.starts_with(key)) bad_sweep(text);
  const std::string_view list = std::string_view(text).substr(key.size());
  if (const size_t dots = list.find(".."); dots != std::string_view::npos)
    return doubling(size_of(list.substr(0, dots), text), size_of(list.substr(dots + 2), text), text);
  std::vector<int64_t> out;
  for (size_t at = 0; at <= list.size() && out.size() < kMaxSizes;) {
    const size_t end = std::min(list.find(',', at), list.size());
    out.push_back(size_of(list.substr(at, end - at), text));
    at = end + 1;
  }
  return out;
}

int run_sweep(const Flags& flags, const ModelRun& model, const Preflighter& machine, const PlannedRun& run) {
  const std::vector<int64_t> sizes = sweep_sizes(flags.text("sweep"));
  std::vector<Preflight> rows(sizes.size());
  for_each_core(sizes.size(), [&](size_t i) { rows[i] = preflight_batch(flags, model, machine, sizes[i]); });
  const Sweep sweep{static_cast<double>(run.steps) * static_cast<double>(flags.integer("train_batch_size")), run};
  if (flags.boolean("json"))
    print_json(rows, sweep, model.info().name, machine.device());
  else
    print_table(rows, sweep);
  for (const Preflight& p : rows)
    if (p.verdict == Verdict::kAccepted) return 0;
  throw Error(rows[0].status);
}

}  // namespace tenon::runner
