#include "launch.h"
#include "table.h"

namespace opencl_gpu {

void add_convolutions(KernelTable&) {}

}  // namespace opencl_gpu
