// Tensors of a traced function by name: what it is given.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/tensor.h"

namespace tenon {

// The batch by feature name.
class Features {
 public:
  void set(std::string name, Tensor tensor) { tensors_[std::move(name)] = tensor; }
  // Throws Error naming what there is when there is none of that name.
  Tensor operator[](std::string_view name) const;
  // The only one, where the model takes its features as one tensor. Throws Error naming what there is where there are
  // several.
  operator Tensor() const;  // NOLINT: implicit by design
  bool has(std::string_view name) const { return tensors_.contains(std::string(name)); }
  const std::map<std::string, Tensor>& all() const { return tensors_; }

 private:
  std::map<std::string, Tensor> tensors_;
};

}  // namespace tenon
