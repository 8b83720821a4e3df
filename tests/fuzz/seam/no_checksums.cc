// Every CRC-32C is 0, in place of core/base/crc32c.cc: the checksums of a seed (d8 ea 82 a2, 0 masked) stay good when its
// data are mutated, so that what stands behind them is reached.
#include "base/crc32c.h"

namespace tenon {

uint32_t crc32c_extend(uint32_t, const void*, size_t) { return 0; }
uint32_t crc32c_extend_portable(uint32_t, const void*, size_t) { return 0; }

}  // namespace tenon
