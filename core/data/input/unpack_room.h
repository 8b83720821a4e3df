// Where the records of compressed files lie while they are used.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/descriptor.h"
#include "base/file/file.h"

namespace tenon {

// A file without a name. One thread appends to it.
class UnpackSpace {
 public:
  static Result<UnpackSpace> create(const std::string& directory);
  Status append(std::string_view bytes);
  int64_t bytes() const { return bytes_; }
  const std::shared_ptr<const File>& file() const { return file_; }

 private:
  std::string directory_;
  Descriptor writer_;
  std::shared_ptr<const File> file_;
  int64_t bytes_ = 0;
};

// Spaces in temporary_directory(), as many as threads want one at once: few files are open. Thread safe.
class UnpackRoom {
 public:
  // One for the caller alone, until it is destroyed. REQUIRED: the room outlives it.
  class Loan {
   public:
    Loan(UnpackRoom& room, UnpackSpace space) : room_(room), space_(std::move(space)) {}
    Loan(Loan&& other) noexcept : room_(other.room_), space_(std::exchange(other.space_, std::nullopt)) {}
    ~Loan();
    UnpackSpace* operator->() { return &*space_; }
    UnpackSpace& operator*() { return *space_; }

   private:
    UnpackRoom& room_;
    std::optional<UnpackSpace> space_;
  };
  Result<Loan> lend();

 private:
  std::string directory_ = temporary_directory();
  std::mutex mutex_;
  std::vector<UnpackSpace> free_;
};

}  // namespace tenon
