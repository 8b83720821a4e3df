// An array of which each process of a job has a part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "tenon/status.h"

namespace tenon {

class World;

class ProcessParts {
 public:
  using Read = std::function<Status(std::span<std::byte> out, uint64_t offset)>;
  // Parts of `bytes` each, in the order of the processes; `read` gives this one's. All processes make theirs in the same order.
  ProcessParts(World& world, uint64_t bytes, Read read);
  ~ProcessParts();
  ProcessParts(const ProcessParts&) = delete;
  ProcessParts& operator=(const ProcessParts&) = delete;

  uint64_t bytes() const { return bytes_; }  // of a part
  uint64_t first() const;                    // byte of the whole that is this process's
  // Bytes of the whole from `offset` on. By all processes together; or by process 0 alone while it does something for all, for which
  // the others wait (World::first_does).
  Status read(std::span<std::byte> out, uint64_t offset) const;

 private:
  friend class World;
  // What process 0 asks the others for; no bytes: nothing more.
  struct Wanted {
    uint64_t array = 0, offset = 0, bytes = 0;
  };
  Status ask(int owner, std::span<std::byte> out, uint64_t offset) const;
  Status give(const Wanted& wanted) const;

  World& world_;
  const uint64_t bytes_;
  const Read read_;
  uint64_t number_ = 0;
};

}  // namespace tenon
