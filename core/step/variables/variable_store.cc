#include "step/variables/variable_store.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/room.h"
#include "base/text.h"
#include "checkpoint/tensor_bundle_types.h"
#include "step/variables/initialize.h"

namespace tenon {

// With a tensor of the file, or without one with the variable's first value.
Status VariableStore::fill(const Variable& variable, const Buffer& buffer, const TensorFile* file,
                           const std::string& tensor) {
  const std::string& name = variable.name;
  const auto size = static_cast<size_t>(buffer.type().bytes());
  if (scratch_.size() < size) {
    scratch_ = {};
    TENON_TRY(room_for(size, cat("variable '", name, "' on its way to the device")));
    scratch_.resize(size);
  }
  const std::span<std::byte> bytes = std::span(scratch_).first(size);
  if (file) {
    TENON_TRY(file->read(tensor, bytes));
  } else {
    TENON_TRY(initialize(variable.initializer, buffer.type(), name, seed_, bytes));
    if (!all_finite(buffer.type().dtype, bytes))
      return invalid("first values: variable '", name, "' holds nan or infinity, expected finite numbers");
  }
  return queue_.write(buffer, bytes.data(), bytes.size());
}

Status VariableStore::write(const Buffer& buffer, const Array& value) const {
  return queue_.write(buffer, value.bytes().data(), value.bytes().size());
}

// All are checked before the first is read.
Status VariableStore::check_restores(const Graph& graph, const TensorFile& checkpoint, std::vector<std::string>* anew) {
  for (const Variable& v : graph.variables) {
    TENON_ASSIGN(const std::string name, name_in_file(checkpoint, v.name));
    if (v.kind != VariableKind::kWeight && name.empty()) {
      if (anew) anew->push_back(v.name);
      continue;
    }
    if (const Status s =
            check_variable(checkpoint, name.empty() ? v.name : name, graph.type(graph.inputs[v.input].value));
        !s.ok())
      return Status(s.code(), cat(s.message(), "; was it trained by another model?"));
  }
  return {};
}

Status VariableStore::provide(const Graph& graph, const TensorFile* checkpoint, std::vector<std::string>* anew) {
  TENON_TRY(checkpoint ? check_restores(graph, *checkpoint, anew) : check_warm(graph));
  TENON_TRY(check_waiting(graph));
  for (const Variable& v : graph.variables) {
    const Type& type = graph.type(graph.inputs[v.input].value);
    if (const auto it = variables_.find(v.name); it != variables_.end()) {
      if (!(it->second->type() == type))
        return invalid("variable '", v.name, "' was made as ", it->second->type().str(),
                       "; this input, or another mode of the model, needs ", type.str());
      continue;
    }
    TENON_TRY(make(v, type, checkpoint));
  }
  scratch_ = {};
  return {};
}

Status VariableStore::make(const Variable& variable, const Type& type, const TensorFile* checkpoint) {
  const std::string& name = variable.name;
  TENON_ASSIGN(Buffer buffer, device_->allocate(type));
  if (const auto given = waiting_.find(name); given != waiting_.end()) {
    TENON_TRY(write(buffer, given->second.value));
    waiting_.erase(given);
  } else if (checkpoint) {
    TENON_ASSIGN(const std::string tensor, name_in_file(*checkpoint, name));
    TENON_TRY(fill(variable, buffer, tensor.empty() ? nullptr : checkpoint, tensor));
  } else {
    TENON_TRY(begin(variable, buffer));
  }
  variables_.emplace(name, std::make_shared<const Buffer>(std::move(buffer)));
  roles_[name] = VariableRole::of(variable);
  return {};
}

// With what a warm start has for it, or with its first value.
Status VariableStore::begin(const Variable& variable, const Buffer& buffer) {
  if (!warm_) return fill(variable, buffer);
  const VariableRole role = VariableRole::of(variable);
  TENON_ASSIGN(const WarmStart::Source source, warm_->source_of(variable.name, buffer.type(), role));
  TENON_TRY(fill(variable, buffer, source.tensor.empty() ? nullptr : &warm_->file(), source.tensor));
  warm_->note(variable.name, role, source);
  return {};
}

Status VariableStore::check_warm(const Graph& graph) const {
  if (!warm_) return {};
  for (const Variable& v : graph.variables)
    if (!variables_.count(v.name) && !waiting_.count(v.name))
      TENON_TRY(warm_->source_of(v.name, graph.type(graph.inputs[v.input].value), VariableRole::of(v)).status());
  return {};
}

Status VariableStore::warm_start(WarmStart from) {
  std::map<std::string, WarmStart::Source> sources;
  Arrays values;  // all are read before the first is written
  for (const auto& [name, buffer] : variables_) {
    TENON_ASSIGN(const WarmStart::Source source, from.source_of(name, buffer->type(), roles_.at(name)));
    if (!source.tensor.empty()) {
      TENON_ASSIGN(Array value, from.read(source.tensor, buffer->type()));
      values.emplace(name, std::move(value));
    }
    sources.emplace(name, source);
  }
  for (const auto& [name, value] : values) TENON_TRY(write(*variables_.at(name), value));
  for (const auto& [name, source] : sources) from.note(name, roles_.at(name), source);
  warm_.emplace(std::move(from));
  return {};
}

// Before anything is made, so that the store stays as it was.
Status VariableStore::check_waiting(const Graph& graph) const {
  const Variable* missing = nullptr;
  for (const Variable& v : graph.variables) {
    if (variables_.count(v.name)) continue;
    const Type& type = graph.type(graph.inputs[v.input].value);
    const auto given = waiting_.find(v.name);
    if (given == waiting_.end()) {
      const bool may_lack = optimizers_begin_anew_ && v.kind != VariableKind::kWeight;
      if (!missing && !may_lack) missing = &v;
      continue;
    }
    const auto& [value, from] = given->second;
    if (!(value.type() == type))
      return invalid("variable '", v.name, "' is ", type.str(), ", and the value that waits for it ",
                     value.type().str(), from.empty() ? "" : cat(", of '", from, "'"));
  }
  if (!missing) return {};
  const std::string* file = nullptr;
  const std::string* left = nullptr;  // of what waits: the graph does not have it either
  for (const auto& [name, value] : waiting_) {
    if (value.from.empty()) continue;
    file = &value.from;
    if (!graph.find_variable(name)) left = &name;
    if (left) break;
  }
  if (!file) return {};
  return invalid("variable '", missing->name, "' is not in '", *file, "', which was loaded",
                 left ? cat("; nothing has had its '", *left, "' yet") : "; load_weights takes weights alone");
}

void VariableStore::no_longer_whole() {
  for (auto& entry : waiting_) entry.second.from.clear();
}

void VariableStore::drop(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    variables_.erase(name);
    roles_.erase(name);
    waiting_.erase(name);
  }
}

