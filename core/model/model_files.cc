// A model's weights, and all that its training is made of, to files and back.
#include <cstring>

#include "base/strings.h"
#include "checkpoint/tensor_file.h"
#include "layer/object/symbol.h"
#include "model/model_trace.h"
#include "model/model_training.h"
#include "step/variables/make_variables.h"

namespace tenon {
namespace {

constexpr const char* kEpochs = "tenon/epochs_done";

TensorSource scalar_source(const char* name, int64_t value) {
  return {name, {DType::kI64, {}}, [value](std::span<std::byte> piece) {
            std::memcpy(piece.data(), &value, piece.size());
            return Status();
          }};
}

std::vector<std::string> names_in(const TensorFile& file) {
  std::vector<std::string> names;
  for (const auto& entry : file.tensors()) names.push_back(entry.first);
  return names;
}

}  // namespace

std::vector<Type> Model::example_types() const {
  std::vector<Type> types;
  for (const Symbol& input : *inputs_) {
    if (!input.node().any_size.empty()) return examples();
    types.push_back(input.node().example);
  }
  return types.empty() ? examples() : types;
}

// Makes the weights of a model whose inputs are known.
void Model::build() {
  if (!compiled_->training || !compiled_->training->weights().empty() || example_types().empty()) return;
  Strategy::Impl& strategy = compiled_->training->strategy.impl();
  compiled_->training->make_weights(trace_model(*this, example_types(), strategy.tracing(Mode::kEval, "build", false)));
}

void ModelTraining::make_weights(const ModelTrace& traced) {
  if (!weights_.empty()) return;
  move_weights(*traced.graph);
  check(make_variables(*traced.graph, *strategy.impl().variables));
  weights_ = traced.order;
}

std::vector<std::string> Model::weights() {
  build();
  return compiled_->training ? compiled_->training->weights() : std::vector<std::string>();
}

void Model::save(const std::string& path) {
  ModelTraining& t = training();
  build();
  t.find_own_names(*this, example_types());
  const std::map<std::string, std::string> names = t.names_in_file();
  std::vector<TensorSource> all = t.strategy.impl().variables->sources();
  std::erase_if(all, [&](const TensorSource& s) { return !names.contains(s.name); });
  if (all.empty()) fail("save: the model has no weights yet: it was neither trained nor called, and has no Input()");
  for (TensorSource& source : all) source.name = names.at(source.name);
  all.push_back(scalar_source(kEpochs, t.epochs_done));
  check(write_tensor_file(path, std::move(all)));
}

void Model::load(const std::string& path) {
  ModelTraining& t = training();
  build();
  const TensorFile file = TensorFile::open(path).take();
  const int64_t epochs = file.scalar(kEpochs, 0).take();  // files of others do not have it
  if (t.types_of_weights().empty()) {
    t.expect_alone();
    t.strategy.load(path);
    t.note_loaded(file.path(), names_in(file));
  } else {
    t.find_own_names(*this, example_types());
    t.take(LoadedTensors::read(path).take(), name());
  }
  t.strategy.impl().variables->let_optimizers_begin_anew(true);
  t.find_counters();
  t.epochs_done = epochs;
}

void Model::save_weights(const std::string& path) {
  ModelTraining& t = training();
  const std::vector<std::string> names = weights();
  if (t.types_of_weights().empty())
    fail("save_weights: the model has no weights yet: it was neither trained nor called, and has no Input()");
  t.find_own_names(*this, example_types());
  std::vector<TensorSource> all = t.strategy.impl().variables->sources(&names);
  for (TensorSource& source : all) source.name = t.name_in_file(source.name);
  check(write_tensor_file(path, std::move(all), is_keras_weights(path) ? keras_places() : KerasPlaces()));
}

void Model::load_weights(const std::string& path) { load_weights(path, {}); }

WarmStartReport Model::load_weights(const std::string& path, const LoadWeightsOptions& options) {
  ModelTraining& t = training();
  build();
  auto loaded = std::make_shared<LoadedTensors>(LoadedTensors::read(path, options.rules).take());
  if (options.by_name || options.skip_mismatch) loaded->let_differ(options.skip_mismatch);
  const Types types = t.types_of_weights();
  if (types.empty()) {
    begin_with(loaded);  // it may be a part of another model when they are made
    return {.checkpoint = path};
  }
  t.find_own_names(*this, example_types());
  std::vector<std::string> in_order;
  for (const std::string& weight : t.weights()) in_order.push_back(t.name_in_file(weight));
  if (loaded->has_unnamed()) loaded->name_by_place(keras_places());
  loaded->name_by_position(in_order);
  return loaded->give_to(*t.strategy.impl().variables, name(), types, t.own_names()).take();
}

Types ModelTraining::types_of_weights() const {
  const auto& all = strategy.impl().variables->all();
  Types out;
  for (const std::string& name : weights_) {
    const auto found = all.find(name);
    if (found == all.end()) return {};
    out.emplace(name, found->second->type());
  }
  return out;
}

std::vector<std::string> ModelTraining::optimizer_variables() const {
  std::vector<std::string> out;
  for (const std::string& name : optimizer_variables_)
    if (strategy.impl().variables->all().contains(name)) out.push_back(name);
  return out;
}

}  // namespace tenon
