// A private copy of a library, in memory that nobody can write: what is checked and tried is then what is loaded, whatever
// happens to the file meanwhile or later.
#pragma once

#include <cstdint>
#include <string>

#include "base/file/descriptor.h"
#include "base/file/file.h"
#include "tenon/status.h"

namespace tenon {

// Lives as long as this, and as what the dynamic linker has mapped of it. Movable. A child process inherits it.
class SealedCopy {
 public:
  // Copies a regular file of at most kMaxLibraryBytes. An error's message is the cause alone.
  static Result<SealedCopy> make(const std::string& path);

  // The path of the file that was copied.
  const std::string& path() const { return path_; }
  // By what the copy can be opened in this process and in its children. No two copies have the same.
  const std::string& place() const { return place_; }
  // What tells these contents, under the file's name, from others: "cpu.so 5934304 2864434397 ".
  std::string fingerprint() const;

 private:
  SealedCopy(std::string path, Descriptor copy) : path_(std::move(path)), copy_(std::move(copy)) {}
  Status fill(const File& file);

  std::string path_, place_;
  Descriptor copy_;
  uint64_t bytes_ = 0;
  uint32_t crc_ = 0;
};

constexpr uint64_t kMaxLibraryBytes = uint64_t{1} << 30;

}  // namespace tenon
