// IDX files, the format of MNIST: big-endian `00 00 TYPE RANK | u32 dims[RANK] | elements`, plain or
// gzipped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/status.h"

namespace tenon {

// Elements are unsigned bytes (type 08), the only type that MNIST-like sets use.
struct IdxArray {
  std::vector<int64_t> dims;  // 1 to 4
  std::vector<uint8_t> data;  // row-major, product of dims
};

// Fails when the file is not exactly as long as its header says. Memory grows only with bytes that are
// really there, up to `max_bytes`.
Result<IdxArray> read_idx(const std::string& path, int64_t max_bytes = int64_t{1} << 32);
Result<IdxArray> parse_idx(std::string_view bytes, const std::string& name, int64_t max_bytes = int64_t{1} << 32);

}  // namespace tenon
