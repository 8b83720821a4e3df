// What tenon_host's cache_get and cache_put keep. Any thread.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tenon/abi/plugin.h"

namespace tenon::conformance {

// In memory, and where there is a folder in files of it too, which the next process finds.
class Cache {
 public:
  // From now on; `library`: the backend's file, whose bytes count as part of every key. Throws where the folder cannot be had.
  void keep_in(const std::string& folder, const std::string& library);
  tenon_code get(const std::string& key, void* data, uint64_t* bytes);
  tenon_code put(const std::string& key, const void* data, uint64_t bytes);
  // Spoils every entry, which stays as long as it is; in memory alone. How many there were.
  size_t damage();

 private:
  std::string file_of(const std::string& key) const;  // "": there is no folder

  std::mutex mutex_;
  std::map<std::string, std::vector<uint8_t>> entries_;
  std::string folder_;
  uint64_t library_ = 0;  // a hash of its bytes
};

}  // namespace tenon::conformance
