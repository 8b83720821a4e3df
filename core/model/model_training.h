// What compile() makes of a model: the functions that train, test and predict with it, and what they measure.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/model_trace.h"
#include "step/function_impl.h"
#include "step/variables/loaded_tensors.h"
#include "tenon/model.h"

namespace tenon {

// Which features of a batch are what.
struct BatchRoles {
  std::vector<std::string> inputs;
  std::vector<std::string> others;  // among which are the targets
  std::vector<std::string> weights;  // of samples
};
inline constexpr std::string_view kSampleWeight = "sample_weight";
// The weights of each output, "" for one that has none, by the names of FitData. Throws Error where one is of no output.
std::vector<std::string> find_weights(const std::vector<std::string>& weights, const std::vector<std::string>& outputs);
// By the names of the features (FitData). Throws Error.
BatchRoles batch_roles(const std::vector<std::string>& features, const Model& model, Mode mode, bool wants_targets);
// The target of each output, "" of one that has none beside others; the layers that give the outputs have their names once the
// model was called. Returns none where none are wanted. Throws Error.
std::vector<std::string> find_targets(const std::vector<std::string>& features, const std::vector<std::string>& outputs,
                                      bool wanted);

// What each step of a function measures: sums that are added up, and what becomes of them.
struct Measure {
  std::string name;
  size_t first = 0;           // in the row of a step
  std::vector<size_t> sizes;  // of the sums, one after the other
  bool is_mean = false;       // over a step's examples: weighted by them
  MetricOp metric;            // of which `value` alone is used
};

// The sums of many steps.
class Measured {
 public:
  void reset();
  // The rows of a call: each the loss, the losses of outputs, the sums. `examples` a row.
  void add(const std::vector<Measure>& measures, const Array& rows, int64_t steps, int64_t examples);
  void to_logs(const std::vector<Measure>& measures, Logs* logs, const std::string& prefix = {}) const;
  int64_t examples() const { return examples_; }

 private:
  void expect_same_sums(const std::vector<Measure>& measures, size_t size);

  std::vector<double> sums_;
  std::vector<size_t> counts_;  // of each measure
  int64_t examples_ = 0;
};

// A function that measures what it does. Its trace has these class weights.
struct MeasuredStep {
  std::optional<Function> run;
  std::map<int64_t, double> class_weight;
  std::vector<Measure> measures;  // once it was traced
};

class ModelTraining : public std::enable_shared_from_this<ModelTraining> {
 public:
  ModelTraining(const CompileOptions& options, Strategy its);
  // It takes the place of `before`, of the same model: the weights stay, and what the optimizer kept goes with it, unless it is
  // the same one, or trains another model too.
  void follow(ModelTraining& before);

  Strategy strategy;
  bool by_itself = false;   // nobody has compiled the model: nothing is said of the optimizer yet
  int64_t epochs_done = 0;  // of data in memory, which each epoch shuffles anew
  // How many epochs of the Dataset fit() has begun; of the last few that it was given.
  uint64_t epochs_of(const Dataset& data) const;
  void note_epochs(const Dataset& data, uint64_t begun);

  // The functions, traced with this model.
  std::shared_ptr<MeasuredStep> train(Model& model, const std::map<int64_t, double>& class_weight);
  std::shared_ptr<MeasuredStep> test(Model& model);
  Function& predict(Model& model);
  // Whether outputs of a call that predicts have an axis of batches in front.
  bool predicts_several() const { return options_.steps_per_execution > 1; }
  std::shared_ptr<MeasuredStep> train_on_batch(Model& model, const std::map<int64_t, double>& class_weight);
  std::shared_ptr<MeasuredStep> test_on_batch(Model& model);

  // What the device's programs read in the place of these: features of a type that it lacks are converted on the host, to f32,
  // or to i32 where they are integers and no bytes of an input, which are pixels. All else is as it was.
  Dataset as_taken(const Dataset& data, Mode mode) const;
  Arrays as_taken(Arrays batch, Mode mode) const;

  // Which copy of the model is traced from now on; a callback may have had another for a while.
  void use(Model& model) { model_ = &model; }
  // Throws Error unless what compile() was given fits that many outputs of the model.
  void expect_outputs(const Model& model, size_t outputs) const;
  const CompileOptions& options() const { return options_; }
  int64_t steps() const;  // updates done
  double learning_rate();
  void set_learning_rate(double value);
  void take_averages();
  // The variables that hold the averages of weights, by the weights; empty before the first step and without use_ema.
  const std::map<std::string, std::string>& averages() const { return averages_; }
  const std::vector<std::string>& weights() const { return weights_; }
  // Makes those that the model's trace has, where it has none yet.
  void make_weights(const ModelTrace& traced);
  // Slots, counters and learning rate of the optimizer; empty before it was traced.
  std::vector<std::string> optimizer_variables() const;
  // The types of the weights; empty where they are not made yet.
  Types types_of_weights() const;
  // Weights that the model had elsewhere replace those of a time before, where it has come back. REQUIRED: it was traced.
  void move_weights(const Graph& graph);
  // What a file had for the weights' slots and nobody takes any more: the optimizer was traced and keeps others.
  std::vector<std::string> untaken_slots() const;
  // What was loaded before the optimizer was traced: its variables that the file lacks begin anew.
  void note_loaded(std::string path, std::vector<std::string> names);
  // One line on standard error, once, that names them, after the first step.
  void tell_begun_anew(const char* who);
  // Finds the counter and the learning rate that a file brought before the optimizer was traced.
  void find_counters();

