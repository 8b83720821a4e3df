// The parts of a Transformer (Vaswani et al. 2017) that normalises before each part, and after the last layer of each side. One
// matrix is embedding and, transposed, the logits. Token 0 pads where `pads`: its embedding is zero, and nobody attends to it.
#pragma once

#include <string>

#include "tenon/decoding.h"
#include "tenon/estimator.h"

namespace tenon::models {

struct TransformerSizes {
  int64_t vocabulary = 0;
  int64_t hidden = 0, heads = 0, filter = 0;  // of the model, of attention, of the feed-forward's hidden layer
  int64_t layers = 0;                         // on each side
  double dropout = 0;           // of embeddings, of what each part adds, of attention weights, of the hidden layer
  bool attention_bias = false;  // in the projections of attention
  bool pads = true;
  // GPT-2's ways, where they differ.
  int64_t positions = 0;             // rows of a table of learned places; 0: sines
  ActivationRule activation = relu;  // of the feed-forward's hidden layer
  double epsilon = 1e-6;             // of normalisations
  double stddev = 0;  // of first weights; 0: as Glorot has them, and embeddings of 1 / sqrt(hidden), times sqrt(hidden)
};

// The sizes that the parameters vocab_size, param_set (tiny, base, big), hidden_size, num_heads, filter_size (0: param_set's),
// num_hidden_layers and dropout say. Throws Error.
TransformerSizes transformer_sizes(const Params& params);
// What the parameters ask for, at a learning rate that is divided by the root of the hidden size.
Optimizer transformer_optimizer(const Params& params, int64_t hidden);

// [length, d]: sines, then cosines, of the position at wavelengths from 2 pi to 20000 pi.
Tensor sinusoidal_positions(Graph& graph, int64_t length, int64_t d);

std::string layer_name(int64_t i);

// tokens i32[batch, length], a place to the right behind a 0: what was written before each token.
Tensor shifted(Tensor tokens);

// Whether the hidden size can be shared by the heads.
Status check_sizes(const TransformerSizes& sizes);

class TransformerLayers {
 public:
  // `any`: a tensor of the graph. Throws Error where the sizes do not fit.
  TransformerLayers(Tensor any, const TransformerSizes& sizes);

  // What is read: i[batch, length] -> [batch, length, hidden]. `more`, if any, of that shape, is added to the embeddings.
  Tensor encode(Tensor source, Tensor more = {}) const;
  // What is written, as far as it is known, and what was read with its encoding.
  Tensor decode(Tensor target, Tensor source, Tensor memory) const;
  // What is written with nothing read: a language model.
  Tensor decode(Tensor target) const;
  // [batch, length, hidden] -> f[batch, length, vocabulary].
  Tensor logits(Tensor x) const;

  // The same a token at a time, for a Decoder: what writing begins with, of at most so many tokens, and the logits behind a
  // token i32[rows] at place position (i32[]). Without a source a language model.
  Features begin_writing(Tensor source, int64_t max_length) const;
  Features begin_text(Tensor like, int64_t max_length) const;  // with nothing read, for as many rows as `like` has
  Tensor next_logits(Tensor token, Tensor position, DecodeState& state) const;

 private:
  // What attention needs of each projection: x[rows, n, ..] -> [rows, n, heads, hidden / heads].
  Tensor projected(Tensor x, const char* attention, const char* name) const;
  Tensor attend_one(Tensor x, Tensor keys, Tensor values, Tensor bias, const char* name) const;
  Tensor place_of(Tensor position, int64_t length) const;  // [1, 1, hidden]
  Tensor with_caches(Tensor x, Tensor position, DecodeState& state, const std::string& layer) const;
  InitializerRule kernel_initializer() const;
  bool scales_embeddings() const { return sizes_.stddev == 0; }
  Tensor places(Tensor any, int64_t length) const;      // [length, hidden]
  Tensor embedded(Tensor tokens) const;                 // times the root of hidden; pads are zero
  Tensor embed(Tensor tokens, Tensor more = {}) const;  // with places
  Tensor normalised(Tensor x, const char* name) const;
  Tensor added(Tensor x, Tensor part) const;
  Tensor attend(Tensor query, Tensor value, Tensor mask, bool causal, const char* name) const;
  Tensor feed_forward(Tensor x) const;
  Tensor seen(Tensor tokens) const;  // [batch, 1, length]; absent without pads

  TransformerSizes sizes_;
  Tensor table_;
};

}  // namespace tenon::models
