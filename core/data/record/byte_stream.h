// Bytes from front to back, from a file, from memory or inflated from either. For the readers of this
// folder.
//
// Damage of the data (a broken compressed stream) has code kInvalid; anything else is the system's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tenon/status.h"

namespace tenon {

class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Reads 1 to `bytes` bytes; 0 only at the end. What comes before damage is given before the error.
  virtual Result<size_t> read(void* out, size_t bytes) = 0;

  // An error when the stream is known to be shorter.
  virtual Status seek(uint64_t offset) = 0;

  // The stream has no more bytes than this: its size, or what that many compressed bytes can become.
  virtual uint64_t limit() const = 0;
};

Result<std::unique_ptr<ByteStream>> open_stream(const std::string& path);
std::unique_ptr<ByteStream> memory_stream(std::string_view bytes);

// GZIP (of one or more members) or ZLIB, told by their headers. `name` is for messages.
Result<std::unique_ptr<ByteStream>> inflate_stream(std::unique_ptr<ByteStream> source, const std::string& name);

// A text file, unpacked where its first bytes are those of GZIP or ZLIB; "x^" alone may begin either, so that what follows decides.
Result<std::unique_ptr<ByteStream>> open_text_stream(const std::string& path);

// Whether a record file that begins so is compressed. A plain one whose first length has a sound checksum is plain, even where
// that length looks like the start of a compressed one.
bool looks_compressed(std::string_view head);
constexpr size_t kCompressionHead = 12;  // bytes of it that are looked at

bool looks_like_gzip(std::string_view head);
bool looks_like_zlib(std::string_view head);

}  // namespace tenon
