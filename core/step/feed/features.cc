#include "tenon/features.h"

#include "base/strings.h"

namespace tenon {

Tensor Features::operator[](std::string_view name) const {
  const auto it = tensors_.find(std::string(name));
  if (it != tensors_.end()) return it->second;
  std::vector<std::string_view> names;
  for (const auto& entry : tensors_) names.push_back(entry.first);
  fail("the input has no feature '", name, "'; it has: ", join(names));
}

Features::operator Tensor() const {
  if (tensors_.size() == 1) return tensors_.begin()->second;
  std::vector<std::string_view> names;
  for (const auto& entry : tensors_) names.push_back(entry.first);
  fail("the features were asked for as one tensor, and there are ", names.size(), ": ", join(names));
}

}  // namespace tenon
