#include "model/model_training.h"

#include <algorithm>
#include <utility>

#include "base/array_dtype.h"
#include "base/number.h"
#include "base/strings.h"
#include "base/tell.h"
#include "graph/graph.h"
#include "optimizer/averages.h"
#include "step/function_impl.h"

namespace tenon {
namespace {

std::shared_ptr<const void> training_by(const Optimizer& optimizer, Strategy::Impl& strategy) {
  std::weak_ptr<const void>& known = strategy.optimizers[optimizer.identity.get()];
  std::shared_ptr<const void> out = known.lock();
  if (!out) known = out = std::make_shared<int>();
  std::erase_if(strategy.optimizers, [](const auto& entry) { return entry.second.expired(); });
  return out;
}

}  // namespace

ModelTraining::ModelTraining(const CompileOptions& options, Strategy its)
    : strategy(std::move(its)), options_(options), optimizer_(options.optimizer ? *options.optimizer : RMSprop()) {
  expect_number("compile: steps_per_execution", options.steps_per_execution, 1, kMostStepsPerCall);
  for (const auto& [output, weight] : options.loss_weights.all()) expect_number("compile: a loss weight", weight);
  if (optimizer_.learning_rate.is_fixed())
    optimizer_.learning_rate = LearningRate::variable(optimizer_.learning_rate.fixed());
  if (strategy.dtype_policy() == "mixed_float16" && !optimizer_.loss_scale && !optimizer_.options.loss_scale_factor)
    optimizer_ = LossScaleOptimizer(optimizer_);
  training_by_it_ = training_by(optimizer_, strategy.impl());
}

void ModelTraining::follow(ModelTraining& before) {
  Strategy::Impl& there = before.strategy.impl();
  const bool stays = &there == &strategy.impl(), same_optimizer = optimizer_.identity == before.optimizer_.identity;
  if (stays) {
    weights_ = before.weights_;
    moves_from_ = before.moves_from_;
  } else {
    moves_from_ = there.shared_from_this();
  }
  if (stays && same_optimizer) {
    iterations_ = before.iterations_;
    learning_rate_ = before.learning_rate_;
    optimizer_variables_ = before.optimizer_variables_;
    first_values_ = before.first_values_;
    beside_ = before.beside_;
    averages_ = before.averages_;
    of_others_ = before.of_others_;
    return;
  }
  if (before.by_itself) {
    epochs_done = before.epochs_done;  // of a file
    loaded_ = before.loaded_;
  } else if (stays) {
    there.variables->no_longer_whole();
    for (const auto& entry : there.variables->waiting()) of_others_.push_back(entry.first);
  }
  if (before.training_by_it_.use_count() > 1) return;
  there.variables->drop(before.optimizer_variables_);
  there.forget(before.optimizer_.identity);
}

uint64_t ModelTraining::epochs_of(const Dataset& data) const {
  for (const auto& [known, epochs] : epochs_)
    if (known.same(data)) return epochs;
  return 0;
}

void ModelTraining::note_epochs(const Dataset& data, uint64_t begun) {
  constexpr size_t kMost = 4;
  std::erase_if(epochs_, [&](const auto& entry) { return entry.first.same(data); });
  if (epochs_.size() == kMost) epochs_.erase(epochs_.begin());
  epochs_.emplace_back(data, begun);
}

// The model may have been here before it was trained elsewhere.
void ModelTraining::move_weights(const Graph& graph) {
  if (!moves_from_) return;
  VariableStore& store = *strategy.impl().variables;
  for (const Variable& v : graph.variables)
    if (v.store_before.lock() == moves_from_ && moves_from_->variables->has(v.name_before) &&
        store.all().contains(v.name))
      check(store.give(v.name, moves_from_->variables->read(v.name_before).take()));
}

void ModelTraining::note_optimizer(Graph& graph) {
  iterations_ = graph.variables[static_cast<size_t>(graph.variable_of(optimizer_.iterations(graph).id()))].name;
  optimizer_variables_.clear();
  averages_.clear();
  beside_.clear();
  for (const Variable& v : graph.variables) {
    if (v.kind != VariableKind::kWeight && v.name != graph.draws_by) {
      optimizer_variables_.push_back(v.name);
      first_values_[v.name] = v.initializer;
    } else if (std::find(weights_.begin(), weights_.end(), v.name) == weights_.end()) {
      beside_.push_back(v.name);
    }
  }
  const OptimizerNames names(graph, optimizer_);
  for (const std::string& weight : weights_)
    if (const std::string average = average_name(names, weight); graph.find_variable(average))
      averages_[weight] = average;
  forget_waiting_slots();
}

void ModelTraining::note_loaded(std::string path, std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  loaded_ = {std::move(path), std::move(names)};
}

void ModelTraining::tell_begun_anew(const char* who) {
  if (optimizer_variables_.empty()) return;
  const std::optional<Loaded> loaded = std::exchange(loaded_, std::nullopt);
  if (!loaded) return;
  std::vector<std::string> lacking;
  for (const std::string& name : optimizer_variables_)
    if (!std::binary_search(loaded->names.begin(), loaded->names.end(), name)) lacking.push_back(name);
  if (lacking.empty()) return;
  tell(cat(who, ": '", loaded->path, "', which was loaded, lacks what the optimizer keeps: ", some_names(lacking),
           lacking.size() == 1 ? " begins anew" : " begin anew"));
}

bool ModelTraining::is_slot(const std::string& name) const {
  return std::any_of(weights_.begin(), weights_.end(), [&](const std::string& w) { return name.starts_with(w + "/"); });
}

// Whether no other optimizer trains models of the strategy.
bool ModelTraining::trains_alone() const {
  const auto& all = strategy.impl().optimizers;
  return std::none_of(all.begin(), all.end(), [&](const auto& entry) {
    const auto training = entry.second.lock();
    return training && training != training_by_it_;
  });
}

// TensorFlow and Keras save what an optimizer has, not what it did not take from a file. Another model's may take it yet.
std::vector<std::string> ModelTraining::untaken_slots() const {
  std::vector<std::string> out;
  if (optimizer_variables_.empty() || !trains_alone()) return out;
  for (const auto& [name, value] : strategy.impl().variables->waiting())
    if (is_slot(name)) out.push_back(name);
  return out;
}

// What a file had for an optimizer that another one has taken the place of.
void ModelTraining::forget_waiting_slots() {
  VariableStore& store = *strategy.impl().variables;
  const auto is_its = [&](const std::string& name) {
    return is_slot(name) ||
           std::find(optimizer_variables_.begin(), optimizer_variables_.end(), name) != optimizer_variables_.end();
  };
  std::vector<std::string> stale;
  for (const std::string& name : std::exchange(of_others_, {}))
    if (store.waiting().contains(name) && is_its(name)) stale.push_back(name);
  store.drop(stale);
}

int64_t ModelTraining::steps() const {
  return has(iterations_) ? static_cast<int64_t>(strategy.read(iterations_).item()) : 0;
}

double ModelTraining::learning_rate() {
  const LearningRate& rate = optimizer_.learning_rate;
  if (rate.is_variable()) return has(learning_rate_) ? strategy.read(learning_rate_).item() : rate.initial();
  if (!scheduled_rate_)
    scheduled_rate_ = strategy.function(
        [rate](const Features& in) {
          return Outputs{{"rate", rate(in["step"])}};
        },
        {.name = "the learning rate schedule"});
  return (*scheduled_rate_)({{"step", Array(static_cast<float>(steps()))}})["rate"].item();
}

// Before the first step there is no variable yet: it will begin with the value.
void ModelTraining::set_learning_rate(double value) {
  expect_number("the learning rate", value, 0);
  if (!optimizer_.learning_rate.is_variable()) fail("the learning rate is a schedule, and cannot be set");
  if (has(learning_rate_))
    strategy.write(learning_rate_, Array(static_cast<float>(value)));
  else
    optimizer_.learning_rate = LearningRate::variable(value);
}

// Keras leaves the averages in the model when fit() ends.
void ModelTraining::take_averages() {
  for (const auto& [weight, average] : averages_)
    if (has(average))  // not where a callback compiled the model again
      strategy.write(weight, as_dtype(strategy.read(average), strategy.read(weight).dtype()));
}

}  // namespace tenon
