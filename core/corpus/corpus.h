// The corpus of the conformance suite: one function a family of cases.
#pragma once

#include "corpus/case.h"

namespace tenon::corpus {

// ---- kOp ----
void add_elementwise_cases(Cases& cases);
void add_cast_cases(Cases& cases);
void add_activation_cases(Cases& cases);
void add_movement_cases(Cases& cases);
void add_indexed_cases(Cases& cases);
void add_contraction_cases(Cases& cases);
void add_pooling_cases(Cases& cases);
void add_reduction_cases(Cases& cases);
void add_normalization_cases(Cases& cases);
void add_softmax_cases(Cases& cases);
void add_attention_cases(Cases& cases);
void add_recurrent_cases(Cases& cases);
void add_image_cases(Cases& cases);
void add_update_cases(Cases& cases);
void add_large_cases(Cases& cases);
void add_drawn_cases(Cases& cases);

// What the families and the drawn cases both add: an op and its gradient on these inputs.
void add_softmax(Cases& cases, const Input& x, int64_t axis, const std::string& what);
// `inputs`: q, k, v, bias (of rank 0: none), seed, step, dy.
void add_attention(Cases& cases, const Inputs& inputs, const AttentionOptions& options, const std::string& what);

// ---- kGradient ----
void add_gradient_cases(Cases& cases);

// ---- kUpdate ----
void add_ten_step_cases(Cases& cases);

// ---- kTraining and kInference ----
void add_training_cases(Cases& cases);
void add_catalogue_cases(Cases& cases);

// All of them; names are unique within kind and op.
Cases all_cases();

}  // namespace tenon::corpus
