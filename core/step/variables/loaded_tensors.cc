#include "step/variables/loaded_tensors.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/array_dtype.h"
#include "base/room.h"
#include "base/strings.h"
#include "checkpoint/keras/keras_names.h"
#include "checkpoint/tensor_file.h"
#include "step/variables/name_structure.h"
#include "step/variables/starting_weights.h"

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

// As Keras takes a file of another policy, and counts of another version's width.
bool can_become(const Type& found, const Type& wanted) {
  if (!(found.shape == wanted.shape)) return false;
  return found == wanted || (is_float(found.dtype) && is_float(wanted.dtype)) ||
         (is_integer(found.dtype) && is_integer(wanted.dtype));
}

Status status_of(const std::string& path, const Differences& differences) {
  const std::string text = differences.text();
  return text.empty() ? Status() : invalid("'", path, "' does not fit: ", text);
}

}  // namespace

Result<LoadedTensors> LoadedTensors::read(const std::string& path, const std::string& rules) {
  TENON_ASSIGN(const TensorFile file, TensorFile::open(path, rules));
  uint64_t bytes = 0;
  for (const auto& entry : file.tensors()) bytes += static_cast<uint64_t>(entry.second.bytes());
  TENON_TRY(room_for(bytes, cat("the tensors of '", file.path(), "'")));
  Arrays tensors;
  bool has_training = false;
  for (const auto& [name, type] : file.tensors()) {
    if (name.starts_with("tenon/")) {
      has_training = true;
      continue;
    }
    Array value(type);
    TENON_TRY(file.read(name, value.bytes()));
    tensors.emplace(name, std::move(value));
  }
  return LoadedTensors(file.path(), std::move(tensors), has_training, file.by_position(), file.unnamed(),
                       file.unread());
}

void LoadedTensors::name_by_place(const KerasPlaces& places) {
  std::map<std::string, std::string, std::less<>> scopes;  // here, by those of the file
  for (const auto& [scope, place] : places)
    if (const auto found = unnamed_.find(place.path); found != unnamed_.end()) scopes.emplace(found->second, scope);
  Arrays named;
  for (auto& [name, value] : tensors_) {
    const auto scope = scopes.find(scope_of_weight(name));
    std::string other = scope == scopes.end() ? name : cat(scope->second, "/", leaf_of_weight(name));
    if (named.contains(other)) other = name;
    named.emplace(std::move(other), std::move(value));
  }
  tensors_ = std::move(named);
  TensorFile::ByPosition by_position;
  for (const auto& [layer, count] : by_position_) {
    const auto scope = scopes.find(layer);
    by_position.emplace(scope == scopes.end() ? layer : scope->second, count);
  }
  by_position_ = std::move(by_position);
  unnamed_.clear();
}

