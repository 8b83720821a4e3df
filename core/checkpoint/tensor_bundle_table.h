// The index file of a checkpoint: a sorted table of strings in LevelDB's table format.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/status.h"

namespace tenon {

constexpr uint64_t kTableMagic = 0xdb4775248b80fb57;  // ends the footer

// The bytes of a table with the settings TensorFlow writes: no compression, blocks of 256 KiB,
// restarts every 16 keys, no filter.
std::string encode_table(const std::map<std::string, std::string>& entries);

// Keys and values in order. Every byte is accounted for: blocks must tile the file and carry a valid
// CRC, the footer must be exact. Blocks may be snappy-compressed, as TensorFlow's are. Memory stays
// within a small multiple of the input whatever the input says. Messages start with `file`.
Result<std::vector<std::pair<std::string, std::string>>> decode_table(std::string_view bytes, std::string_view file);

}  // namespace tenon
