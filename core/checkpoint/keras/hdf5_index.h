// An Hdf5Index as bytes, from the child process and back, and what of it is believed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "checkpoint/keras/hdf5_part.h"
#include "tenon/status.h"
#include "tenon/types.h"

namespace tenon {

std::string bytes_of(const Hdf5Index& index);
// None where they are not what bytes_of() gives.
std::optional<Hdf5Index> index_of(std::string_view bytes);
// An error where a dataset is of another size than its shape says, or lies beyond the end of its file; `path` is for the
// message.
Status check_places(const Hdf5Index& index, const std::string& path, int64_t file_bytes, int64_t decoded_bytes);

DType dtype_of(Hdf5Type type);  // kNone: none that Tenon has
Hdf5Type hdf5_type(DType dtype);

}  // namespace tenon
