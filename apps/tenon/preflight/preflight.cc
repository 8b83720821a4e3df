// tenon preflight MODEL --tpu v3-8: whether a machine that is not here takes a model, and what a step would take there.
// With --cluster FILE: what it would take in many processes (preflight_cluster.cc).
#include "preflight/preflight_parts.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <exception>
#include <thread>

#include "tenon/threads.h"

namespace tenon::runner {
namespace {

constexpr const char* kEmulator = "tpu-emulator";

void declare_preflight(Flags& flags, const std::vector<std::string>& words) {
  flags.leave_out({"seed", "verbose"});
  flags.text("tpu", "", "the machine, as v3-8");
  flags.text("cluster", "",
             "in the place of --tpu: a JSON file of hosts, their network and a measured step; the step in 1, 2, 4, .. "
             "processes");
  flags.integer("top", 10, "rows of the tables of kernels and allocations", 0, 1e6);
  flags.number("price_per_hour", 0, "of the whole machine, for the cost of the run");
  flags.text("sweep", "", "a table over batch sizes: batch=256,512 or batch=256..4096, which doubles");
  flags.text("jobs", "",
             "CSV file of layers,nodes,input,output,batch; the rows come back with predicted_ms and verdict");
  flags.integer("iterations_per_loop", 100, "steps in one call of the device", 1, 1e5);
  flags.boolean("bounded_batch", false,
                "predict a program for all batches of up to that size too, beside the static one");
  flags.boolean("soft_placement", false,
                "run ops that the machine lacks on cpu.so; says which, and what crosses in a step");
  add_model_flags(flags, words);
  add_training_flags(flags, words);
  flags.text("data_dir", "", "take shapes and classes of these records, which are not read");
  add_shape_flags(flags, words);
  add_batch_flags(flags, words);
}

// The machine's name in "v3-8,SETTINGS".
std::string machine_in(const std::string& spec) { return spec.substr(0, spec.find_first_of(",:")); }

// An unknown name is a mistake in the command line; other failures are not.
void expect_known(const std::string& spec) {
  const std::vector<std::string> names = machine_names(kEmulator).take();
  const std::string name = machine_in(spec);
  if (names.empty() || std::find(names.begin(), names.end(), name) != names.end()) return;
  const std::string near = nearest_word(name, names);
  throw UsageError{"--tpu: " + (name.empty() ? "is missing" : "no machine '" + name + "'") +
                   (near.empty() ? "" : ", did you mean '" + near + "'?") + "; known are " + listed(names)};
}

std::string device_for(const Flags& flags) {
  if (flags.given("device") && flags.given("tpu")) throw UsageError{"--device and --tpu exclude each other"};
  if (flags.given("device")) return flags.text("device");
  expect_known(flags.text("tpu"));
  return std::string(kEmulator) + ":" + flags.text("tpu");
}

// What the device said, its lines kept: a report of memory has many.
int refuse(const Preflight& found) {
  std::string message = found.status.message();
  while (message.ends_with('\n')) message.pop_back();
  (void)finish_output(1);
  print_error("tenon preflight: " + message, Lines::kKept);
  return 1;
}

// The lengths of text, which flags, data or the model say.
std::string title_of(const ModelRun& model, const Preflighter& machine) {
  const bool has_length = model.data().numbers().contains("max_length");
  return std::string(model.info().name) + " on " + machine.device() + (has_length ? ", " + model.data().text() : "");
}

int run_one(const Flags& flags, const ModelRun& model, const Preflighter& machine, const PlannedRun& run) {
  const int64_t batch = model.train_batch();
  BothForms found{preflight_batch(flags, model, machine, batch)};
  if (flags.boolean("bounded_batch")) found.bounded = preflight_batch(flags, model, machine, batch, true);
  if (flags.boolean("json"))
    print_preflight_json(model.info().name, machine.device(), found, run);
  else
    print_preflight(title_of(model, machine), found, run);
  if (found.fixed.verdict != Verdict::kAccepted) return refuse(found.fixed);
  return found.bounded && found.bounded->verdict != Verdict::kAccepted ? refuse(*found.bounded) : 0;
}

int run_preflight(const Flags& flags, const std::vector<std::string>& words) {
  if (flags.given("cluster")) return run_cluster(flags, words);
  if (!flags.text("sweep").empty() && !flags.text("jobs").empty())
    throw UsageError{"--sweep and --jobs exclude each other"};
  for (const char* table : {"sweep", "jobs"})
    if (flags.boolean("bounded_batch") && !flags.text(table).empty())
      throw UsageError{std::string("--bounded_batch and --") + table + " exclude each other"};
  if (flags.has("batch_size") && flags.given("batch_size") && !flags.text("sweep").empty())
    throw UsageError{"--batch_size and --sweep, which is of examples, exclude each other"};
  if (flags.has("static_batch") && flags.given("static_batch") && !flags.boolean("static_batch"))
    throw UsageError{"--nostatic_batch: what is predicted is one program, of batches of one shape"};
  if (!flags.text("sweep").empty()) (void)sweep_sizes(flags.text("sweep"));
  const ModelRun model(flags, words);
  const Preflighter machine = Preflighter::open(device_for(flags)).take();
  if (const std::string flag = given_replica_flag(flags); !flag.empty() && machine.units() == 1)
    throw UsageError{of_one_replica(flag, machine.device())};
  if (!model.info().no_data.ok()) model.print_info(models::plain_loss_line(model.info().no_data));
  const PlannedRun run{flags.integer("train_steps"), flags.number("price_per_hour"),
                       static_cast<int>(flags.integer("top"))};
  if (!flags.text("jobs").empty()) return run_jobs(flags, model, machine);
  if (!flags.text("sweep").empty()) return run_sweep(flags, model, machine, run);
  return run_one(flags, model, machine, run);
}

}  // namespace

Preflight preflight_batch(const Flags& flags, const ModelRun& model, const Preflighter& machine, int64_t batch,
                          bool bounded) {
  const PreflightOptions options{batch,
                                 static_cast<int>(flags.integer("iterations_per_loop")),
                                 flags.boolean("soft_placement"),
                                 bounded,
                                 all_reduce_dtype_of(flags),
                                 flags.boolean("shard_optimizer_state")};
  return machine.run(model.info().model, model.params(), model.data().features(), options).take();
}

void for_each_core(size_t n, const std::function<void(size_t i)>& fn) {
  std::vector<std::exception_ptr> thrown(n);
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < n; i = next++) {
      try {
        fn(i);
      } catch (...) {
        thrown[i] = std::current_exception();
      }
    }
  };
  std::vector<std::thread> others;
  try {
    for (size_t t = 1; t < std::min<size_t>(n, static_cast<size_t>(process_threads())); ++t) others.emplace_back(work);
  } catch (const std::exception&) {  // no more threads to be had: fewer do it
  }
  work();
  for (std::thread& t : others) t.join();
  for (const std::exception_ptr& e : thrown)
    if (e) std::rethrow_exception(e);
}

const Command kPreflight{
    .name = "preflight",
    .arguments = "MODEL|FILE.onnx --tpu v3-8|--cluster FILE [--sweep batch=256..4096 | --jobs FILE.csv] [FLAGS]",
    .summary =
        "Says whether a machine takes a model, and predicts memory, time and cost there, or a step of many processes",
    .declare = declare_preflight,
    .run = run_preflight,
    .details = list_of_models,
};

}  // namespace tenon::runner
