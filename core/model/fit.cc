// Training by epochs.
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/strings.h"
#include "model/fit_run.h"
#include "model/given_data.h"
#include "model/model_training.h"
#include "step/function_impl.h"

namespace tenon {
namespace {

void check_options(const FitOptions& o) {
  if (o.epochs < 0) fail("fit: epochs is ", o.epochs, ", expected 0 or more");
  if (o.initial_epoch < 0) fail("fit: initial_epoch is ", o.initial_epoch, ", expected 0 or more");
  if (o.steps_per_epoch < 0) fail("fit: steps_per_epoch is ", o.steps_per_epoch, ", expected 0 or more");
  if (o.validation_steps < 0) fail("fit: validation_steps is ", o.validation_steps, ", expected 0 or more");
  if (o.validation_freq.empty()) fail("fit: validation_freq is empty");
  for (const int n : o.validation_freq)
    if (n < 1) fail("fit: validation_freq is ", n, ", expected 1 or more");
  if (o.validation_batch_size < 0)
    fail("fit: validation_batch_size is ", o.validation_batch_size, ", expected 0 or more");
  if (o.validation_split != 0 && !o.validation_data.empty())
    fail("fit: both validation_split and validation_data are given");
}

// `epoch` from 0.
bool validates_after(int epoch, const std::vector<int>& frequency) {
  if (frequency.size() == 1) return (epoch + 1) % frequency[0] == 0;
  return std::find(frequency.begin(), frequency.end(), epoch + 1) != frequency.end();
}

// Steps of an epoch; 0: not known before it has ended.
int64_t steps_of_epoch(const Dataset& data, const FitOptions& o) {
  if (o.steps_per_epoch > 0) return o.steps_per_epoch;
  if (data.options().repeat) fail("fit: the data repeat for ever: steps_per_epoch says where an epoch ends");
  if (data.batches() == 0) fail("fit: the data have no batch of ", data.options().batch_size);
  return known_steps(data.batches());
}

class Fitting {
 public:
  Fitting(Model& model, ModelTraining& training, GivenData data, const FitOptions& options)
      : model_(model),
        training_(training),
        options_(options),
        run_(model, training, options.callbacks, options.verbose) {
    std::optional<GivenData> validation;
    if (!options.validation_data.empty()) validation = options.validation_data;
    if (options.validation_split != 0)
      std::tie(data, validation) = split_examples(data, model, options.validation_split);
    in_memory_ = !data.dataset;
    const int units = training.strategy.num_replicas_in_sync();
    data_.emplace(to_dataset(data, model, {options.batch_size, units, options.shuffle}, "fit"));
    if (!validation) return;
    const int64_t batch = options.validation_batch_size > 0 ? options.validation_batch_size : options.batch_size;
    validation_.emplace(to_dataset(*validation, model, {batch, units}, "fit: validation_data"));
  }

  ~Fitting() {
    if (pass_ && !in_memory_) training_.note_epochs(*data_, pass_->next_epoch());
  }
  Fitting(const Fitting&) = delete;
  Fitting& operator=(const Fitting&) = delete;

  History run() {
    run_.guarded([&] { do_epochs(); });
    return std::move(history_);
  }

 private:
  void do_epochs() {
    const int64_t steps = steps_of_epoch(*data_, options_);
    step_ = training_.train(model_, options_.class_weight);
    run_.begin_fit(options_.initial_epoch, options_.epochs, steps, *step_->run);
    pass_.emplace(*step_->run, training_.as_taken(*data_, Mode::kTrain), first_epoch());
    for (int epoch = run_.initial_epoch(); epoch < options_.epochs && !run_.stopped(); ++epoch) do_epoch(epoch, steps);
    training_.take_averages();
    run_.call([&](Callback& c) { c.on_train_end(run_, last_); });
  }

  // An epoch of the data that no call began before, so that two calls train as one does: the epoch that is asked for, or
  // the next one where the data are in memory, which are another Dataset in each call.
  uint64_t first_epoch() const {
    const auto asked_for = static_cast<uint64_t>(run_.initial_epoch());
    if (in_memory_) return std::max(static_cast<uint64_t>(training_.epochs_done), asked_for);
    return std::max(training_.epochs_of(*data_), options_.steps_per_epoch > 0 ? 0 : asked_for);
  }

