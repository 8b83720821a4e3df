// Any function of tensors as a program of any device.
//
//   Strategy strategy("tpu-emulator:v2-8");
//   Function train = strategy.function([&](const Features& in) {
//     Tensor loss = mean_squared_error(in["y"], dense(in["x"], {.units = 1}));
//     minimize(SGD(0.1), loss);
//     return Outputs{{"loss", loss}};
//   }, {.mode = Mode::kTrain, .steps_per_call = 10});
//   for (int epoch = 0; epoch < 5; ++epoch) print(train(data)["loss"].mean());   // ten batches, one call of the device
//   std::vector<float> w = strategy.read<float>("dense/kernel");
//
// The function is called once for each signature, the names and types of what it is given, and builds the graph of one
// step; the device compiles it, and runs it from then on. Variables belong to the strategy by name: all its functions
// share them, and they are made when the first function that has them is traced. On a device of several units each has
// its share of a batch and the same variables (tenon/outputs.h says how results become one).
//
// Mistakes throw tenon::Error, before the first step where they can. A Strategy and its Functions are used by one
// thread at a time. Copies are handles to the same.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/array.h"
#include "tenon/devices.h"
#include "tenon/features.h"
#include "tenon/graph_node.h"
#include "tenon/input.h"
#include "tenon/outputs.h"
#include "tenon/predicted_step.h"
#include "tenon/throughput.h"
#include "tenon/warm_start.h"

namespace tenon {

using TensorFunction = std::function<Outputs(const Features& features)>;

struct StrategyOptions {
  uint64_t seed = 0;  // of first values, of what is drawn
  // Or "mixed_bfloat16", "bfloat16", "mixed_float16" with a LossScaleOptimizer. A function's layers cast floats that
  // they are given to what they compute in, as Keras's do; the ops between them compute in what they are given.
  std::string dtype_policy = "float32";
  // kBF16: gradients of f32 and f64 are rounded to bf16 for their one sum over the replicas, which halves what
  // processes send each other. Each element is added up in f32 and rounded once more.
  DType all_reduce_dtype = DType::kNone;
  // Each replica keeps a part of what optimizers keep beside the weights, as Adam's means of g and g^2, and updates
  // that part of the weights (ZeRO 1). All bits and all checkpoints stay the same. Averages of use_ema are whole in
  // each.
  bool shard_optimizer_state = false;
  bool deterministic = false;   // no kernel is chosen by the clock
  bool soft_placement = false;  // ops that the device lacks run on cpu.so; standard error says which
};

// What becomes of a batch of a Dataset whose rows cannot be dealt equally over the units: an error; its last rows,
// fewer than there are units, are left out; rows of zeros are added, and what they give is left out; or each unit has
// the whole batch, so that losses, metrics, gradients and moments are those of one unit, which takes its time and
// memory. A function that gives something without a row an example, or writes variables, does with kPad what it does
// with kWhole.
enum class Remainder : uint8_t { kRefuse, kDrop, kPad, kWhole };

// A dimension of inputs whose size is known when the function is called: 1 to `max`, which is less than 2^31. Axes of
// that name have one `max` and are of one size. An axis of another input that always has `max` elements is another
// dimension: to add the two is an error. What is no input, a variable or a constant, may have as many: of such a table
// the first elements are taken.
//
// A program with such dimensions is compiled once, for their bounds, and runs with all sizes: what is behind the end of
// the rows or steps that a call has is left out of every sum, mean, maximum, softmax, moment and gradient, so that
// losses, metrics and updates are those of a program compiled for these sizes, unless one draws along such a dimension,
// as Dropout does over steps. It computes the whole bound each time, and some masks. Layers over steps end, and those
// that go backwards begin, with the last step that is there, whatever mask they have. Shapes show the bound;
// dimension_size(x, axis) of ops.h is the size.
//
// Refused when the function is traced, in one line with the op's name:
//   convolutions, pools and resizing along it, as on a TPU ("Dynamic Spatial Convolution is not supported: lhs shape is
//     f32[<=8,<=274,<=286,3]");
//   dynamic weights, channels of batch normalization, classes, features of LSTM and GRU, and heads; causal attention whose
//     queries and keys are of two dimensions;
//   a part of it but for the first element (gather(x, dimension_size(x, axis) - 1, axis) takes the last), pad and concat along
//     it, a reshape that takes it apart, a reverse of two dimensions that a reshape made one;
//   sort from the smallest on, top_k with k other than 1 or all, reduce_scatter along it;
//   elements of two dimensions together, or of one and of an input of one size;
//   c of the op lstm, the cell after the last step (the layer LSTM gives its last states);
//   a variable that would have one, as those of a stateful layer whose batch is dynamic, and a result with two in one axis.
struct BoundedDim {
  std::string name;  // "batch", "time"
  int64_t max = 0;   // of all units together, where the dimension is dealt over them
};
// {{"tokens", {{0, batch}, {1, time}}}, {"label", {{0, batch}}}}: by input and axis.
using DynamicShapes = std::map<std::string, std::map<int, BoundedDim>>;

inline constexpr int64_t kBatchOfData = -1;  // of max_batch: each Dataset's own batch size; arrays have none

struct FunctionOptions {
  Mode mode = Mode::kPredict;     // what layers do: only training draws dropout
  int steps_per_call = 1;         // the most batches that one call of the device takes, up to 2^20
  std::string name = "function";  // for messages
  Remainder remainder = Remainder::kRefuse;
  // Not 0: axis 0 of every input of rank 1 or more is BoundedDim{"batch", max_batch}. Batches of a Dataset are of so
  // many rows, and a last one with fewer is no program of its own.
  int64_t max_batch = 0;
  DynamicShapes dynamic_shapes = {};  // of arrays; other axes of a Dataset's features have one size
};

// What a call gave, by the names of Outputs.
class Results {
 public:
  Results() = default;
  Results(Arrays values, int64_t steps, int64_t examples)
      : values_(std::move(values)), steps_(steps), examples_(examples) {}