  // In files the weights, and what the optimizer keeps of them, have the names that they have in a program with nothing but
  // this model: another program's like model finds them, whatever else its strategy has. `examples` are the model's; while
  // they are not known, names in files are those of the strategy.
  void find_own_names(Model& model, const std::vector<Type>& examples);
  // The names of weights that have others than in the strategy.
  const std::map<std::string, std::string>& own_names() const { return own_names_; }
  // What a file of all that the model's training is made of has: names there by those of the strategy. Throws Error where two
  // would have one name.
  std::map<std::string, std::string> names_in_file() const;
  // What a name of the strategy is in a file.
  std::string name_in_file(const std::string& name) const;
  // Throws Error where the strategy has variables, or values that wait, of others: what is loaded before the model's weights
  // are known waits by the names in the file.
  void expect_alone();
  // Takes such a file, or throws Error and leaves all as it was. What the optimizer keeps and the file lacks begins anew.
  // REQUIRED: the weights are there.
  void take(LoadedTensors loaded, const std::string& model);

 private:
  struct Computed {
    Tensor loss;  // with what layers add
    Tensor row;   // what is measured
  };
  class Row;
  struct Compared;
  bool wants_targets() const;
  std::map<std::string, DType> lacking_types(const std::map<std::string, DType>& features, Mode mode) const;
  Compared compare(const Features& in, const std::map<int64_t, double>& class_weight, Mode mode);
  template <class Work>
  static auto of_output(const Compared& compared, size_t i, const std::string& what, const Work& work);
  static Tensor loss_of(const Loss& loss, const Compared& compared, size_t i);
  Tensor add_losses(const Compared& compared, Row& row) const;
  void add_metrics(const Compared& compared, const MetricList& list, bool weighted, Row& row) const;
  Computed compute(const Features& in, Mode mode, MeasuredStep& step);
  Outputs train_step(const Features& in, MeasuredStep& step);
  Outputs test_step(const Features& in, MeasuredStep& step);
  Outputs predict_step(const Features& in);
  Tensors call_model(const Features& in, const BatchRoles& roles);
  bool has(const std::string& variable) const { return strategy.impl().variables->has(variable); }
  using MeasuredSteps = std::vector<std::shared_ptr<MeasuredStep>>;  // by their class weights, the last one last
  std::shared_ptr<MeasuredStep> measured(MeasuredSteps& steps, const std::map<int64_t, double>& class_weight, Mode mode,
                                         int steps_per_call, const char* name);
  void begin_with(Model& model);
  void note_optimizer(Graph& graph);
  std::string name_here(const std::string& tensor, const std::map<std::string, std::string>& weights);
  void begin_anew(const std::vector<std::string>& besides);
  std::string optimizer_scope() const;
  std::string counter() const;
  bool keeps(const std::string& name) const;
  bool trains_alone() const;
  bool is_slot(const std::string& name) const;
  void forget_waiting_slots();

  std::vector<std::pair<Dataset, uint64_t>> epochs_;  // the last one last
  std::map<std::string, bool> trainable_;             // of layers, as the model was first called with
  CompileOptions options_;
  Optimizer optimizer_;
  Model* model_ = nullptr;
  size_t layers_ = 0;  // that the model, and models in it, had been added when the functions were made
  MeasuredSteps train_, test_, train_on_batch_, test_on_batch_;
  std::optional<Function> predict_, scheduled_rate_;
  std::vector<std::string> weights_;
  std::shared_ptr<Strategy::Impl> moves_from_;  // where the model was trained before, until its weights are here
  // Variables of the optimizer, once it was traced.
  std::string iterations_, learning_rate_;
  std::vector<std::string> optimizer_variables_;
  std::map<std::string, Initializer> first_values_;  // of these
  std::vector<std::string> beside_;  // what else a training step has: of a loss with variables, the counter of draws
  std::map<std::string, std::string> own_names_;
  std::vector<std::string> named_;  // the weights that own_names_ is of
  struct Loaded {
    std::string path;
    std::vector<std::string> names;  // sorted
  };
  std::optional<Loaded> loaded_;
  std::map<std::string, std::string> averages_;
  std::vector<std::string> of_others_;          // names that waited for an optimizer before this one
  std::shared_ptr<const void> training_by_it_;  // shared by the models that the optimizer trains
};

}  // namespace tenon
