// A directory of files that nobody keeps.
#pragma once

#include <string>

namespace tenon::runner {

// For the owner alone, where the system has such directories (TMPDIR); it is removed with all that is in it.
class TemporaryDirectory {
 public:
  // Throws Error.
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace tenon::runner
