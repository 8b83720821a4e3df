// An Hdf5Index as bytes, from the child process and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/keras/hdf5_part.h"

namespace tenon {

std::string bytes_of(const Hdf5Index& index);
// None where they are not what bytes_of() gives.
std::optional<Hdf5Index> index_of(std::string_view bytes);

}  // namespace tenon
