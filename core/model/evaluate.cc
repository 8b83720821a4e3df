// Evaluation and prediction, and steps on single batches.
#include <algorithm>

#include "base/strings.h"
#include "layer/object/layer_scope.h"
#include "model/fit_run.h"
#include "model/given_data.h"
#include "model/model_trace.h"
#include "model/model_training.h"
#include "step/function_impl.h"

namespace tenon {
namespace {

// Arrays that follow one another along axis 0.
class Joined {
 public:
  // `by_step`: a row of it is one.
  void add(const Array& part, bool by_step) {
    const std::span<const int64_t> dims = part.shape().dims().subspan(by_step ? 1 : 0);
    if (dims.empty()) fail("predict: an output of the model is a scalar, expected a row an example");
    type_ = {part.dtype(), Shape(dims)};
    rows_ += dims[0] * (by_step ? part.dim(0) : 1);
    bytes_.insert(bytes_.end(), part.bytes().begin(), part.bytes().end());
  }
  Array take() {
    type_.shape.set(0, rows_);
    return Array(type_, std::move(bytes_));
  }

 private:
  Type type_;
  int64_t rows_ = 0;
  std::vector<std::byte> bytes_;
};

std::vector<Array> outputs_of(const Results& results, bool by_step) {
  std::vector<Array> out;
  for (size_t i = 0; i < results.all().size(); ++i) {
    const Array& output = results[cat("output_", i)];
    out.push_back(by_step ? output.row(0) : output);
  }
  return out;
}

Logs logs_of(const MeasuredStep& step, const Results& results) {
  Measured measured;
  measured.add(step.measures, results["row"], 1, results.examples());
  Logs logs;
  measured.to_logs(step.measures, &logs);
  return logs;
}

Logs evaluated(Model& model, ModelTraining& t, const GivenData& data, const EvaluateOptions& options) {
  if (options.steps < 0) fail("evaluate: steps is ", options.steps, ", expected 0 or more");
  ModelRun run(model, t, options.callbacks, options.verbose);
  const Dataset batches = to_dataset(data, model, {options.batch_size, t.strategy.num_replicas_in_sync()}, "evaluate");
  run.expect(options.steps > 0 ? options.steps : known_steps(batches.batches()));
  return run.test(batches, options.steps, "evaluate");
}

}  // namespace

namespace {

// A model stays where its weights are, unless it is sent elsewhere.
Strategy strategy_of(const CompileOptions& options, const Model& model) {
  if (options.strategy) return *options.strategy;
  if (const std::optional<Strategy> in_scope = Strategy::Scope::innermost()) return *in_scope;
  const auto home = std::dynamic_pointer_cast<Strategy::Impl>(model.home());
  return home ? Strategy(home) : Strategy();
}

}  // namespace

void Model::compile(const CompileOptions& options) {
  const auto training = std::make_shared<ModelTraining>(options, strategy_of(options, *this));
  std::optional<ModelTrace> traced;
  if (has_inputs() && !example_types().empty())
    traced = trace_model(*this, example_types(), training->strategy.impl().tracing(Mode::kEval, "compile", false));
  if (traced) training->expect_outputs(*this, traced->outputs);
  if (compiled_->training) training->follow(*compiled_->training);
  compiled_->training = training;
  compiled_->home = training->strategy.impl().shared_from_this();
  if (traced) training->make_weights(*traced);
}

// A model that was never compiled can predict.
ModelTraining& Model::training() {
  if (!compiled_->training) {
    compile({});
    compiled_->training->by_itself = true;
  }
  return *compiled_->training;
}

ModelTraining& Model::compiled_training(const char* what) {
  if (!compiled_->training) fail(what, ": the model was not compiled: compile() says loss and optimizer");
  return *compiled_->training;
}

Strategy& Model::strategy() { return compiled_training("strategy").strategy; }

void Model::reset_states() {
  ModelTraining& t = compiled_training("reset_states");
  for (const Strategy::VariableInfo& v : t.strategy.variables()) {
    const std::string name = v.name.substr(v.name.rfind('/') + 1);
    const bool is_state = name == kRnnState || name == cat(kRnnState, "_1");
    const std::vector<std::string>& own = t.weights();
    if (is_state && std::find(own.begin(), own.end(), v.name) != own.end()) t.strategy.write(v.name, Array(v.type));
  }
}

Logs Model::evaluate(const FitData& data, const EvaluateOptions& options) {
  return evaluated(*this, compiled_training("evaluate"), data, options);
}

Logs Model::evaluate(const Examples& x, const Examples& y, const EvaluateOptions& options) {
  return evaluated(*this, compiled_training("evaluate"), {x, y}, options);
}

std::vector<Array> Model::predict(const Dataset& data, const PredictOptions& options) {
  if (options.steps < 0) fail("predict: steps is ", options.steps, ", expected 0 or more");
  if (options.steps == 0 && data.options().repeat)
    fail("predict: the data repeat for ever: steps says how many batches to take");
  ModelTraining& t = training();
  ModelRun run(*this, t, options.callbacks, options.verbose);
  Function predict = t.predict(*this);
  DataPass step(predict, t.as_taken(data, Mode::kPredict));
  std::vector<Joined> joined;
  run.expect(options.steps > 0 ? options.steps : known_steps(data.batches()));
  run.call([&](Callback& c) { c.on_predict_begin(run); });
  int64_t done = 0;
  while (options.steps == 0 || done < options.steps) {
    if (!step.more()) break;
    run.call([&](Callback& c) { c.on_predict_batch_begin(run, done); });
    t.use(*this);
    const Results results =
        step(static_cast<int>(options.steps > 0 ? std::min<int64_t>(options.steps - done, 1 << 30) : 0));
    if (!results) break;
    joined.resize(results.all().size());
    for (size_t i = 0; i < joined.size(); ++i) joined[i].add(results[cat("output_", i)], t.predicts_several());
    done += results.steps();
    run.call([&](Callback& c) { c.on_predict_batch_end(run, done - 1); });
  }
  if (done == 0) fail("predict: the data gave no batch of ", data.options().batch_size);
  run.call([&](Callback& c) { c.on_predict_end(run); });
  std::vector<Array> out;
  for (Joined& j : joined) out.push_back(j.take());
  return out;
}

std::vector<Array> Model::predict(const Examples& x, const PredictOptions& options) {
  const int units = training().strategy.num_replicas_in_sync();
  const MemoryOptions batches{.batch_size = options.batch_size, .units = units, .any_size = true};
  const Examples none;
  GivenData data(x, none);
  PredictOptions all = options;
  if (options.steps > 0 && options.batch_size > 0) {  // so many rows, in whatever batches
    const int64_t rows = count_examples(data, *this, "predict");
    data.count = options.steps > rows / options.batch_size ? rows : options.steps * options.batch_size;
    all.steps = 0;
  }
  return predict(to_dataset(data, *this, batches, "predict"), all);
}

Logs Model::train_on_batch(const Examples& x, const Examples& y, const Examples& sample_weight,
                           const std::map<int64_t, double>& class_weight) {
  ModelTraining& t = compiled_training("train_on_batch");
  const auto step = t.train_on_batch(*this, class_weight);
  const Arrays batch = to_arrays({x, y, &sample_weight}, *this, "train_on_batch");
  const Results results = (*step->run)(t.as_taken(batch, Mode::kTrain));
  t.tell_begun_anew("train_on_batch");
  return logs_of(*step, results);
}

Logs Model::test_on_batch(const Examples& x, const Examples& y, const Examples& sample_weight) {
  ModelTraining& t = compiled_training("test_on_batch");
  const auto step = t.test_on_batch(*this);
  const Arrays batch = to_arrays({x, y, &sample_weight}, *this, "test_on_batch");
  return logs_of(*step, (*step->run)(t.as_taken(batch, Mode::kEval)));
}

std::vector<Array> Model::predict_on_batch(const Examples& x) {
  ModelTraining& t = training();
  Function& predict = t.predict(*this);
  const Results results = predict(t.as_taken(to_arrays({x, Examples()}, *this, "predict_on_batch"), Mode::kPredict));
  return outputs_of(results, t.predicts_several());
}

}  // namespace tenon