bool VariableStore::is_dead(const std::string& name) const {
  const auto role = roles_.find(name);
  return role != roles_.end() && role->second.owned && role->second.owner.expired();
}

// A weight's slots say nothing of another weight of its name.
void VariableStore::drop_with_slots(const std::vector<std::string>& names) {
  std::vector<std::string> all = names;
  for (const std::string& name : names)
    for (const auto& [slot, role] : roles_)
      if (role.kind == VariableKind::kSlot && slot.starts_with(name + "/")) all.push_back(slot);
  drop(all);
}

void VariableStore::drop_dead() {
  std::vector<std::string> names;
  for (const auto& entry : variables_)
    if (is_dead(entry.first)) names.push_back(entry.first);
  drop_with_slots(names);
}

void VariableStore::drop_dead(const Graph& graph) {
  std::vector<std::string> names;
  for (const Variable& v : graph.variables)
    if (!v.owner.expired() && is_dead(v.name)) names.push_back(v.name);
  drop_with_slots(names);
}

Status VariableStore::give(const std::string& name, Array value, const std::string& from) {
  const auto found = variables_.find(name);
  if (found == variables_.end()) return waiting_.insert_or_assign(name, Waiting{std::move(value), from}), Status();
  if (!(found->second->type() == value.type()))
    return invalid("variable '", name, "' is ", found->second->type().str(), ", given ", value.type().str());
  return queue_.write(*found->second, value.bytes().data(), value.bytes().size());
}

Result<const Buffer*> VariableStore::find(std::string_view name) const {
  const auto it = variables_.find(name);
  if (it != variables_.end()) return it->second.get();
  std::vector<std::string_view> names;
  for (const auto& entry : variables_) names.push_back(entry.first);
  if (names.empty()) return invalid("there is no variable '", name, "' yet: no function with variables was called");
  const std::string_view meant = nearest(name, names);
  return invalid("there is no variable '", name, "'",
                 meant.empty() ? cat("; there are: ", join(names)) : cat("; did you mean '", meant, "'?"));
}

