// Models of layers: one behind the other, or by the way that values take through them.
//
//   Sequential mlp({Flatten(), Dense({.units = 128, .activation = relu}), Dense({.units = 10})});
//
//   Symbol image = Input({28, 28, 1}), text = Input({64}, DType::kI32);
//   Symbol words = GlobalAveragePooling1D()(Embedding({.input_dim = 1000, .output_dim = 8})(text));
//   Model both({image, text}, {Dense({.units = 3})(Concatenate()({Flatten()(image), words}))});
//
// A model is a layer: it is called on tensors, and may be a part of another. The first model of a Strategy keeps the
// plain names of its layers, "dense/kernel"; others put their own before them, "model_1/dense/kernel".
//
//   both.compile({.optimizer = Adam(1e-3),
//                 .loss = SparseCategoricalCrossentropy({.from_logits = true}),
//                 .metrics = {"accuracy"}});
//   History h = both.fit(train, {.epochs = 20, .validation_data = test, .callbacks = {EarlyStopping({.patience = 3})}});
//
// All functions throw tenon::Error.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/fit.h"
#include "tenon/layer.h"

namespace tenon {

// A value of a model that is being put together: an input, or what a layer makes of others. Nothing is computed, and no
// shape is known but those of inputs. A small value; copies are the same.
class Symbol {
 public:
  struct Node;
  explicit Symbol(std::shared_ptr<const Node> node, size_t result = 0) : node_(std::move(node)), result_(result) {}
  const Node& node() const { return *node_; }
  // Which of the results of a layer that gives several.
  size_t result() const { return result_; }
  Symbol of(size_t result) const { return Symbol(node_, result); }

 private:
  std::shared_ptr<const Node> node_;
  size_t result_;
};

// The shape of an example, without the batch. A dimension of kAnySize, Keras's None, is of whatever size comes: each
// size is a program of its own, for which no weight may be of that size, and the model's shapes are known once it was
// called, as those of a model without Input(). One program for sizes up to a bound is a Function's (BoundedDim of
// tenon/strategy.h).
inline constexpr int64_t kAnySize = -1;
class InputShape {
 public:
  InputShape() = default;
  InputShape(std::initializer_list<int64_t> dims) : dims_(dims) {}       // NOLINT: implicit by design
  InputShape(const Shape& shape) : dims_(shape.begin(), shape.end()) {}  // NOLINT
  const std::vector<int64_t>& dims() const { return dims_; }

 private:
  std::vector<int64_t> dims_;
};
Symbol Input(const InputShape& shape, DType dtype = DType::kF32, std::string name = {});

// As on tensors: `relu(x) * 2 + 1 / exp(-y)`. Activations are called on symbols too; other functions are
// Lambda(function)(x).
Symbol operator+(const Symbol& a, const Symbol& b);
Symbol operator-(const Symbol& a, const Symbol& b);
Symbol operator*(const Symbol& a, const Symbol& b);
Symbol operator/(const Symbol& a, const Symbol& b);
Symbol operator+(const Symbol& a, double b);
Symbol operator-(const Symbol& a, double b);
Symbol operator*(const Symbol& a, double b);
Symbol operator/(const Symbol& a, double b);
Symbol operator+(double a, const Symbol& b);
Symbol operator-(double a, const Symbol& b);
Symbol operator*(double a, const Symbol& b);
Symbol operator/(double a, const Symbol& b);
Symbol operator-(const Symbol& x);
Symbol tanh(const Symbol& x);
Symbol softmax(const Symbol& x, int64_t axis = -1);
Symbol exp(const Symbol& x);
Symbol log(const Symbol& x);
Symbol sqrt(const Symbol& x);
Symbol square(const Symbol& x);
Symbol abs(const Symbol& x);

// What can be called on symbols as it is: a layer of one's own that derives from LayerOf<its class>, too.
template <class Self>
class LayerOf : public Layer {
 public:
  using Layer::Layer;
  using Layer::operator();
  Symbol operator()(const Symbol& x) const { return AnyLayer(static_cast<const Self&>(*this))(x); }
  Symbol operator()(const std::vector<Symbol>& xs) const { return AnyLayer(static_cast<const Self&>(*this))(xs); }
  Symbol operator()(const Symbol& x, const CallOptions& options) const {
    return AnyLayer(static_cast<const Self&>(*this))(x, options);
  }
};

// A function of one tensor, or of several, as a layer without weights.
class Lambda : public LayerOf<Lambda> {
 public:
  using Function = std::function<Tensor(const Tensors&)>;
  explicit Lambda(Function function, std::string name = {})
      : LayerOf(std::move(name)), function_(std::move(function)) {}
  template <class F>
  requires(std::is_invocable_r_v<Tensor, const F&, Tensor> &&
           !std::is_invocable_v<const F&, const Tensors&>) explicit Lambda(F of_one, std::string name = {})
      : Lambda(Function([of_one = std::move(of_one)](const Tensors& xs) {
                 if (xs.size() != 1) throw Error(one_of_several(xs.size()));
                 return of_one(xs[0]);
               }),
               std::move(name)) {}
  Tensor call(const Tensors& xs) override { return function_(xs); }

