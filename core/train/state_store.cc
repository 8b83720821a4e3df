#include "train/state_store.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/room.h"
#include "base/text.h"
#include "train/initialize.h"
#include "train/tensor_bundle_types.h"

namespace tenon {

namespace {

// Elements whose exponent is all ones: infinity and NaN.
template <class Bits>
bool all_finite(std::span<const std::byte> piece, Bits exponent) {
  for (size_t at = 0; at + sizeof(Bits) <= piece.size(); at += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, &piece[at], sizeof bits);
    if ((bits & exponent) == exponent) return false;
  }
  return true;
}

bool all_finite(DType dtype, std::span<const std::byte> piece) {
  switch (dtype) {
    case DType::kF32:
      return all_finite<uint32_t>(piece, 0x7f800000);
    case DType::kF64:
      return all_finite<uint64_t>(piece, 0x7ff0000000000000);
    case DType::kBF16:
      return all_finite<uint16_t>(piece, 0x7f80);
    case DType::kF16:
      return all_finite<uint16_t>(piece, 0x7c00);
    default:
      return true;
  }
}

}  // namespace

Status StateStore::fill(const std::string& name, const Buffer& buffer, const Variable* variable,
                        const BundleReader* checkpoint) {
  const auto size = static_cast<size_t>(buffer.type().bytes());
  if (scratch_.size() < size) {
    scratch_ = {};
    TENON_TRY(room_for(size, cat("variable '", name, "' on its way to the device")));
    scratch_.resize(size);
  }
  const std::span<std::byte> bytes = std::span(scratch_).first(size);
  if (checkpoint) {
    TENON_TRY(check_variable(*checkpoint, name, buffer.type()));
    TENON_TRY(checkpoint->read(name, bytes));
  } else {
    TENON_TRY(initialize(variable->initializer, buffer.type(), name, seed_, bytes));
  }
  if (!all_finite(buffer.type().dtype, bytes))
    return invalid(checkpoint ? cat("checkpoint ", checkpoint->prefix()) : "first values", ": variable '", name,
                   "' holds nan or infinity, expected finite numbers");
  return queue_.write(buffer, bytes.data(), bytes.size());
}

Status StateStore::provide(const Graph& graph, const BundleReader* checkpoint) {
  if (checkpoint)  // all are checked before the first is read
    for (const Variable& v : graph.variables)
      if (const Status s = check_variable(*checkpoint, v.name, graph.type(graph.inputs[v.input].value)); !s.ok())
        return Status(s.code(), cat(s.message(), "; was it trained by another model or optimizer?"));
  for (const Variable& v : graph.variables) {
    const Type& type = graph.type(graph.inputs[v.input].value);
    if (const auto it = variables_.find(v.name); it != variables_.end()) {
      if (!(it->second.type() == type))
        return invalid("variable '", v.name, "' is ", it->second.type().str(), " here and ", type.str(),
                       " in another mode of the model");
      continue;
    }
    TENON_ASSIGN(Buffer buffer, device_->allocate(type));
    TENON_TRY(fill(v.name, buffer, &v, checkpoint));
    variables_.emplace(v.name, std::move(buffer));
  }
  scratch_ = {};
  return {};
}

Status StateStore::reload(const BundleReader& checkpoint) {
  for (const auto& [name, buffer] : variables_) TENON_TRY(fill(name, buffer, nullptr, &checkpoint));
  scratch_ = {};
  return {};
}

Status StateStore::save(BundleWriter& writer, bool* finite) const {
  for (const auto& variable : variables_) {
    const std::string& name = variable.first;
    const Buffer& buffer = variable.second;
    uint64_t offset = 0;
    const FillBytes fill = [&](std::span<std::byte> piece) -> Status {
      TENON_TRY(queue_.read(buffer, piece.data(), piece.size(), offset));
      offset += piece.size();
      *finite = all_finite(buffer.type().dtype, piece);
      return *finite ? Status() : invalid("variable '", name, "' holds nan or infinity, expected finite numbers");
    };
    TENON_TRY(writer.add(name, buffer.type(), fill));
  }
  return {};
}

Result<std::string> StateStore::not_finite() const {
  std::vector<std::byte> bytes;
  for (const auto& [name, buffer] : variables_) {
    bytes.resize(static_cast<size_t>(buffer.type().bytes()));
    TENON_TRY(queue_.read(buffer, bytes.data(), bytes.size()));
    if (!all_finite(buffer.type().dtype, bytes)) return name;
  }
  return std::string();
}

Result<std::map<std::string, StateStore::Kept>> StateStore::keep() const {
  std::map<std::string, Kept> out;
  for (const auto& [name, buffer] : variables_) {
    const auto size = static_cast<size_t>(buffer.type().bytes());
    TENON_TRY(room_for(size, cat("a copy of variable '", name, "'")));
    Kept& kept = out[name] = {buffer.type(), std::vector<std::byte>(size)};
    TENON_TRY(queue_.read(buffer, kept.bytes.data(), kept.bytes.size()));
  }
  return out;
}

Status StateStore::put(const std::map<std::string, Kept>& kept) {
  for (const auto& [name, value] : kept) {
    TENON_ASSIGN(Buffer buffer, device_->allocate(value.type));
    TENON_TRY(queue_.write(buffer, value.bytes.data(), value.bytes.size()));
    variables_.emplace(name, std::move(buffer));
  }
  return {};
}

Result<std::string> StateStore::hash() const {
  uint64_t h = 0xcbf29ce484222325ull;
  const auto mix = [&](const void* data, size_t n) {
    for (size_t i = 0; i < n; ++i) h = (h ^ static_cast<const uint8_t*>(data)[i]) * 0x100000001b3ull;
  };
  std::vector<std::byte> piece;
  for (const auto& [name, buffer] : variables_) {
    mix(name.data(), name.size());
    const auto size = static_cast<uint64_t>(buffer.type().bytes());
    for (uint64_t at = 0; at < size; at += piece.size()) {
      piece.resize(static_cast<size_t>(std::min<uint64_t>(size - at, kBundlePieceBytes)));
      TENON_TRY(queue_.read(buffer, piece.data(), piece.size(), at));
      mix(piece.data(), piece.size());
    }
  }
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(h));
  return std::string(text);
}

}  // namespace tenon
