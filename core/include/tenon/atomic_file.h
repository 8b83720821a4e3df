// A file that appears under its name only when it is complete and on the disk.
//
//   TENON_ASSIGN(AtomicFile file, AtomicFile::create("predictions.csv"));
//   TENON_TRY(file.write("row,class\n"));
//   return file.commit();
//
// The bytes go to a temporary (.NAME.tmp-PID-RANDOM) in the same directory; commit() makes them durable, renames the
// temporary over the file and makes the directory durable. Without commit(), or after an error, the destructor removes
// the temporary, and what was there is untouched. A name that is a link is followed: the file that it leads to is
// replaced, or made, and the link stays. What replaces a file has its permissions, and its owner where the system
// allows it; a file that may not be written is not replaced.
//
// What cannot be replaced (a device, a pipe, what /proc/self/fd names) is refused, or, for outputs that a person named,
// written as it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/status.h"

namespace tenon {

// Small writes are gathered. Movable; one thread at a time.
class AtomicFile {
 public:
  // "invalid" where something other than a regular file has the name.
  static Result<AtomicFile> create(const std::string& path);
  // A device, a pipe and what /proc/self/fd names (/dev/stdout) are written as they are, and what was written stays. A
  // pipe without a reader waits for one; writing to one whose reader has gone raises SIGPIPE.
  static Result<AtomicFile> create_or_write(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile();

  // After an error every later call fails with the same error.
  Status write(const void* data, size_t bytes);
  Status write(std::string_view data) { return write(data.data(), data.size()); }

  // Makes the bytes durable and closes the file, without renaming it yet: a caller with several
  // files finishes them all first, then commits them in the order that readers rely on.
  Status finish();

  // finish(), unless done, then the rename. An acknowledged commit survives a power loss.
  Status commit();

  const std::string& path() const { return path_; }
  int64_t bytes() const { return bytes_; }  // written so far

 private:
  struct Target;
  AtomicFile(std::string path, std::string target, std::string temporary, int fd);
  static Result<Target> target_of(const std::string& path);
  static Result<AtomicFile> beside(const std::string& path, Target target);
  static Result<AtomicFile> in_place(const std::string& path, const Target& target);
  Status write_out(const char* data, size_t bytes);
  Status fail_with(std::string_view what, int error);
  void discard();

  std::string path_;       // as the caller calls it
  std::string target_;     // what is replaced: the same, or where its links lead; empty: it is written in place
  std::string temporary_;  // empty once renamed or removed
  int fd_ = -1;
  int64_t bytes_ = 0;
  std::string gathered_;
  Status failed_;
};

}  // namespace tenon
