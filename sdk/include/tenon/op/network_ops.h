// Products, convolutions, pools, normalizations, losses, attention and recurrent layers.
// Rows of the table of ops: tenon/op/table.h.
#pragma once

#include "tenon/op/row.h"

namespace tenon::op {

// clang-format off
inline constexpr Row kNetworkOps[] = {
    {"dot",
     "a:F b:F ; ta:bool=false tb:bool=false precision:enum(precision)=0 out:dtype=none -> y",
     Level::kInfers, Category::kProduct, Values::kComputed, {Units::kDot, "b"}, 0, "",
     "Matrix product over the last two axes, y[p,m,n] = sum over k of a[p,m,k] b[p,k,n]; ta and tb swap the last "
     "two axes of a and b first. Leading axes are equal. Accumulates in f32 (f64 for f64); `out` is the operands' "
     "dtype or f32."},
    {"conv",
     "x:F w:F ; strides:list=1 low:list=0 high:list=0 dilation:list=1 groups:i64=1 precision:enum(precision)=0 "
     "out:dtype=none -> y",
     Level::kInfers, Category::kConvolution, Values::kComputed, {Units::kRows, "w"}, 0, "",
     "Convolution of x[N,S..,C] with w[K..,C/G,O] over 1 to 3 spatial dimensions: y[n,o,k] = sum over t, c of x[n, "
     "o stride + t dilation - low, group(k) C/G + c] w[t,c,k], 0 outside. Size floor((S + low + high - (K-1) "
     "dilation - 1)/stride) + 1."},
    {"conv_grad_input",
     "dy:F w:F ; size:list strides:list=1 low:list=0 high:list=0 dilation:list=1 groups:i64=1 "
     "precision:enum(precision)=0 out:dtype=none -> dx",
     Level::kTrains, Category::kConvolution, Values::kComputed, {Units::kRows, "w"}, 0, "",
     "conv's loop with the sum going into the input, whose spatial sizes are `size`: the gradient of conv by x, and "
     "the transposed convolution."},
    {"conv_grad_filter",
     "x:F dy:F ; size:list strides:list=1 low:list=0 high:list=0 dilation:list=1 groups:i64=1 "
     "precision:enum(precision)=0 out:dtype=none -> dw",
     Level::kTrains, Category::kConvolution, Values::kComputed, {Units::kRows, "", "dw"}, 0, "",
     "conv's loop with the sum going into the filter, whose spatial sizes are `size`: the gradient of conv by w."},
    {"dot_bias_act",
     "a:F b:F [bias:F] [residual:F] ; act:enum(act)=0 alpha:f64=0 ta:bool=false tb:bool=false "
     "precision:enum(precision)=0 out:dtype=none -> y",
     Level::kComposite, Category::kProduct, Values::kComputed, {Units::kDot, "b bias"}, 0, "MatMul",
     "act(dot(a, b) + bias + residual), rounded once. bias has the size of the last axis, residual the result's "
     "shape, both its dtype. Gradients are taken from y where the activation allows it, else the dot is done again."},
    {"conv_bias_act",
     "x:F w:F [bias:F] [residual:F] ; act:enum(act)=0 alpha:f64=0 strides:list=1 low:list=0 high:list=0 dilation:list=1 "
     "groups:i64=1 precision:enum(precision)=0 out:dtype=none -> y",
     Level::kComposite, Category::kConvolution, Values::kComputed, {Units::kRows, "w bias"}, 0, "Conv2D",
     "act(conv(x, w) + bias + residual), rounded once. bias has one number a filter, residual the result's shape, "
     "both its dtype. Gradients are taken from y where the activation allows it, else the convolution is done "
     "again."},
    {"bias_act_grad",
     "g:F t:F ; act:enum(act)=0 alpha:f64=0 -> dz dbias",
     Level::kComposite, Category::kReduction, Values::kComputed, {Units::kBiasActGrad, "", "dbias"}, 1, "BiasAddGrad",
     "What a bias and an activation do backwards: dz = activation_grad(g, t), dbias = its sum over all axes but the "
     "last."},
    {"max_pool",
     "x:F ; window:list strides:list=1 low:list=0 high:list=0 -> y",
     Level::kComposite, Category::kPooling, Values::kChosen, {Units::kRows}, 2, "",
     "The largest element of each window of x[N,S..,C], 1 to 3 spatial dimensions; NaN wins. Pads are no elements "
     "and are narrower than the window."},
    {"max_pool_grad",
     "x:F y:F dy:F ; window:list strides:list=1 low:list=0 high:list=0 -> dx",
     Level::kComposite, Category::kPooling, Values::kComputed, {Units::kRows}, 4, "",
     "The gradient of max_pool by x: each window's dy goes to its first element, in row-major order, that equals y or "
     "is NaN: the first NaN or, where there is none, the first of the largest."},
    {"avg_pool",
     "x:F ; window:list strides:list=1 low:list=0 high:list=0 count_pad:bool=false -> y",
     Level::kComposite, Category::kPooling, Values::kComputed, {Units::kRows}, 2, "",
     "The mean of each window of x[N,S..,C], 1 to 3 spatial dimensions. Pads are zeros that the mean counts only "
     "with count_pad; they are narrower than the window."},
    {"avg_pool_grad",
     "dy:F ; size:list window:list strides:list=1 low:list=0 high:list=0 count_pad:bool=false -> dx",
     Level::kComposite, Category::kPooling, Values::kComputed, {Units::kRows}, 2, "",
     "The gradient of avg_pool by x, whose spatial sizes are `size`: each window's dy over its count goes to all "
     "its elements."},
    {"batch_norm",
     "x:F gamma:F beta:F [residual:F] ; eps:f64=0.001 act:enum(act)=0 alpha:f64=0 group:i64=1 -> y mean var",
     Level::kComposite, Category::kNormalization, Values::kComputed, {}, 1, "FusedBatchNormV3",
     "act((x - mean) / sqrt(var + eps) gamma + beta + residual) with the mean and biased variance of x over all "
     "axes but the last, and over the replicas of a group (0: all). mean and var are in gamma's dtype and computed "
     "in f32 (f64 for f64)."},
    {"batch_norm_grad",
     "dy:F x:F gamma:F mean:F var:F [y:F] ; eps:f64=0.001 act:enum(act)=0 alpha:f64=0 group:i64=1 "
     "residual:bool=false -> dx dgamma dbeta [dresidual]",
     Level::kComposite, Category::kNormalization, Values::kComputed, {}, 1, "FusedBatchNormGradV3",
     "The gradient of batch_norm's y: dz = activation_grad(dy, y), xh = (x - mean) / s, dx = gamma/s (dz - mean dz "
     "- xh mean(dz xh)) with means over the group's replicas too, dgamma = sum(dz xh) and dbeta = sum(dz) of this "
     "replica, dresidual = dz. y is needed with an activation."},
    {"batch_norm_apply",
     "x:F gamma:F beta:F mean:F var:F [residual:F] ; eps:f64=0.001 act:enum(act)=0 alpha:f64=0 -> y",
     Level::kComposite, Category::kNormalization, Values::kComputed, {Units::kRows, "gamma beta mean var"}, 1,
     "FusedBatchNormV3",
     "act((x - mean) / sqrt(var + eps) gamma + beta + residual) with a mean and a variance that are given: "
     "batch_norm when serving, or frozen."},
    {"softmax",
     "x:F ; axis:i64 -> y",
     Level::kComposite, Category::kSoftmax, Values::kComputed, {Units::kAxis}, 20, "",
     "exp(x - max) over its sum along one axis. A row of -inf alone, or with a NaN or +inf, is NaN."},
    {"softmax_grad",
     "dy:F y:F ; axis:i64 -> dx",
     Level::kComposite, Category::kSoftmax, Values::kComputed, {Units::kAxis}, 6, "",
     "The gradient of softmax from its result: y (dy - sum of dy y along the axis)."},
    {"log_softmax",
     "x:F ; axis:i64 -> y",
     Level::kComposite, Category::kSoftmax, Values::kComputed, {Units::kAxis}, 20, "",
     "The logarithm of softmax: x - max - log of the sum of exp(x - max) along one axis."},
    {"log_softmax_grad",
     "dy:F y:F ; axis:i64 -> dx",
     Level::kComposite, Category::kSoftmax, Values::kComputed, {Units::kAxis}, 20, "",
     "The gradient of log_softmax from its result: dy - exp(y) times the sum of dy along the axis."},
    {"logsumexp",
     "x:F ; axes:list -> y",
     Level::kComposite, Category::kSoftmax, Values::kComputed, {Units::kAxes}, 20, "",
     "The logarithm of the sum of exp(x) over `axes`, the largest taken out: max + log of the sum of exp(x - max). "
     "Of -inf alone it is -inf, with +inf +inf, with NaN NaN. Nothing folded is a copy. Its gradient, softmax, is 0 "
     "where all are -inf."},
    {"softmax_cross_entropy",
     "x:F label:N ; on:f64=1 off:f64=0 ignore:i64=-9223372036854775808 -> loss lse",
     Level::kComposite, Category::kSoftmax, Values::kComputed, {Units::kLastAxis}, 20,
     "SparseSoftmaxCrossEntropyWithLogits",
     "The cross entropy of each row of logits x[..,V]: sum(t) lse - sum(t x), lse = log(sum(exp(x))), in f32 (f64 "
     "for f64). An integer label[..] stands for t = on at the label and off elsewhere; its loss is 0 for the label "
     "`ignore`, NaN outside of [0, V). A float label[..,V] of x's dtype is t itself."},
    {"softmax_cross_entropy_grad",
     "dloss:F x:F label:N lse:F ; on:f64=1 off:f64=0 ignore:i64=-9223372036854775808 -> dx",
     Level::kComposite, Category::kSoftmax, Values::kComputed, {Units::kLastAxis}, 16, "",
     "The gradient of softmax_cross_entropy's loss by x: dloss (sum(t) exp(x - lse) - t). 0 in the rows of the "
     "label `ignore`, NaN where the label is outside of [0, V)."},
    {"layer_norm",
     "x:F gamma:F [beta:F] ; eps:f64=0.001 axes:list center:bool=true -> y mean var",
     Level::kComposite, Category::kNormalization, Values::kComputed, {Units::kLayerNorm, "gamma beta"}, 8, "",
     "(x - mean) / sqrt(var + eps) gamma + beta with the mean and biased variance of x over `axes`; gamma and beta "
     "have x's trailing dimensions. The last axes make it layer norm, the spatial ones instance norm, a reshaped x "
     "group norm. center false is RMS norm: mean 0, var = mean of x^2. Moments are in gamma's dtype."},
    {"layer_norm_grad",
     "dy:F x:F gamma:F mean:F var:F ; eps:f64=0.001 axes:list center:bool=true beta:bool=false -> dx dgamma [dbeta]",
     Level::kComposite, Category::kNormalization, Values::kComputed, {Units::kLayerNorm, "gamma", "dgamma dbeta"}, 12,
     "",
     "The gradient of layer_norm's y: g = dy gamma, xh = (x - mean) / s, dx = (g - mean g - xh mean(g xh)) / s "
     "(without mean g when not centred), dgamma = sum(dy xh), dbeta = sum(dy)."},
    {"attention",
     "q:F k:F v:F [bias:F] [seed:I] [step:I] ; scale:f64=1 causal:bool=false rate:f64=0 stream:i64=0 first:i64=0 -> "
     "y lse",
     Level::kComposite, Category::kAttention, Values::kComputed, {Units::kAttention, "seed step"}, 0, "",
     "dropout(softmax(scale q k' + bias)) v a head, of q[B,T,N,D], k[B,S,M,D] and v[B,S,M,E]: query head n reads "
     "head n M / N. bias is [B,N,T,S] with 1 where it repeats. causal: query i sees keys j <= i + S - T; one that "
     "sees none gives 0. lse[B,N,T], in f32 or f64, is the log of the sum of the exponents, -inf for none. Scores "
     "are kept in f32 for bf16 and f16; rate is below 1, and dropout needs seed and step, and draws per "
     "replica from `first` on, for scores in the order [B,N,T,S]."},
    {"attention_grad",
     "dy:F q:F k:F v:F y:F lse:F [bias:F] [seed:I] [step:I] ; scale:f64=1 causal:bool=false rate:f64=0 stream:i64=0 "
     "first:i64=0 dbias:bool=false -> dq dk dv [dbias]",
     Level::kComposite, Category::kAttention, Values::kComputed, {Units::kAttention, "seed step", "dbias"}, 0, "",
     "The gradients of attention: P = exp(scale q k' + bias - lse), dv = dropout(P)' dy, dS = P (dropout(dy v') - "
     "sum(dy y)), dq = scale dS k, dk = scale dS' q, and dS, summed to the bias's shape, where `dbias` asks for it. "
     "The dropout draws what the forward pass drew."},
    {"lstm",
     "x:F h:F c:F w:F r:F b:F -> y c gates",
     Level::kComposite, Category::kRecurrent, Values::kComputed, {Units::kRows, "w r b"}, 0, "",
     "Long short-term memory over all steps of x[B,T,I] from the states h and c[B,U]: i f g o = sigmoid, sigmoid, "
     "tanh, sigmoid of x W[I,4U] + h R[U,4U] + b[4U]; c = f c + i g, h = o tanh(c). Results: h of every step "
     "y[B,T,U], the last c and the gates[B,T,4U] for the gradient (Hochreiter and Schmidhuber 1997, Keras's order "
     "of gates)."},
    {"lstm_grad",
     "dy:F dc:F x:F h:F c:F w:F r:F b:F y:F gates:F -> dx dh dc0 dw dr db",
     Level::kComposite, Category::kRecurrent, Values::kComputed, {Units::kRows, "w r b", "dw dr db"}, 0, "",
     "The gradients of lstm from those of y and of the last c, back through all steps; the cells are computed again "
     "from the gates."},
    {"gru",
     "x:F h:F w:F r:F b:F rb:F -> y gates",
     Level::kComposite, Category::kRecurrent, Values::kComputed, {Units::kRows, "w r b rb"}, 0, "",
     "Gated recurrent units over all steps of x[B,T,I] from the state h[B,U]: with columns z r n of x W[I,3U] + "
     "b[3U] and of h R[U,3U] + rb[3U], z and r are sigmoids of their sums, n = tanh(x W + b + r q), q = h R + rb, "
     "and h = z h + (1 - z) n. Results: h of every step y[B,T,U] and gates[B,T,4U] = z r n q for the gradient (Cho "
     "et al. 2014; the reset comes after the product, as in cuDNN and Keras)."},
    {"gru_grad",
     "dy:F x:F h:F w:F r:F b:F rb:F y:F gates:F -> dx dh dw dr db drb",
     Level::kComposite, Category::kRecurrent, Values::kComputed, {Units::kRows, "w r b rb", "dw dr db drb"}, 0, "",
     "The gradients of gru from that of y, back through all steps."},
};
// clang-format on

}  // namespace tenon::op
