// Nodes of cpu.so's own, put in the place of several before a graph is planned.
//
//   cpu.conv_pool(x, w, [bias]) -> p, winner             conv or conv_bias_act (no activation or ReLU), then max_pool
//   cpu.conv_norm(x, w, [bias], [residual], gamma, beta, mean, var) -> y
//                                                        conv or conv_bias_act without activation, then batch_norm_apply
//   cpu.expand_depthwise(x, w, [bias], [residual], [gamma, beta, mean, var], expand_w, [expand_bias],
//                        [expand_gamma, expand_beta, expand_mean, expand_var]; expand_act, ..) -> y
//                                                        conv, conv_bias_act or cpu.conv_norm of 1x1, then a depthwise one
//   cpu.pooled_grad_input(dp, w, winner) -> dx           max_pool_grad, then conv_grad_input
//   cpu.pooled_grad_filter(x, dp, winner) -> dw          max_pool_grad, then conv_grad_filter
//   cpu.product.adam_update(p, b, lr, .., a) -> p', ..   dot(a, b) with a transposed, of f32 or bf16, then the update; of any
//                                                        rule that takes elements one by one
//   cpu.dot_dropout(a, b, [bias], seed, step, [residual]) -> y
//                                                        dot or dot_bias_act, then dropout
//   cpu.attention_rows(q, k, v, [bias], i; length, heads) -> y, lse
//                                                        gathers of keys and values by the same indices, then attention of one query a head
//   cpu.dropout_relu_grad(dy, y; rate) -> dz, dbias      dropout's gradient, then bias_act_grad of a ReLU; y is what dropout gave
//   cpu.round_bf16(x; flush) -> y                        casts to bf16 and back, and what turns subnormals into zeros
//   cpu.batch_norm.conv(x, w, [bias], gamma, beta, [residual]) -> t, y, mean, var
//                                                        conv or conv_bias_act without activation, then batch_norm
//   cpu.batch_norm.grad_input(dy, w, [other], x, gamma, mean, var, [y], [beta]) -> dx, dgamma, dbeta, [dresidual], [dbias]
//                                                        conv_grad_input, then maybe add, then batch_norm_grad, then
//                                                        maybe the reduce of dx to a convolution's bias
//
// Pools and norms are of f32 or bf16; behind a convolution of bf16 a norm of given moments has no activation but a ReLU or
// ReLU6.
// Casts to f32 of the logits of softmax_cross_entropy and of an update's gradient are left out, and so is the cast of dx to
// bf16 behind the loss's gradient: these kernels read and write bf16.
// A convolution takes what is added to it as its residual, and it and a product of matrices the activation behind them: a conv
// becomes a conv_bias_act, a dot a dot_bias_act.
// A product of matrices that is added to another value takes that as its residual and becomes a dot_bias_act; a dot gets no
// bias.
// Pools are 2 x 2 without pads; the map between convolution and pool, by far the largest value of such a step, and its
// gradient are never in memory (kernels/conv/pooled/conv_pool.h), nor is a dense layer's gradient. Attributes are those of the
// convolution, or of the update. A pad of zeros before a convolution, or before a max-pool of values that are not below
// zero, becomes theirs.
#pragma once

#include "tenon/plugin/graph_rewrite.h"
#include "tenon/plugin/kernel.h"

namespace tenon::cpu {

plugin::Rewritten rewrite(const plugin::GraphView& graph, const plugin::Env& env);

}  // namespace tenon::cpu
