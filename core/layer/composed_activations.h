// Activations that no op fuses, by Keras's names.
#pragma once

#include <string_view>

#include "tenon/tensor.h"

namespace tenon {

// With defaults for all else; null where there is none of that name.
Tensor (*composed_activation(std::string_view name))(Tensor x);

}  // namespace tenon
