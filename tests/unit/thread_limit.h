// The system gives this process only so many more threads. Included by one file of a program, whose pthread_create it is:
// a test program, or a library that is preloaded.
#pragma once

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include <atomic>

namespace tenon::test {

inline std::atomic<int> threads_left{-1};  // -1: any number

}  // namespace tenon::test

extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                                     const pthread_attr_t* attributes,
                                                                     void* (*start)(void*), void* argument) noexcept {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto real = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  std::atomic<int>& left = tenon::test::threads_left;
  if (left == 0) return EAGAIN;  // as with ulimit -u, or a cgroup's pids.max
  if (left > 0) --left;
  return real(thread, attributes, start, argument);
}
