#include "exchange/shared_room.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "exchange/collectives.h"

namespace tenon {
namespace {

constexpr size_t kLine = 64, kPage = 4096;
constexpr int kKinds = 3;  // of marks

// Before the marks: by it a process knows that it sees the memory of its job.
struct Head {
  uint64_t token;
};
static_assert(sizeof(Head) <= kLine && SharedRoom::Mark::is_always_lock_free);

// What process 0 tells the others.
struct Offer {
  int64_t pid, file;
  uint64_t token;
};

size_t mark_bytes(int count) {
  const size_t marks = static_cast<size_t>(count) * static_cast<size_t>(count) * kKinds;
  return (kLine * (1 + marks) + kPage - 1) / kPage * kPage;
}

// A file over the limit of its user would end the process with SIGXFSZ.
bool may_have(size_t bytes) {
  rlimit most;
  return ::getrlimit(RLIMIT_FSIZE, &most) == 0 && (most.rlim_cur == RLIM_INFINITY || most.rlim_cur >= bytes);
}

}  // namespace

SharedRoom::SharedRoom(int count)
    : count_(count),
      mark_bytes_(mark_bytes(count)),
      bytes_(mark_bytes_ + static_cast<size_t>(count) * kSlots * kSlotBytes) {}

SharedRoom::~SharedRoom() {
  if (memory_) ::munmap(memory_, bytes_);
  if (file_ >= 0) ::close(file_);
}

SharedRoom::Mark& SharedRoom::mark(int kind, int owner, int by) const {
  const auto number = static_cast<size_t>((kind * count_ + owner) * count_ + by);
  return *reinterpret_cast<Mark*>(memory_ + kLine * (1 + number));
}

bool SharedRoom::map(int file) {
  void* const memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = static_cast<std::byte*>(memory);
  slots_ = memory_ + mark_bytes_;
  return true;
}

// All its pages are there from the start, and no file of that size shrinks: nothing is missing when it is written.
bool SharedRoom::create(uint64_t token) {
  if (!may_have(bytes_)) return false;
  file_ = ::memfd_create("tenon exchange", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file_ < 0 || ::posix_fallocate(file_, 0, static_cast<off_t>(bytes_)) != 0) return false;
  if (::fcntl(file_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 || !map(file_)) return false;
  reinterpret_cast<Head*>(memory_)->token = token;
  return true;
}

bool SharedRoom::see(int64_t pid, int64_t number, uint64_t token) {
  const int file = number < 0 ? -1 : ::open(cat("/proc/", pid, "/fd/", number).c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return false;
  struct stat found;
  const bool whole = ::fstat(file, &found) == 0 && static_cast<size_t>(found.st_size) == bytes_ && map(file);
  ::close(file);
  return whole && reinterpret_cast<const Head*>(memory_)->token == token;
}

Result<std::unique_ptr<SharedRoom>> SharedRoom::open(Wire& wire) {
  if (!wire.is_on_one_host()) return {nullptr};
  std::unique_ptr<SharedRoom> out(new SharedRoom(wire.count()));
  Offer offer{::getpid(), -1, 0};
  if (wire.rank() == 0 && ::getrandom(&offer.token, sizeof offer.token, 0) == sizeof offer.token &&
      out->create(offer.token))
    offer.file = out->file_;
  TENON_TRY(broadcast(wire, 0, &offer, sizeof offer));
  const uint8_t sees = wire.rank() == 0 ? offer.file >= 0 : out->see(offer.pid, offer.file, offer.token);
  std::vector<uint8_t> all(static_cast<size_t>(wire.count()));
  TENON_TRY(all_gather(wire, &sees, all.data(), 1));
  if (std::count(all.begin(), all.end(), 1) != wire.count()) return {nullptr};
  if (out->file_ >= 0) ::close(std::exchange(out->file_, -1));
  return out;
}

}  // namespace tenon
