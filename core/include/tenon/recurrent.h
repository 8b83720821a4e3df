// Recurrent layers with Keras's names, defaults and formulas, as functions and as objects, and the layers that wrap
// others along time. Sequences are x[B,T,C].
//
//   Tensor last = lstm(x, {.units = 64});                                // [B,64], the last output
//   LSTM decoder({.units = 64, .return_sequences = true, .return_state = true});
//   Tensors all = decoder.all({x, h, c});                                // [B,T,64], h, c, started from h and c[B,64]
//   Tensor both = Bidirectional(GRU({.units = 32}))(x);                  // [B,64]
//
// Inputs of all steps go through the kernel as one product; then each step adds its state's. Steps are unrolled, so
// that a program is compiled for each T, or for a bound of T (BoundedDim in tenon/strategy.h). LSTM and GRU with the
// default activations and no recurrent dropout are one op of the backend. Variables: NAME/lstm_cell/kernel [C, gates
// units], recurrent_kernel [units, gates units] and bias. All functions throw tenon::Error.
#pragma once

#include <concepts>
#include <functional>
#include <string>

#include "tenon/layer_classes.h"

namespace tenon {

// Common to the options below: `dropout` zeroes inputs and `recurrent_dropout` states with that probability, 0 to less
// than 1, while training; the draw is the same for all steps. `go_backwards` starts at the last step and gives outputs
// in the order in which they are computed. Results are the output, with `return_sequences` those of all steps, and with
// `return_state` the states behind it. A step that does not count (tenon/masking.h) leaves the states as they are, and
// its output is that of the step before, or 0 with `zero_output_for_mask`. Outputs of all steps have x's mask, in their
// order. With `stateful` a call begins with the states that the last one in any function ended with, in the variables
// NAME/rnn_state and rnn_state_1 [B, units], row by row, unless it is given states; Model::reset_states() begins anew.
// All calls have the same batch then, and the device one unit.
struct SimpleRNNOptions {
  int64_t units = 0;
  ActivationRule activation = Activation::kTanh;
  bool use_bias = true;
  InitializerRule kernel_initializer = &glorot_uniform;
  InitializerRule recurrent_initializer = orthogonal();
  InitializerRule bias_initializer = zeros();
  Regularizer kernel_regularizer = {}, recurrent_regularizer = {}, bias_regularizer = {}, activity_regularizer = {};
  Constraint kernel_constraint = {}, recurrent_constraint = {}, bias_constraint = {};
  double dropout = 0, recurrent_dropout = 0;
  bool return_sequences = false, return_state = false, go_backwards = false;
  bool stateful = false, zero_output_for_mask = false;
  bool trainable = true;
  std::string name = "simple_rnn";
};
struct LSTMOptions {
  int64_t units = 0;
  ActivationRule activation = Activation::kTanh;
  ActivationRule recurrent_activation = Activation::kSigmoid;
  bool use_bias = true;
  InitializerRule kernel_initializer = &glorot_uniform;
  InitializerRule recurrent_initializer = orthogonal();
  InitializerRule bias_initializer = zeros();
  bool unit_forget_bias = true;  // the forget gate's biases start at 1; the others have to start at given numbers
  Regularizer kernel_regularizer = {}, recurrent_regularizer = {}, bias_regularizer = {}, activity_regularizer = {};
  Constraint kernel_constraint = {}, recurrent_constraint = {}, bias_constraint = {};
  double dropout = 0, recurrent_dropout = 0;
  bool return_sequences = false, return_state = false, go_backwards = false;
  bool stateful = false, zero_output_for_mask = false;
  bool trainable = true;
  std::string name = "lstm";
};
struct GRUOptions {
  int64_t units = 0;
  ActivationRule activation = Activation::kTanh;
  ActivationRule recurrent_activation = Activation::kSigmoid;
  bool use_bias = true;
  InitializerRule kernel_initializer = &glorot_uniform;
  InitializerRule recurrent_initializer = orthogonal();
  InitializerRule bias_initializer = zeros();
  Regularizer kernel_regularizer = {}, recurrent_regularizer = {}, bias_regularizer = {}, activity_regularizer = {};
  Constraint kernel_constraint = {}, recurrent_constraint = {}, bias_constraint = {};
  double dropout = 0, recurrent_dropout = 0;
  bool return_sequences = false, return_state = false, go_backwards = false;
  bool stateful = false, zero_output_for_mask = false;
  bool reset_after = true;  // the reset gate comes after the state's product; bias [2, 3 units], else [3 units]
  bool trainable = true;
  std::string name = "gru";
};

// h' = activation(x W + h R + b).
Tensor simple_rnn(Tensor x, const SimpleRNNOptions& options);
// Takes {x} or {x, h}, where h[B,units] is the state to start from. Returns the output, and h with return_state.
Tensors simple_rnn(const Tensors& xs, const SimpleRNNOptions& options);
// Gates i f c o: c' = f c + i activation(..), h' = o activation(c') (Hochreiter and Schmidhuber 1997).
Tensor lstm(Tensor x, const LSTMOptions& options);
// Takes {x} or {x, h, c}. Returns the output, h and c with return_state.
Tensors lstm(const Tensors& xs, const LSTMOptions& options);
// Gates z r h: h' = z h + (1 - z) activation(..) (Cho et al. 2014).
Tensor gru(Tensor x, const GRUOptions& options);
// Takes {x} or {x, h}. Returns the output, and h with return_state.
Tensors gru(const Tensors& xs, const GRUOptions& options);
// `layer` of each step: x[B,T,..] as [B T,..], and its result as [B,T,..] again.
Tensor time_distributed(Tensor x, const std::function<Tensor(Tensor)>& layer);

class SimpleRNN : public FunctionLayer<SimpleRNN, SimpleRNNOptions, simple_rnn> {
 public:
  using FunctionLayer::FunctionLayer;
  Tensors call_all(const Tensors& xs) override { return simple_rnn(xs, options()); }
};
class LSTM : public FunctionLayer<LSTM, LSTMOptions, lstm> {
 public:
  using FunctionLayer::FunctionLayer;
  Tensors call_all(const Tensors& xs) override { return lstm(xs, options()); }
};
class GRU : public FunctionLayer<GRU, GRUOptions, gru> {
 public:
  using FunctionLayer::FunctionLayer;
  Tensors call_all(const Tensors& xs) override { return gru(xs, options()); }
};

enum class MergeMode : uint8_t { kConcat, kSum, kMul, kAve, kNone };  // kNone: both outputs
struct BidirectionalOptions {
  MergeMode merge_mode = MergeMode::kConcat;
  std::string name = {};
};
// A recurrent layer and one like it, with weights of its own, that goes the other way: "bidirectional/forward_lstm/..",
// "bidirectional/backward_lstm/..". Outputs of the second are put into the order of the first and merged. States, where
// there are any, are those of the first, then those of the second. Made of one layer that returns sequences, its
// outputs are 0 at steps that do not count.
class Bidirectional : public LayerOf<Bidirectional> {
 public:
  template <std::derived_from<Layer> R>
  explicit Bidirectional(const R& layer, const BidirectionalOptions& options = {})
      : Bidirectional(way(layer, "forward_", false), way(layer, "backward_", true), options) {}
  // Throws Error unless they go different ways and give the same results.
  template <std::derived_from<Layer> F, std::derived_from<Layer> B>
  Bidirectional(const F& forward, const B& backward, const BidirectionalOptions& options = {})
      : Bidirectional(forward, results_of(forward), backward, results_of(backward), options) {}
  Tensors call_all(const Tensors& xs) override;

