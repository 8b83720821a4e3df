// What a step of a compiled model does: calls it, compares its outputs with targets, measures and trains.
#include "model/model_training.h"

#include <algorithm>
#include <utility>

#include "base/caught.h"
#include "base/number.h"
#include "base/strings.h"
#include "graph/graph.h"
#include "model/for_outputs.h"
#include "op/replicas.h"
#include "op/rules.h"
#include "step/function_impl.h"
#include "tenon/gradients.h"

namespace tenon {
namespace {

std::vector<std::string> names_of(const Features& in) {
  std::vector<std::string> names;
  for (const auto& entry : in.all()) names.push_back(entry.first);
  return names;
}

// The weight of each example by its class: integers [B] or [B, 1], or one-hot [B, classes].
Tensor class_weights(Tensor target, const std::map<int64_t, double>& weights) {
  if (weights.empty()) return {};
  if (weights.begin()->first < 0) fail("class_weight: class ", weights.begin()->first, " is negative");
  constexpr int64_t kMostClasses = 1 << 24;
  const int64_t classes = weights.rbegin()->first + 1;
  if (classes > kMostClasses) fail("class_weight: class ", classes - 1, " is more than ", kMostClasses - 1);
  std::vector<float> table(static_cast<size_t>(classes) + 1, 1.0f);  // the last: of all classes beyond
  for (const auto& [which, weight] : weights) expect_number(cat("class_weight of class ", which), weight);
  for (const auto& [which, weight] : weights) table[static_cast<size_t>(which)] = static_cast<float>(weight);
  Tensor which = target.rank() == 2 && target.dim(1) > 1 ? argmax(target, -1) : reshape(target, Shape{target.dim(0)});
  if (which.rank() != 1) fail("class_weight: the targets are ", target.type().str(), ", expected a class an example");
  which = cast(is_float(which.dtype()) ? round(which) : which, DType::kI32);
  const Tensor others = full_like(which, static_cast<double>(classes));
  which = minimum(select(compare(which, zeros_like(which), CompareKind::kLt), others, which), others);
  return gather(constant(table), which, 0);
}

Tensor product_of(Tensor a, Tensor b) { return a && b ? mul(a, b) : a ? a : b; }
Tensor sum_of(Tensor a, Tensor b) { return a && b ? add(a, b) : a ? a : b; }

// A prediction [B, 1] and its targets [B] are of one rank.
Tensor as_prediction(Tensor target, Tensor prediction) {
  const bool column = prediction.rank() == target.rank() + 1 && prediction.dim(-1) == 1;
  return column ? reshape(target, prediction.shape()) : target;
}

}  // namespace

// What a step measures, one behind the other.
class ModelTraining::Row {
 public:
  explicit Row(std::vector<Measure>* measures) : measures_(measures) { measures_->clear(); }

  // A mean over the examples.
  void add_mean(const std::string& name, Tensor value) {
    add(name);
    measures_->back().is_mean = true;
    append(value);
    means_ = parts_.size();
  }
  // Under that name, or the first of auc_1, auc_2, .. that is free; weighted_auc of a weighted metric, if that is. As Keras does.
  void add_metric(const std::string& name, const std::string& if_taken, const MetricOp& metric) {
    std::string free = taken(name) ? if_taken : name;
    for (int n = 1; taken(free); ++n) free = cat(if_taken, "_", n);
    add(free);
    measures_->back().metric = metric;
    for (const Tensor& sum : metric.sums) append(sum);
  }
  // Joins what the units have: a mean is the mean of theirs, all else is their sum.
  Tensor joined() const {
    Graph& graph = *parts_[0].graph();
    const Tensor row = concat(parts_, 0);
    if (graph.replicas == 1) return row;
    std::vector<float> share(static_cast<size_t>(row.dim(0)), 1.0f);
    std::fill_n(share.begin(), means_, 1.0f / static_cast<float>(graph.replicas));
    return mul(sums_over_replicas({row})[0], constant(share));
  }

