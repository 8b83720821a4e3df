// The models that the runner can train, one file each. No model names a device.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/decoding.h"
#include "tenon/estimator.h"

namespace tenon::models {

// A hyperparameter that a model has beside those of every model ("learning_rate", "optimizer", ...).
struct ModelFlag {
  std::string name;
  Params::Value value;  // by default; also says of which kind it is
  std::string help;
  double low = 0, high = 1e9;             // of numbers
  std::vector<std::string> choices = {};  // of strings
  bool repeats = false;                   // a string that may be given several times: one a line
};

// What a model is trained on: one of the runner's kinds of data by name, and the numbers of an example ("height",
// "num_classes") where neither flags nor data say them.
struct ExampleInfo {
  std::string kind;
  std::map<std::string, int64_t> numbers;
  bool flat = false;  // images are vectors of numbers to it
};

// What a case feeds: random numbers of this shape an example.
struct BenchFeature {
  const char* name;   // "image"; "label" is the labels
  Shape example;      // without the batch
  int32_t below = 0;  // i32 from 0 to below it; 0: f32 from -1 to 1
};

struct ModelInfo {
  const char* name;
  std::string description;
  ModelFn model;
  std::function<ExampleInfo(const Params& params)> example;  // of the model with these parameters
  // Defaults of what every model has.
  const char* optimizer;
  double learning_rate;
  const char* schedule;  // "constant", "cosine", "rsqrt"
  double warmup_steps = 0;
  double epsilon = 1e-7;  // of Adam and its kin: Keras's, where the model's own was no other
  int64_t train_batch_size, train_steps;
  Augmentation augmentation;
  std::vector<ModelFlag> flags;
  Status (*check)(const Params& params) = nullptr;  // whether its parameters go with each other; nullptr: any do
  const char* family = "";                          // of the catalogue
  bool is_file = false;  // its name is the path of an ONNX file, whose values its weights begin with
  // Where the runner has no data for a file: why, and the inputs that it is looked at with, which are made up.
  Status no_data = {};
  std::function<std::vector<BenchFeature>(const Params& params)> inputs = {};
};
// The line that says what such a file is trained with. REQUIRED: it is one.
std::string plain_loss_line(const Status& no_data);
// The names of the nodes of a file that read each of its variables; none for other models.
std::map<std::string, std::vector<std::string>> readers_of_variables(const ModelInfo& model);

// Those that are trained on data, for `tenon train`: the project's own, and those of tenon/applications.h.
std::span<const ModelInfo> all_models();
std::span<const ModelInfo> catalogue();
// The model of an ONNX file, which stays open. Throws Error where it cannot be read, or is none that the runner has data for.
bool is_onnx_file(std::string_view name);
const ModelInfo& onnx_model(const std::string& path);
// Finds one of either, or a file's; nullptr when there is none. The catalogue has Keras's names, too. Throws Error where a file is no model.
const ModelInfo* find_model(std::string_view name);

// A step to be timed (`tenon bench step`): a model on a batch of random examples, trained unless `mode` says otherwise.
// The definitions are those that the peers' numbers were measured with.
struct BenchCase {
  const char* name;
  std::string description;
  ModelFn model;
  Params params;
  std::vector<BenchFeature> features;
  int64_t batch_size;
  int steps_per_call = 1;  // steps in one call of the device
  Mode mode = Mode::kTrain;
  std::string note = {};  // a line about its loss
};
std::span<const BenchCase> bench_cases();
// A training step of each model of the catalogue, on 32 of its own images.
std::span<const BenchCase> catalogue_cases();
// A step of a model that an ONNX file has, on 32 examples of its inputs; `dims` are sizes of dimensions that it leaves open, by their names.
// Throws Error where it cannot be read.
const BenchCase& onnx_case(const std::string& path, const std::map<std::string, int64_t>& dims);
// What that is by the parameter and flag "dim", NAME=SIZE a line.
Result<std::map<std::string, int64_t>> onnx_dims(const std::string& lines);
inline constexpr const char* kDimHelp =
    "NAME=SIZE: the size of a dimension that the file leaves open; may be given several times";
// A case of either list.
const BenchCase* find_bench_case(std::string_view name);

// Names of the optimizers that params["optimizer"] may ask for.
std::vector<std::string> optimizer_names();
// The optimizer that the parameters ask for: "optimizer", "learning_rate", "learning_rate_schedule", "train_steps",
// "momentum", "nesterov", "weight_decay", "clipnorm", "global_clipnorm", "learning_rate_multiplier", each with a default. Throws Error.
Optimizer make_optimizer(const Params& params);

// What "learning_rate_multiplier" says, REGEX=FACTOR a line, as options of optimizers have it.
Result<std::vector<std::pair<std::string, double>>> learning_rate_multipliers(const Params& params);

// What all classifiers share once they have logits[batch, .., classes]: predictions, and where there are labels[batch,
// ..] the mean softmax cross entropy, accuracy and the training op.
EstimatorSpec classify(Tensor logits, Tensor labels, Mode mode, const Optimizer& optimizer);

// features["image"], [batch, height, width, channels]: with the parameter transpose_input it comes as [.., batch].
Tensor image_of(const Features& features, const Params& params);

// Hidden layers with ReLU of the sizes that the parameters ask for ("hidden", or "layers" and "nodes"), with dropout: x[batch, n] ->
// logits[batch, num_classes].
Tensor perceptron(Tensor x, const Params& params);

EstimatorSpec mlp(const Features& features, const Tensor& labels, Mode mode, const Params& params);
EstimatorSpec fashion(const Features& features, const Tensor& labels, Mode mode, const Params& params);
EstimatorSpec flowers(const Features& features, const Tensor& labels, Mode mode, const Params& params);
EstimatorSpec flowers180(const Features& features, const Tensor& labels, Mode mode, const Params& params);
EstimatorSpec resnet(const Features& features, const Tensor& labels, Mode mode, const Params& params);
// Features "numbers" and "categories" (table.cc); parameters hidden, embedding_size, dropout, num_places.
EstimatorSpec table(const Features& features, const Tensor& labels, Mode mode, const Params& params);
// Features "inputs", tokens as those of the labels; parameters param_set, vocab_size, dropout, label_smoothing.
EstimatorSpec transformer(const Features& features, const Tensor& labels, Mode mode, const Params& params);
// What writes with that model: of "inputs" i32[batch, length].
Decoder translator(const Strategy& strategy, const Params& params, DecodeOptions options);
// Features "inputs", a question and a text; labels [batch, 2], the answer's first and last token; predictions "start" and "end", the logits
// of each token. Parameters param_set, vocab_size, num_hidden_layers, dropout.
EstimatorSpec reader(const Features& features, const Tensor& labels, Mode mode, const Params& params);
// Feature "tokens"; parameters param_set (tiny, small, medium, large, xl), vocab_size, max_length, dropout.
EstimatorSpec gpt(const Features& features, const Tensor& labels, Mode mode, const Params& params);
// What writes with that model: what follows a "prompt" i32[batch, max_length], 0 behind its end.
Decoder generator(const Strategy& strategy, const Params& params, DecodeOptions options);
// Features "source" and "target"; parameters d_model, layers (on each side), heads, ffn, vocabulary, dropout.
EstimatorSpec transformer_case(const Features& features, const Tensor& labels, Mode mode, const Params& params);

}  // namespace tenon::models
