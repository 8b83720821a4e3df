// What the core offers to backends.
#pragma once

#include <string>

#include "backend/host/cache.h"
#include "tenon/abi/plugin.h"

namespace tenon {

// The host of one backend: who it is, and its table, whose ctx is this. Lives as long as the
// backend's table, for ever. Its gang is the process's pool; its cache_get copies nothing where data
// is NULL or there is too little room, sets *bytes and, in the second case, says INVALID.
class BackendHost {
 public:
  // `fingerprint` of its library (sealed_copy.h): what its cache entries belong to.
  BackendHost(std::string name, std::string fingerprint);
  BackendHost(const BackendHost&) = delete;
  BackendHost& operator=(const BackendHost&) = delete;

  // For real use: starts the process's pool.
  const tenon_host& table();
  // For a child process that only tries the backend: one thread, and a cache that is always empty.
  const tenon_host& trial_table();

  const std::string& name() const { return name_; }
  BackendCache& cache() { return cache_; }

 private:
  tenon_host common();

  std::string name_;
  BackendCache cache_;
  tenon_host table_{};
};

}  // namespace tenon
