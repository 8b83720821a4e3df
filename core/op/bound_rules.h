// Rules of bounded.h that are listed in one file and stand in another.
#pragma once

#include "op/bounded.h"

namespace tenon::bound_rules {

void elementwise(BoundedNode& n);
void each_its_own(BoundedNode& n);  // result i is as operand i
void dot(BoundedNode& n);
void bias_act_grad(BoundedNode& n);
void conv(BoundedNode& n);
void conv_grad_input(BoundedNode& n);
void conv_grad_filter(BoundedNode& n);
void images(BoundedNode& n);
void normalized_apply(BoundedNode& n);
void layer_norm(BoundedNode& n);
void layer_norm_grad(BoundedNode& n);
void cross_entropy(BoundedNode& n);
void cross_entropy_grad(BoundedNode& n);
void attention(BoundedNode& n);
void attention_grad(BoundedNode& n);
void recurrent(BoundedNode& n);
void recurrent_grad(BoundedNode& n);

}  // namespace tenon::bound_rules