 private:
  void add(const std::string& name) {
    measures_->emplace_back();
    measures_->back().name = name;
    measures_->back().first = size_;
  }
  void append(Tensor sum) {
    parts_.push_back(reshape(cast(sum, DType::kF32), Shape{sum.elements()}));
    measures_->back().sizes.push_back(static_cast<size_t>(sum.elements()));
    size_ += static_cast<size_t>(sum.elements());
  }

  bool taken(const std::string& name) const {
    return std::any_of(measures_->begin(), measures_->end(), [&](const Measure& m) { return m.name == name; });
  }

  std::vector<Measure>* measures_;
  Tensors parts_;
  size_t size_ = 0, means_ = 0;
};

Tensors ModelTraining::call_model(const Features& in, const BatchRoles& roles) {
  Tensors xs;
  for (const std::string& name : roles.inputs) {
    const Tensor x = in[name];
    xs.push_back(is_float(x.dtype()) ? cast(x, x.graph()->compute_dtype) : x);
  }
  Graph& graph = *graph_being_built();
  graph.trainable_before = &trainable_;
  Tensors ys = model_->all(xs);
  graph.trainable_before = nullptr;
  weights_.clear();
  for (const Tensor& v : model_->variables())
    weights_.push_back(v.graph()->variables[static_cast<size_t>(v.graph()->variable_of(v.id()))].name);
  move_weights(graph);
  if (moves_from_) graph.when_made.push_back([this] { moves_from_.reset(); });
  return ys;
}

// What one batch is measured by, an entry for each output of the model.
struct ModelTraining::Compared {
  std::vector<std::string> outputs, features;  // which the inputs are not
  Tensors predictions, targets, weights;
};

// What is given for outputs is compared with targets.
bool ModelTraining::wants_targets() const {
  const auto any = [](const MetricList& list) {
    return std::any_of(list.all().begin(), list.all().end(), [](const auto& entry) { return !entry.second.empty(); });
  };
  return !options_.loss.all().empty() || any(options_.metrics) || any(options_.weighted_metrics);
}

ModelTraining::Compared ModelTraining::compare(const Features& in, const std::map<int64_t, double>& class_weight,
                                               Mode mode) {
  const BatchRoles roles = batch_roles(names_of(in), *model_, mode, wants_targets());
  Compared c;
  c.predictions = call_model(in, roles);
  c.outputs = output_names(*model_, c.predictions.size());
  c.features = roles.others;
  if (!class_weight.empty() && c.outputs.size() > 1)
    fail("class_weight is for a model with one output, and this one has ", c.outputs.size(),
         "; a sample_weight weighs the examples of all");
  const std::vector<std::string> targets = find_targets(roles.others, c.outputs, wants_targets());
  Tensors given;  // weights of each output
  for (const std::string& name : find_weights(roles.weights, c.outputs))
    given.push_back(name.empty() ? Tensor() : in[name]);
  if (targets.empty() && !class_weight.empty()) fail("class_weight is of targets, and the data have none");
  if (!roles.weights.empty() && !class_weight.empty())
    fail("class_weight and sample_weight exclude each other, as in Keras; multiply them");
  if (targets.size() != c.outputs.size()) {
    if (wants_targets())
      fail("the model gives ", c.outputs.size(), " outputs, and the data have ", targets.size(), " targets");
    c.targets.resize(c.outputs.size());
    c.weights = given;
    return c;
  }
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    const Tensor target = targets[i].empty() ? Tensor() : in[targets[i]];
    c.targets.push_back(target ? as_prediction(target, c.predictions[i]) : target);
    c.weights.push_back(mode == Mode::kTrain ? product_of(given[i], class_weights(target, class_weight)) : given[i]);
  }
  return c;
}

