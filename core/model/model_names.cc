// The names that a model's variables have in files.
#include <algorithm>

#include "base/strings.h"
#include "model/model_training.h"
#include "optimizer/optimizer_names.h"
#include "step/variables/initialize.h"

namespace tenon {
namespace {

constexpr std::string_view kCounter = "global_step";  // of an optimizer that is the only one

std::string_view scope_of(std::string_view name) { return name.substr(0, name.rfind('/') + 1); }

// The longest of the weights that `name` is a slot of by its name, "" where it is none.
template <class Names>
std::string weight_of(const std::string& name, const Names& has) {
  for (size_t slash = name.rfind('/'); slash != std::string::npos && slash > 0; slash = name.rfind('/', slash - 1))
    if (std::string weight = name.substr(0, slash); has(weight)) return weight;
  return {};
}

}  // namespace

// The model is traced by itself, and then as it is in the strategy: layers have the names of the last trace.
void ModelTraining::find_own_names(Model& model, const std::vector<Type>& examples) {
  if (examples.empty() || named_ == weights_) return;
  TraceOptions here = strategy.impl().tracing(Mode::kEval, "the model", false), alone = here;
  alone.objects = nullptr;
  std::vector<std::string> own;
  own_names_.clear();
  try {
    own = trace_model(model, examples, alone).order;
  } catch (const Error&) {  // batches of other sizes than those that it was trained with are an error of some models
  }
  try {
    const std::vector<std::string> names = trace_model(model, examples, here).order;
    for (size_t i = 0; i < names.size() && names.size() == own.size(); ++i) own_names_.emplace(names[i], own[i]);
  } catch (const Error&) {
  }
  named_ = weights_;
}

// "" for the only optimizer of the strategy, else "adam_1/".
std::string ModelTraining::optimizer_scope() const {
  Graph graph;
  graph.objects = strategy.impl().shared_from_this();
  return OptimizerNames(graph, optimizer_).of("");
}

std::string ModelTraining::counter() const {
  Graph graph;
  graph.objects = strategy.impl().shared_from_this();
  return OptimizerNames(graph, optimizer_).counter();
}

void ModelTraining::find_counters() {
  if (iterations_.empty() && has(counter())) iterations_ = counter();
  if (const std::string rate = optimizer_scope() + "learning_rate"; learning_rate_.empty() && has(rate))
    learning_rate_ = rate;
}

std::string ModelTraining::name_in_file(const std::string& name) const {
  if (const auto own = own_names_.find(name); own != own_names_.end()) return own->second;
  const auto is_weight = [&](const std::string& w) {
    return std::find(weights_.begin(), weights_.end(), w) != weights_.end();
  };
  const bool optimizers = keeps(name);
  const std::string scope = optimizers ? optimizer_scope() : std::string();
  if (const std::string weight = weight_of(name, is_weight); !weight.empty() && !is_weight(name)) {
    const std::string slot = name.substr(weight.size() + 1);
    return cat(name_in_file(weight), "/", slot.starts_with(scope) ? slot.substr(scope.size()) : slot);
  }
  if (optimizers && name == counter()) return std::string(kCounter);
  if (!scope.empty() && name.starts_with(scope)) return name.substr(scope.size());
  if (is_weight(name))  // a state that depends on the batch stands beside the others of its layer
    for (const auto& [weight, own] : own_names_)
      if (scope_of(weight) == scope_of(name)) return cat(scope_of(own), name.substr(scope_of(name).size()));
  return name;
}

// Whether it is the optimizer's, or waits for it.
bool ModelTraining::keeps(const std::string& name) const {
  if (first_values_.contains(name)) return true;
  return loaded_ && strategy.impl().variables->waiting().contains(name) &&
         std::binary_search(loaded_->names.begin(), loaded_->names.end(), name);
}

std::map<std::string, std::string> ModelTraining::names_in_file() const {
  const VariableStore& store = *strategy.impl().variables;
  std::vector<std::string> names = weights_;
  names.insert(names.end(), optimizer_variables_.begin(), optimizer_variables_.end());
  names.insert(names.end(), beside_.begin(), beside_.end());
  const std::vector<std::string> stale = untaken_slots();
  for (const auto& [name, value] : store.waiting())
    if (weights_.empty() || trains_alone() || is_slot(name) || keeps(name)) names.push_back(name);
  std::map<std::string, std::string> out, back;
  for (const std::string& name : names) {
    if (!store.has(name) || std::find(stale.begin(), stale.end(), name) != stale.end()) continue;
    const auto [it, is_new] = out.emplace(name, name_in_file(name));
    if (!is_new) continue;
    const auto [other, is_free] = back.emplace(it->second, name);
    if (!is_free)
      fail("save: variables '", other->second, "' and '", name, "' would both be '", it->second,
           "' in the model's file; give their layers names");
  }
  return out;
}

void ModelTraining::expect_alone() {
  VariableStore& store = *strategy.impl().variables;
  store.drop_dead();
  if (store.all().empty() && (store.waiting().empty() || loaded_ || trains_alone())) return;
  fail(
      "load: the model's weights are not known yet, and its strategy has variables of others; call it first, or begin "
      "it "
      "with Input()");
}

// The name in the strategy of what is no weight in the file. `weights`: the names here by those there.
std::string ModelTraining::name_here(const std::string& tensor, const std::map<std::string, std::string>& weights) {
  const std::string scope = optimizer_scope();
  const std::string weight = weight_of(tensor, [&](const std::string& w) { return weights.contains(w); });
  if (!weight.empty()) return cat(weights.at(weight), "/", scope, tensor.substr(weight.size() + 1));
  if (tensor == kCounter) return counter();
  const bool is_draws = tensor == strategy.impl().tracing(Mode::kTrain, "", false).draws_by;
  return is_draws || tensor.find('/') != std::string::npos ? tensor : scope + tensor;
}

void ModelTraining::take(LoadedTensors loaded, const std::string& model) {
  VariableStore& store = *strategy.impl().variables;
  const Types types = types_of_weights();
  const LoadedTensors::NamesByTensor weights = loaded.names_for(model, types, own_names_);
  Types wanted;
  for (const auto& [tensor, variable] : weights) wanted.emplace(tensor, types.at(variable));
  check(loaded.types().check_has(wanted));
  LoadedTensors::NamesByTensor names = weights;
  for (const auto& entry : loaded.tensors())
    if (!weights.contains(entry.first)) names.emplace(entry.first, name_here(entry.first, weights));
  std::vector<std::string> here;
  for (const auto& entry : names) here.push_back(entry.second);
  check(loaded.give_as(store, names));
  store.end_warm_start();
  begin_anew(here);
  note_loaded(loaded.path(), std::move(here));
}

// What the optimizer keeps, but for these.
void ModelTraining::begin_anew(const std::vector<std::string>& besides) {
  VariableStore& store = *strategy.impl().variables;
  for (const std::string& name : optimizer_variables_) {
    const auto found = store.all().find(name);
    if (found == store.all().end() || std::find(besides.begin(), besides.end(), name) != besides.end()) continue;
    Array value(found->second->type());
    check(initialize(first_values_.at(name), value.type(), name, strategy.impl().options.seed, value.bytes()));
    check(store.give(name, std::move(value)));
  }
}

}  // namespace tenon