  void do_epoch(int epoch, int64_t steps) {
    run_.count_steps();
    run_.call([&](Callback& c) { c.on_epoch_begin(run_, epoch); });
    int64_t done = 0;
    const Throughput before = run_.throughput();
    Logs logs = train_epoch(steps, &done);
    if (steps == 0) run_.expect(done);  // of the next one
    if (epoch == run_.initial_epoch()) tell_waiting();
    if (done == 0) return;  // stopped before its first batch
    const Throughput throughput = run_.throughput() - before;
    if (validation_ && !run_.stopped() && validates_after(epoch, options_.validation_freq)) validate(&logs);
    run_.call([&](Callback& c) { c.on_epoch_end(run_, epoch, logs); });
    ++training_.epochs_done;
    note(epoch, logs);
    history_.throughput.push_back(throughput);
  }

  // Now that all of the model and its optimizer is there.
  void tell_waiting() {
    std::vector<std::string> names;
    std::string file;
    for (const auto& [name, value] : training_.strategy.impl().variables->waiting()) {
      if (value.from.empty()) continue;
      file = value.from;
      names.push_back(name);
    }
    training_.tell_begun_anew("fit");
    if (!names.empty())
      run_.say(cat("fit: '", file, "', which was loaded, has values that nothing has taken: ", some_names(names)));
  }

  Logs train_epoch(int64_t steps, int64_t* done) {
    const bool bounded = options_.steps_per_epoch > 0;
    measured_.reset();
    Logs logs;
    bool began_anew = false;
    while (!run_.stopped() && !(bounded && *done >= steps)) {
      if (!pass_->more()) {
        if (*done == 0 && !std::exchange(began_anew, true)) continue;  // the end that the last epoch did not come to
        if (!bounded) break;
        run_.say(cat("fit: the data ended after ", *done, " of ", steps, " steps of the epoch; it begins again"));
        break;
      }
      const int64_t most =
          std::min(run_.most_steps(), bounded ? steps - *done : training_.options().steps_per_execution);
      run_.call([&](Callback& c) { c.on_train_batch_begin(run_, *done); });
      training_.use(model_);
      const Results results = (*pass_)(static_cast<int>(most));
      *done += results.steps();
      account(results, *done, &logs);
    }
    if (measured_.examples() == 0 && !run_.stopped()) fail("fit: the data gave no batch");
    if (measured_.examples() > 0) measured_.to_logs(step_->measures, &logs);
    return logs;
  }

  void account(const Results& results, int64_t done, Logs* logs) {
    const Array& rows = results["row"];
    if (validation_ && done == results.steps()) expect_free_names();
    measured_.add(step_->measures, rows, results.steps(), results.examples());
    run_.did(rows, results.steps());
    if (run_.needs_logs()) measured_.to_logs(step_->measures, logs);
    run_.call([&](Callback& c) { c.on_train_batch_end(run_, done - 1, *logs); });
  }

  // What validation measures is called as in training, behind "val_".
  void expect_free_names() const {
    std::set<std::string> names;
    for (const Measure& m : step_->measures) names.insert(m.name);
    for (const std::string& name : names)
      if (names.contains("val_" + name))
        fail("fit: what training measures as 'val_", name, "' is what validation calls its '", name,
             "'; expected another name");
  }

  void validate(Logs* logs) {
    const Logs found = run_.test(*validation_, options_.validation_steps, "fit: validation_data");
    for (const auto& [name, value] : found) (*logs)["val_" + name] = value;
  }

  void note(int epoch, const Logs& logs) {
    history_.epoch.push_back(epoch);
    for (const auto& [name, value] : logs) history_.history[name].push_back(value);
    last_ = logs;
  }

  Model& model_;
  ModelTraining& training_;
  const FitOptions& options_;
  ModelRun run_;
  std::optional<Dataset> data_, validation_;
  std::shared_ptr<MeasuredStep> step_;
  std::optional<DataPass> pass_;
  bool in_memory_ = false;
  Measured measured_;
  History history_;
  Logs last_;
};

}  // namespace

const std::vector<double>& History::operator[](std::string_view name) const& {
  const auto found = history.find(std::string(name));
  if (found != history.end()) return found->second;
  std::vector<std::string_view> names;
  for (const auto& entry : history) names.push_back(entry.first);
  fail("the history has no '", name, "'; it has: ", join(names));
}

std::vector<double> History::operator[](std::string_view name) && { return std::as_const(*this)[name]; }

History Model::fit(const FitData& data, const FitOptions& options) {
  check_options(options);
  return Fitting(*this, compiled_training("fit"), data, options).run();
}

History Model::fit(const Examples& x, const Examples& y, const FitOptions& options) {
  check_options(options);
  return Fitting(*this, compiled_training("fit"), {x, y}, options).run();
}

}  // namespace tenon
