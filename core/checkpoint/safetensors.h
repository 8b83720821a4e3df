// Files of tensors in the safetensors format: u64 size of the header | header in JSON | the tensors' bytes, little-endian and
// row-major, without holes. https://huggingface.co/docs/safetensors, version 0.4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/file.h"
#include "checkpoint/tensor_bundle.h"
#include "tenon/types.h"

namespace tenon {

// What the header says of one tensor.
struct SafetensorsEntry {
  DType dtype = DType::kNone;  // kNone: a type that Tenon does not have
  std::string dtype_text;      // "F32"
  Shape shape;
  int64_t offset = 0;  // in the buffer, which follows the header
  int64_t size = 0;    // bytes

  std::string str() const;  // "f32[784,10]", "F8_E4M3[2]"
};

struct SafetensorsHeader {
  std::map<std::string, SafetensorsEntry, std::less<>> entries;
  std::map<std::string, std::string> metadata;
};

constexpr int64_t kMostSafetensorsHeader = 100'000'000;  // bytes, as the format's own library has it

// `json` stands before so many bytes of buffer. Names that stand twice, values nested deeper than the format has them, sizes
// that do not match their types, holes, overlaps and what exceeds the buffer are errors that begin with `file`.
Result<SafetensorsHeader> parse_safetensors_header(std::string_view json, int64_t buffer_bytes, std::string_view file);

// Reads a file. Nothing that it says is believed: its sizes are held against the file's before anything is allocated. The
// format has no checksums. Errors name file and tensor. Movable; reading is thread safe.
class SafetensorsReader {
 public:
  static Result<SafetensorsReader> open(const std::string& path);

  const std::string& path() const { return file_.path(); }
  const std::map<std::string, SafetensorsEntry, std::less<>>& entries() const { return header_.entries; }
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }

  // The tensor's bytes; `out` must have the size of its type. On an error `out` is unspecified.
  Status read(std::string_view name, std::span<std::byte> out) const;

 private:
  SafetensorsReader(File file, SafetensorsHeader header, int64_t buffer)
      : file_(std::move(file)), header_(std::move(header)), buffer_(buffer) {}

  File file_;
  SafetensorsHeader header_;
  int64_t buffer_;  // where it begins in the file
};

// A tensor that is to be written, and what gives its bytes.
struct TensorSource {
  std::string name;
  Type type;
  FillBytes fill;
};

// Writes a file, which is there whole or not at all. Larger elements come first, so that all are aligned.
Status write_safetensors(const std::string& path, std::vector<TensorSource> tensors,
                         const std::map<std::string, std::string>& metadata = {});

}  // namespace tenon
