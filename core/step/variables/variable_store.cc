#include "step/variables/variable_store.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/room.h"
#include "base/strings.h"
#include "checkpoint/tensor_bundle_types.h"
#include "step/variables/initialize.h"

namespace tenon {

// With a tensor of the file, or without one with the variable's first value.
Status VariableStore::fill(const Variable& variable, const StoredVariable& stored, const TensorFile* file,
                           const std::string& tensor) {
  const std::string& name = variable.name;
  const auto size = static_cast<size_t>(stored.type().bytes());
  if (scratch_.size() < size) {
    scratch_ = std::vector<std::byte>();  // {} would keep the memory
    TENON_TRY(room_for(size, cat("variable '", name, "' on its way to the device")));
    scratch_.resize(size);
  }
  const std::span<std::byte> bytes = std::span(scratch_).first(size);
  if (file) {
    TENON_TRY(file->read(tensor, bytes));
  } else {
    TENON_TRY(initialize(variable.initializer, stored.type(), name, seed_, bytes));
    if (!all_finite(stored.type().dtype, bytes))
      return invalid("first values: variable '", name, "' holds nan or infinity, expected finite numbers");
  }
  return stored.write(bytes);
}

// All are checked before the first is read.
Status VariableStore::check_restores(const Graph& graph, const TensorFile& checkpoint, std::vector<std::string>* anew) {
  for (const Variable& v : graph.variables) {
    TENON_ASSIGN(const std::string name, name_in_file(checkpoint, v.name));
    if (v.kind != VariableKind::kWeight && name.empty()) {
      if (anew) anew->push_back(v.name);
      continue;
    }
    if (const Status s = check_variable(checkpoint, name.empty() ? v.name : name, type_of(graph, v)); !s.ok())
      return Status(s.code(), cat(s.message(), "; was it trained by another model?"));
  }
  return {};
}

Status VariableStore::provide(const Graph& graph, const TensorFile* checkpoint, std::vector<std::string>* anew) {
  if (!checkpoint && warm_) {
    std::vector<std::string> names;
    for (const Variable& v : graph.variables) names.push_back(v.name);
    warm_->learn(names);
  }
  TENON_TRY(checkpoint ? check_restores(graph, *checkpoint, anew) : check_warm(graph));
  TENON_TRY(check_waiting(graph));
  for (const Variable& v : graph.variables) {
    const Type type = type_of(graph, v);
    if (const auto it = variables_.find(v.name); it != variables_.end()) {
      if (!(it->second->type() == type))
        return invalid("variable '", v.name, "' was made as ", it->second->type().str(),
                       "; this input, or another mode of the model, needs ", type.str());
      if (it->second->is_dealt() != v.dealt.has_value())
        return invalid("the replicas have ", v.dealt ? "all" : "a part each", " of variable '", v.name,
                       "', and a batch whose rows they cannot share needs ", v.dealt ? "a part each" : "all of it",
                       " (shard_optimizer_state); expected batches that divide by their number");
      continue;
    }
    TENON_TRY(make(v, type, checkpoint));
  }
  scratch_ = std::vector<std::byte>();
  return {};
}

Status VariableStore::make(const Variable& variable, const Type& type, const TensorFile* checkpoint) {
  const std::string& name = variable.name;
  TENON_ASSIGN(Shared stored, StoredVariable::make(device_, queue_, type, variable.dealt.has_value()));
  if (const auto given = waiting_.find(name); given != waiting_.end()) {
    TENON_TRY(stored->write(given->second.value.bytes()));
    waiting_.erase(given);
  } else if (checkpoint) {
    TENON_ASSIGN(const std::string tensor, name_in_file(*checkpoint, name));
    TENON_TRY(fill(variable, *stored, tensor.empty() ? nullptr : checkpoint, tensor));
  } else {
    TENON_TRY(begin(variable, *stored));
  }
  variables_.emplace(name, std::move(stored));
  roles_[name] = VariableRole::of(variable);
  return {};
}

// With what a warm start has for it, or with its first value.
Status VariableStore::begin(const Variable& variable, const StoredVariable& stored) {
  if (!warm_) return fill(variable, stored);
  const VariableRole role = VariableRole::of(variable);
  TENON_ASSIGN(const WarmStart::Source source, warm_->source_of(variable.name, stored.type(), role));
  TENON_TRY(fill(variable, stored, source.tensor.empty() ? nullptr : &warm_->file(), source.tensor));
  warm_->note(variable.name, role, source);
  return {};
}

Status VariableStore::check_warm(const Graph& graph) const {
  if (!warm_) return {};
  for (const Variable& v : graph.variables)
    if (!variables_.count(v.name) && !waiting_.count(v.name))
      TENON_TRY(warm_->source_of(v.name, type_of(graph, v), VariableRole::of(v)).status());
  return {};
}

Status VariableStore::warm_start(WarmStart from) {
  std::map<std::string, WarmStart::Source> sources;
  Arrays values;  // all are read before the first is written
  std::vector<std::string> names;
  for (const auto& entry : variables_) names.push_back(entry.first);
  from.learn(names);
  for (const auto& [name, stored] : variables_) {
    TENON_ASSIGN(const WarmStart::Source source, from.source_of(name, stored->type(), roles_.at(name)));
    if (!source.tensor.empty()) {
      TENON_ASSIGN(Array value, from.read(source.tensor, stored->type()));
      values.emplace(name, std::move(value));
    }
    sources.emplace(name, source);
  }
  for (const auto& [name, value] : values) TENON_TRY(variables_.at(name)->write(value.bytes()));
  for (const auto& [name, source] : sources) from.note(name, roles_.at(name), source);
  warm_.emplace(std::move(from));
  return {};
}

// Before anything is made, so that the store stays as it was.
Status VariableStore::check_waiting(const Graph& graph) const {
  const Variable* missing = nullptr;
  for (const Variable& v : graph.variables) {
    if (variables_.count(v.name)) continue;
    const Type type = type_of(graph, v);
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
  return found->second->write(value.bytes());
}

Result<const StoredVariable*> VariableStore::find(std::string_view name) const {
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
  TENON_ASSIGN(const StoredVariable* stored, find(name));
  Array out(stored->type());
  TENON_TRY(stored->read(out.bytes()));
  return out;
}

Status VariableStore::write(std::string_view name, const Array& value) {
  TENON_ASSIGN(const StoredVariable* stored, find(name));
  if (!(stored->type() == value.type()))
    return invalid("variable '", name, "' is ", stored->type().str(), ", given ", value.type().str());
  return stored->write(value.bytes());
}

Status not_finite_variable(const std::string& name) {
  return invalid("variable '", name, "' holds nan or infinity, expected finite numbers");
}

// Gives a variable's bytes from the first on.
FillBytes VariableStore::bytes_of(const std::string& name, const StoredVariable& variable, bool* finite) {
  return [&name, &variable, finite, offset = uint64_t{0}](std::span<std::byte> piece) mutable -> Status {
    TENON_TRY(variable.read(piece, offset));
    offset += piece.size();
    if (all_finite(variable.type().dtype, piece)) return {};
    if (finite) *finite = false;
    return not_finite_variable(name);
  };
}

Status VariableStore::save(BundleWriter& writer, bool* finite) const {
  for (const auto& [name, stored] : variables_)
    TENON_TRY(writer.add(name, stored->type(), bytes_of(name, *stored, finite)));
  return {};
}

std::vector<TensorSource> VariableStore::sources(const std::vector<std::string>* only) const {
  std::vector<TensorSource> out;
  for (const auto& [name, stored] : variables_) out.push_back({name, stored->type(), bytes_of(name, *stored, nullptr)});
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
  for (const auto& [name, stored] : variables_) {
    bytes.resize(static_cast<size_t>(stored->type().bytes()));
    TENON_TRY(stored->read(bytes));
    if (!all_finite(stored->type().dtype, bytes)) return name;
  }
  return std::string();
}

Result<VariableStore::AllKept> VariableStore::keep() const {
  AllKept out;
  for (const auto& [name, stored] : variables_) {
    TENON_TRY(room_for(static_cast<size_t>(stored->type().bytes()), cat("a copy of variable '", name, "'")));
    Array value(stored->type());
    TENON_TRY(stored->read(value.bytes()));
    out.emplace(name, Kept{std::move(value), roles_.at(name), stored->is_dealt()});
  }
  return out;
}

Status VariableStore::put(const AllKept& kept) {
  for (const auto& [name, was] : kept) {
    TENON_ASSIGN(Shared stored, StoredVariable::make(device_, queue_, was.value.type(), was.dealt));
    TENON_TRY(stored->write(was.value.bytes()));
    variables_.emplace(name, std::move(stored));
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
  for (const auto& [name, stored] : variables_) {
    mix(name.data(), name.size());
    const auto size = static_cast<uint64_t>(stored->type().bytes());
    for (uint64_t at = 0; at < size; at += piece.size()) {
      piece.resize(static_cast<size_t>(std::min<uint64_t>(size - at, kBundlePieceBytes)));
      TENON_TRY(stored->read(piece, at));
      mix(piece.data(), piece.size());
    }
  }
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(h));
  return std::string(text);
}

}  // namespace tenon
