// What a backend must not do as it is loaded, and what would harm a host that carried on.
#pragma once

#include <string>

#include "tenon/status.h"

namespace tenon {

// For a child that tries a backend: remembers the process as it was. What the backend has done since
// is an error that says so: closed the standard streams, started a process or a timer, changed the directory.
class Conduct {
 public:
  Conduct();
  Status check() const;
  // The same later on, when drivers may have started compilers and the like.
  Status check_after_use() const;
  // Whether this process has more than one thread by now.
  static bool has_threads();

 private:
  Status check_surroundings(const char* when) const;
  std::string directory_;
  bool open_[3];
};

}  // namespace tenon
