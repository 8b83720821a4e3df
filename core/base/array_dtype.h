// Arrays of another dtype.
#pragma once

#include <cstddef>
#include <span>

#include "tenon/array.h"

namespace tenon {

// The same numbers at `to`, in the same order: floats rounded to nearest even, integers without what is behind the point, bools
// whether it is not 0. Integers that do not fit throw Error. REQUIRED: `to` has room for them.
void convert_numbers(DType from, std::span<const std::byte> numbers, DType dtype, std::byte* to);
// The same of an array.
Array as_dtype(const Array& value, DType dtype);

}  // namespace tenon
