// Boxes of elements that move from one array to another.
#pragma once

#include "device/launch.h"
#include "tenon/plugin/strided.h"

namespace opencl_gpu {

// The unsigned integer of an element's width, in OpenCL C.
const char* element_type(int64_t bytes);

// Launches that put a box of x, operand `operand`, in its place in y, result 0; the strides of x come first.
Launch move_launch(Driver& driver, const tenon::plugin::Walk<2>& walk, int64_t element_bytes, int operand);

// Copies `bytes` of operand i to result i, unless they are the same memory.
void copy_through(const Call& call, int i, uint64_t bytes);

}  // namespace opencl_gpu
