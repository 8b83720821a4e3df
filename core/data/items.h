// Work on many items by the threads of a pool: the one place where conversions and indexing make tasks.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "tenon/status.h"

namespace tenon {

class ThreadPool;

// Calls work(i) for each i < n on the pool's threads and this one; without a pool on this one alone. Returns what came of
// each; what `work` throws is its item's error. Every call has ended when this returns or throws.
std::vector<Status> for_each_item(ThreadPool* pool, size_t n, const std::function<Status(size_t)>& work);

}  // namespace tenon
