// How TFRecord frames a record: u64 length, u32 masked CRC-32C of it, the data, u32 masked CRC-32C of them.
#pragma once

#include <cstdint>
#include <cstring>

namespace tenon {

constexpr int64_t kRecordHeader = 12;  // bytes before the data
constexpr int64_t kRecordFooter = 4;   // bytes behind it

// A longer record is taken for damage: a sparse file may claim any length without having the bytes.
constexpr uint64_t kMaxRecordBytes = uint64_t{1} << 30;

// A number of a frame; nothing there is aligned.
template <class T>
T load_unaligned(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace tenon
