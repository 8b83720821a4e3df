// What the makers of backends (host_backend, device_backend) share at init.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tenon/plugin/kernel.h"

namespace tenon::plugin {

// Throws INVALID for a table with a kernel that nothing would ever ask for: an op that is neither Tenon's nor, by a dot or
// the backend's name in front, the backend's own.
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

}  // namespace tenon::plugin
