// Keras's Dot, as a function and as an object.
//
//   Tensor angle = Dot({.axes = {1}, .normalize = true})({a, b});
#pragma once

#include <string>

#include "tenon/layer_classes.h"

namespace tenon {

struct BatchDotOptions {
  Ints axes = {};          // one of each, or one for both; from 1, or from the end if negative
  bool normalize = false;  // divides both by their Euclidean norms along those axes first: the cosine
  std::string name = "dot";
};
// Takes two tensors and sums their products over an axis of each, example by example: a[B,i..], b[B,j..] -> [B, i.. and
// j.. without those axes], [B,1] where none is left. Throws Error.
Tensor batch_dot(const Tensors& xs, const BatchDotOptions& options);

class Dot : public LayerOf<Dot> {
 public:
  explicit Dot(const BatchDotOptions& options)
      : LayerOf(options.name == BatchDotOptions{}.name ? std::string() : options.name), options_(options) {}
  Tensor call(const Tensors& xs) override { return batch_dot(xs, options_); }

 protected:
  bool is_function() const override { return true; }

 private:
  BatchDotOptions options_;
};

}  // namespace tenon