 private:
  static Status one_of_several(size_t given);
  Function function_;
};

struct SummaryOptions {
  int line_length = 0;          // columns; 0: as Keras chooses them by the terminal
  bool expand_nested = false;   // the layers of models that are layers
  bool show_trainable = false;  // a column of Y, N or -
};

// Keras's, of a file that is not the model's own. Neither: the file has to be the model's own.
struct LoadWeightsOptions {
  // Weights that the file lacks stay as they are; an error where one has another type. Where the file has names behind
  // the model's own, "base/dense/kernel", these are meant, and "dense/kernel" is another layer's.
  bool by_name = false;
  bool skip_mismatch = false;  // the same, and so do those that have another type
  // A file of rules by which the file's tensors get other names and axes first, as those of PyTorch need; "": none.
  // What is expected of them is the same.
  std::string rules = {};
};

class ModelTraining;
struct KerasPlace;
struct ModelTrace;
struct ExportOptions;  // tenon/export.h
struct SummaryTable;

class Model : public Layer {
 public:
  // What is on the way from the inputs to the outputs. Throws Error where an output needs another input.
  Model(std::vector<Symbol> inputs, std::vector<Symbol> outputs, std::string name = {});
  // A model of one's own derives from Model and overrides call().
  explicit Model(std::string name = {}) : Layer(std::move(name)) {}
  Tensors call_all(const Tensors& xs) override;
  using Layer::operator();
  // As a part of another model. A class of one's own that derives from Model is called as AnyLayer(model)(x).
  Symbol operator()(const Symbol& x) const { return kept()(x); }
  Symbol operator()(const std::vector<Symbol>& xs) const { return kept()(xs); }
  // base(x, {.training = false})
  Symbol operator()(const Symbol& x, const CallOptions& options) const { return kept()(x, options); }
  Symbol operator()(const std::vector<Symbol>& xs, const CallOptions& options) const { return kept()(xs, options); }

  // Its layers in Keras's order, each once, an Input() in front among those of a model that is put together of symbols.
  // Throws Error where call() is one's own.
  std::vector<AnyLayer> layers() const;
  // The layer of that name ("dense_1"), or of that number, from the end if negative. Names are there once shapes are:
  // with Input(), or after the first call. Throws Error naming the layers that there are.
  AnyLayer get_layer(std::string_view name);
  AnyLayer get_layer(int64_t index) const;
  // set_trainable(trainable) of each layer with a weight in whose name the regular expression (as VarsToWarmStart has
  // them) is found, as Python's re.search finds: base.set_layers_trainable("^conv[1-4]_", false). Names are those of
  // this model alone, "conv1_conv/kernel"; of a model that is a part of it its layers are meant,
  // "resnet50/conv1_conv/kernel". Throws Error where no weight has such a name, and where get_layer() knows no names.
  void set_layers_trainable(std::string_view expression, bool trainable);
  // The number of its weights' elements, as summary() has it. Throws Error where summary() does.
  int64_t count_params();

