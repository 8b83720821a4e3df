// The small persistent store that backends have for compiled code and tuning: files in
// $XDG_CACHE_HOME/tenon or ~/.cache/tenon, which it makes for the user alone. A directory that is a link, another user's or
// writable for others is not used and stays as it is, which one line says; work goes on without a cache. What it did not write
// is never removed, changed or counted.
//
// An entry belongs to the plugin file that wrote it: a rebuilt plugin starts afresh. What is read is
// what was written or a miss, whatever happened to the file. All entries together stay below
// kCacheBytes; the least recently used go first. Any number of threads and processes may use it.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "tenon/status.h"

namespace tenon {

constexpr uint64_t kCacheBytes = 64u << 20;
constexpr uint64_t kCacheEntryBytes = 16u << 20;  // with its key

class BackendCache {
 public:
  // `fingerprint`: of the library that the entries belong to.
  explicit BackendCache(std::string fingerprint) : fingerprint_(std::move(fingerprint)) {}

  // kUnavailable: a miss, or there is no cache here.
  Result<std::string> get(std::string_view key);
  // Replaces what is there.
  Status put(std::string_view key, std::string_view data);

 private:
  std::string fingerprint_;
};

}  // namespace tenon
