// Layers of sequences x[B,T,C] beside conv1d and the pooling of layers.h, with Keras's names, defaults and formulas, as
// functions and as objects. All functions throw tenon::Error.
#pragma once

#include <string>

#include "tenon/layer_classes.h"

namespace tenon {

// As their namesakes of images (layers.h), with one number for each size; kernels [k, filters, C], [k, C, m] and
// [1, C m, filters].
Tensor conv1d_transpose(Tensor x, const ConvTransposeOptions& options);
Tensor depthwise_conv1d(Tensor x, const ConvLayerOptions& options);
Tensor separable_conv1d(Tensor x, const ConvLayerOptions& options);
// Zeros before and behind the steps: {n}, or {before, behind}.
Tensor zero_padding1d(Tensor x, const Extent& padding = 1);
// Fewer steps: {n} at both ends, or {first, last}.
Tensor cropping1d(Tensor x, const Extent& cropping = 1);
// Each step `size` times.
Tensor up_sampling1d(Tensor x, int64_t size = 2);
// x[B,C] n times: [B,n,C].
Tensor repeat_vector(Tensor x, int64_t n);

class Conv1DTranspose : public FunctionLayer<Conv1DTranspose, ConvTransposeOptions, conv1d_transpose> {
 public:
  using FunctionLayer::FunctionLayer;
};

class DepthwiseConv1D : public FunctionLayer<DepthwiseConv1D, ConvLayerOptions, depthwise_conv1d> {
 public:
  using FunctionLayer::FunctionLayer;
};
class SeparableConv1D : public FunctionLayer<SeparableConv1D, ConvLayerOptions, separable_conv1d> {
 public:
  using FunctionLayer::FunctionLayer;
};
class ZeroPadding1D : public ValueLayer<ZeroPadding1D, const Extent&, zero_padding1d> {
 public:
  explicit ZeroPadding1D(const Extent& padding = 1, std::string name = {}) : ValueLayer(padding, std::move(name)) {}
};
class Cropping1D : public ValueLayer<Cropping1D, const Extent&, cropping1d> {
 public:
  explicit Cropping1D(const Extent& cropping = 1, std::string name = {}) : ValueLayer(cropping, std::move(name)) {}
};
class UpSampling1D : public ValueLayer<UpSampling1D, int64_t, up_sampling1d> {
 public:
  explicit UpSampling1D(int64_t size = 2, std::string name = {}) : ValueLayer(size, std::move(name)) {}
};
class RepeatVector : public ValueLayer<RepeatVector, int64_t, repeat_vector> {
 public:
  using ValueLayer::ValueLayer;
};

}  // namespace tenon
