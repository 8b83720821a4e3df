// The places of operands and results of cpu.so's own nodes by name, as tenon/op/names.h has those of the ops.
#pragma once

#include "tenon/op/names.h"

namespace tenon::cpu::own {

struct conv_norm {
  enum : int { x, w, bias, residual, gamma, beta, mean, var };
};
// What is not of the expansion is in the places of conv_norm.
struct expand_depthwise {
  enum : int { x, w, bias, residual, gamma, beta, mean, var };
  enum : int { expand_w = var + 1, expand_bias, expand_gamma, expand_beta, expand_mean, expand_var };
};
struct conv_pool {
  enum : int { x, w, bias };
  struct out {
    enum : int { pooled, winner };
  };
};
struct pooled_grad_input {
  enum : int { dp, w, winner };
};
struct pooled_grad_filter {
  enum : int { x, dp, winner };
};
struct batch_norm_conv {
  enum : int { x, w, bias, gamma, beta, residual };
  struct out {
    enum : int { t, y, mean, var };
  };
};
// As batch_norm_grad, with an activation whose argument follows from x and beta.
struct batch_norm_grad {
  enum : int { dy, x, gamma, mean, var, y, beta };
};
struct batch_norm_grad_input {
  enum : int { dy, w, other, x, gamma, mean, var, y, beta };
  struct out {
    enum : int { dx, dgamma, dbeta, dresidual, dbias };
  };
};
// mul_channels and add_channels.
struct channels {
  enum : int { x, v };
};
struct exp_of_rows {
  enum : int { x, shift, g };
};
struct attention_rows {
  enum : int { q, k, v, bias, i };
};
struct dot_dropout {
  enum : int { a, b, bias, seed, step, residual };
};

}  // namespace tenon::cpu::own
