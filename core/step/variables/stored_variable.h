// A variable on a device: whole on each unit or, where replicas have parts of it (Variable::dealt), in a row that is split over them.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "backend/device.h"
#include "exchange/world.h"
#include "graph/graph.h"

namespace tenon {

// Its type as a whole, dealt or not.
Type type_of(const Graph& graph, const Variable& variable);

class StoredVariable {
 public:
  // A variable of that type. The queue is the device's, and outlives it. Processes make those that they deal in the same order.
  static Result<std::shared_ptr<const StoredVariable>> make(const std::shared_ptr<Device>& device, Queue& queue,
                                                            const Type& type, bool dealt);
  StoredVariable(const StoredVariable&) = delete;
  StoredVariable& operator=(const StoredVariable&) = delete;

  const Type& type() const { return type_; }
  bool is_dealt() const { return dealt_; }
  // As programs take it: of what processes have parts of, this one's.
  const Buffer& buffer() const { return buffer_; }

  // Bytes of it as a whole, from `offset` on. Of what processes have parts of: by all of them together, or by process 0 while
  // the others wait in as_first_does().
  Status read(std::span<std::byte> out, uint64_t offset = 0) const;
  // All of it; each process takes its part.
  Status write(std::span<const std::byte> value) const;

 private:
  StoredVariable(Buffer buffer, Queue& queue, const Type& type, bool dealt)
      : buffer_(std::move(buffer)), queue_(queue), type_(type), dealt_(dealt) {}

  Buffer buffer_;
  Queue& queue_;
  const Type type_;
  const bool dealt_;
  std::optional<ProcessParts> parts_;  // none: all is here
};

}  // namespace tenon
