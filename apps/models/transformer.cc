// Transformers that translate. `transformer` is TensorFlow's of param_set tiny, base and big: features "inputs" and labels, the
// sentence that is asked for, tokens of one vocabulary, 0 behind the end; it shifts the labels by itself. `transformer_case` is
// what benchmarks time: features "source" and "target", which was shifted, without pads.
#include <cmath>

#include "models/models.h"
#include "models/transformer_layers.h"

namespace tenon::models {
namespace {

struct ParamSet {
  const char* name;
  int64_t hidden, heads, filter;
};
constexpr ParamSet kParamSets[] = {{"tiny", 32, 4, 256}, {"base", 512, 8, 2048}, {"big", 1024, 16, 4096}};
constexpr int64_t kLayers = 6;

// The least that the smoothed cross entropy can be, which is taken off it: then 0 is perfect.
double least_cross_entropy(double smoothing, int64_t vocabulary) {
  const double others = static_cast<double>(vocabulary - 1), on = 1 - smoothing, off = smoothing / others;
  return -(on * std::log(on) + others * off * std::log(off + 1e-20));
}

}  // namespace

TransformerSizes transformer_sizes(const Params& params) {
  const std::string name = params.get<std::string>("param_set", "base");
  const auto size = [&](const char* flag, int64_t of_set) {
    const int64_t given = params.get<int64_t>(flag, 0);
    return given > 0 ? given : of_set;
  };
  for (const ParamSet& set : kParamSets)
    if (name == set.name)
      return {.vocabulary = params.get<int64_t>("vocab_size"),
              .hidden = size("hidden_size", set.hidden),
              .heads = size("num_heads", set.heads),
              .filter = size("filter_size", set.filter),
              .layers = params.get<int64_t>("num_hidden_layers", kLayers),
              .dropout = params.get<double>("dropout", 0.1)};
  throw Error(Status(Code::kInvalid, "transformer: no param_set of name '" + name + "'"));
}

Optimizer transformer_optimizer(const Params& params, int64_t hidden) {
  Params its = params;
  its.set("learning_rate", params.get<double>("learning_rate") / std::sqrt(static_cast<double>(hidden)));
  return make_optimizer(its);
}

EstimatorSpec transformer(const Features& features, const Tensor& labels, Mode mode, const Params& params) {
  const TransformerSizes sizes = transformer_sizes(params);
  const Tensor inputs = features["inputs"];
  const TransformerLayers layers(inputs, sizes);
  if (mode == Mode::kPredict) {
    const Tensor memory = layers.encode(inputs);
    return {.mode = mode, .predictions = {{"encoded", memory}}};
  }
  const Tensor logits = cast(layers.logits(layers.decode(shifted(labels), inputs, layers.encode(inputs))), DType::kF32);
  const double smoothing = params.get<double>("label_smoothing", 0.1), v = static_cast<double>(sizes.vocabulary);
  const auto cross_entropy = [&](double s) {
    return sparse_categorical_crossentropy(
        labels, logits, {.from_logits = true, .label_smoothing = s * v / (v - 1), .ignore_class = 0});
  };
  EstimatorSpec spec{.mode = mode, .loss = cross_entropy(smoothing) - least_cross_entropy(smoothing, sizes.vocabulary)};
  const Tensor counts = cast(compare(labels, zeros_like(labels), CompareKind::kNe), DType::kF32);
  const Tensor nats =
      sparse_categorical_crossentropy(labels, logits, {.from_logits = true, .reduction = Reduction::kNone});
  spec.eval_metrics = {{"accuracy", sparse_categorical_accuracy(labels, logits, counts)},
                       {"accuracy_top5", sparse_top_k_categorical_accuracy(labels, logits, 5, counts)},
                       {"neg_log_perplexity", mean(-nats, counts)}};
  if (mode == Mode::kTrain) spec.train_op = minimize(transformer_optimizer(params, sizes.hidden), spec.loss);
  return spec;
}

Decoder translator(const Strategy& strategy, const Params& params, DecodeOptions options) {
  const TransformerSizes sizes = transformer_sizes(params);
  options.vocabulary = sizes.vocabulary;
  const int64_t length = options.max_length;
  const auto begin = [=](const Features& in) {
    return TransformerLayers(in["inputs"], sizes).begin_writing(in["inputs"], length);
  };
  const auto next = [=](Tensor token, Tensor position, DecodeState& state) {
    return TransformerLayers(token, sizes).next_logits(token, position, state);
  };
  return Decoder(strategy, begin, next, options);
}

EstimatorSpec transformer_case(const Features& features, const Tensor& labels, Mode mode, const Params& params) {
  const Tensor source = features["source"], target = features["target"];
  const TransformerLayers layers(source, {.vocabulary = params.get<int64_t>("vocabulary"),
                                          .hidden = params.get<int64_t>("d_model"),
                                          .heads = params.get<int64_t>("heads"),
                                          .filter = params.get<int64_t>("ffn"),
                                          .layers = params.get<int64_t>("layers"),
                                          .dropout = params.get<double>("dropout"),
                                          .attention_bias = true,
                                          .pads = false});
  const Tensor logits = layers.logits(layers.decode(target, source, layers.encode(source)));
  return classify(logits, labels, mode, make_optimizer(params));
}

}  // namespace tenon::models