  // A result by its name. One that is kept each step has a row a step, or just the step's value with steps_per_call 1.
  // Throws Error naming what there is when there is none of that name.
  const Array& operator[](std::string_view name) const;
  const Arrays& all() const { return values_; }
  // That were done: fewer than asked for where the data ended or a result said stop; then there are no rows of the
  // rest.
  int64_t steps() const { return steps_; }
  int64_t examples() const { return examples_; }
  explicit operator bool() const { return steps_ > 0; }

 private:
  Arrays values_;
  int64_t steps_ = 0, examples_ = 0;
};

class Function {
 public:
  // Takes up to steps_per_call batches, or `most_steps` if that is fewer (0: no limit), from where its last call with
  // this Dataset, or a copy of it, stopped. Four Datasets in turn keep their places; with more, the one whose last call
  // is longest ago begins anew. At the end of the data there are no steps, and the next call begins the next epoch. A
  // last batch with fewer rows is a step of its own: it is another signature, unless there is a max_batch.
  Results operator()(const Dataset& data, int most_steps = 0);
  // One step. An input of rank 1 or more is dealt over the units along axis 0. Where one does not divide, each unit has
  // all of all inputs if `remainder` is kPad or kWhole; otherwise, and with dynamic dimensions, that is an error.
  Results operator()(const Arrays& inputs = {});
  // So many steps, each on the same inputs, in as many calls of the device as steps_per_call takes; the results are
  // those of one call. A result that says stop ends them all.
  Results repeat(int steps, const Arrays& inputs = {});

  // What the device predicts for a step on inputs of these shapes on the machine that it stands for, in its bounded
  // form where dimensions are dynamic; nothing runs, and no variable is made. Nothing where the device does not
  // predict.
  std::optional<PredictedStep> forecast(const Arrays& inputs);
  // The same of the program that it ran first; nothing before that.
  std::optional<PredictedStep> forecast() const;

  // Begins the next epoch of all data with their next call, where a call has begun one, and none before `least`,
  // counted from 0.
  void next_epoch(uint64_t least = 0);
  // Begins all data at the beginning of their first epoch with their next call.
  void rewind();
  // How often the function was traced to be run: once for each signature.
  int traces() const;
  // Counts all calls with data so far.
  Throughput throughput() const;
  // Its nodes as they were traced for the first signature; none before.
  const std::vector<GraphNode>& graph() const;

