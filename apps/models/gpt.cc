// A language model: a Transformer that reads nothing and writes text, as GPT-2 (Radford et al. 2019), with the subtokens of its data. Its
// feature "tokens" i32[batch, length] is text without gaps, 0 behind the end; what it learns is each token from those before it.
#include <string_view>

#include "models/models.h"
#include "models/transformer_layers.h"

namespace tenon::models {
namespace {

struct ParamSet {
  std::string_view name;
  int64_t layers, heads, hidden;
};
constexpr ParamSet kGptSets[] = {{"tiny", 4, 4, 128},
                                 {"small", 12, 12, 768},
                                 {"medium", 24, 16, 1024},
                                 {"large", 36, 20, 1280},
                                 {"xl", 48, 25, 1600}};
constexpr double kForbidden = -1e9;  // the logit of a token that may not come

TransformerSizes gpt_sizes(const Params& params) {
  const std::string name = params.get<std::string>("param_set", "small");
  for (const ParamSet& set : kGptSets)
    if (name == set.name)
      return {.vocabulary = params.get<int64_t>("vocab_size"),
              .hidden = set.hidden,
              .heads = set.heads,
              .filter = 4 * set.hidden,
              .layers = set.layers,
              .dropout = params.get<double>("dropout", 0.1),
              .attention_bias = true,
              .pads = false,
              .positions = params.get<int64_t>("max_length"),
              .activation = gelu_tanh,
              .epsilon = 1e-5,
              .stddev = 0.02};
  throw Error(Status(Code::kInvalid, "gpt: no param_set of name '" + name + "'"));
}

// The token of the prompt at this place has to come, where there is one: prompt i32[rows, length], logits f[rows, vocabulary].
Tensor prompted(Tensor logits, Tensor prompt, Tensor position) {
  const Tensor asked = gather(prompt, reshape(position, {1}), 1);  // [rows, 1]
  const Tensor token = iota(*logits.graph(), DType::kI32, logits.shape(), 1);
  const Tensor is_it = compare(token, broadcast_to(asked, logits.shape()), CompareKind::kEq);
  const Tensor has = broadcast_to(compare(asked, zeros_like(asked), CompareKind::kNe), logits.shape());
  return select(has, select(is_it, zeros_like(logits), full_like(logits, kForbidden)), logits);
}

}  // namespace

EstimatorSpec gpt(const Features& features, const Tensor&, Mode mode, const Params& params) {
  const Tensor tokens = features["tokens"];
  const TransformerLayers layers(tokens, gpt_sizes(params));
  const Tensor logits = cast(layers.logits(layers.decode(shifted(tokens))), DType::kF32);
  if (mode == Mode::kPredict) return {.mode = mode, .predictions = {{"logits", logits}}};
  EstimatorSpec spec{.mode = mode,
                     .loss = sparse_categorical_crossentropy(tokens, logits, {.from_logits = true, .ignore_class = 0})};
  const Tensor counts = cast(compare(tokens, zeros_like(tokens), CompareKind::kNe), DType::kF32);
  spec.eval_metrics = {{"accuracy", sparse_categorical_accuracy(tokens, logits, counts)}};
  if (mode == Mode::kTrain) spec.train_op = minimize(make_optimizer(params), spec.loss);
  return spec;
}

Decoder generator(const Strategy& strategy, const Params& params, DecodeOptions options) {
  const TransformerSizes sizes = gpt_sizes(params);
  options.vocabulary = sizes.vocabulary;
  const int64_t length = options.max_length;
  const auto begin = [=](const Features& in) {
    Features out = TransformerLayers(in["prompt"], sizes).begin_text(in["prompt"], length);
    out.set("prompt", in["prompt"]);
    return out;
  };
  const auto next = [=](Tensor token, Tensor position, DecodeState& state) {
    const Tensor logits = TransformerLayers(token, sizes).next_logits(token, position, state);
    return prompted(cast(logits, DType::kF32), state["prompt"], position);
  };
  return Decoder(strategy, begin, next, options);
}

}  // namespace tenon::models
