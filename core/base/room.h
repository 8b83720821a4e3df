// Whether the system has memory for something large, before it is taken: the kernel promises more than there is, and ends
// the process that uses it. What is small, below 1 MiB or so, is not worth asking for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tenon/status.h"

namespace tenon {

// kOutOfMemory, with what is needed and what is left for this process, unless `bytes` more can be had. `what` is for the
// message. Thread safe; not for a step.
Status room_for(uint64_t bytes, std::string_view what);

// What is left for this process now.
uint64_t room_left();

constexpr uint64_t kRoomGranule = uint64_t{1} << 20;  // take_room admits less without a look

// Admits `bytes` for what a file makes a thread take, a record or an image. All that threads hold comes out of what is left for
// the process. Inside an ItemRoom it waits until other items have given back; elsewhere it only looks. kInvalid, as for a
// damaged item, when it does not fit though nobody else holds anything. Thread safe.
Status take_room(uint64_t bytes, std::string_view what);

// Whether a thread may keep so much for its next item, which is faster than to take it again: little of what was left at first.
bool room_to_keep(uint64_t bytes);

// For take_room ahead of a vector that doubles.
template <class T>
Status take_room_to_grow(const std::vector<T>& items, std::string_view what) {
  const uint64_t bytes = uint64_t{2} * items.capacity() * sizeof(T);
  return items.size() < items.capacity() || bytes < kRoomGranule ? Status() : take_room(bytes, what);
}

// For what grows in small pieces: take_room for many of them at once.
class RoomInPieces {
 public:
  Status take(uint64_t bytes, std::string_view what);

 private:
  uint64_t ahead_ = 0;  // admitted, not yet used
};

// What one thread takes for one item, until its end: the memory itself has been freed by then. Inside another one of the
// same thread it is nothing. Costs nothing where nothing large is taken.
class ItemRoom {
 public:
  ItemRoom();
  ~ItemRoom();
  ItemRoom(const ItemRoom&) = delete;
  ItemRoom& operator=(const ItemRoom&) = delete;

  // Makes the item: work() returns a Status and leaves nothing behind when it fails. It is called again, with no other item
  // beside it, where items that each held a part waited for one another.
  template <class Work>
  Status run(const Work& work) {
    Status status = work();
    if (!yielded_) return status;
    wait_until_alone();
    return work();
  }

 private:
  friend class RoomBudget;
  void wait_until_alone();

  bool outermost_;
  bool yielded_ = false;
  uint64_t held_ = 0;
};

}  // namespace tenon
