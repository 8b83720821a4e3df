// tenon train MODEL: trains from the newest checkpoint, or from the start, and evaluates.
#include <algorithm>
#include <map>
#include <optional>

#include "model/kept_file.h"
#include "model/model_run.h"
#include "process.h"
#include "tenon/processes.h"
#include "tenon/text.h"
#include "train/progress.h"
#include "train/train_flags.h"
#include "train/train_profile.h"
#include "train/train_summaries.h"

namespace tenon::runner {
namespace {

// What --export asks for.
std::vector<Exporter> exporters_of(const Flags& flags, const ModelRun& model) {
  const std::string& which = flags.text("export");
  if (flags.given("exports_to_keep") && which != "latest" && which != "best")
    throw UsageError{"--exports_to_keep needs --export latest or best"};
  if (which == "none") return {};
  if (flags.text("model_dir").empty()) throw UsageError{"--export needs --model_dir"};
  if (!flags.boolean("evaluate"))
    throw UsageError{"--export and --noevaluate exclude each other: it follows evaluations"};
  const ExporterOptions options{.how = model.export_options(),
                                .exports_to_keep = static_cast<int>(flags.integer("exports_to_keep"))};
  return {which == "latest"  ? LatestExporter(options)
          : which == "final" ? FinalExporter(options)
                             : BestExporter(options)};
}

std::map<std::string, std::string> renames_of(const std::string& text) {
  std::map<std::string, std::string> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size()), equals = text.find('=', at);
    if (equals >= end)
      throw UsageError{"--var_name_to_prev_var_name is '" + text + "', expected NAME=ITS_NAME_THERE,.."};
    const std::string name = text.substr(at, equals - at);
    if (!out.emplace(name, text.substr(equals + 1, end - equals - 1)).second)
      throw UsageError{"--var_name_to_prev_var_name renames '" + name + "' twice"};
    at = end + 1;
  }
  return out;
}

std::optional<WarmStartSettings> warm_start_of(const Flags& flags) {
  if (flags.text("warm_start_from").empty()) {
    for (const char* name : {"vars_to_warm_start", "var_name_to_prev_var_name", "skip_mismatch", "rules"})
      if (flags.given(name)) throw UsageError{format("--%s needs --warm_start_from CHECKPOINT", name)};
    return std::nullopt;
  }
  return WarmStartSettings{
      .ckpt_to_initialize_from = flags.text("warm_start_from"),
      .vars_to_warm_start = {std::vector{flags.text("vars_to_warm_start")}, VarsToWarmStart::Among::kWeights},
      .rules = flags.text("rules"),
      .var_name_to_prev_var_name = renames_of(flags.text("var_name_to_prev_var_name")),
      .skip_mismatch = flags.boolean("skip_mismatch")};
}

std::string names_and_types(const std::map<std::string, std::string>& all) {
  Json out;
  for (const auto& [name, type] : all) out.add(name, type);
  return out.str();
}

// The whole of it; without --json the line has the first names.
void print_warm_start(const WarmStartReport& report) {
  Json loaded;
  for (const auto& [variable, tensor] : report.loaded) loaded.add(variable, tensor);
  print_line(Json("warm_start")
                 .add("checkpoint", report.checkpoint)
                 .raw("loaded", loaded.str())
                 .raw("fresh", json_strings(report.fresh))
                 .raw("mismatched", json_strings(report.mismatched))
                 .raw("not_read", names_and_types(report.unread))
                 .raw("left_over", json_strings(report.left_over))
                 .raw("unmatched", json_strings(report.unmatched))
                 .str());
}

RunConfig config_of(const Flags& flags, const ModelRun& model) {
  if (flags.given("save_checkpoints_steps") && flags.given("save_checkpoints_secs"))
    throw UsageError{"--save_checkpoints_steps and --save_checkpoints_secs exclude each other"};
  for (const char* shown : {"log", "log_step_count_steps", "verbose"})
    if (flags.boolean("quiet") && flags.given(shown))
      throw UsageError{std::string("--quiet and --") + shown + " exclude each other"};
  expect_effects(flags);
  RunConfig c = model.run_config();
  c.save_checkpoints_steps = flags.integer("save_checkpoints_steps");
  if (c.save_checkpoints_steps == 0) c.save_checkpoints_secs = flags.number("save_checkpoints_secs");
  c.keep_checkpoint_every_n_hours = flags.number("keep_checkpoint_every_n_hours");
  c.async_checkpoints = flags.boolean("async_checkpoints");
  c.save_summary_steps = flags.integer("save_summary_steps");
  c.keep_checkpoint_max = static_cast<int>(flags.integer("keep_checkpoint_max"));
  c.log_step_count_steps = flags.integer("log_step_count_steps");
  c.trace = TrainProfile::wanted(flags);
  return c;
}

// Who says how many steps gets them all.
LogPace pace_of(const Flags& flags) {
  return LogPace(flags.integer("log_step_count_steps"), flags.given("log_step_count_steps") ? 0 : LogPace::kAtLeast);
}

