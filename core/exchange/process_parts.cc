#include "exchange/process_parts.h"

#include <algorithm>
#include <vector>

#include "exchange/world.h"

namespace tenon {

ProcessParts::ProcessParts(World& world, uint64_t bytes, Read read) : world_(world), bytes_(bytes), read_(std::move(read)) {
  number_ = world_.add(*this);
}

ProcessParts::~ProcessParts() { world_.remove(*this); }

uint64_t ProcessParts::first() const { return static_cast<uint64_t>(world_.rank()) * bytes_; }

Status ProcessParts::read(std::span<std::byte> out, uint64_t offset) const {
  while (!out.empty()) {
    const int owner = static_cast<int>(offset / bytes_);
    const uint64_t at = offset % bytes_, size = std::min<uint64_t>(out.size(), bytes_ - at);
    const std::span<std::byte> some = out.first(size);
    if (owner == world_.rank()) TENON_TRY(read_(some, at));
    if (!world_.works_alone())
      TENON_TRY(world_.run([&](Wire& wire, Reducer&) { return broadcast(wire, owner, some.data(), size); }));
    else if (owner != 0)
      TENON_TRY(ask(owner, some, offset));
    out = out.subspan(size);
    offset += size;
  }
  return {};
}

Status ProcessParts::ask(int owner, std::span<std::byte> out, uint64_t offset) const {
  Wanted wanted{number_, offset, out.size()};
  return world_.run([&](Wire& wire, Reducer&) -> Status {
    TENON_TRY(broadcast(wire, 0, &wanted, sizeof wanted));
    TENON_ASSIGN(const Wire::Request coming, wire.receive(owner, MessageTag::kGather, out.data(), out.size()));
    return wire.wait(coming);
  });
}

Status ProcessParts::give(const Wanted& wanted) const {
  if (static_cast<int>(wanted.offset / bytes_) != world_.rank()) return {};
  std::vector<std::byte> own(wanted.bytes);
  TENON_TRY(read_(own, wanted.offset % bytes_));
  return world_.run([&](Wire& wire, Reducer&) -> Status {
    TENON_ASSIGN(const Wire::Request going, wire.send(0, MessageTag::kGather, own.data(), own.size()));
    return wire.wait(going);
  });
}

// ---- of World ----

uint64_t World::add(const ProcessParts& parts) {
  const std::lock_guard lock(parts_mutex_);
  parts_.emplace(++last_parts_, &parts);
  return last_parts_;
}

void World::remove(const ProcessParts& parts) {
  const std::lock_guard lock(parts_mutex_);
  parts_.erase(parts.number_);
}

bool World::has_parts() const {
  const std::lock_guard lock(parts_mutex_);
  return !parts_.empty();
}

// Process 0 is through with what it does for all.
Status World::want_no_more() {
  ProcessParts::Wanted none;
  return run([&](Wire& wire, Reducer&) { return broadcast(wire, 0, &none, sizeof none); });
}

// Gives process 0 what it asks for, until it is through.
Status World::give_parts() {
  for (;;) {
    ProcessParts::Wanted wanted;
    TENON_TRY(run([&](Wire& wire, Reducer&) { return broadcast(wire, 0, &wanted, sizeof wanted); }));
    if (wanted.bytes == 0) return {};
    std::unique_lock lock(parts_mutex_);
    const auto found = parts_.find(wanted.array);
    if (found == parts_.end())
      return Status(Code::kInternal, "process 0 asks for an array that this process does not have");
    const ProcessParts& parts = *found->second;
    lock.unlock();
    TENON_TRY(parts.give(wanted));
  }
}

}  // namespace tenon
