// Masks: which steps of a sequence count. The steps that pad it do not.
//
//   Tensor words = embedding(text, {.input_dim = 1000, .output_dim = 8, .mask_zero = true});   // 0 pads
//   Tensor last = lstm(words, {.units = 64});                            // the output of each text's last word
//
// A mask is bool[B,T], true where a step counts, and belongs to a tensor x[B,T,..]. Masking and embedding() make one.
// It goes on through dense, dropout and noise, normalization, activations, multi_head_attention (the query's),
// recurrent layers that return sequences, Bidirectional, TimeDistributed and the merging layers, as objects or
// functions; ops and other layers leave it behind, as Keras's do. A layer of one's own hands it on by set_mask(y,
// mask_of(x)).
//
// What heeds it: recurrent layers keep their state at a step that does not count, batch normalization leaves such steps
// out of its moments, global_average_pool1d out of its mean, Softmax out of its sum, attention out of what it sees. A
// Loss and a Metric of what has a mask count only its steps: a mean is over them.
#pragma once

#include <string>

#include "tenon/layer_classes.h"

namespace tenon {

// The mask that belongs to x; absent: all of it counts.
Tensor mask_of(Tensor x);
// Gives x a mask, numbers or bools of its first sizes; what is not 0 counts. An absent one takes it away. Throws Error.
void set_mask(Tensor x, Tensor mask);

struct MaskingOptions {
  double mask_value = 0;
  std::string name = "masking";
};
// x[B,T,..,C], whose steps do not count, and become 0, where all their values are mask_value.
Tensor masking(Tensor x, const MaskingOptions& options = {});

class Masking : public FunctionLayer<Masking, MaskingOptions, masking> {
 public:
  using FunctionLayer::FunctionLayer;
};

}  // namespace tenon
