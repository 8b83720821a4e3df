// A dense layer over any axes.
#pragma once

#include <string>

#include "tenon/layer_classes.h"

namespace tenon {

// x and a kernel by Einstein's sum, "abc,cd->abd": letters of x, of the kernel and of the result; products are summed
// over those that the result lacks. "..." in x and the result, at the front or at the end of both, stands for further
// axes.
struct EinsumDenseOptions {
  std::string equation = {};
  Ints output_shape = {};  // without the batch and what "..." stands for; -1 where x has the size
  ActivationRule activation = linear;
  std::string bias_axes = {};                            // letters of the result that the bias has; none: no bias
  InitializerRule kernel_initializer = &glorot_uniform;  // sees a matrix: x's letters by the result's
  InitializerRule bias_initializer = zeros();
  Regularizer kernel_regularizer = {}, bias_regularizer = {}, activity_regularizer = {};
  Constraint kernel_constraint = {}, bias_constraint = {};
  bool trainable = true;
  std::string name = "einsum_dense";
};
// Variables kernel, and bias from the first of bias_axes on, with 1 for letters that are not among them. Throws Error.
Tensor einsum_dense(Tensor x, const EinsumDenseOptions& options);

class EinsumDense : public FunctionLayer<EinsumDense, EinsumDenseOptions, einsum_dense> {
 public:
  using FunctionLayer::FunctionLayer;
};

}  // namespace tenon
