// Recurrent layers and those of sequences.
#include "tenon/recurrent.h"
#include "tenon/sequences.h"
#include "unit/layer/keras/keras_layers.h"

namespace tenon::golden {
namespace {

constexpr Activation kTanh = Activation::kTanh, kSigmoid = Activation::kSigmoid;

// As objects, which give all results.
Call with(const SimpleRNNOptions& o) {
  return [=](const Tensors& xs) { return SimpleRNN(o).all(xs); };
}
Call with(const LSTMOptions& o) {
  return [=](const Tensors& xs) { return LSTM(o).all(xs); };
}
Call with(const GRUOptions& o) {
  return [=](const Tensors& xs) { return GRU(o).all(xs); };
}
template <class Layer, class Options>
Call both_ways(const Options& o, MergeMode mode = MergeMode::kConcat) {
  return [=](const Tensors& xs) { return Bidirectional(Layer(o), {.merge_mode = mode}).all(xs); };
}
Call of_sequence(const std::function<Tensor(Tensor)>& layer) {
  return [=](const Tensors& xs) { return Tensors{layer(xs[0])}; };
}

void add_cells(std::map<std::string, Call>& m) {
  m["SimpleRNN(2)"] = with(SimpleRNNOptions{.units = 2});
  m["SimpleRNN(2, activation='sigmoid', use_bias=False, return_sequences=True, go_backwards=True)"] =
      with(SimpleRNNOptions{
          .units = 2, .activation = kSigmoid, .use_bias = false, .return_sequences = true, .go_backwards = true});
  m["SimpleRNN(2, return_state=True)"] = with(SimpleRNNOptions{.units = 2, .return_state = true});
  m["LSTM(2)"] = with(LSTMOptions{.units = 2});
  m["LSTM(2, return_sequences=True)"] = with(LSTMOptions{.units = 2, .return_sequences = true});
  m["LSTM(2, use_bias=False, return_sequences=True)"] =
      with(LSTMOptions{.units = 2, .use_bias = false, .return_sequences = true});
  m["LSTM(2, go_backwards=True, return_sequences=True)"] =
      with(LSTMOptions{.units = 2, .return_sequences = true, .go_backwards = true});
  m["LSTM(2, activation='sigmoid', recurrent_activation='tanh', return_sequences=True)"] =
      with(LSTMOptions{.units = 2, .activation = kSigmoid, .recurrent_activation = kTanh, .return_sequences = true});
  m["LSTM(2, return_state=True)"] = with(LSTMOptions{.units = 2, .return_state = true});
  m["LSTM(2, return_state=True, return_sequences=True)"] =
      with(LSTMOptions{.units = 2, .return_sequences = true, .return_state = true});
  m["LSTM(2, return_sequences=True, zero_output_for_mask=True)"] =
      with(LSTMOptions{.units = 2, .return_sequences = true, .zero_output_for_mask = true});
  m["LSTM(2, zero_output_for_mask=True)"] = with(LSTMOptions{.units = 2, .zero_output_for_mask = true});
  m["GRU(2)"] = with(GRUOptions{.units = 2});
  m["GRU(2, use_bias=False, return_sequences=True)"] =
      with(GRUOptions{.units = 2, .use_bias = false, .return_sequences = true});
  m["GRU(2, recurrent_activation='tanh', go_backwards=True)"] =
      with(GRUOptions{.units = 2, .recurrent_activation = kTanh, .go_backwards = true});
  m["GRU(2, reset_after=False, return_sequences=True)"] =
      with(GRUOptions{.units = 2, .return_sequences = true, .reset_after = false});
  m["GRU(2, reset_after=False, use_bias=False, activation='sigmoid')"] =
      with(GRUOptions{.units = 2, .activation = kSigmoid, .use_bias = false, .reset_after = false});
  m["GRU(2, return_state=True)"] = with(GRUOptions{.units = 2, .return_state = true});
}

void add_wrappers(std::map<std::string, Call>& m) {
  const GRUOptions all{.units = 2, .return_sequences = true};
  m["Bidirectional(LSTM(2))"] = both_ways<LSTM>(LSTMOptions{.units = 2});
  m["Bidirectional(LSTM(2, return_sequences=True))"] =
      both_ways<LSTM>(LSTMOptions{.units = 2, .return_sequences = true});
  m["Bidirectional(GRU(2, return_sequences=True), merge_mode='sum')"] = both_ways<GRU>(all, MergeMode::kSum);
  m["Bidirectional(GRU(2, return_sequences=True), merge_mode='ave')"] = both_ways<GRU>(all, MergeMode::kAve);
  m["Bidirectional(GRU(2, return_sequences=True), merge_mode=None)"] = both_ways<GRU>(all, MergeMode::kNone);
  m["Bidirectional(SimpleRNN(2), merge_mode='mul')"] =
      both_ways<SimpleRNN>(SimpleRNNOptions{.units = 2}, MergeMode::kMul);
  m["Bidirectional(LSTM(2, return_state=True))"] = both_ways<LSTM>(LSTMOptions{.units = 2, .return_state = true});
  m["TimeDistributed(Dense(2))"] = of_sequence([](Tensor x) { return TimeDistributed(Dense({.units = 2}))(x); });
  m["TimeDistributed(Conv2D(2, 2))"] =
      of_sequence([](Tensor x) { return TimeDistributed(Conv2D({.filters = 2, .kernel = 2}))(x); });
}

void add_convolutions(std::map<std::string, Call>& m) {
  const auto transposed = [](const ConvTransposeOptions& o) {
    return of_sequence([=](Tensor x) { return Conv1DTranspose(o)(x); });
  };
  m["Conv1D(2, 3, padding='same', strides=2)"] =
      of_sequence([](Tensor x) { return conv1d(x, {.filters = 2, .kernel = 3, .strides = 2, .padding = same}); });
  m["Conv1D(2, 2, padding='causal', dilation_rate=2, activation='tanh')"] = of_sequence([](Tensor x) {
    return conv1d(x, {.filters = 2, .kernel = 2, .padding = Padding::kCausal, .dilation = 2, .activation = kTanh});
  });
  m["Conv1DTranspose(2, 3)"] = transposed({.filters = 2, .kernel = 3});
  m["Conv1DTranspose(2, 3, strides=2, padding='same')"] =
      transposed({.filters = 2, .kernel = 3, .strides = 2, .padding = same});
  m["Conv1DTranspose(2, 2, strides=3, activation='tanh')"] =
      transposed({.filters = 2, .kernel = 2, .strides = 3, .activation = kTanh});
  m["Conv1DTranspose(2, 3, strides=2, output_padding=1)"] =
      transposed({.filters = 2, .kernel = 3, .strides = 2, .output_padding = 1});
  m["DepthwiseConv1D(2, depth_multiplier=2)"] =
      of_sequence([](Tensor x) { return DepthwiseConv1D({.kernel = 2, .depth_multiplier = 2})(x); });
  m["SeparableConv1D(2, 3, padding='same')"] =
      of_sequence([](Tensor x) { return SeparableConv1D({.filters = 2, .kernel = 3, .padding = same})(x); });
  m["SeparableConv1D(2, 2, depth_multiplier=2, strides=2, use_bias=False)"] = of_sequence([](Tensor x) {
    return SeparableConv1D({.filters = 2, .kernel = 2, .strides = 2, .depth_multiplier = 2, .use_bias = false})(x);
  });
}

}  // namespace

void add_keras_time_layers(std::map<std::string, Call>& m) {
  add_cells(m);
  add_wrappers(m);
  add_convolutions(m);
  m["MaxPooling1D()"] = of_sequence([](Tensor x) { return MaxPooling1D()(x); });
  m["AveragePooling1D(3, strides=2, padding='same')"] =
      of_sequence([](Tensor x) { return AveragePooling1D({.pool_size = 3, .strides = 2, .padding = same})(x); });
  m["GlobalMaxPooling1D()"] = of_sequence([](Tensor x) { return GlobalMaxPooling1D()(x); });
  m["GlobalAveragePooling1D()"] = of_sequence([](Tensor x) { return global_average_pool1d(x); });
  m["ZeroPadding1D()"] = of_sequence([](Tensor x) { return ZeroPadding1D()(x); });
  m["ZeroPadding1D((1, 2))"] = of_sequence([](Tensor x) { return ZeroPadding1D({1, 2})(x); });
  m["Cropping1D((1, 2))"] = of_sequence([](Tensor x) { return Cropping1D({1, 2})(x); });
  m["UpSampling1D(3)"] = of_sequence([](Tensor x) { return UpSampling1D(3)(x); });
  m["RepeatVector(3)"] = of_sequence([](Tensor x) { return RepeatVector(3)(x); });
  m["Permute((2, 1))"] = of_sequence([](Tensor x) { return permute(x, {2, 1}); });
}

}  // namespace tenon::golden
