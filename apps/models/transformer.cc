// An encoder-decoder Transformer (Vaswani et al. 2017) that normalises before each part. One embedding matrix serves
// source, target and, transposed, the logits.
//   features "source"[batch, length], what is read, and "target"[batch, length], what the decoder was given so far (the
//   labels, one place later); labels[batch, length]. All are tokens from 0 to below `vocabulary`; none is padding.
//   parameters d_model, layers (on each side), heads, ffn, vocabulary, dropout (of embeddings, of what each part adds,
//   of attention weights, of the feed-forward's hidden layer)
#include <cmath>

#include "models/models.h"

namespace tenon::models {
namespace {

// [length, d]: sines, then cosines, of the position at wavelengths from 2 pi to 20000 pi.
Tensor sinusoidal_positions(Graph& graph, int64_t length, int64_t d) {
  std::vector<float> values(static_cast<size_t>(length * d));
  const int64_t half = d / 2;
  const double step = std::log(1e4) / static_cast<double>(std::max<int64_t>(half - 1, 1));
  for (int64_t t = 0; t < length; ++t)
    for (int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(t) * std::exp(-step * static_cast<double>(i));
      values[static_cast<size_t>(t * d + i)] = static_cast<float>(std::sin(angle));
      values[static_cast<size_t>(t * d + half + i)] = static_cast<float>(std::cos(angle));
    }
  const std::string_view bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return constant(graph, {DType::kF32, {length, d}}, bytes);
}

class Transformer {
 public:
  Transformer(Tensor any, const Params& params)
      : d_(params.get<int64_t>("d_model")),
        heads_(params.get<int64_t>("heads")),
        ffn_(params.get<int64_t>("ffn")),
        layers_(params.get<int64_t>("layers")),
        rate_(params.get<double>("dropout")) {
    if (d_ < 2 || d_ % 2 || heads_ < 1 || d_ % heads_)
      throw Error(Status(Code::kInvalid, "transformer: d_model is " + std::to_string(d_) +
                                             ", expected an even multiple of the " + std::to_string(heads_) +
                                             " heads"));
    const int64_t vocabulary = params.get<int64_t>("vocabulary");
    table_ = variable(any, "embeddings", {vocabulary, d_}, random_normal(0, 1 / std::sqrt(static_cast<double>(d_))));
  }

  // [batch, length] -> [batch, length, d_model].
  Tensor encode(Tensor source) const {
    const Scope scope(source, "encoder");
    Tensor x = embed(source);
    for (int64_t i = 0; i < layers_; ++i) {
      const Tensor y = normalised(x);
      x = added(x, attend(y, y, false));
      x = added(x, feed_forward(normalised(x)));
    }
    return normalised(x);
  }

  Tensor decode(Tensor target, Tensor memory) const {
    const Scope scope(target, "decoder");
    Tensor x = embed(target);
    for (int64_t i = 0; i < layers_; ++i) {
      const Tensor y = normalised(x);
      x = added(x, attend(y, y, true));
      x = added(x, attend(normalised(x), memory, false));
      x = added(x, feed_forward(normalised(x)));
    }
    return normalised(x);
  }

  // [batch, length, d_model] -> [batch, length, vocabulary].
  Tensor logits(Tensor x) const {
    const Tensor rows = dot(reshape(x, {x.elements() / d_, d_}), cast(table_, x.dtype()), {.tb = true});
    return reshape(rows, {x.dim(0), x.dim(1), table_.dim(0)});
  }

 private:
  Tensor embed(Tensor tokens) const {
    const Tensor x = gather(table_, tokens, 0) * std::sqrt(static_cast<double>(d_));
    const Tensor placed = x + sinusoidal_positions(*x.graph(), tokens.dim(1), d_);
    return dropout(cast(placed, compute_dtype(tokens)), rate_);
  }
  Tensor normalised(Tensor x) const { return layer_normalization(x, {.epsilon = 1e-6}); }
  // x and what a part makes of it, dropped out: one op.
  Tensor added(Tensor x, Tensor part) const { return dropout(part, {.rate = rate_, .residual = x}); }
  Tensor attend(Tensor query, Tensor value, bool causal) const {
    return multi_head_attention(
        query, value, {.num_heads = heads_, .key_dim = d_ / heads_, .dropout = rate_, .use_causal_mask = causal});
  }
  Tensor feed_forward(Tensor x) const {
    return dense(dropout(dense(x, {.units = ffn_, .activation = relu}), rate_), {.units = d_});
  }

  int64_t d_, heads_, ffn_, layers_;
  double rate_;
  Tensor table_;
};

}  // namespace

EstimatorSpec transformer(const Features& features, const Tensor& labels, Mode mode, const Params& params) {
  const Tensor source = features["source"], target = features["target"];
  const Transformer model(source, params);
  const Tensor logits = model.logits(model.decode(target, model.encode(source)));
  return classify(logits, labels, mode, make_optimizer(params));
}

}  // namespace tenon::models
