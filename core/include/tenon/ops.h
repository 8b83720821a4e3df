// Every op of the op set as a function, primitives and composites (`tenon inspect ops` lists them with their edges).
// Composites are taken whole by the backends that know them and lowered to primitives for the others; what an op means
// does not depend on the device.
//
// These functions are strict: elementwise operands share dtype and shape, and a rank-0 operand beside
// any shape is the only broadcast. The operators at the end broadcast as NumPy does, by adding the
// broadcast that is needed. All throw tenon::Error, naming op, node, expected and found.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "tenon/array.h"
#include "tenon/image_options.h"
#include "tenon/tensor.h"

namespace tenon {

// The numbers are those of the C ABI.
enum class CompareKind : int { kEq, kNe, kLt, kLe, kGt, kGe };
enum class ReduceKind : int { kSum, kProd, kMax, kMin };
enum class ScatterKind : int { kAdd, kSet };
// The least precision of f32 dots and convolutions: one bf16 pass, three, six. CPUs and GPUs compute in
// f32 whatever it is; below kHighest cpu.so may take Winograd's convolutions, whose error is some ten times that of
// plain sums (below 16 * 2^-23 of the sum of the products' sizes).
enum class MathPrecision : int { kDefault, kHigh, kHighest };
enum class Activation : int {
  kNone,
  kRelu,
  kRelu6,
  kLeakyRelu,
  kElu,
  kSelu,
  kSigmoid,
  kTanh,
  kSoftplus,
  kGelu,
  kGeluTanh,
  kSilu,
  kMish,
  kHardSigmoid,
  kHardSwish,
};
enum class Coordinates : int { kLegacy, kHalfPixel, kAlignCorners };

// "relu", "gelu_tanh", ...; throws Error for an unknown name, naming the nearest.
Activation activation_from_name(std::string_view name);
std::string_view activation_name(Activation activation);

using Ints = std::vector<int64_t>;

// ---- sources ----
// Dense row-major bytes of the value, or of one element that fills it.
Tensor constant(Graph& graph, const Type& type, std::string_view bytes);
// The same in the function that is being traced: constant({1.0f, 2.0f}), constant({table, {10, 4}}), constant(vector).
Tensor constant(const Array& value);
// `value` converted to the dtype, filling the shape.
Tensor full(Graph& graph, DType dtype, const Shape& shape, double value);
// The same, rank 0, in `like`'s graph and dtype.
Tensor scalar_like(Tensor like, double value);
Tensor full_like(Tensor like, double value);
inline Tensor zeros_like(Tensor like) { return full_like(like, 0); }
inline Tensor ones_like(Tensor like) { return full_like(like, 1); }
Tensor iota(Graph& graph, DType dtype, const Shape& shape, int64_t axis);
// Uniform in [0, 1): Philox4x32-10 keyed by seed (i64 scalar), stream and step (i64 scalar). `first`, here and below:
// the number that the device's first replica has among those of all devices that train together; what is drawn per
// replica follows what the replicas before it draw.
Tensor random(Tensor seed, Tensor step, int64_t stream, const Shape& shape, bool per_replica = false,
              int64_t first = 0);

// ---- elementwise ----
Tensor neg(Tensor x);
Tensor abs(Tensor x);
Tensor floor(Tensor x);
Tensor round(Tensor x);  // halves to even
Tensor exp(Tensor x);
Tensor expm1(Tensor x);
Tensor log(Tensor x);
Tensor log1p(Tensor x);
Tensor sqrt(Tensor x);
Tensor sin(Tensor x);
Tensor cos(Tensor x);
Tensor tanh(Tensor x);
Tensor erf(Tensor x);
Tensor erfc(Tensor x);  // 1 - erf(x), whose small values keep their digits
Tensor add(Tensor a, Tensor b);
Tensor sub(Tensor a, Tensor b);
Tensor mul(Tensor a, Tensor b);
Tensor div(Tensor a, Tensor b);
Tensor maximum(Tensor a, Tensor b);  // of bools: or
Tensor minimum(Tensor a, Tensor b);  // of bools: and
Tensor pow(Tensor a, Tensor b);
Tensor atan2(Tensor a, Tensor b);
Tensor compare(Tensor a, Tensor b, CompareKind kind);
Tensor select(Tensor condition, Tensor a, Tensor b);
Tensor cast(Tensor x, DType to);  // x itself when it is of that dtype already
Tensor stop_gradient(Tensor x);   // x, through which no gradient flows

// ---- shape ----
Tensor reshape(Tensor x, const Shape& shape);
Tensor reshape(Tensor x, std::initializer_list<int64_t> shape);
Tensor transpose(Tensor x, const Ints& perm);
// x's axis i becomes axis dims[i] of the result; sizes are equal or 1.
Tensor broadcast(Tensor x, const Shape& shape, const Ints& dims);
Tensor slice(Tensor x, const Ints& start, const Ints& limit, const Ints& stride);
Tensor pad(Tensor x, const Ints& low, const Ints& high, const Ints& interior, double value);
Tensor concat(const Tensors& parts, int64_t axis);
Tensor reverse(Tensor x, const Ints& axes);
Tensor gather(Tensor x, Tensor indices, int64_t axis, int64_t batch = 0);
Tensor scatter(Tensor x, Tensor indices, Tensor updates, int64_t axis, int64_t batch, ScatterKind kind);
struct Sorted {
  Tensor values, indices;
};
Sorted sort(Tensor x, int64_t k, bool descending);

// ---- reductions and contractions ----
Tensor reduce(Tensor x, const Ints& axes, ReduceKind kind);
struct DotOptions {
  bool ta = false, tb = false;
  MathPrecision precision = MathPrecision::kDefault;
  DType out = DType::kNone;  // the operands'
};
Tensor dot(Tensor a, Tensor b, const DotOptions& options = {});
struct ConvOptions {
  Ints strides = {}, low = {}, high = {}, dilation = {};  // one a spatial dimension; empty: 1, 0, 0, 1
  int64_t groups = 1;
  MathPrecision precision = MathPrecision::kDefault;
  DType out = DType::kNone;
};
Tensor conv(Tensor x, Tensor w, const ConvOptions& options);
Tensor conv_grad_input(Tensor dy, Tensor w, const Ints& size, const ConvOptions& options);
Tensor conv_grad_filter(Tensor x, Tensor dy, const Ints& size, const ConvOptions& options);
Tensor all_gather(Tensor x, int64_t axis, int64_t group = 0);
Tensor replica_id(Graph& graph, int64_t first = 0);

// ---- composites ----
Tensor activation(Tensor x, Activation act, double alpha = 0);
Tensor activation_grad(Tensor g, Tensor t, Activation act, double alpha = 0);
// Whether act's gradient is computed from its result (true) or its argument.
bool gradient_from_result(Activation act);
Tensor dot_bias_act(Tensor a, Tensor b, Tensor bias, Tensor residual, Activation act, double alpha = 0,
                    const DotOptions& options = {});
Tensor conv_bias_act(Tensor x, Tensor w, Tensor bias, Tensor residual, Activation act, double alpha,
                     const ConvOptions& options);
struct BiasActGrad {
  Tensor dz, dbias;
};
BiasActGrad bias_act_grad(Tensor g, Tensor t, Activation act, double alpha = 0);

struct PoolOptions {
  Ints window = {}, strides = {}, low = {}, high = {};
  bool count_pad = false;  // average: pads count
};
Tensor max_pool(Tensor x, const PoolOptions& options);
Tensor avg_pool(Tensor x, const PoolOptions& options);
Tensor max_pool_grad(Tensor x, Tensor y, Tensor dy, const PoolOptions& options);
Tensor avg_pool_grad(Tensor dy, const Ints& size, const PoolOptions& options);

struct NormOptions {
  double eps = 1e-3;
  Activation act = Activation::kNone;
  double alpha = 0;
  int64_t group = 1;  // batch_norm: replicas that share moments; 0 all
};
struct Normalized {
  Tensor y, mean, var;
};
// Moments over all axes but the last; gamma, beta, mean, var are [C].
Normalized batch_norm(Tensor x, Tensor gamma, Tensor beta, Tensor residual, const NormOptions& options);
struct BatchNormGrad {
  Tensor dx, dgamma, dbeta, dresidual;  // dresidual: only with residual
};
BatchNormGrad batch_norm_grad(Tensor dy, Tensor x, Tensor gamma, Tensor mean, Tensor var, Tensor y, bool with_residual,
                              const NormOptions& options);
Tensor batch_norm_apply(Tensor x, Tensor gamma, Tensor beta, Tensor mean, Tensor var, Tensor residual,
                        const NormOptions& options);
// Moments over `axes`; gamma and beta have x's trailing dims (rank of gamma). center false: RMS.
Normalized layer_norm(Tensor x, Tensor gamma, Tensor beta, const Ints& axes, double eps, bool center = true);
struct LayerNormGrad {
  Tensor dx, dgamma, dbeta;
};
LayerNormGrad layer_norm_grad(Tensor dy, Tensor x, Tensor gamma, Tensor mean, Tensor var, const Ints& axes, double eps,
                              bool center, bool with_beta);

Tensor softmax(Tensor x, int64_t axis = -1);
Tensor log_softmax(Tensor x, int64_t axis = -1);
Tensor softmax_grad(Tensor dy, Tensor y, int64_t axis);
Tensor log_softmax_grad(Tensor dy, Tensor y, int64_t axis);
// log of the sum of exp(x) over the axes (none: all), as TensorFlow's reduce_logsumexp; its gradient is softmax.
Tensor logsumexp(Tensor x, const Ints& axes = {}, bool keepdims = false);
struct CrossEntropyOptions {
  double on = 1, off = 0;
  int64_t ignore = INT64_MIN;  // this label costs 0
};
struct CrossEntropy {
  Tensor loss, lse;
};
// x[.., V]; label I[..] or F[.., V]; loss and lse [..].
// The op softmax_cross_entropy; the mean of its loss is a loss of losses.h: categorical_crossentropy, or the sparse
// one.
CrossEntropy softmax_cross_entropy_per_example(Tensor x, Tensor label, const CrossEntropyOptions& options = {});
Tensor softmax_cross_entropy_grad(Tensor dloss, Tensor x, Tensor label, Tensor lse, const CrossEntropyOptions& options);
Tensor dropout(Tensor x, Tensor seed, Tensor step, Tensor residual, double rate, int64_t stream, int64_t first = 0);

struct AttentionOptions {
  double scale = 1;
  bool causal = false;
  double rate = 0;
  int64_t stream = 0, first = 0;
};
struct Attended {
  Tensor y, lse;
};
// q[B,T,N,D], k v[B,S,M,D]; bias broadcastable to [B,N,T,S] by sizes 1.
Attended attention(Tensor q, Tensor k, Tensor v, Tensor bias, Tensor seed, Tensor step,
                   const AttentionOptions& options);
struct AttentionGrad {
  Tensor dq, dk, dv, dbias;
};
AttentionGrad attention_grad(Tensor dy, Tensor q, Tensor k, Tensor v, Tensor bias, Tensor seed, Tensor step, Tensor y,
                             Tensor lse, const AttentionOptions& options);
struct Recurrent {
  Tensor y, c, gates;  // c: lstm only
};
// x[B,T,I] h c[B,U] W[I,4U] R[U,4U] b[4U]; gates i f c o.
Recurrent lstm(Tensor x, Tensor h, Tensor c, Tensor w, Tensor r, Tensor b);
// x[B,T,I] h[B,U] W[I,3U] R[U,3U] b rb[3U]; gates z r h, reset after.
Recurrent gru(Tensor x, Tensor h, Tensor w, Tensor r, Tensor b, Tensor rb);

Tensor global_norm(const Tensors& xs);
Tensors all_reduce(const Tensors& xs, ReduceKind kind, int64_t group = 0);
Tensor reduce_scatter(Tensor x, int64_t axis, int64_t group = 0);
Tensor resize(Tensor x, int64_t h, int64_t w, ResizeMethod method, Coordinates coords);
Tensor affine_image(Tensor x, Tensor theta, int64_t h, int64_t w, ResizeMethod method, FillMode fill);
Tensor crop_flip(Tensor x, Tensor top, Tensor left, Tensor flip, int64_t h, int64_t w);
Tensor argmax(Tensor x, int64_t axis = -1, ReduceKind kind = ReduceKind::kMax);
Tensor cumsum(Tensor x, int64_t axis, bool exclusive = false, bool reverse = false);

// ---- conveniences made of the ops above ----
// The result of NumPy's broadcasting of two shapes; throws Error when they do not fit.
Shape broadcast_shapes(const Shape& a, const Shape& b);
Tensor broadcast_to(Tensor x, const Shape& shape);  // NumPy's rule: aligned at the last axis
// Undoes broadcast_to for gradients and keepdims: inserts axes of size 1.
Tensor expand_dims(Tensor x, int64_t axis);
Tensor reduce_sum(Tensor x, const Ints& axes = {}, bool keepdims = false);  // no axes: all
Tensor reduce_mean(Tensor x, const Ints& axes = {}, bool keepdims = false);
Tensor reduce_max(Tensor x, const Ints& axes = {}, bool keepdims = false);
Tensor reduce_min(Tensor x, const Ints& axes = {}, bool keepdims = false);
// How many elements there are along the axis, an i32 scalar: of a dynamic dimension (tenon/strategy.h) known when the
// program runs, else a constant.
Tensor dimension_size(Tensor x, int64_t axis);
Tensor square(Tensor x);
Tensor sign(Tensor x);
Tensor clamp(Tensor x, double low, double high);
Tensor one_hot(Tensor indices, int64_t depth, DType dtype = DType::kF32);
Sorted top_k(Tensor x, int64_t k);

Tensor operator+(Tensor a, Tensor b);
Tensor operator-(Tensor a, Tensor b);
Tensor operator*(Tensor a, Tensor b);
Tensor operator/(Tensor a, Tensor b);
Tensor operator+(Tensor a, double b);
Tensor operator-(Tensor a, double b);
Tensor operator*(Tensor a, double b);
Tensor operator/(Tensor a, double b);
Tensor operator+(double a, Tensor b);
Tensor operator-(double a, Tensor b);
Tensor operator*(double a, Tensor b);
Tensor operator/(double a, Tensor b);
Tensor operator-(Tensor x);

}  // namespace tenon
