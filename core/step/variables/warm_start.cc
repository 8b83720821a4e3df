#include "step/variables/starting_weights.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/room.h"
#include "base/strings.h"
#include "step/variables/variable_store.h"

namespace tenon {
namespace {

using Among = VarsToWarmStart::Among;

// Where training of an Estimator or of fit() stood; not a variable.
bool is_note(std::string_view tensor) { return tensor.starts_with("tenon/"); }

bool is_prefix(const std::string& name) { return name.empty() || name.ends_with('/'); }

const char* thing(Among among) {
  return among == Among::kTrainable ? "trained variable" : among == Among::kWeights ? "weight" : "variable";
}

// What an optimizer keeps: "dense/kernel/Adam", below a weight's name, and "global_step".
class OfOptimizer {
 public:
  explicit OfOptimizer(const WarmStartReport& report) {
    for (const auto& [variable, tensor] : report.loaded) known_.insert({variable, tensor});
    known_.insert(report.fresh.begin(), report.fresh.end());
    known_.insert(report.left_over.begin(), report.left_over.end());
  }
  bool has(const std::string& name) const {
    const size_t slash = name.rfind('/');
    return name == "global_step" || (slash != std::string::npos && known_.contains(name.substr(0, slash)));
  }

 private:
  std::set<std::string> known_;
};

// "; 2 begin anew: 'a', 'b'; 4 of the optimizer begin anew": those that are no weights are many, and seldom asked for.
void append_names(std::string& out, const std::vector<std::string>& names, const OfOptimizer& optimizer,
                  const char* what, const char* owner) {
  std::vector<std::string> weights;
  std::copy_if(names.begin(), names.end(), std::back_inserter(weights),
               [&](const auto& n) { return !optimizer.has(n); });
  if (!weights.empty()) append(out, cat("; ", weights.size(), " ", what, ": ", some_names(weights)));
  const size_t others = names.size() - weights.size();
  if (others) append(out, cat("; ", others, " of ", owner, " optimizer ", what));
}

std::vector<std::string> listed(const std::set<std::string>& names) { return {names.begin(), names.end()}; }

std::vector<std::string> without(const std::vector<std::string>& names, const std::set<std::string>& those) {
  std::vector<std::string> out;
  std::copy_if(names.begin(), names.end(), std::back_inserter(out), [&](const auto& n) { return !those.contains(n); });
  return out;
}

constexpr size_t kMostNamed = 8;

// "'a' [2], here [3], 'b' [4], here [5] and 2 more"
std::string with_texts(const std::vector<std::pair<std::string, std::string>>& all) {
  std::string out;
  for (size_t i = 0; i < std::min(kMostNamed, all.size()); ++i)
    append(out, cat(i ? ", '" : "'", abbreviated(all[i].first), "' ", all[i].second));
  if (all.size() > kMostNamed) append(out, cat(" and ", all.size() - kMostNamed, " more"));
  return out;
}

}  // namespace

std::string some_names(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < std::min(kMostNamed, names.size()); ++i)
    append(out, cat(i ? ", '" : "'", abbreviated(names[i]), "'"));
  if (names.size() > kMostNamed) append(out, cat(" and ", names.size() - kMostNamed, " more"));
  return out;
}

std::string difference(const Type& found, const Type& here) {
  const bool same = found.dtype == here.dtype;
  return cat(same ? found.shape.str() : found.str(), ", here ", same ? here.shape.str() : here.str());
}

Status other_type(const std::string& path, const std::string& tensor, const Type& found, const std::string& variable,
                  const Type& type) {
  return invalid("'", path, "': its '", tensor, "' is ", found.str(), ", variable '", variable, "' is ", type.str(),
                 "; skip_mismatch lets it begin anew");
}

std::string WarmStartReport::text() const {
  std::string out =
      cat("warm start from ", checkpoint, ": ", loaded.size(), loaded.size() == 1 ? " variable" : " variables");
  const OfOptimizer optimizer(*this);
  // What is of another type stands there once, though it begins anew and its tensor is left over.
  std::set<std::string> theirs;
  std::vector<std::pair<std::string, std::string>> differences;
  for (const auto& [variable, other] : others) {
    theirs.insert(other.tensor);
    differences.emplace_back(variable, other.difference);
  }
  append_names(out, without(fresh, {mismatched.begin(), mismatched.end()}), optimizer, "begin anew", "the");
  if (!differences.empty())
    append(out, cat("; ", differences.size(), differences.size() == 1 ? " begins" : " begin",
                    " anew, of another shape in it: ", with_texts(differences)));
  append_names(out, without(left_over, theirs), optimizer, "left over", "its");
  if (!unread.empty()) append(out, cat("; ", unread.size(), " not read: ", with_texts({unread.begin(), unread.end()})));
  if (!unmatched.empty()) append(out, cat("; no variable matches ", some_names(unmatched)));
  return out;
}

