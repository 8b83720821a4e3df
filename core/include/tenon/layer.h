// Layers as objects: called again, they share their weights, in one function or in several.
//
//   Dense hidden({.units = 64, .activation = relu});
//   Tensor a = hidden(x), b = hidden(y);          // one kernel, one bias
//
//   struct Residual : Layer {                     // a layer of one's own: members, and call()
//     Conv2D a{{.filters = 64, .kernel = 3, .padding = same}}, b{{.filters = 64, .kernel = 3, .padding = same}};
//     Tensor call(Tensor x) override { return relu(b(relu(a(x))) + x); }
//   };
//   struct Residual : LayerOf<Residual> { .. };   // that can be called on symbols, too (tenon/layer_classes.h)
//
// A layer is a value, and its copies are the same layer: they share name and weights. It gets its name when it is
// called first: that of its class, "dense", or dense_1, dense_2, .. where living layers of the same Strategy have that;
// inside another layer's call() under the other's name, "residual/conv2d". Its variables are "dense/kernel",
// "dense/bias". Weights are made in the first function that calls it, by the shapes that it is called with, and live as
// long as the layer and its Strategy do; a function of another Strategy begins with what they are then. In one call a
// layer asks for a variable of a name once. When a layer is gone, a new one may get its name; it begins anew. All
// functions throw tenon::Error; one that comes out of call() names the innermost layer that it comes from: "layer
// 'residual': add: shapes [32,4] and [3] ..". At most 200 calls of layers may be inside one another.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/tensor.h"

namespace tenon {

class Array;
class LoadedTensors;
class ObjectNames;
class Symbol;

// How a layer is called, as Keras's arguments of a call.
struct CallOptions {
  // false: as where nothing is trained, even while the function trains: batch normalization uses its moving averages
  // and keeps them, dropout drops nothing, in all layers that it calls; weights are trained all the same. None: as the
  // function says, and so does true, which a function that does not train cannot do.
  std::optional<bool> training = {};
};

class Layer {
 public:
  // `name`: what it is to be called; empty: by its class.
  explicit Layer(std::string name = {});
  virtual ~Layer() = default;
  Layer(const Layer&) = default;
  Layer& operator=(const Layer&) = default;

  Tensor operator()(Tensor x);
  // Takes several tensors, as attention and merging layers do. Both throw Error where the layer gives several.
  Tensor operator()(const Tensors& xs);
  Tensor operator()(Tensor x, const CallOptions& options);
  Tensor operator()(const Tensors& xs, const CallOptions& options);
  // All that it gives.
  Tensors all(const Tensors& xs, const CallOptions& options = {});
  // A model keeps the layers that it is put together of by value, for which it has to know their class.
  template <std::same_as<Symbol> S>
  S operator()(const S& x) const {
    static_assert(!std::same_as<S, S>,
                  "a layer of one's own that is called on symbols derives from LayerOf<its class> of "
                  "tenon/layer_classes.h, or is called as AnyLayer(layer)(x)");
    return x;
  }
  // Whether both are the same layer: one is a copy of the other.
  bool is(const Layer& other) const { return identity_ == other.identity_; }

  // Its name; before the first call what it is to be called, "" where that is not said.
  const std::string& name() const;
  // What it does: of one tensor, of several, or giving several. One of them is overridden.
  virtual Tensor call(Tensor x);
  virtual Tensor call(const Tensors& xs);
  virtual Tensors call_all(const Tensors& xs);

  // Whether what it builds from now on is trained: its weights, and those of layers that it calls. A frozen batch
  // normalization uses its moving averages. Functions that were traced already stay as they are, and so does a model
  // that trained, was evaluated or predicted since it was compiled, for batches of any size: a change counts once it is
  // compiled again, as in Keras.
  void set_trainable(bool trainable);
  bool trainable() const;

  // Its weights in the function that is being traced, those of layers that it calls among them: of what it has built
  // there so far. Moving averages are not trainable, nor is what a layer with trainable = false has.
  Tensors trainable_variables() const;
  Tensors variables() const;

  // What keeps its variables: that of the last function that was run with it; null before. Of the library's own use.
  virtual std::shared_ptr<ObjectNames> home() const;

 protected:
  // The name of a layer of this class: "dense". By default that of the class in snake case.
  virtual std::string kind() const;
  // Whether call() is one function of layers.h, which names its own parts.
  virtual bool is_function() const { return false; }
  // Whether it keeps the plain names of its layers ("dense/kernel") where it is the only one of its kind.
  virtual bool is_model() const { return false; }
  // The types of an example of each tensor that a model was called on last; empty of other layers.
  const std::vector<Type>& examples() const;
  // Sets its variable of that name, "mean", wherever it is there: in each Strategy whose functions called the layer.
  void set_variable(std::string_view variable, const Array& value) const;
  // Its variables begin with these values once they are made.
  void begin_with(std::shared_ptr<LoadedTensors> values);

 private:
  friend class Model;
  struct Inside;
  Tensors called(const Tensors& xs, const CallOptions& options);
  Graph& graph_of(const Tensors& xs) const;
  Tensors results_of(const Graph& graph, const Tensors& xs);
  std::string title() const;  // "layer 'dense'", for messages
  void note_examples(const Tensors& xs);
  std::string scope_in(Graph& graph) const;
  void tell_when_made(Graph& graph, const std::string& scope) const;
  std::shared_ptr<Inside> identity_;
};

// Any layer, kept by value. Called on symbols (tenon/model.h) it becomes a part of a model.
class AnyLayer {
 public:
  template <std::derived_from<Layer> T>
  AnyLayer(T layer) : layer_(std::make_shared<T>(std::move(layer))) {}  // NOLINT: implicit by design
  // An Input(), which a Sequential may begin with.
  AnyLayer(const Symbol& input);  // NOLINT: implicit by design
  Layer& operator*() const { return *layer_; }
  Layer* operator->() const { return layer_.get(); }
  Symbol operator()(const Symbol& x) const;
  Symbol operator()(const std::vector<Symbol>& xs) const;
  Symbol operator()(const Symbol& x, const CallOptions& options) const;
  Symbol operator()(const std::vector<Symbol>& xs, const CallOptions& options) const;

 private:
  std::shared_ptr<Layer> layer_;
};

}  // namespace tenon