// Notes what the model is once its states are there, before the first step.
class Remember : public TrainingHook {
 public:
  Remember(std::string model_dir, const ModelRun& model) : model_dir_(std::move(model_dir)), model_(model) {}
  void begin(int64_t) override {
    if (model_dir_.empty() || !is_first_process()) return;
    ModelRecord record = model_.record();
    if (model_.info().is_file) record.model = keep_model_file(model_dir_, record.model);
    write_model_record(model_dir_, record);
    model_.data().remember(model_dir_);
  }

 private:
  std::string model_dir_;
  const ModelRun& model_;
};

// A multiplier that no trained variable has would change nothing.
void check_multipliers(const ModelRun& model, Estimator& estimator, const Dataset& train) {
  const auto rates = models::learning_rate_multipliers(model.params()).take();
  if (rates.empty()) return;
  std::map<std::string, std::vector<std::string>> readers = models::readers_of_variables(model.info());
  std::vector<std::string> trained, frozen, nodes;
  for (const Estimator::VariableInfo& v : estimator.variables(train).take()) {
    (v.trainable ? trained : frozen).push_back(v.name);
    std::vector<std::string>& by_node = v.trainable ? nodes : frozen;
    by_node.insert(by_node.end(), readers[v.name].begin(), readers[v.name].end());
  }
  for (const auto& [expression, _] : rates) {
    const Status found = expect_found(expression, trained);
    if (found.ok() || expect_found(expression, nodes).ok()) continue;
    const char* const of_file = model.info().is_file ? "; no node that reads one has it in its name" : "";
    throw UsageError{"--learning_rate_multiplier: " +
                     (expect_found(expression, frozen).ok()
                          ? "'" + expression + "' is found in no variable that is trained"
                          : found.message() + of_file)};
  }
}

class Training {
 public:
  Training(const Flags& flags, const std::vector<std::string>& words)
      : flags_(flags),
        model_(flags, words, Contradiction::kOverride),
        remember_(flags.text("model_dir"), model_),
        steps_(flags.integer("train_steps")),
        batch_(model_.train_batch()),
        measure_(model_.data().measure(flags, model_.params())),
        exporters_(exporters_of(flags, model_)),
        estimator_(model_.estimator(config_of(flags, model_), warm_start_of(flags))),
        progress_(flags.boolean("json"), model_.quiet() ? LogPace(0) : pace_of(flags), steps_,
                  model_.quiet() || model_.estimator_log()) {}

  int run() {
    set_stdout(Stdout::kLog);
    const Dataset train = model_.train_data(batch_);
    std::vector<Dataset> eval;
    if (flags_.boolean("evaluate")) eval.push_back(model_.eval_data(model_.events().on_info));
    set_events();
    check_multipliers(model_, estimator_, train);
    parameters_ = estimator_.count_parameters(train).take();
    profile_.emplace(flags_, steps_ - estimator_.global_step().take());
    make_hooks(train);
    if (!model_.quiet()) announce(train);
    model_.say_left_out(train, "training", model_.events().on_info);
    if (eval.empty())
      train_only(model_.train_input(train));
    else
      train_and_test(model_.train_input(train), eval[0]);
    check(estimator_.close());
    print_result();
    profile_->print(flags_.boolean("json"));
    return 0;
  }

 private:
  void set_events() {
    RunEvents e = model_.events();
    const auto info = e.on_info;
    e.on_info = [this, info](const std::string& line) { progress_.clear(), info(line); };
    if (flags_.boolean("json") && !model_.quiet() && !model_.estimator_log())
      e.on_warm_start = [this](const WarmStartReport& report) { progress_.clear(), print_warm_start(report); };
    e.on_evaluate = [this](int64_t step, const EvalResult& r) {
      if (measure_) measured_ = measure_(step);
      if (!model_.quiet()) print_evaluation(step, r);
    };
    estimator_.set_events(e);
  }

  int64_t examples_of_epoch(const Dataset& train) const {
    const int64_t said = flags_.integer("num_train_examples");
    return said > 0 ? said : train.size();
  }

  void make_hooks(const Dataset& train) {
    const double steps = static_cast<double>(examples_of_epoch(train)) / static_cast<double>(batch_);
    Params params = model_.params();
    params.set("train_batch_size", batch_);
    hooks_ = with_summaries(flags_, profile_->with({&remember_, &progress_}), params, steps);
  }

  // As the original's log: total epochs, the current step.
  void announce(const Dataset& train) {
    if (!model_.info().no_data.ok()) model_.print_info(models::plain_loss_line(model_.info().no_data));
    const int64_t examples = examples_of_epoch(train);
    const double epochs = static_cast<double>(steps_) * static_cast<double>(batch_) / static_cast<double>(examples);
    const int64_t step = estimator_.global_step().take();
    if (!flags_.boolean("json")) {
      print_line(
          format("%s: %s parameters, %s of them trained; training to step %ld, %.2f epochs of %s examples; current "
                 "step %ld",
                 model_.info().name, with_commas(parameters_.total).c_str(), with_commas(parameters_.trainable).c_str(),
                 static_cast<long>(steps_), epochs, with_commas(examples).c_str(), static_cast<long>(step)));
      if (flags_.text("model_dir").empty()) print_line("nothing of this training is kept: there is no --model_dir");
      return;
    }
    print_line(Json("start")
                   .add("model", model_.info().name)
                   .add("parameters", parameters_.total)
                   .add("trainable_parameters", parameters_.trainable)
                   .add("step", step)
                   .add("train_steps", steps_)
                   .add("kept", !flags_.text("model_dir").empty())
                   .add("epochs", epochs)
                   .add("examples", examples)
                   .str());
  }

