#include "base/room.h"

#include <malloc.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "base/strings.h"
#include "tenon/plugin/host_limits.h"

namespace tenon {
namespace {

// Items larger than any image share this much, so that a batch of them stays bounded where the machine has far more.
constexpr uint64_t kHuge = uint64_t{128} << 20;
constexpr uint64_t kHugeTogether = uint64_t{512} << 20;

thread_local ItemRoom* current_item = nullptr;

}  // namespace

// All that items hold. What a thread holds may be used already or not: beside others it counts as not yet used, on top of what
// the system says is left, so that several never take more than there is.
class RoomBudget {
 public:
  // What an item gives back has to reach the system: malloc would keep blocks of up to 32 MiB, for each thread.
  RoomBudget() {
    constexpr uint64_t kMallocKeeps = uint64_t{32} << 20;
    if (kept_ < kMallocKeeps) mallopt(M_MMAP_THRESHOLD, static_cast<int>(kept_));
  }

  uint64_t kept() const { return kept_; }

  Status take(ItemRoom& item, uint64_t bytes, std::string_view what) {
    std::unique_lock lock(mutex_);
    const int mine = item.held_ > 0 ? 1 : 0;
    for (;;) {
      if (may_begin(item)) {
        if (fits(item, bytes)) return grant(item, bytes);
        if (holders_ - waiting_ == mine) break;  // nobody else is at work who could give back
      }
      wait(item, lock);
    }
    // All that is held is used by now: those who hold it wait.
    if (plugin::host_has_room(bytes)) return grant(item, bytes);
    if (holders_ > mine) {
      item.yielded_ = true;
    } else if (malloc_trim(0); plugin::host_has_room(bytes)) {  // malloc had kept it
      return grant(item, bytes);
    }
    return no_room(bytes, what);
  }

  Status look(uint64_t bytes, std::string_view what) {
    const std::lock_guard lock(mutex_);
    if (plugin::host_has_room(held_ + bytes)) return {};
    malloc_trim(0);
    return plugin::host_has_room(held_ + bytes) ? Status() : no_room(bytes, what);
  }

  void give_back(ItemRoom& item) {
    const std::lock_guard lock(mutex_);
    release(item);
    if (alone_ == &item) alone_ = nullptr;
    changed_.notify_all();
  }

  void wait_until_alone(ItemRoom& item) {
    std::unique_lock lock(mutex_);
    release(item);
    changed_.notify_all();
    changed_.wait(lock, [&] { return alone_ == nullptr; });
    alone_ = &item;
    changed_.wait(lock, [&] { return holders_ == 0; });
  }

 private:
  // Who holds something may always go on: others wait for it.
  bool may_begin(const ItemRoom& item) const { return item.held_ > 0 || alone_ == nullptr || alone_ == &item; }

  bool fits(const ItemRoom& item, uint64_t bytes) const {
    const uint64_t others = held_ - item.held_, mine = item.held_ + bytes;
    if (mine > kHuge && huge_ - huge_part(item.held_) > 0 && huge_ - huge_part(item.held_) + mine > kHugeTogether)
      return false;
    return plugin::host_has_room(others + bytes);
  }

  static uint64_t huge_part(uint64_t held) { return held > kHuge ? held : 0; }

  Status grant(ItemRoom& item, uint64_t bytes) {
    huge_ += huge_part(item.held_ + bytes) - huge_part(item.held_);
    if (item.held_ == 0) ++holders_;
    item.held_ += bytes;
    held_ += bytes;
    return {};
  }

  void release(ItemRoom& item) {
    huge_ -= huge_part(item.held_);
    if (item.held_ > 0) --holders_;
    held_ -= item.held_;
    item.held_ = 0;
  }

  void wait(const ItemRoom& item, std::unique_lock<std::mutex>& lock) {
    const bool holds = item.held_ > 0;
    if (holds) {
      ++waiting_;
      changed_.notify_all();  // this may have been the last one at work
    }
    changed_.wait(lock);
    if (holds) --waiting_;
  }

  static Status no_room(uint64_t bytes, std::string_view what) {
    return invalid("no memory for ", what, ": it takes ", bytes, " bytes, ", plugin::host_memory().left, " are left");
  }

  const uint64_t kept_ = std::max(plugin::host_memory().left / 128, kRoomGranule);  // by each of many threads
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t held_ = 0;
  uint64_t huge_ = 0;                // of it, by huge items
  int holders_ = 0;                  // items that hold something
  int waiting_ = 0;                  // of them, those that wait for more
  const ItemRoom* alone_ = nullptr;  // nobody begins beside it
};

namespace {

RoomBudget& budget() {
  static RoomBudget& budget = *new RoomBudget;  // threads of a pool may outlive static objects
  return budget;
}

}  // namespace

Status room_for(uint64_t bytes, std::string_view what) {
  constexpr uint64_t kLarge = 2u << 20;
  if (bytes < kLarge || plugin::host_has_room(bytes)) return {};
  return Status(Code::kOutOfMemory,
                cat("no memory for ", what, ": it takes ", bytes, " bytes, ", plugin::host_memory().left, " are left"));
}

bool room_to_keep(uint64_t bytes) { return bytes < kRoomGranule || bytes <= budget().kept(); }

uint64_t room_left() { return plugin::host_memory().left; }

Status take_room(uint64_t bytes, std::string_view what) {
  if (bytes < kRoomGranule) return {};
  return current_item ? budget().take(*current_item, bytes, what) : budget().look(bytes, what);
}

Status RoomInPieces::take(uint64_t bytes, std::string_view what) {
  constexpr uint64_t kAhead = uint64_t{16} << 20;
  if (bytes > ahead_) {
    TENON_TRY(take_room(bytes + kAhead, what));
    ahead_ = bytes + kAhead;
  }
  ahead_ -= bytes;
  return {};
}

ItemRoom::ItemRoom() : outermost_(current_item == nullptr) {
  if (outermost_) current_item = this;
}

ItemRoom::~ItemRoom() {
  if (!outermost_) return;
  current_item = nullptr;
  if (held_ > 0 || yielded_) budget().give_back(*this);
}

void ItemRoom::wait_until_alone() { budget().wait_until_alone(*this); }

}  // namespace tenon