Result<WarmStart> WarmStart::open(WarmStartSettings settings) {
  if (settings.ckpt_to_initialize_from.empty()) return invalid("warm start: ckpt_to_initialize_from is empty");
  TENON_ASSIGN(TensorFile file, TensorFile::open(settings.ckpt_to_initialize_from, settings.rules));
  return of(std::move(settings), std::move(file));
}

Result<WarmStart> WarmStart::of(WarmStartSettings settings, TensorFile file) {
  WarmStart out(std::move(settings), std::move(file));
  for (const std::string& text : out.settings_.vars_to_warm_start.expressions()) {
    Result<NameExpression> expression = NameExpression::make(text);
    if (!expression.ok()) return invalid("vars_to_warm_start: ", expression.status().message());
    out.expressions_.push_back(expression.take());
  }
  TENON_TRY(out.check_renames());
  return out;
}

Status WarmStart::check_renames() const {
  for (const auto& [name, previous] : settings_.var_name_to_prev_var_name) {
    if (is_prefix(name) != is_prefix(previous))
      return invalid("var_name_to_prev_var_name: '", abbreviated(name), "' and '", abbreviated(previous),
                     "': expected two names, or two prefixes that end with '/'");
    const auto at = file_.tensors().lower_bound(previous);
    const bool has =
        at != file_.tensors().end() && (is_prefix(previous) ? at->first.starts_with(previous) : at->first == previous);
    if (!has)
      return invalid("var_name_to_prev_var_name: '", file_.path(), "' has no ",
                     is_prefix(previous) ? "names under '" : "'", abbreviated(previous), "'");
  }
  return {};
}

bool WarmStart::is_among(const VariableRole& role) const {
  const Among among = settings_.vars_to_warm_start.among();
  if (among != Among::kAll && role.kind != VariableKind::kWeight) return false;
  return among != Among::kTrainable || role.trainable;
}

bool WarmStart::selects(const std::string& variable, const VariableRole& role) const {
  return is_among(role) && std::any_of(expressions_.begin(), expressions_.end(),
                                       [&](const NameExpression& e) { return e.begins(variable); });
}

// By its own name, else by the longest prefix.
const WarmStart::Rename* WarmStart::rename_of(const std::string& variable) const {
  const auto& renames = settings_.var_name_to_prev_var_name;
  if (const auto found = renames.find(variable); found != renames.end()) return &*found;
  const Rename* best = nullptr;  // in the order of names a longer prefix comes later
  for (const Rename& rename : renames)
    if (is_prefix(rename.first) && variable.starts_with(rename.first)) best = &rename;
  return best;
}

Result<WarmStart::Source> WarmStart::source_of(const std::string& variable, const Type& type,
                                               const VariableRole& role) const {
  if (!selects(variable, role)) return Source();
  const Rename* rename = rename_of(variable);
  const std::string asked = rename ? rename->second + variable.substr(rename->first.size()) : variable;
  if (const auto unread = file_.unread().find(asked); unread != file_.unread().end())
    return settings_.skip_mismatch
               ? Result<Source>(Source{{}, true, {asked, cat(unread->second, ", here ", type.str())}})
               : Result<Source>(unread_tensor(file_.path(), asked, unread->second));
  const auto placed = by_position_.find(asked);
  TENON_ASSIGN(const std::string name, placed != by_position_.end() && !file_.tensors().contains(asked)
                                           ? Result<std::string>(placed->second)
                                           : name_in_file(file_, asked));
  if (name.empty() || is_note(name)) return Source();
  const auto found = file_.tensors().find(name);
  if (found->second == type) return Source{name};
  if (settings_.skip_mismatch) return Source{{}, true, {name, difference(found->second, type)}};
  return other_type(file_.path(), name, found->second, variable, type);
}

void WarmStart::learn(const std::vector<std::string>& variables) {
  for (const auto& [tensor, variable] : tensors_by_position(file_.by_position(), variables))
    by_position_.emplace(variable, tensor);
}

