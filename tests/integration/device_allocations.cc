#include "integration/device_allocations.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define TENON_COUNTS 0
#else
#define TENON_COUNTS 1
#endif

namespace tenon::device_testing {
namespace {
std::atomic<uint64_t> count{0};
}
bool counts_allocations() { return TENON_COUNTS; }
uint64_t allocations() { return count.load(); }
}  // namespace tenon::device_testing

#if TENON_COUNTS
// The program's malloc comes before the C library's for every library that is loaded later too; operator new calls it.
#define TENON_EXPORT extern "C" __attribute__((visibility("default")))

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}

TENON_EXPORT void* malloc(size_t n) {
  tenon::device_testing::count.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(n);
}
TENON_EXPORT void* calloc(size_t n, size_t size) {
  tenon::device_testing::count.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(n, size);
}
TENON_EXPORT void* realloc(void* p, size_t n) {
  tenon::device_testing::count.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(p, n);
}
TENON_EXPORT void* memalign(size_t alignment, size_t n) {
  tenon::device_testing::count.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, n);
}
TENON_EXPORT void* aligned_alloc(size_t alignment, size_t n) { return memalign(alignment, n); }
TENON_EXPORT int posix_memalign(void** out, size_t alignment, size_t n) {
  *out = memalign(alignment, n);
  return *out ? 0 : ENOMEM;
}
#endif
