// The layout of a TensorBundle's tensors.
#pragma once

#include <cstddef>

#include "tenon/tensorflow_types.h"

namespace tenon {

constexpr size_t kBundlePieceBytes = 1 << 20;  // of a tensor, read or written at a time

}  // namespace tenon
