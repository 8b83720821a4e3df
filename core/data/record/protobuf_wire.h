// The protobuf wire format, as far as tf.train.Example needs it. Every read is checked against the end
// of the bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::wire {

enum Type : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

constexpr uint32_t tag(uint32_t field, Type type) { return field << 3 | type; }

// Takes a varint off the front; false when it does not end or is longer than 10 bytes.
inline bool take_varint(std::string_view* in, uint64_t* value) {
  uint64_t result = 0;
  const size_t limit = in->size() < 10 ? in->size() : 10;
  for (size_t i = 0; i < limit; ++i) {
    const uint8_t byte = static_cast<uint8_t>((*in)[i]);
    result |= static_cast<uint64_t>(byte & 127) << (7 * i);
    if (byte >= 128) continue;
    in->remove_prefix(i + 1);
    *value = result;
    return true;
  }
  return false;
}

inline bool take_fixed(std::string_view* in, size_t bytes, std::string_view* value) {
  if (in->size() < bytes) return false;
  *value = in->substr(0, bytes);
  in->remove_prefix(bytes);
  return true;
}

// One field: its tag and, for kBytes, kFixed64 and kFixed32, its contents. Groups are refused.
struct Field {
  uint32_t tag = 0;
  std::string_view contents;
  uint64_t varint = 0;

  uint32_t number() const { return tag >> 3; }
};

inline bool take_field(std::string_view* in, Field* field) {
  uint64_t tag, length;
  if (!take_varint(in, &tag) || tag >> 32 != 0 || tag >> 3 == 0) return false;
  field->tag = static_cast<uint32_t>(tag);
  switch (tag & 7) {
    case kVarint:
      return take_varint(in, &field->varint);
    case kFixed64:
      return take_fixed(in, 8, &field->contents);
    case kFixed32:
      return take_fixed(in, 4, &field->contents);
    case kBytes:
      return take_varint(in, &length) && take_fixed(in, length, &field->contents);
    default:
      return false;
  }
}

inline void put_varint(std::string& out, uint64_t value) {
  for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
  out += static_cast<char>(value);
}

inline size_t varint_size(uint64_t value) {
  size_t size = 1;
  for (; value >= 128; value >>= 7) ++size;
  return size;
}

inline void put_bytes(std::string& out, uint32_t field, std::string_view contents) {
  put_varint(out, tag(field, kBytes));
  put_varint(out, contents.size());
  out += contents;
}

}  // namespace tenon::wire
