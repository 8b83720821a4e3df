// Memory that runs out at the n-th allocation. Include it in one file of a program: it has the operators new.
#pragma once

#include <atomic>
#include <cstdlib>
#include <new>

namespace tenon::memory {

inline thread_local bool limited = false;
inline thread_local int left = 0;
inline std::atomic<int64_t> live{0};  // allocations that were not given back

// While it lives, the allocation after `n` more of this thread fails.
struct Limit {
  explicit Limit(int n) { left = n, limited = true; }
  ~Limit() { limited = false; }
};

inline void* allocate_or_null(size_t bytes) noexcept {
  if (limited && left-- == 0) return nullptr;
  void* p = std::malloc(bytes ? bytes : 1);
  if (p) ++live;
  return p;
}
inline void* allocate(size_t bytes) {
  if (void* p = allocate_or_null(bytes)) return p;
  throw std::bad_alloc();
}
inline void give_back(void* p) noexcept {
  if (p) --live;
  std::free(p);
}

}  // namespace tenon::memory

void* operator new(size_t bytes) { return tenon::memory::allocate(bytes); }
void* operator new[](size_t bytes) { return tenon::memory::allocate(bytes); }
// The library's call the two above; a sanitizer's do not.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return tenon::memory::allocate_or_null(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return tenon::memory::allocate_or_null(bytes); }
void operator delete(void* p) noexcept { tenon::memory::give_back(p); }
void operator delete[](void* p) noexcept { tenon::memory::give_back(p); }
void operator delete(void* p, size_t) noexcept { tenon::memory::give_back(p); }
void operator delete[](void* p, size_t) noexcept { tenon::memory::give_back(p); }
