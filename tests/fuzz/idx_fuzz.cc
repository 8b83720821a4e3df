// IDX files, plain and gzipped.
#include <cstdlib>

#include "data/convert/idx.h"

using namespace tenon;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Result<IdxArray> array = parse_idx({reinterpret_cast<const char*>(data), size}, "f", 1 << 20);
  if (!array.ok()) return 0;
  size_t product = 1;
  for (const int64_t dim : array->dims) product *= static_cast<size_t>(dim);
  if (array->data.size() != product || product > size_t{1} << 20) std::abort();
  return 0;
}
