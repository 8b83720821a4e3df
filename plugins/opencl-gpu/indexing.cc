#include "launch.h"
#include "table.h"

namespace opencl_gpu {

void add_indexing(KernelTable&) {}

}  // namespace opencl_gpu
