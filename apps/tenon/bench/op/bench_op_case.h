// What `tenon bench op` knows of an op: what its sizes mean, and a graph that has it.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tenon/ops.h"
#include "tenon/optimizers.h"

namespace tenon::runner {

using Sizes = std::vector<int64_t>;

// Makes the operands beside the first, and counts what all of them take of memory. Throws tenon::Error where that is
// more than the machine has.
class Operands {
 public:
  explicit Operands(std::string shape) : shape_(std::move(shape)) {}
  void set_first(Tensor first) { first_ = first; }
  void take(const Shape& shape, int copies = 1);

  Tensor operator()(const char* name, const Shape& shape);              // from -1 to 1
  Tensor positive(const char* name, const Shape& shape);                // from 0.5 to 1
  Tensor indices(const char* name, const Shape& shape, int64_t below);  // i32 from 0
  Tensor weights(const char* name, const Shape& shape);  // of that spread that layers begin with; trained

 private:
  std::string shape_;  // as it was asked for
  Tensor first_;
  double bytes_ = 0;
};

// The first operand is what `first` says, with numbers from -1 to 1; the others are Operands.
struct OpCase {
  const char* op;
  const char* form;  // what the sizes mean: "ROWSxC[xRATE]"
  Sizes defaults;    // of those in brackets
  Shape (*first)(const Sizes& s);
  Tensors (*results)(Tensor first, const Sizes& s, Operands& more);
  const char* shapes;                              // of a sweep by default
  std::string (*wrong)(const Sizes& s) = nullptr;  // what is wrong with the sizes together; "": nothing
  Optimizer (*optimizer)() = nullptr;              // the op is in a step of training, whose loss is the only result
};

std::span<const OpCase> product_cases();  // products and convolutions, attention, recurrent layers
std::span<const OpCase> layer_cases();    // what else layers are made of
std::span<const OpCase> update_cases();   // optimizers

// First operands of many ops.
Shape image(const Sizes& s);   // the first four sizes
Shape matrix(const Sizes& s);  // the first two
// RATE, the last size: percent that dropout takes.
std::string wrong_rate(const Sizes& s);

}  // namespace tenon::runner
