#include "launch.h"
#include "table.h"

namespace opencl_gpu {

void add_movement(KernelTable&) {}

}  // namespace opencl_gpu
