#include "step/variables/loaded_tensors.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/room.h"
#include "base/text.h"
#include "checkpoint/tensor_file.h"

namespace tenon {
namespace {

constexpr size_t kMostNames = 8;  // in a message

std::string some_of(const std::vector<std::string>& names) {
  const std::vector<std::string> first(names.begin(), names.begin() + std::min(kMostNames, names.size()));
  return cat(join(first), names.size() > kMostNames ? cat(" and ", names.size() - kMostNames, " more") : "");
}

// What is wrong, by kind; "" when nothing is.
struct Differences {
  std::vector<std::string> missing, other, surplus;

  std::string text() const {
    std::vector<std::string> parts;
    if (!missing.empty()) parts.push_back(cat("it lacks ", some_of(missing)));
    if (!other.empty()) parts.push_back(some_of(other));
    if (!surplus.empty()) parts.push_back(cat("it has ", some_of(surplus), ", which is not here"));
    return join(parts, "; ");
  }
};

Differences compared(const Types& found, const Types& wanted) {
  Differences out;
  for (const auto& [name, type] : wanted) {
    const auto it = found.find(name);
    if (it == found.end()) {
      out.missing.push_back(cat("'", name, "' ", type.str()));
    } else if (!(it->second == type)) {
      out.other.push_back(cat("its '", name, "' is ", it->second.str(), ", expected ", type.str()));
    }
  }
  return out;
}

Status status_of(const std::string& path, const Differences& differences) {
  const std::string text = differences.text();
  return text.empty() ? Status() : invalid("'", path, "' does not fit: ", text);
}

}  // namespace

Result<LoadedTensors> LoadedTensors::read(const std::string& path) {
  TENON_ASSIGN(const TensorFile file, TensorFile::open(path));
  uint64_t bytes = 0;
  for (const auto& entry : file.tensors()) bytes += static_cast<uint64_t>(entry.second.bytes());
  TENON_TRY(room_for(bytes, cat("the tensors of '", file.path(), "'")));
  Arrays tensors;
  for (const auto& [name, type] : file.tensors()) {
    if (name.starts_with("tenon/")) continue;  // where training of an Estimator stood
    Array value(type);
    TENON_TRY(file.read(name, value.bytes()));
    tensors.emplace(name, std::move(value));
  }
  return LoadedTensors(file.path(), std::move(tensors));
}

TensorTypes LoadedTensors::types() const {
  Types types;
  for (const auto& [name, value] : tensors_) types.emplace(name, value.type());
  return TensorTypes(path_, std::move(types));
}

int64_t LoadedTensors::scalar(std::string_view name, int64_t missing) const {
  const auto found = tensors_.find(std::string(name));
  if (found == tensors_.end() || !(found->second.type() == Type{DType::kI64, {}})) return missing;
  return found->second.to<int64_t>()[0];
}

Status TensorTypes::check_has(const Types& wanted) const { return status_of(path_, compared(types_, wanted)); }

Status TensorTypes::check_is(const Types& wanted) const {
  Differences differences = compared(types_, wanted);
  for (const auto& entry : types_)
    if (wanted.find(entry.first) == wanted.end()) differences.surplus.push_back(cat("'", entry.first, "'"));
  return status_of(path_, differences);
}

Status LoadedTensors::give(VariableStore& store, bool whole) {
  for (auto& [name, value] : tensors_) TENON_TRY(store.give(name, std::move(value), whole ? path_ : std::string()));
  tensors_.clear();
  return {};
}

std::map<std::string, std::string> LoadedTensors::names_of(const std::string& object, const Types& variables) const {
  const std::string scope = object + "/";
  std::map<std::string, std::string> out;
  for (const auto& entry : variables) {
    const std::string& name = entry.first;
    const std::string inside = name.starts_with(scope) ? name.substr(scope.size()) : name;
    const bool by_it = tensors_.contains(inside) && (inside == name || !variables.contains(inside));
    out.emplace(by_it ? inside : name, name);
  }
  return out;
}

Status LoadedTensors::give_to(VariableStore& store, const std::string& object, const Types& variables) {
  const std::map<std::string, std::string> names = names_of(object, variables);
  Types wanted;
  for (const auto& [own, name] : names) wanted.emplace(own, variables.at(name));
  TENON_TRY(types().check_is(wanted));
  for (const auto& [own, name] : names) TENON_TRY(store.give(name, std::move(tensors_.at(own))));
  tensors_.clear();
  return {};
}

Status LoadedTensors::give_known(VariableStore& store, const std::vector<std::string>& required) {
  Types wanted;
  for (const auto& [name, buffer] : store.all())
    if (tensors_.count(name)) wanted.emplace(name, buffer->type());
  for (const std::string& name : required) wanted.emplace(name, store.buffer(name)->type());
  TENON_TRY(types().check_has(wanted));
  for (const auto& entry : wanted) TENON_TRY(store.give(entry.first, std::move(tensors_.at(entry.first))));
  tensors_.clear();
  return {};
}

}  // namespace tenon
