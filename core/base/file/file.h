// Files: reading at offsets, and writing so that a reader never meets half a file.
// Every error names the file and the system's reason. Interrupted calls and short transfers are
// handled here, so callers see all of the bytes or an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/atomic_file.h"
#include "tenon/status.h"

namespace tenon {

class Descriptor;

// A regular file, open for reading. Directories, pipes and devices are refused. Movable; reading is
// thread safe.
class File {
 public:
  static Result<File> open(const std::string& path);
  // What was opened, or made, for reading; `path` is for messages.
  static Result<File> of(Descriptor descriptor, const std::string& path);
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }  // when it was opened

  // Reads up to `bytes` bytes at `offset`; fewer only where the file ends.
  Result<size_t> read_at(int64_t offset, void* out, size_t bytes) const;

  // Reads all of `bytes` bytes or fails.
  Status read_exactly_at(int64_t offset, void* out, size_t bytes) const;

  // Tells the system that the file will be read from front to back.
  void advise_sequential() const;
  // Asks the system to fetch these bytes; returns before it has.
  void advise_ahead(int64_t offset, int64_t bytes) const;

 private:
  File(std::string path, int fd, int64_t size) : path_(std::move(path)), fd_(fd), size_(size) {}

  std::string path_;
  int fd_ = -1;
  int64_t size_ = 0;
};

// Writes one file through `writer`, then commits it; nothing remains when `writer` fails.
Status atomic_write(const std::string& path, const std::function<Status(AtomicFile&)>& writer);
Status atomic_write(const std::string& path, std::string_view contents);

// An error when no file can have this name: it is too long for the system, or has a NUL in it, at which the system would
// take it to end and reach another file. What opens, makes or lists here checks it.
Status check_path(const std::string& path);

// How large the regular file is, without opening it.
Result<int64_t> file_bytes(const std::string& path);

// The whole file. Refused before anything is allocated when it is larger than `max_bytes`.
Result<std::string> read_file(const std::string& path, int64_t max_bytes = int64_t{1} << 30);

// The names in `directory` that match the shell pattern (* ? [..]; a leading dot only by a dot), whatever they are, sorted.
// Not recursive. An empty answer is no error, a directory that cannot be read is.
Result<std::vector<std::string>> list_names(const std::string& directory, const std::string& pattern);

// The regular files among them, as DIRECTORY/NAME.
Result<std::vector<std::string>> list_files(const std::string& directory, const std::string& pattern);

// Makes `directory` and its missing parents.
Status make_directories(const std::string& directory);

// No error where there is none.
Status remove_file(const std::string& path);

// Makes renames and removals in `directory` durable.
Status sync_directory(const std::string& directory);

// NAME for the name of what an AtomicFile writes until NAME is complete; "" for any other. Of a very long NAME the beginning.
std::string_view target_of_temporary(std::string_view name);

// Removes what AtomicFiles left in `directory` whose NAME matches the shell pattern. REQUIRED: nobody writes those now.
Status remove_temporaries(const std::string& directory, const std::string& pattern);

// Removes what AtomicFiles of processes that ended left of `path`: those of no process here which nobody wrote to for an hour,
// as another machine may.
void remove_left_temporaries(const std::string& path);

// DIR and NAME of DIR/NAME; of NAME alone "." and itself.
inline std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}
inline std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// "invalid" or "unavailable" with `WHAT 'PATH': REASON`; the code says whether the path or the
// machine is to blame.
Status file_error(std::string_view what, const std::string& path, int error);

}  // namespace tenon