  void train_only(const TrainInput& train) {
    result_.train = estimator_.train({.input = train, .max_steps = steps_, .hooks = hooks_}).take();
  }

  void train_and_test(const TrainInput& train, const Dataset& eval) {
    EvalSpec spec = model_.eval_spec(eval);
    spec.exporters = exporters_;
    result_ = train_and_evaluate(estimator_,
                                 {.input = train,
                                  .max_steps = steps_,
                                  .steps_between_evals = flags_.integer("steps_between_evals"),
                                  .hooks = hooks_},
                                 spec)
                  .take();
  }

  double elapsed() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count(); }

  // Metrics of the model, and those beside them.
  std::vector<std::pair<std::string, double>> with_measured(const EvalResult& r) const {
    std::vector<std::pair<std::string, double>> out;
    for (const auto& [name, value] : r)
      if (name != "global_step") out.emplace_back(name, value);
    out.insert(out.end(), measured_.begin(), measured_.end());
    return out;
  }

  void print_evaluation(int64_t step, const EvalResult& r) {
    progress_.clear();
    if (flags_.boolean("json")) {
      Json json("evaluation");
      json.add("step", step).add("elapsed", elapsed());
      json.add("examples", r.examples);
      for (const auto& [name, value] : with_measured(r)) json.add(name, value);
      return print_line(json.str());
    }
    std::string line = format("evaluation of %s examples at step %ld, %s elapsed:", with_commas(r.examples).c_str(),
                              static_cast<long>(step), duration_text(elapsed()).c_str());
    for (const auto& [name, value] : with_measured(r)) line += "  " + name + " " + number_text(value);
    print_line(line);
  }

  bool predicted() const { return progress_.steps() > 0 && result_.train.predicted_step_ms > 0; }
  double step_ms() const { return progress_.seconds() * 1e3 / static_cast<double>(progress_.steps()); }

  void print_result() {
    const std::string hash = estimator_.variables_hash().take();
    const double seconds = progress_.seconds();
    const double rate = seconds > 0 ? static_cast<double>(progress_.examples()) / seconds : 0;
    const bool evaluated = !result_.eval.empty();
    if (flags_.boolean("json")) {
      Json json("result");
      json.add("model", model_.info().name);
      for (const auto& [name, value] : with_measured(result_.eval)) json.add(name, value);
      if (progress_.steps() > 0) json.add(evaluated ? "train_loss" : "loss", result_.train.loss);
      json.add("global_step", result_.train.global_step)
          .add("hash", hash)
          .add("seconds", elapsed())
          .add("examples_per_second", rate)
          .add("parameters", parameters_.total)
          .add("trainable_parameters", parameters_.trainable);
      if (predicted())
        json.add("predicted_step_ms", result_.train.predicted_step_ms).add("measured_step_ms", step_ms());
      return print_line(json.str());
    }
    if (predicted())
      print("predicted for the device that is emulated: %.4g ms a step; measured here: %.4g ms\n",
            result_.train.predicted_step_ms, step_ms());
    print("%s examples/s, %s in all; hash %s\n", rate_text(rate).c_str(), duration_text(elapsed()).c_str(),
          hash.c_str());
    for (const auto& [name, value] : with_measured(result_.eval))
      print("%s %s\n", name.c_str(), number_text(value).c_str());
    if (!evaluated && progress_.steps() > 0) print("loss %s\n", number_text(result_.train.loss).c_str());
    print("global_step %ld\n", static_cast<long>(result_.train.global_step));
  }

  const Flags& flags_;
  ModelRun model_;
  Remember remember_;
  int64_t steps_, batch_;
  ModelData::Measure measure_;
  std::vector<std::pair<std::string, double>> measured_;  // at the last evaluation
  std::vector<Exporter> exporters_;
  Estimator estimator_;
  Progress progress_;
  std::optional<TrainProfile> profile_;
  Callbacks hooks_;
  Estimator::ParameterCount parameters_;
  TrainAndEvaluateResult result_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

std::string train_details(const std::vector<std::string>& /*words*/) {
  return list_of_models() +
         "\nSIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGUSR1 and SIGUSR2 save first and end it with exit code 128 + number; a "
         "second SIGINT or SIGTERM at once.\n";
}

int run_train(const Flags& flags, const std::vector<std::string>& words) {
  watch_interrupts();
  return Training(flags, words).run();
}

}  // namespace

const Command kTrain{
    .name = "train",
    .arguments = "MODEL --data_dir DIR --model_dir DIR [FLAGS]",
    .summary = "Trains from the newest checkpoint, or from the start, and evaluates",
    .declare = declare_train,
    .run = run_train,
    .details = train_details,
};

}  // namespace tenon::runner
