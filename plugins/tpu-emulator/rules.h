// What a TPU's compiler refuses, in its words.
#pragma once

#include <string>
#include <vector>

#include "tenon/plugin/graph.h"

namespace tpu {

struct Refusal {
  std::string text;        // empty: the node is allowed
  bool can_leave = false;  // soft placement may run it on the host instead
  explicit operator bool() const { return !text.empty(); }
};

// From the node, its attributes and its values alone. The op and its node carry TensorFlow's names. `kernels`: ops that the
// software which is modelled has beyond those of 2018.
Refusal refusal_of(const tenon::plugin::NodeView& node, const std::vector<std::string>& kernels = {});

}  // namespace tpu