// Does what concerns one output, which an error names.
template <class Work>
auto ModelTraining::of_output(const Compared& c, size_t i, const std::string& what, const Work& work) {
  if (!c.targets[i])
    fail("the data have no target of the model's output '", c.outputs[i], "', which '", what,
         "' needs; there are the features ", join(c.features));
  try {
    return work();
  } catch (...) {
    const Status why = status_of_exception();
    const std::string& name = c.outputs[i];
    throw Error(Status(why.code(), cat("the model's output", name.empty() ? std::string() : cat(" '", name, "'"), ", ",
                                       c.predictions[i].type().str(), " for targets ", c.targets[i].type().str(),
                                       ", by '", what, "': ", why.message())));
  }
}

Tensor ModelTraining::loss_of(const Loss& loss, const Compared& c, size_t i) {
  const Tensor value = loss(c.targets[i], c.predictions[i], c.weights[i]);
  if (value.rank() > 0)
    fail("the loss is ", value.type().str(), ", expected a scalar: what is trained for has a reduction, not kNone");
  return value;
}

// The loss, with what layers add to it, and the losses of the outputs.
Tensor ModelTraining::add_losses(const Compared& c, Row& row) const {
  const auto losses = for_outputs(options_.loss, c.outputs, "loss");
  const auto shares = for_outputs(options_.loss_weights, c.outputs, "loss_weights");
  Tensor total;
  Tensors each;
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    each.push_back(losses[i] ? of_output(c, i, losses[i]->name(), [&] { return loss_of(*losses[i], c, i); })
                             : Tensor());
    if (each[i]) total = sum_of(total, shares[i] ? mul(each[i], scalar_like(each[i], *shares[i])) : each[i]);
  }
  total = sum_of(total, added_losses(*c.predictions[0].graph()));
  if (!total) fail("compile was given no loss, and no layer adds one");
  row.add_mean("loss", total);
  for (size_t i = 0; i < c.outputs.size() && c.outputs.size() > 1; ++i)
    if (each[i]) row.add_mean(cat(c.outputs[i], "_loss"), each[i]);
  return total;
}

void ModelTraining::add_metrics(const Compared& c, const MetricList& list, bool weighted, Row& row) const {
  const auto found = for_outputs(list, c.outputs, weighted ? "weighted_metrics" : "metrics");
  for (size_t i = 0; i < c.outputs.size(); ++i)
    for (const Metric& metric : found[i])
      of_output(c, i, metric.name(), [&] {
        const std::string of = c.outputs.size() > 1 ? cat(c.outputs[i], "_") : std::string();
        row.add_metric(of + metric.name(), cat(of, weighted ? "weighted_" : "", metric.name()),
                       metric(c.targets[i], c.predictions[i], weighted ? c.weights[i] : Tensor()));
      });
}

void ModelTraining::expect_outputs(const Model& model, size_t outputs) const {
  const std::vector<std::string> names = output_names(model, outputs);
  (void)for_outputs(options_.loss, names, "loss");
  (void)for_outputs(options_.loss_weights, names, "loss_weights");
  (void)for_outputs(options_.metrics, names, "metrics");
  (void)for_outputs(options_.weighted_metrics, names, "weighted_metrics");
}

ModelTraining::Computed ModelTraining::compute(const Features& in, Mode mode, MeasuredStep& step) {
  const Compared compared = compare(in, step.class_weight, mode);
  std::vector<Measure> measures;  // kept once the trace is good
  Row row(&measures);
  const Tensor loss = add_losses(compared, row);
  add_metrics(compared, options_.metrics, false, row);
  add_metrics(compared, options_.weighted_metrics, true, row);
  const Computed computed{loss, row.joined()};
  step.measures = std::move(measures);
  return computed;
}

