#include "runtime/host/host_driver.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tenon/plugin/host_limits.h"

namespace tenon::plugin {
namespace {

constexpr uint64_t kHugePage = 2u << 20;

uint64_t round_up(uint64_t bytes, uint64_t to) { return (bytes + to - 1) / to * to; }

// Fresh mappings are zero already; each thread of a gang has its part.
struct Pages {
  uint8_t* p;
  uint64_t bytes;
  static void touch(void* arg, uint32_t index, uint32_t count) {
    const Pages& pages = *static_cast<const Pages*>(arg);
    const uint64_t huge = pages.bytes / kHugePage + 1;
    const uint64_t end = std::min(pages.bytes, huge * (index + 1) / count * kHugePage);
    for (uint64_t at = huge * index / count * kHugePage; at < end; at += 4096)
      static_cast<volatile uint8_t*>(pages.p)[at] = 0;
  }
};

uint8_t* map_huge(uint64_t bytes) {
  const uint64_t room = round_up(bytes, kHugePage) + kHugePage;  // one more, to align by hand
  void* p = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  const auto start = reinterpret_cast<uintptr_t>(p);
  const uint64_t before = round_up(start, kHugePage) - start, size = round_up(bytes, kHugePage);
  uint8_t* aligned = static_cast<uint8_t*>(p) + before;
  if (before) munmap(p, before);
  if (const uint64_t after = room - before - size) munmap(aligned + size, after);
  madvise(aligned, size, MADV_HUGEPAGE);
  return aligned;
}

uint8_t* map(uint64_t size) {
  return size >= kHugePage ? map_huge(size) : static_cast<uint8_t*>(std::aligned_alloc(64, size));
}

}  // namespace

uint64_t HostDriver::installed() {
  static const uint64_t bytes = host_memory().limit;
  return bytes;
}

// Pages are made here, never inside a step.
void HostDriver::first_touch(uint8_t* p, uint64_t bytes) const {
  constexpr uint64_t kForAll = 2 * kHugePage;
  Pages pages{p, bytes};
  if (bytes < kHugePage)
    std::memset(p, 0, bytes);
  else if (bytes >= kForAll && host_ && host_->gang)
    host_->gang(host_->ctx, host_->threads, Pages::touch, &pages);
  else
    Pages::touch(&pages, 0, 1);
}

void* HostDriver::allocate(uint64_t bytes) {
  const uint64_t size = round_up(std::max<uint64_t>(bytes, 64), 64);
  if (size >= kHugePage && !host_has_room(size)) return nullptr;  // it would only swap or kill
  uint8_t* p = map(size);
  if (p) first_touch(p, size);
  return p;
}

void HostDriver::release(void* memory, uint64_t bytes) {
  const uint64_t size = round_up(std::max<uint64_t>(bytes, 64), 64);
  if (size >= kHugePage)
    munmap(memory, round_up(size, kHugePage));
  else
    std::free(memory);
}

}  // namespace tenon::plugin