  // Those that Input() was given, x or x_0, x_1, .. of others; the layers that give the outputs, "" before they have a
  // name. Empty where call() is one's own.
  std::vector<std::string> input_names() const;
  virtual std::vector<std::string> output_names() const;
  // That of its strategy, or else of the first of its layers that has one.
  std::shared_ptr<ObjectNames> home() const override;

  // ---- training, as Keras does it (tenon/fit.h) ----
  // Copies of a model, which is a layer, are the same one: they are compiled together. Its weights stay when a model is
  // compiled again. Where no strategy is given it stays with the one that it has, or that one of its layers has, so
  // that a part of a model shares its weights; to another one it takes them along. What the optimizer kept is given up,
  // as in Keras, unless it is the same one, or trains another model of the strategy. An error in the data, or of a
  // callback, ends the call; what was trained until then stays as it is. Of a model whose inputs are known by Input()
  // the layers are checked here: an error says "batch" where the size of one would stand.
  void compile(const CompileOptions& options);
  bool compiled() const { return compiled_->training != nullptr; }
  // Trains, and gives the logs of the epochs: "loss", the mean over the examples with what layers add to it, the
  // metrics of the epoch, and those of validation, "val_loss".
  History fit(const FitData& data, const FitOptions& options = {});
  History fit(const Examples& x, const Examples& y, const FitOptions& options = {});
  // The loss and the metrics, with the weights as they are.
  Logs evaluate(const FitData& data, const EvaluateOptions& options = {});
  Logs evaluate(const Examples& x, const Examples& y, const EvaluateOptions& options = {});
  // The outputs, a row an example. A model that was never compiled predicts with the strategy that compile({}) gives
  // it.
  std::vector<Array> predict(const Dataset& data, const PredictOptions& options = {});
  std::vector<Array> predict(const Examples& x, const PredictOptions& options = {});
  // One step on one batch; the loss and the metrics of that batch.
  Logs train_on_batch(const Examples& x, const Examples& y, const Examples& sample_weight = {},
                      const std::map<int64_t, double>& class_weight = {});
  Logs test_on_batch(const Examples& x, const Examples& y, const Examples& sample_weight = {});
  std::vector<Array> predict_on_batch(const Examples& x);

  // To files and back, in the safetensors format where the path ends with ".safetensors", as Keras's weights where it
  // ends with ".weights.h5", else as TensorFlow's checkpoints, PATH.index and PATH.data-00000-of-00001. Of Keras's
  // other files, .keras and .h5, the weights are loaded (share/doc/weights.md). Files are there whole or not at all;
  // NaN and infinity are an error. Everything that this model's training needs to go on with the same bits: its
  // weights, its optimizer's slots and counters, the learning rate. Names in the file are those that they have where
  // the strategy has nothing else, so that a like model of any program finds them; Strategy::save has all that the
  // strategy has, by its names. What is loaded before a model was called waits for it (Strategy::load), which is an
  // error where the strategy has variables of others; fit() names what still waits then. The file may be one of weights
  // alone, or of another optimizer, or of a model with a frozen layer: what the optimizer keeps and the file lacks
  // begins anew, and fit() and train_on_batch() name it. What the file has for another optimizer than the model was
  // trained with since is not saved again, as in Keras.
  void save(const std::string& path);
  void load(const std::string& path);
  // The weights alone, moving averages among them. Those of the file have to be the model's, by names and types; of a
  // model whose weights are not there yet this is checked when they are made, in whatever model it is a part of then.
  // The names are those of save(), or the strategy's, or those behind the model's own, "base/dense/kernel". Of a file
  // of save() they take the weights, as Keras does of a .keras file. Floats and whole numbers of another width become
  // the weights'.
  void save_weights(const std::string& path);
  void load_weights(const std::string& path);
  // As Keras's export(): EXPORT_DIR_BASE/VERSION (tenon/export.h), whose "serving_default" takes input_names() and
  // gives output_0, output_1, ..; the path of it. Throws Error.
  std::string export_saved_model(const std::string& export_dir_base, const ExportOptions& options);
  // Those that both have; the report names the others. A model whose weights are not there yet takes them when they are
  // made, and its report is empty. Other models of the strategy stay as they are.
  WarmStartReport load_weights(const std::string& path, const LoadWeightsOptions& options);