Result<Array> VariableStore::read(std::string_view name) const {
  if (const auto it = waiting_.find(name); it != waiting_.end()) return it->second.value;
  TENON_ASSIGN(const Buffer* buffer, find(name));
  Array out(buffer->type());
  TENON_TRY(queue_.read(*buffer, out.bytes().data(), out.bytes().size()));
  return out;
}

Status VariableStore::write(std::string_view name, const Array& value) {
  TENON_ASSIGN(const Buffer* buffer, find(name));
  if (!(buffer->type() == value.type()))
    return invalid("variable '", name, "' is ", buffer->type().str(), ", given ", value.type().str());
  return queue_.write(*buffer, value.bytes().data(), value.bytes().size());
}

Status not_finite_variable(const std::string& name) {
  return invalid("variable '", name, "' holds nan or infinity, expected finite numbers");
}

// Gives a variable's bytes from the first on.
FillBytes VariableStore::bytes_of(const std::string& name, const Buffer& buffer, bool* finite) const {
  return [this, &name, &buffer, finite, offset = uint64_t{0}](std::span<std::byte> piece) mutable -> Status {
    TENON_TRY(queue_.read(buffer, piece.data(), piece.size(), offset));
    offset += piece.size();
    if (all_finite(buffer.type().dtype, piece)) return {};
    if (finite) *finite = false;
    return not_finite_variable(name);
  };
}

Status VariableStore::save(BundleWriter& writer, bool* finite) const {
  for (const auto& [name, buffer] : variables_)
    TENON_TRY(writer.add(name, buffer->type(), bytes_of(name, *buffer, finite)));
  return {};
}

std::vector<TensorSource> VariableStore::sources(const std::vector<std::string>* only) const {
  std::vector<TensorSource> out;
  for (const auto& [name, buffer] : variables_) out.push_back({name, buffer->type(), bytes_of(name, *buffer, nullptr)});
  for (const auto& [name, kept] : waiting_) {
    const auto fill = [bytes = kept.value.bytes()](std::span<std::byte> piece) mutable {
      std::memcpy(piece.data(), bytes.data(), piece.size());
      bytes = bytes.subspan(piece.size());
      return Status();
    };
    out.push_back({name, kept.value.type(), fill});
  }
  if (only)
    std::erase_if(out,
                  [&](const TensorSource& s) { return std::find(only->begin(), only->end(), s.name) == only->end(); });
  return out;
}

Result<std::string> VariableStore::not_finite() const {
  std::vector<std::byte> bytes;
  for (const auto& [name, buffer] : variables_) {
    bytes.resize(static_cast<size_t>(buffer->type().bytes()));
    TENON_TRY(queue_.read(*buffer, bytes.data(), bytes.size()));
    if (!all_finite(buffer->type().dtype, bytes)) return name;
  }
  return std::string();
}

Result<VariableStore::AllKept> VariableStore::keep() const {
  AllKept out;
  for (const auto& [name, buffer] : variables_) {
    TENON_TRY(room_for(static_cast<size_t>(buffer->type().bytes()), cat("a copy of variable '", name, "'")));
    Array value(buffer->type());
    TENON_TRY(queue_.read(*buffer, value.bytes().data(), value.bytes().size()));
    out.emplace(name, Kept{std::move(value), roles_.at(name)});
  }
  return out;
}

Status VariableStore::put(const AllKept& kept) {
  for (const auto& [name, was] : kept) {
    TENON_ASSIGN(Buffer buffer, device_->allocate(was.value.type()));
    TENON_TRY(write(buffer, was.value));
    variables_.emplace(name, std::make_shared<const Buffer>(std::move(buffer)));
    roles_[name] = was.role;
  }
  return {};
}

Result<std::string> VariableStore::hash() const {
  uint64_t h = 0xcbf29ce484222325ull;
  const auto mix = [&](const void* data, size_t n) {
    for (size_t i = 0; i < n; ++i) h = (h ^ static_cast<const uint8_t*>(data)[i]) * 0x100000001b3ull;
  };
  std::vector<std::byte> piece;
  for (const auto& [name, buffer] : variables_) {
    mix(name.data(), name.size());
    const auto size = static_cast<uint64_t>(buffer->type().bytes());
    for (uint64_t at = 0; at < size; at += piece.size()) {
      piece.resize(static_cast<size_t>(std::min<uint64_t>(size - at, kBundlePieceBytes)));
      TENON_TRY(queue_.read(*buffer, piece.data(), piece.size(), at));
      mix(piece.data(), piece.size());
    }
  }
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(h));
  return std::string(text);
}

}  // namespace tenon
