// The host table of the suite. Private to subject.cc; suites see its log.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "conformance/host/cache.h"
#include "conformance/host/gang.h"
#include "conformance/host/subject.h"

namespace tenon::conformance {

// A gang on real threads, a log, a cache, backends that lie beside the one under test. Lives for
// ever, as the ABI promises: a backend may keep the table.
class Host {
 public:
  Host(const std::string& library, uint32_t threads);
  const tenon_host* table() const { return &table_; }
  const HostLog& log() const { return log_; }
  Gang& gang() { return gang_; }
  Cache& cache() { return cache_; }

 private:
  static void on_log(void* ctx, int32_t level, const char* text);
  static uint32_t on_gang(void* ctx, uint32_t want, Gang::Fn fn, void* arg);
  static tenon_status on_cache_get(void* ctx, const char* key, void* data, uint64_t* bytes);
  static tenon_status on_cache_put(void* ctx, const char* key, const void* data, uint64_t bytes);
  static tenon_status on_open_backend(void* ctx, const char* name, tenon_backend* out);
  const tenon_backend* load(const std::string& name);

  std::string folder_;
  std::mutex mutex_;  // of the log; never held while a backend runs
  HostLog log_;
  Cache cache_;
  std::map<std::string, tenon_backend> backends_;  // an entry without name is being loaded, or is the one under test
  Gang gang_;
  tenon_host table_{};
};

// Loads a library and calls its init with `host`. Throws.
tenon_backend load_backend(const std::string& path, const tenon_host* host);

}  // namespace tenon::conformance