void LoadedTensors::name_by_position(const std::vector<std::string>& variables) {
  for (const auto& [tensor, variable] : tensors_by_position(by_position_, variables))
    if (const auto found = tensors_.find(tensor); found != tensors_.end() && !tensors_.contains(variable)) {
      Array value = std::move(found->second);
      tensors_.erase(found);
      tensors_.emplace(variable, std::move(value));
    }
  by_position_.clear();
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

bool LoadedTensors::has_all(const NamesByTensor& names) const {
  return std::all_of(names.begin(), names.end(), [&](const auto& entry) { return tensors_.contains(entry.first); });
}

LoadedTensors::NamesByTensor LoadedTensors::names_for(const std::string& object, const Types& variables,
                                                      const OwnNames& own) const {
  Types renamed;
  std::map<std::string, std::string> back;
  for (const auto& [name, type] : variables) {
    const auto other = own.find(name);
    const std::string& there = other == own.end() ? name : other->second;
    renamed.emplace(there, type);
    back.emplace(there, name);
  }
  const NamesByTensor here = names_of(object, variables);
  if (renamed == variables && own.empty()) return here;
  NamesByTensor exact;
  for (const auto& entry : variables) exact.emplace(entry.first, entry.first);
  const bool same_names = std::equal(renamed.begin(), renamed.end(), variables.begin(), variables.end(),
                                     [](const auto& a, const auto& b) { return a.first == b.first; });
  if (!same_names && has_all(exact)) return exact;
  NamesByTensor out = names_of(object, renamed);
  if (!has_all(out) && has_all(here)) return here;
  for (auto& entry : out) entry.second = back.at(entry.second);
  return out;
}

std::map<std::string, std::string> LoadedTensors::names_of(const std::string& object, const Types& variables) const {
  const std::string scope = object + "/";
  const auto is_scoped = [&](const auto& entry) { return entry.first.starts_with(scope); };
  const auto inside = [&](const std::string& name) {
    return name.starts_with(scope) ? name.substr(scope.size()) : name;
  };
  const auto scoped = std::count_if(variables.begin(), variables.end(), is_scoped);
  const bool has_part = scoped > 0 && scoped < std::ssize(variables);  // a layer that bears the object's name
  const bool within = !has_part && std::any_of(variables.begin(), variables.end(), [&](const auto& entry) {
    return tensors_.contains(scope + inside(entry.first));
  });
  std::map<std::string, std::string> out;
  for (const auto& entry : variables) {
    const std::string &name = entry.first, own = inside(name);
    const bool by_own = tensors_.contains(own) && (own == name || !variables.contains(own));
    out.emplace(within ? scope + own : by_own ? own : name, name);
  }
  std::map<std::string, std::string> found = has_all(out) ? out : names_by_structure(scope, variables);
  return found.empty() ? out : found;
}

// Whatever number the object and its layers had where the file was written. None where it is no file of such an object.
std::map<std::string, std::string> LoadedTensors::names_by_structure(const std::string& scope,
                                                                     const Types& variables) const {
  std::map<std::string, std::string> names;  // of the variables, by those inside of the object
  std::set<std::string> own, there;
  for (const auto& entry : variables) {
    const bool within = entry.first.starts_with(scope);
    const auto added = own.insert(within ? entry.first.substr(scope.size()) : entry.first);
    if (!added.second) return {};
    names.emplace(*added.first, entry.first);
  }
  for (const auto& entry : tensors_)
    if (!may_be_optimizers(entry.first)) there.insert(entry.first);
  const std::string any = there.empty() ? std::string() : *there.begin();
  const std::map<std::string, std::string> wanted = by_structure(own);
  for (; !there.empty(); there = without_first_part(there)) {
    const std::map<std::string, std::string> found = by_structure(there);
    const bool same = std::equal(found.begin(), found.end(), wanted.begin(), wanted.end(),
                                 [](const auto& a, const auto& b) { return a.first == b.first; });
    if (!same) continue;
    std::map<std::string, std::string> out;
    const std::string outer = any.substr(0, any.size() - there.begin()->size());  // of all names of the file
    for (const auto& [form, name] : found) out.emplace(outer + name, names.at(wanted.at(form)));
    return out;
  }
  return {};
}

bool LoadedTensors::may_be_optimizers(const std::string& tensor) const {
  if (!has_training_) return false;
  for (size_t slash = tensor.find('/'); slash != std::string::npos; slash = tensor.find('/', slash + 1))
    if (tensors_.contains(tensor.substr(0, slash))) return true;
  return tensors_.at(tensor).shape().rank() == 0;
}

Status LoadedTensors::check_fits(const std::map<std::string, std::string>& names, const Types& variables) const {
  if (skips_) return {};
  Types wanted;
  for (const auto& [tensor, variable] : names) {
    const Type& type = variables.at(variable);
    if (differs_) TENON_TRY(check_mismatch(tensor, variable, type));
    const auto found = tensors_.find(tensor);
    const bool fits = found != tensors_.end() && can_become(found->second.type(), type);
    wanted.emplace(tensor, fits ? found->second.type() : type);
  }
  if (differs_) return {};
  for (const auto& [tensor, value] : tensors_)
    if (may_be_optimizers(tensor)) wanted.emplace(tensor, value.type());  // unless it is wanted
  return types().check_is(wanted);
}

Status LoadedTensors::check_read(const NamesByTensor& names) const {
  if (skips_) return {};
  for (const auto& [tensor, type] : unread_)
    if (names.contains(tensor)) return unread_tensor(path_, tensor, type);
  if (differs_ || unread_.empty()) return {};
  return unread_tensor(path_, unread_.begin()->first, unread_.begin()->second);
}

Status LoadedTensors::check_mismatch(const std::string& tensor, const std::string& variable, const Type& type) const {
  const auto found = tensors_.find(tensor);
  if (found == tensors_.end() || can_become(found->second.type(), type)) return {};
  return other_type(path_, tensor, found->second.type(), variable, type);
}

Result<WarmStartReport> LoadedTensors::give_to(VariableStore& store, const std::string& object, const Types& variables,
                                               const OwnNames& own) {
  const NamesByTensor names = names_for(object, variables, own);
  TENON_TRY(check_read(names));
  TENON_TRY(check_fits(names, variables));
  WarmStartReport report{.checkpoint = path_, .unread = {unread_.begin(), unread_.end()}};
  for (const auto& [tensor, variable] : names) {
    const auto found = tensors_.find(tensor);
    const bool is_there = found != tensors_.end();
    if (is_there && can_become(found->second.type(), variables.at(variable))) {
      TENON_TRY(store.give(variable, as_dtype(found->second, variables.at(variable).dtype)));
      report.loaded.emplace(variable, tensor);
      tensors_.erase(found);
      continue;
    }
    report.fresh.push_back(variable);
    const auto unread = report.unread.find(tensor);
    if (!is_there && unread == report.unread.end()) continue;
    const Type& here = variables.at(variable);
    report.mismatched.push_back(variable);
    report.others[variable] = {
        tensor, is_there ? difference(found->second.type(), here) : cat(unread->second, ", here ", here.str())};
    if (!is_there) report.unread.erase(unread);
  }
  for (const auto& entry : tensors_) report.left_over.push_back(entry.first);
  tensors_.clear();
  return report;
}

Status LoadedTensors::give_as(VariableStore& store, const NamesByTensor& names) {
  Types wanted;
  for (const auto& [tensor, variable] : names)
    if (const auto found = store.all().find(variable); found != store.all().end())
      wanted.emplace(tensor, found->second->type());
  TENON_TRY(types().check_has(wanted));
  for (const auto& [tensor, variable] : names) TENON_TRY(store.give(variable, std::move(tensors_.at(tensor))));
  tensors_.clear();
  return {};
}

Status LoadedTensors::give_known(VariableStore& store, const std::vector<std::string>& required) {
  Types wanted;
  for (const auto& [name, buffer] : store.all())
    if (tensors_.count(name)) wanted.emplace(name, buffer->type());
  for (const std::string& name : required) wanted.emplace(name, store.variable(name)->type());
  TENON_TRY(types().check_has(wanted));
  for (const auto& entry : wanted) TENON_TRY(store.give(entry.first, std::move(tensors_.at(entry.first))));
  tensors_.clear();
  return {};
}

}  // namespace tenon