 private:
  struct Given {
    bool sequences, state, backwards;
  };
  template <class R>
  static R way(const R& layer, const char* prefix, bool other) {
    auto options = layer.options();
    options.name = prefix + options.name;
    options.go_backwards = options.go_backwards != other;
    options.zero_output_for_mask = options.return_sequences;
    return R(options);
  }
  template <class R>
  static Given results_of(const R& layer) {
    return {layer.options().return_sequences, layer.options().return_state, layer.options().go_backwards};
  }
  Bidirectional(AnyLayer forward, const Given& of_forward, AnyLayer backward, const Given& of_backward,
                const BidirectionalOptions& options);

  AnyLayer forward_, backward_;
  Given given_;
  MergeMode merge_mode_;
};

// time_distributed() of a layer, called on one tensor: "time_distributed/dense/..". One inside another is
// TimeDistributed(AnyLayer(TimeDistributed(layer))): without AnyLayer C++ makes one of the two, as of every class.
class TimeDistributed : public LayerOf<TimeDistributed> {
 public:
  explicit TimeDistributed(AnyLayer layer, std::string name = {})
      : LayerOf(std::move(name)), layer_(std::move(layer)) {}
  Tensor call(Tensor x) override;

 private:
  AnyLayer layer_;
};

}  // namespace tenon