 private:
  friend class Strategy;
  friend class DataPass;
  struct Impl;
  explicit Function(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

class Strategy {
 public:
  // Opens the device: "auto", "cpu", "tpu-emulator:v3-8", .. (tenon/devices.h).
  explicit Strategy(const std::string& device = "auto", const StrategyOptions& options = {});

  // Throws Error when steps_per_call is less than 1, or bounds are no sizes, do not divide by the
  // units or differ under one name.
  Function function(TensorFunction function, const FunctionOptions& options = {}) const;

  const std::string& device() const;  // as it was found: "cpu"
  const std::string& dtype_policy() const;
  int num_replicas_in_sync() const;  // units, each of which has a share of the batch
  // Those units, in order, as TensorFlow lists logical devices.
  std::vector<UnitInfo> logical_devices() const;
  // A batch of so many examples on each of them, and the learning rate for it: with n times the batch n times the rate.
  int64_t global_batch_size(int64_t per_replica) const { return per_replica * num_replicas_in_sync(); }
  double scaled_learning_rate(double of_one_replica) const { return of_one_replica * num_replicas_in_sync(); }

  // While this lives, models that are compiled on this thread without a strategy have this one:
  //   const auto scope = strategy.scope();
  //   model.compile({.optimizer = Adam(), .loss = "mse"});
  class Scope;
  [[nodiscard]] Scope scope() const;

  struct VariableInfo {
    std::string name;
    Type type;
  };
  // The variables of all functions that were traced, in the order of names; optimizers' slots and counters are among
  // them. A layer or an optimizer that is gone leaves its own here until another one takes its name.
  std::vector<VariableInfo> variables() const;
  // Throws Error when there is no such variable.
  Array read(std::string_view variable) const;
  template <class T>
  std::vector<T> read(std::string_view variable) const {
    return read(variable).to<T>();
  }
  // Before any function was traced, the value waits for the function that has the variable, which begins with it; later
  // there has to be such a variable. Throws Error when there is none, or its type is another.
  void write(std::string_view variable, const Array& value);

  // All variables, those of all functions and models (Model::save has one model's), to be taken up again: in the
  // safetensors format where the path ends with ".safetensors", else as TensorFlow's checkpoints, PATH.index and
  // PATH.data-00000-of-00001. The files are there whole or not at all; a variable that holds NaN or infinity is an
  // error.
  void save(const std::string& path) const;
  // Every variable that is here has to be in the file with its type, and the file's others wait for the functions that
  // have them. While there are such, a function with a variable that the file does not have is an error: it would begin
  // anew in silence. Variables of layers and optimizers that are gone are given up. On an error the others stay as they
  // were.
  void load(const std::string& path);
  // Variables that are here take what the checkpoint has for them, all or, on an error, none; those that are made later
  // begin with what it has, until load() or another warm start. The report is of the variables that there are; the
  // function without arguments gives it anew, after more functions were traced. It is empty where there was no warm
  // start.
  WarmStartReport warm_start(const WarmStartSettings& settings);
  WarmStartReport warm_started() const;
  // The names of values that wait for a function.
  std::vector<std::string> waiting() const;

  struct Impl;  // of the library's own use, as what has to do with it
  explicit Strategy(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
  Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

class Strategy::Scope {
 public:
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  // The strategy of the innermost one of this thread; none outside all.
  static std::optional<Strategy> innermost();

 private:
  friend class Strategy;
  explicit Scope(Strategy strategy);
  std::unique_ptr<Strategy> strategy_;
  const Scope* outer_;
};

// By TensorFlow's names. Each throws Error where the device is another: one with several units, or no TPU, a real one
// or by its name an emulated one. "tpu" alone falls back to what there is; resolve_device() says in which order.
class OneDeviceStrategy : public Strategy {
 public:
  explicit OneDeviceStrategy(const std::string& device = "auto", const StrategyOptions& options = {});
};
class TPUStrategy : public Strategy {
 public:
  explicit TPUStrategy(const std::string& device = "tpu", const StrategyOptions& options = {});
};

}  // namespace tenon
