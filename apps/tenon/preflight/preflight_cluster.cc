// tenon preflight MODEL --cluster FILE: what a step would take in 1, 2, 4, .. processes.
#include <algorithm>

#include "preflight/cluster_file.h"
#include "preflight/preflight_parts.h"

namespace tenon::runner {
namespace {

// What means nothing without a machine that is modelled.
void expect_no_machine(const Flags& flags) {
  for (const char* name : {"tpu", "device", "sweep", "jobs", "top", "price_per_hour", "iterations_per_loop",
                           "bounded_batch", "soft_placement"})
    if (flags.has(name) && flags.given(name))
      throw UsageError{std::string("--cluster and --") + name + " exclude each other"};
}

bool says_batch(const Flags& flags) {
  return flags.given("train_batch_size") || (flags.has("batch_size") && flags.given("batch_size"));
}

std::string exchanges_json(const ScalingRow& row) {
  return json_list_of(row.exchanges, [](const ScalingExchange& e) {
    return Json()
        .add("what", e.what)
        .add("way", e.way)
        .add("arrays", e.arrays)
        .add("bytes", e.bytes)
        .add("sent_bytes", e.sent_bytes)
        .add("predicted_ms", e.ms)
        .str();
  });
}

void print_json(const std::string& model, const std::vector<ScalingRow>& rows) {
  std::string list;
  for (const ScalingRow& row : rows)
    add_item(list, Json()
                       .add("processes", row.processes)
                       .add("hosts", row.hosts)
                       .add("batch_size", row.batch_size)
                       .add("compute_ms", row.compute_ms)
                       .add("exchange_ms", row.exchange_ms)
                       .add("hidden_ms", row.hidden_ms)
                       .add("input_ms", row.input_ms)
                       .add("predicted_ms", row.step_ms)
                       .add("examples_per_second", row.examples_per_s())
                       .add("efficiency", row.efficiency)
                       .add("input_needed_per_host", row.input_needed_per_s())
                       .raw("exchanges", exchanges_json(row))
                       .str());
  print_line(Json("result").add("model", model).raw("scaling", json_list(list)).str());
}

// Exchanges of the last row, those of one way and kind in one line.
void print_exchanges(const ScalingRow& row) {
  if (row.exchanges.empty()) return;
  print("\nexchanges of a step of %s, in their order:\n", format("%d processes", row.processes).c_str());
  print("  %9s %12s %12s %7s  %-20s %s\n", "ms", "size", "sent", "arrays", "what", "way");
  for (const ScalingExchange& e : row.exchanges)
    print("  %9.3f %12s %12s %7d  %-20s %s\n", e.ms, bytes_text(static_cast<double>(e.bytes)).c_str(),
          bytes_text(e.sent_bytes).c_str(), e.arrays, e.what.c_str(), e.way.c_str());
}

std::string size_of(const Cluster& c) {
  const std::string units = c.units_per_process > 1 ? format(" of %d units", c.units_per_process) : "";
  return counted(c.hosts, "host") +
         format(", %d process%s%s each", c.processes_per_host, c.processes_per_host > 1 ? "es" : "", units.c_str());
}

void print_table(const std::string& title, const ClusterFile& file, const std::vector<ScalingRow>& rows) {
  print("%s on %s: all of it predicted, from a step of %s that was measured as %.4g ms\n", title.c_str(),
        size_of(file.cluster).c_str(), counted(file.step.examples, "example").c_str(), file.step.ms);
  print("%9s %6s %9s %11s %11s %11s %11s %11s %13s\n", "processes", "hosts", "batch", "compute ms", "exchange ms",
        "hidden ms", "step ms", "efficiency", "examples/s");
  for (const ScalingRow& row : rows)
    print("%9d %6d %9s %11.3f %11.3f %11.3f %11.3f %9.1f %% %13s\n", row.processes, row.hosts,
          with_commas(row.batch_size).c_str(), row.compute_ms, row.exchange_ms, row.hidden_ms, row.step_ms,
          100 * row.efficiency, rate_text(row.examples_per_s()).c_str());
  const ScalingRow& last = rows.back();
  print("input that each host needs: %s examples/s", rate_text(last.input_needed_per_s()).c_str());
  if (last.input_ms > 0)
    print("; it reads %s%s", rate_text(file.input_examples_per_s).c_str(),
          last.input_ms >= last.step_ms ? ", for which the step waits" : "");
  print("\n");
  print_exchanges(last);
}

}  // namespace

int run_cluster(const Flags& flags, const std::vector<std::string>& words) {
  expect_no_machine(flags);
  const ModelRun model(flags, words);
  const ClusterFile file = read_cluster_file(flags.text("cluster"));
  if (const std::string flag = given_replica_flag(flags); !flag.empty() && file.cluster.processes() == 1)
    throw UsageError{of_one_replica(flag, size_of(file.cluster))};
  const ScalingOptions options{.batch_size = says_batch(flags) ? model.train_batch() : 0,
                               .input_examples_per_s = file.input_examples_per_s,
                               .all_reduce_dtype = all_reduce_dtype_of(flags),
                               .shard_optimizer_state = flags.boolean("shard_optimizer_state")};
  const std::vector<ScalingRow> rows =
      predict_scaling(model.info().model, model.params(), model.data().features(), file.cluster, file.step, options)
          .take();
  if (flags.boolean("json"))
    print_json(model.info().name, rows);
  else
    print_table(model.info().name, file, rows);
  return 0;
}

}  // namespace tenon::runner
