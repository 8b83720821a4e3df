#include "conformance/suites/memory/folded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "conformance/host/harness.h"

namespace tenon::conformance {
namespace {

constexpr uint64_t kFold = 64u << 20;

uint64_t round_up(uint64_t bytes, uint64_t to) { return (bytes + to - 1) / to * to; }

// Maps the file again and again over [at, at + bytes).
bool fold(uint8_t* at, uint64_t bytes, int file) {
  for (uint64_t done = 0; done < bytes; done += kFold)
    if (mmap(at + done, std::min(kFold, bytes - done), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) ==
        MAP_FAILED)
      return false;
  return true;
}

}  // namespace

FoldedMemory::FoldedMemory(uint64_t bytes, uint64_t kept) : bytes_(bytes), mapped_(round_up(bytes, 4096)) {
  const uint64_t own = round_up(kept, 4096) + 4096;
  void* all = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) throw Unavailable{"there are no addresses for " + std::to_string(bytes >> 30) + " GiB"};
  data_ = static_cast<uint8_t*>(all);
  const int file = memfd_create("folded", MFD_CLOEXEC);
  const bool good = file >= 0 && ftruncate(file, kFold) == 0 && (mapped_ <= own || fold(data_, mapped_ - own, file));
  if (file >= 0) close(file);
  if (good) return;
  munmap(data_, mapped_);
  throw Unavailable{"memory cannot be mapped more than once here"};
}

FoldedMemory::~FoldedMemory() { munmap(data_, mapped_); }

}  // namespace tenon::conformance
