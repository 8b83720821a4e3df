// A model's weights, and all that its training is made of, to files and back.
#include <algorithm>
#include <cstring>

#include "base/text.h"
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
  for (const Symbol& input : inputs_) types.push_back(input.node().example);
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
  std::vector<TensorSource> all = t.strategy.impl().variables->sources();
  const std::vector<std::string> stale = t.untaken_slots();
  std::erase_if(all,
                [&](const TensorSource& s) { return std::find(stale.begin(), stale.end(), s.name) != stale.end(); });
  if (all.empty()) fail("save: the model has no weights yet: it was neither trained nor called, and has no Input()");
  all.push_back(scalar_source(kEpochs, t.epochs_done));
  check(write_tensor_file(path, std::move(all)));
}

void Model::load(const std::string& path) {
  ModelTraining& t = training();
  const TensorFile file = TensorFile::open(path).take();
  const int64_t epochs = file.scalar(kEpochs, 0).take();  // files of others do not have it
  t.strategy.load(path);
  t.strategy.impl().variables->let_optimizers_begin_anew(true);
  t.note_loaded(file.path(), names_in(file));
  t.find_counters();
  t.epochs_done = epochs;
}

void Model::save_weights(const std::string& path) {
  ModelTraining& t = training();
  const std::vector<std::string> names = weights();
  if (t.types_of_weights().empty())
    fail("save_weights: the model has no weights yet: it was neither trained nor called, and has no Input()");
  check(write_tensor_file(path, t.strategy.impl().variables->sources(&names)));
}

void Model::load_weights(const std::string& path) { load_weights(path, {}); }

WarmStartReport Model::load_weights(const std::string& path, const LoadWeightsOptions& options) {
  ModelTraining& t = training();
  build();
  auto loaded = std::make_shared<LoadedTensors>(LoadedTensors::read(path).take());
  if (options.by_name || options.skip_mismatch) loaded->let_differ(options.skip_mismatch);
  const Types types = t.types_of_weights();
  if (!types.empty()) return loaded->give_to(*t.strategy.impl().variables, name(), types).take();
  begin_with(loaded);  // it may be a part of another model when they are made
  return {.checkpoint = path};
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

// By the names that the first optimizer of a strategy has.
void ModelTraining::find_counters() {
  if (iterations_.empty() && has("global_step")) iterations_ = "global_step";
  if (learning_rate_.empty() && has("learning_rate")) learning_rate_ = "learning_rate";
}

std::vector<std::string> ModelTraining::optimizer_variables() const {
  std::vector<std::string> out;
  for (const std::string& name : optimizer_variables_)
    if (strategy.impl().variables->all().contains(name)) out.push_back(name);
  return out;
}

}  // namespace tenon