Result<Array> WarmStart::read(const std::string& tensor, const Type& type) const {
  TENON_TRY(room_for(static_cast<uint64_t>(type.bytes()), cat("'", tensor, "' of '", file_.path(), "'")));
  Array value(type);
  TENON_TRY(file_.read(tensor, value.bytes()));
  return value;
}

void WarmStart::note(const std::string& variable, const VariableRole& role, const Source& source) {
  noted_[variable] = role;
  if (!source.tensor.empty()) return void(loaded_[variable] = source.tensor);
  fresh_.insert(variable);
  if (source.mismatched) mismatched_.emplace(variable, source.other);
}

// Nothing is said before there is a variable.
std::vector<std::string> WarmStart::unmatched() const {
  std::vector<std::string> out;
  if (noted_.empty()) return out;
  for (const NameExpression& e : expressions_)
    if (std::none_of(noted_.begin(), noted_.end(),
                     [&](const auto& v) { return is_among(v.second) && e.begins(v.first); }))
      out.push_back(e.text());
  for (const Rename& rename : settings_.var_name_to_prev_var_name)
    if (std::none_of(noted_.begin(), noted_.end(), [&](const auto& v) { return rename_of(v.first) == &rename; }))
      out.push_back(rename.first);
  return out;
}

WarmStartReport WarmStart::report() const {
  std::set<std::string> left;
  for (const auto& entry : file_.tensors())
    if (!is_note(entry.first)) left.insert(entry.first);
  for (const auto& entry : loaded_) left.erase(entry.second);
  std::vector<std::string> fresh = listed(fresh_);  // what was asked for stands first
  std::stable_partition(fresh.begin(), fresh.end(),
                        [&](const std::string& name) { return selects(name, noted_.find(name)->second); });
  WarmStartReport out{.checkpoint = file_.path(),
                      .loaded = loaded_,
                      .fresh = std::move(fresh),
                      .mismatched = {},
                      .others = mismatched_,
                      .left_over = listed(left),
                      .unmatched = unmatched(),
                      .unread = {file_.unread().begin(), file_.unread().end()}};
  for (const auto& [variable, other] : mismatched_) out.mismatched.push_back(variable), out.unread.erase(other.tensor);
  return out;
}

bool WarmStart::is_whole() const {
  return unmatched().empty() && std::all_of(noted_.begin(), noted_.end(), [&](const auto& v) {
           return loaded_.contains(v.first) || !selects(v.first, v.second);
         });
}

Status WarmStart::whole() const {
  constexpr const char* kOtherModel = "; was it trained by another model, or has it other names (--rules)?";
  for (const auto& [variable, other] : mismatched_)
    if (selects(variable, noted_.find(variable)->second))
      return invalid("'", file_.path(), "': its '", other.tensor, "' for variable '", variable, "' is ",
                     other.difference, "; was it trained by another model?");
  std::vector<std::string> missing;
  for (const auto& [variable, role] : noted_)
    if (!loaded_.contains(variable) && selects(variable, role)) missing.push_back(variable);
  return missing.empty() ? Status()
                         : invalid("checkpoint ", file_.path(), " has no variable ", some_names(missing), kOtherModel);
}

Status WarmStart::finish() const {
  const WarmStartReport all = report();
  const bool torch = std::any_of(all.left_over.begin(), all.left_over.end(),
                                 [](const std::string& n) { return n.ends_with(".weight"); });
  if (loaded_.empty())
    return invalid(
        "no variable begins with a value of '", all.checkpoint, "'",
        torch && settings_.rules.empty() ? ", which has PyTorch's names: --rules gives them others, as share/rules "
                                           "has them for some models"
                                         : "",
        all.unmatched.empty()
            ? ""
            : cat(": no ", thing(settings_.vars_to_warm_start.among()), " matches ", some_names(all.unmatched)),
        "; variables: ", some_names(all.fresh), "; it has: ", some_names(all.left_over));
  for (const Rename& rename : settings_.var_name_to_prev_var_name)
    if (std::none_of(loaded_.begin(), loaded_.end(), [&](const auto& v) { return rename_of(v.first) == &rename; }))
      return invalid("var_name_to_prev_var_name: no variable '", abbreviated(rename.first), "' begins with the '",
                     abbreviated(rename.second), "' of '", all.checkpoint, "'");
  return {};
}

}  // namespace tenon
