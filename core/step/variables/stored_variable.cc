#include "step/variables/stored_variable.h"

#include <algorithm>

namespace tenon {
namespace {

// All replicas' parts, which are equal.
Type row_of(const Type& type, int replicas) {
  const int64_t part = (type.shape.elements() + replicas - 1) / replicas;
  return {type.dtype, Shape({part * replicas})};
}

}  // namespace

Type type_of(const Graph& graph, const Variable& variable) {
  const Type& type = graph.type(graph.inputs[static_cast<size_t>(variable.input)].value);
  return variable.dealt ? Type{type.dtype, *variable.dealt} : type;
}

Result<std::shared_ptr<const StoredVariable>> StoredVariable::make(const std::shared_ptr<Device>& device, Queue& queue,
                                                                   const Type& type, bool dealt) {
  TENON_ASSIGN(Buffer buffer, device->allocate(dealt ? row_of(type, device->replicas()) : type, false, dealt));
  std::shared_ptr<StoredVariable> out(new StoredVariable(std::move(buffer), queue, type, dealt));
  if (!dealt || device->processes() == 1) return std::shared_ptr<const StoredVariable>(std::move(out));
  TENON_ASSIGN(World* const world, World::join());
  const auto bytes = static_cast<uint64_t>(out->buffer_.type().bytes());
  out->parts_.emplace(*world, bytes, [v = out.get()](std::span<std::byte> to, uint64_t offset) {
    return v->queue_.read(v->buffer_, to.data(), to.size(), offset);
  });
  return std::shared_ptr<const StoredVariable>(std::move(out));
}

Status StoredVariable::read(std::span<std::byte> out, uint64_t offset) const {
  return parts_ ? parts_->read(out, offset) : queue_.read(buffer_, out.data(), out.size(), offset);
}

Status StoredVariable::write(std::span<const std::byte> value) const {
  const uint64_t part = parts_ ? parts_->bytes() : value.size();
  const uint64_t first = std::min<uint64_t>(parts_ ? parts_->first() : 0, value.size());
  const uint64_t here = std::min<uint64_t>(part, value.size() - first);
  TENON_TRY(here > 0 ? queue_.write(buffer_, value.data() + first, here) : Status());
  const uint64_t rest = static_cast<uint64_t>(buffer_.type().bytes()) - here;
  const std::vector<std::byte> zeros(rest);
  return rest > 0 ? queue_.write(buffer_, zeros.data(), rest, here) : Status();
}

}  // namespace tenon
