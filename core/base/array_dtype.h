// Arrays of floats of another dtype.
#pragma once

#include "tenon/array.h"

namespace tenon {

// The same numbers, rounded to nearest even. REQUIRED: both dtypes are floats.
Array as_dtype(const Array& value, DType dtype);

}  // namespace tenon