  // Keras's table of the layers, their shapes and parameters, to stdout or as text. Throws Error while the shapes of
  // the inputs are not known: before the first call of a model without Input().
  void summary(const SummaryOptions& options = {});
  std::string summary_text(const SummaryOptions& options = {});

  // The states of stateful recurrent layers become 0 again. Throws Error before compile().
  void reset_states();

  // Where its variables are; throws Error before compile().
  Strategy& strategy();
  // The weights' names in the order of their making, moving averages among them; empty before compile(), and of a model
  // without Input() before the first call of fit, evaluate or predict.
  std::vector<std::string> weights();

 protected:
  bool is_model() const override { return true; }
  bool has_inputs() const { return !inputs_->empty(); }
  void set_input(Symbol input) { *inputs_ = {std::move(input)}; }
  // x as input i is said to be, numbers of another kind converted as Keras does. Throws Error unless it is a batch of
  // that shape.
  Tensor as_input(size_t i, Tensor x) const;
  // As a part of another model. Throws Error of a class that derives from this one.
  virtual AnyLayer kept() const;
  // Layers that were added one by one; none where the model is put together of symbols, or has a call() of its own.
  virtual const std::vector<AnyLayer>* added() const { return nullptr; }

 private:
  friend class ModelSummary;
  friend class ModelTraining;
  // The types of an example of each input; empty where neither Input() nor a call has said them.
  std::vector<Type> example_types() const;
  void build();
  ModelTrace traced(const char* what);
  std::vector<AnyLayer> innermost_layers() const;
  SummaryTable summarized(const SummaryOptions& options);
  std::map<std::string, KerasPlace, std::less<>> keras_places();
  ModelTraining& training();
  ModelTraining& compiled_training(const char* what);
  [[noreturn]] void fail_of_input(const Symbol::Node& input) const;
  friend class Sequential;
  bool has_part(const Layer& layer) const;

  size_t count_added() const;

  std::shared_ptr<std::vector<Symbol>> inputs_ = std::make_shared<std::vector<Symbol>>();  // of all copies
  std::vector<Symbol> outputs_;
  std::vector<const Symbol::Node*> order_;  // of what is between, as it was put together
  struct Compiled {
    std::shared_ptr<ModelTraining> training;
    std::shared_ptr<ObjectNames> home;
  };
  std::shared_ptr<Compiled> compiled_ = std::make_shared<Compiled>();  // of all copies
};

class Sequential : public Model {
 public:
  // May begin with an Input(): then the weights are there, and summary() is, before the first fit.
  Sequential(std::initializer_list<AnyLayer> layers = {}, std::string name = {});
  // All copies have it, and what the model is a part of, as in Keras. After compile() the next call of fit, evaluate or
  // predict has the layer too; what the optimizer kept for the others stays. Throws Error when it is an Input() that is
  // not the first, or the model itself or one that it is a part of.
  void add(AnyLayer layer);
  std::vector<std::string> output_names() const override;
  Tensors call_all(const Tensors& xs) override;
  std::shared_ptr<ObjectNames> home() const override;

 protected:
  AnyLayer kept() const override;
  const std::vector<AnyLayer>* added() const override { return layers_.get(); }

 private:
  std::shared_ptr<std::vector<AnyLayer>> layers_ = std::make_shared<std::vector<AnyLayer>>();  // of all copies
};

}  // namespace tenon
