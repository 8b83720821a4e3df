// Memory that the processes of a job see together where one machine has them all: arrays that are added up go through it,
// piece by piece. It belongs to these processes alone, has no name, and goes with the last of them, however they end.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "exchange/wire.h"

namespace tenon {

class SharedRoom {
 public:
  // By all processes together. None where they are on several machines, where one of them does not see the memory, as in containers
  // of their own, or where there is no room for it: in all of them, then. An error is the wire's.
  static Result<std::unique_ptr<SharedRoom>> open(Wire& wire);
  ~SharedRoom();
  SharedRoom(const SharedRoom&) = delete;
  SharedRoom& operator=(const SharedRoom&) = delete;

  // Pieces are dealt to owners, one each a round; rounds are counted through the life of the job, from 1. A slot is used again
  // after kSlots rounds.
  static constexpr size_t kSlots = 4, kSlotBytes = 1 << 20;
  std::byte* slot(int owner, uint64_t round) const {
    return slots_ + (static_cast<size_t>(owner) * kSlots + round % kSlots) * kSlotBytes;
  }
  // The last round whose parts for `owner` process `by` has put into the slot; whose sum by `owner` lies there; whose sum `by` has
  // taken out of it. Written with release, by one process each, and read with acquire.
  using Mark = std::atomic<uint64_t>;
  Mark& given(int owner, int by) const { return mark(0, owner, by); }
  Mark& taken(int owner, int by) const { return mark(1, owner, by); }
  Mark& summed(int owner) const { return mark(2, owner, 0); }

 private:
  explicit SharedRoom(int count);
  bool create(uint64_t token);
  bool see(int64_t pid, int64_t file, uint64_t token);
  bool map(int file);
  Mark& mark(int kind, int owner, int by) const;

  const int count_;
  const size_t mark_bytes_, bytes_;
  std::byte* memory_ = nullptr;
  std::byte* slots_ = nullptr;
  int file_ = -1;  // of process 0, until all have seen it
};

}  // namespace tenon
