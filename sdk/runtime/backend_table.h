// What the makers of backends (host_backend, device_backend) share at init.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tenon/plugin/entry.h"
#include "tenon/plugin/kernel.h"

namespace tenon::plugin {

// Throws INVALID for a table with a kernel that nothing would ever ask for: an op that is neither Tenon's nor, by a
// dot or the backend's name in front, the backend's own.
void check_ops(const char* backend, const KernelTable& table);

// A table has no end: what it points to lives for ever, where a leak checker sees it.
template <class Backend>
Backend* keep_for_ever(std::unique_ptr<Backend> backend) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<std::unique_ptr<Backend>>;
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(backend));
  return kept.back().get();
}

// What tenon_backend_init gives: `entries` and, as self, a Backend {config, host, table} with its kernels.
template <class Backend, class Config>
tenon_backend make_table(const Config& config, const tenon_host* host, tenon_backend entries) {
  auto backend = std::make_unique<Backend>();
  backend->config = &config;
  if (host) backend->host = known(host);
  check_flags(backend->host.flags, 0, "tenon_backend_init");
  config.fill(backend->table);
  check_ops(config.name, backend->table);
  entries.abi_major = TENON_ABI_MAJOR;
  entries.abi_minor = TENON_ABI_MINOR;
  entries.self = keep_for_ever(std::move(backend));
  entries.name = config.name;
  entries.version = config.version;
  return entries;
}

}  // namespace tenon::plugin
