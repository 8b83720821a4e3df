// What a TPU's compiler refuses, in its words.
#pragma once

#include <string>
#include <vector>

#include "tenon/plugin/graph.h"

namespace tpu {

// "" where it is allowed: from the node, its attributes and its values alone. The op and its node carry TensorFlow's names. `kernels`: ops that the
// software which is modelled has beyond those of 2018.
std::string refusal_of(const tenon::plugin::NodeView& node, const std::vector<std::string>& kernels = {});

}  // namespace tpu
