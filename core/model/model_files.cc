// A model's weights, and all that its training is made of, to files and back.
#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "checkpoint/tensor_file.h"
#include "layer/symbol.h"
#include "model/model_trace.h"
#include "model/model_training.h"
#include "step/function_impl.h"

namespace tenon {
namespace {

constexpr const char* kEpochs = "tenon/epochs_done";

TensorSource scalar_source(const char* name, int64_t value) {
  return {name, {DType::kI64, {}}, [value](std::span<std::byte> piece) {
            std::memcpy(piece.data(), &value, piece.size());
            return Status();
          }};
}

// Files of others do not have it.
Result<int64_t> epochs_in(const std::string& path) {
  TENON_ASSIGN(const TensorFile file, TensorFile::open(path));
  return file.scalar(kEpochs, 0);
}

// The types of the weights that are there; fewer than names where some are not.
Types types_of(const VariableStore& store, const std::vector<std::string>& names) {
  Types out;
  for (const std::string& name : names)
    if (const auto it = store.all().find(name); it != store.all().end()) out.emplace(name, it->second.type());
  return out;
}

}  // namespace

std::vector<Type> Model::example_types() const {
  std::vector<Type> types;
  for (const Symbol& input : inputs_) types.push_back(input.node().example);
  return types.empty() ? examples() : types;
}

// Makes the weights of a model whose inputs are known.
void Model::build() {
  if (!compiled_->training || !compiled_->training->weights().empty() || example_types().empty()) return;
  Strategy::Impl& strategy = compiled_->training->strategy.impl();
  const ModelTrace traced = trace_model(*this, example_types(), strategy.tracing(Mode::kEval, "build", false));
  compiled_->training->set_weights(traced.order);
  compiled_->training->check_loaded(*traced.graph);
  check(strategy.variables->provide(*traced.graph, nullptr));
}

std::vector<std::string> Model::weights() {
  build();
  return compiled_->training ? compiled_->training->weights() : std::vector<std::string>();
}

void Model::save(const std::string& path) {
  ModelTraining& t = training();
  build();
  std::vector<TensorSource> all = t.strategy.impl().variables->sources();
  if (all.empty()) fail("save: the model has no weights yet: it was neither trained nor called, and has no Input()");
  all.push_back(scalar_source(kEpochs, t.epochs_done));
  check(write_tensor_file(path, std::move(all)));
}

void Model::load(const std::string& path) {
  ModelTraining& t = training();
  const int64_t epochs = epochs_in(path).take();
  t.strategy.load(path);
  t.find_counters();
  t.epochs_done = epochs;
}

void Model::save_weights(const std::string& path) {
  ModelTraining& t = training();
  const std::vector<std::string> names = weights();
  if (names.empty())
    fail("save_weights: the model has no weights yet: it was neither trained nor called, and has no Input()");
  check(write_tensor_file(path, t.strategy.impl().variables->sources(&names)));
}

void Model::load_weights(const std::string& path) {
  ModelTraining& t = training();
  build();
  t.load_weights(LoadedTensors::read(path).take());
}

WarmStartReport Model::load_weights(const std::string& path, const LoadWeightsOptions& options) {
  ModelTraining& t = training();
  build();
  if (!options.by_name && !options.skip_mismatch) return load_weights(path), WarmStartReport();
  return t.strategy.warm_start({.ckpt_to_initialize_from = path,
                                .vars_to_warm_start = {{".*"}, VarsToWarmStart::Among::kWeights},
                                .skip_mismatch = options.skip_mismatch});
}

void ModelTraining::load_weights(LoadedTensors loaded) {
  VariableStore& store = *strategy.impl().variables;
  const Types here = types_of(store, weights_);
  const TensorTypes types = loaded.types();
  const bool made = !here.empty() && here.size() == weights_.size();
  if (made) check(types.check_is(here));
  check(loaded.give(store, false));
  loaded_.reset();
  if (!made) loaded_ = types;
}

// By the names that the first optimizer of a strategy has.
void ModelTraining::find_counters() {
  if (iterations_.empty() && has("global_step")) iterations_ = "global_step";
  if (learning_rate_.empty() && has("learning_rate")) learning_rate_ = "learning_rate";
}

void ModelTraining::check_loaded(const Graph& graph) {
  if (!loaded_) return;
  Types wanted;
  for (const std::string& name : weights_) {
    const Variable* v = graph.find_variable(name);
    if (v) wanted.emplace(name, graph.type(graph.inputs[static_cast<size_t>(v->input)].value));
  }
  const Status fits = loaded_->check_is(wanted);
  if (!fits.ok()) weights_.clear();  // they are not made
  check(fits);
  loaded_.reset();
}

std::vector<std::string> ModelTraining::optimizer_variables() const {
  std::vector<std::string> out;
  const size_t slash = iterations_.find('/');
  const std::string own = slash == std::string::npos ? std::string() : iterations_.substr(0, slash + 1);
  for (const auto& v : strategy.variables()) {
    const std::string& name = v.name;
    const bool slot = std::any_of(weights_.begin(), weights_.end(),
                                  [&](const std::string& weight) { return name.starts_with(weight + "/"); });
    if (slot || name == iterations_ || name == learning_rate_ || (!own.empty() && name.starts_with(own)))
      out.push_back(name);
  }
  return out;
}

}  // namespace tenon
