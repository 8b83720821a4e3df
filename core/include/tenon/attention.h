// Attention without heads and projections, with Keras's names, defaults and formulas, as functions and as objects;
// those with heads are MultiHeadAttention and GroupQueryAttention of layer_classes.h.
//
//   Tensor read = Attention()({query, value});           // query [B,T,D], value [B,S,D] -> [B,T,D]
//
// Steps of the query that a mask (tenon/masking.h) leaves out give 0, those of the value are not looked at. All
// functions throw tenon::Error.
#pragma once

#include <string>

#include "tenon/layer_classes.h"

namespace tenon {

enum class ScoreMode : uint8_t { kDot, kConcat };

struct DotAttentionOptions {
  bool use_scale = false;                 // scores are multiplied by the variable "scale", which begins with 1
  ScoreMode score_mode = ScoreMode::kDot;  // kConcat: concat_score_weight * sum of tanh(scale * (q + k)) over D
  double dropout = 0;                     // of the weights; 0 to less than 1
  Tensor key = {};                        // [B,S,D]; none: the value
  bool use_causal_mask = false;           // query i sees values 0 to i
  bool trainable = true;
  std::string name = "attention";
};
// softmax(q k^T) v. Unlike multi_head_attention it does not divide by sqrt(D).
Tensor dot_attention(Tensor query, Tensor value, const DotAttentionOptions& options = {});

struct AdditiveAttentionOptions {
  bool use_scale = true;  // by the variable "scale", [D], drawn by glorot_uniform
  double dropout = 0;
  Tensor key = {};
  bool use_causal_mask = false;
  bool trainable = true;
  std::string name = "additive_attention";
};
// The same with scores sum of scale * tanh(q + k) over D (Bahdanau et al. 2014).
Tensor additive_attention(Tensor query, Tensor value, const AdditiveAttentionOptions& options = {});

// Both are called with {query, value} or {query, value, key}.
class Attention : public LayerOf<Attention> {
 public:
  explicit Attention(const DotAttentionOptions& options = {})
      : LayerOf(options.name == DotAttentionOptions{}.name ? std::string() : options.name), options_(options) {}
  Tensor call(const Tensors& xs) override;

 protected:
  bool is_function() const override { return true; }

 private:
  DotAttentionOptions options_;
};

class AdditiveAttention : public LayerOf<AdditiveAttention> {
 public:
  explicit AdditiveAttention(const AdditiveAttentionOptions& options = {})
      : LayerOf(options.name == AdditiveAttentionOptions{}.name ? std::string() : options.name), options_(options) {}
  Tensor call(const Tensors& xs) override;

 protected:
  bool is_function() const override { return true; }

 private:
  AdditiveAttentionOptions options_;
};

}  // namespace tenon