Outputs ModelTraining::train_step(const Features& in, MeasuredStep& step) {
  const Computed computed = compute(in, Mode::kTrain, step);
  const Tensors weights = model_->trainable_variables();
  if (weights.empty()) fail("the model has no trainable weights");
  optimizer_.apply(gradients(optimizer_.scale_loss(computed.loss), weights), weights);
  Graph& graph = *computed.loss.graph();
  note_optimizer(graph);
  if (optimizer_.learning_rate.is_variable()) learning_rate_ = optimizer_.learning_rate_name(graph);
  return {{"row", computed.row}};
}

Outputs ModelTraining::test_step(const Features& in, MeasuredStep& step) {
  return {{"row", compute(in, Mode::kEval, step).row}};
}

Outputs ModelTraining::predict_step(const Features& in) {
  Outputs out;
  size_t i = 0;
  for (const Tensor& y : call_model(in, batch_roles(names_of(in), *model_, Mode::kPredict, false)))
    out.add(cat("output_", i++), {y, predicts_several() ? ResultMode::kEach : ResultMode::kLast, Joining::kRows});
  return out;
}

// The step of that name, made where there is none with these class weights. A few are kept for others.
std::shared_ptr<MeasuredStep> ModelTraining::measured(MeasuredSteps& steps,
                                                      const std::map<int64_t, double>& class_weight, Mode mode,
                                                      int steps_per_call, const char* name) {
  constexpr size_t kMost = 4;
  const auto found =
      std::find_if(steps.begin(), steps.end(), [&](const auto& step) { return step->class_weight == class_weight; });
  if (found != steps.end()) {
    std::rotate(found, found + 1, steps.end());
    return steps.back();
  }
  if (steps.size() == kMost) steps.erase(steps.begin());
  const auto step = steps.emplace_back(std::make_shared<MeasuredStep>());
  step->class_weight = class_weight;
  MeasuredStep* const its = step.get();  // it holds the function, and lives as long
  const auto once = [this, its, mode](const Features& in) {
    return mode == Mode::kTrain ? train_step(in, *its) : test_step(in, *its);
  };
  step->run = strategy.function(once, {.mode = mode,
                                       .steps_per_call = steps_per_call,
                                       .name = name,
                                       .remainder = Remainder::kWhole,
                                       .max_batch = options_.bounded_batch ? kBatchOfData : 0});
  return step;
}

// The functions of a model to which layers were added since are of no use.
void ModelTraining::begin_with(Model& model) {
  model_ = &model;
  const size_t layers = model.count_added();
  if (std::exchange(layers_, layers) == layers) return;
  for (MeasuredSteps* steps : {&train_, &test_, &train_on_batch_, &test_on_batch_}) steps->clear();
  predict_.reset();
}

std::shared_ptr<MeasuredStep> ModelTraining::train(Model& model, const std::map<int64_t, double>& class_weight) {
  begin_with(model);
  return measured(train_, class_weight, Mode::kTrain, options_.steps_per_execution, "fit");
}

std::shared_ptr<MeasuredStep> ModelTraining::train_on_batch(Model& model,
                                                            const std::map<int64_t, double>& class_weight) {
  begin_with(model);
  return measured(train_on_batch_, class_weight, Mode::kTrain, 1, "train_on_batch");
}

std::shared_ptr<MeasuredStep> ModelTraining::test(Model& model) {
  begin_with(model);
  return measured(test_, {}, Mode::kEval, options_.steps_per_execution, "evaluate");
}

std::shared_ptr<MeasuredStep> ModelTraining::test_on_batch(Model& model) {
  begin_with(model);
  return measured(test_on_batch_, {}, Mode::kEval, 1, "test_on_batch");
}

Function& ModelTraining::predict(Model& model) {
  begin_with(model);
  if (!predict_)
    predict_ = strategy.function([this](const Features& in) { return predict_step(in); },
                                 {.mode = Mode::kPredict,
                                  .steps_per_call = options_.steps_per_execution,
                                  .name = "predict",
                                  .remainder = Remainder::kPad,
                                  .max_batch = options_.bounded_batch ? kBatchOfData : 0});
  return *predict_;
}

}  // namespace tenon
