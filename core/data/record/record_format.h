// How TFRecord frames a record: u64 length, u32 masked CRC-32C of it, the data, u32 masked CRC-32C of them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/crc32c.h"

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

// REQUIRED: `header` has kRecordHeader bytes.
inline bool record_header_is_sound(const char* header) {
  return crc32c_unmask(load_unaligned<uint32_t>(header + 8)) == crc32c(header, 8);
}

// What stands around a record.
class RecordFrame {
 public:
  explicit RecordFrame(std::string_view record) {
    const uint64_t length = record.size();
    const uint32_t of_record = crc32c_mask(crc32c(record));
    const uint32_t of_length = crc32c_mask(crc32c(&length, sizeof length));
    std::memcpy(header_, &length, sizeof length);
    std::memcpy(header_ + sizeof length, &of_length, sizeof of_length);
    std::memcpy(footer_, &of_record, sizeof of_record);
  }
  const char* header() const { return header_; }  // kRecordHeader bytes
  const char* footer() const { return footer_; }  // kRecordFooter bytes

 private:
  char header_[kRecordHeader], footer_[kRecordFooter];
};

}  // namespace tenon
