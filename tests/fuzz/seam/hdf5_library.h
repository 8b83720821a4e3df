// An HDF5 library that says what the fuzzer wrote, in place of libhdf5, whose own mistakes would end each run: core's reader has to bear
// whatever a library may say of a damaged file, within what the library promises (texts end, what it reads has the size that it gave).
#pragma once

#include <string_view>

namespace tenon::fuzz {

// What the library says from now on, piece by piece; behind the end zeros.
void set_hdf5_answers(std::string_view bytes);

}  // namespace tenon::fuzz
