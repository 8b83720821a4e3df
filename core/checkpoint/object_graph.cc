// The names of tensors in files of tf.train.Checkpoint.
#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "checkpoint/tensor_bundle.h"
#include "tensor_bundle.pb.h"

namespace tenon {
namespace {

using ObjectGraph = bundle::TrackableObjectGraph;

constexpr const char* kObjectGraph = "_CHECKPOINTABLE_OBJECT_GRAPH";
constexpr std::string_view kValue = "VARIABLE_VALUE";

// Slots that hold the same numbers here, by the names of Keras 2, of its optimizers of before 2.11, and of Keras 3. Those
// of the optimizer are "RMSprop", "rmsprop" and "rm_sprop", by version.
struct SlotName {
  std::string_view optimizer, slot;
  const char* name;
};
constexpr SlotName kSlots[] = {
    {"adam", "m", "Adam"},
    {"adam", "momentum", "Adam"},
    {"adam", "v", "Adam_1"},
    {"adam", "velocity", "Adam_1"},
    {"adam", "vhat", "Adam_2"},
    {"adam", "velocity_hat", "Adam_2"},
    {"adamw", "m", "Adam"},
    {"adamw", "momentum", "Adam"},
    {"adamw", "v", "Adam_1"},
    {"adamw", "velocity", "Adam_1"},
    {"adamw", "vhat", "Adam_2"},
    {"adamw", "velocity_hat", "Adam_2"},
    {"adagrad", "accumulator", "Adagrad"},
    {"sgd", "m", "Momentum"},
    {"sgd", "momentum", "Momentum"},
    {"rmsprop", "rms", "RMSProp"},
    {"rmsprop", "velocity", "RMSProp"},
    {"rmsprop", "mg", "RMSProp_1"},
    {"rmsprop", "average_gradient", "RMSProp_1"},
    {"rmsprop", "momentum", "RMSProp_2"},
};

std::string_view up_to_slash(std::string_view text) { return text.substr(0, text.find('/')); }
std::string_view behind_slash(std::string_view text) {
  const size_t slash = text.find('/');
  return slash == text.npos ? std::string_view() : text.substr(slash + 1);
}

// "rmsprop" for "rm_sprop/momentum/dense/bias".
std::string optimizer_of(std::string_view name) {
  std::string out;
  for (const char c : up_to_slash(name))
    if (c != '_') out += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return out;
}

// The way from object to object, without what tf.train.Checkpoint adds.
std::string way_to(const std::string& key) { return key.substr(0, key.find("/.ATTRIBUTES/")); }

bool ends_with_any(std::string_view text, std::initializer_list<const char*> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](const char* end) { return text.ends_with(end); });
}

// The variables by their keys: first with the names that TensorFlow gave them, in the end with those that they have here.
class Names {
 public:
  explicit Names(const ObjectGraph& graph) {
    for (const auto& node : graph.nodes())
      for (const auto& a : node.attributes())
        if (a.name() == kValue) names_[a.checkpoint_key()] = a.full_name();
    for (const auto& [key, name] : names_)
      if (!is_optimizers(key, name)) own_.emplace(key, name);
    leave_out_model();
    std::map<std::string, std::string> renamed = own_;
    for (const auto& [key, name] : names_)
      if (!own_.contains(key)) renamed[key] = optimizers_name(key, name);
    name_slots(graph, renamed);
    count_rmsprops_slots(renamed);
    names_ = std::move(renamed);
  }

  const std::map<std::string, std::string>& all() const { return names_; }

 private:
  static bool is_optimizers(const std::string& key, std::string_view name) {
    const std::string way = way_to(key);
    return way.find("/_variables/") != way.npos || way.find("/.OPTIMIZER_SLOT/") != way.npos ||
           ends_with_any(way, {"/_iterations", "/_learning_rate", "/iter", "/beta_1", "/beta_2", "/decay",
                               "/learning_rate", "/momentum", "/rho"}) ||
           name.find('/') == name.npos;
  }

  // Keras 3, and Keras 2 for models that are classes of one's own, begin every name with the model's.
  void leave_out_model() {
    if (own_.empty()) return;
    const std::string model(up_to_slash(own_.begin()->second));
    for (const auto& [key, name] : own_)
      if (up_to_slash(name) != model || behind_slash(name).find('/') == name.npos) return;
    for (auto& [key, name] : own_) {
      flat_.emplace(flat(name), behind_slash(name));
      name = std::string(behind_slash(name));
    }
  }

  static std::string flat(std::string name) {
    std::replace(name.begin(), name.end(), '/', '_');
    return name;
  }

  std::string optimizers_name(const std::string& key, const std::string& name) const {
    if (ends_with_any(way_to(key), {"/_iterations", "/iter"})) return "global_step";
    if (ends_with_any(way_to(key), {"/_learning_rate", "/learning_rate"})) return "learning_rate";
    const std::string optimizer = optimizer_of(name);
    const std::string_view inner = behind_slash(name);
    for (const SlotName& s : kSlots) {
      if (s.optimizer != optimizer) continue;
      if (up_to_slash(inner) == s.slot && !behind_slash(inner).empty()) return cat(behind_slash(inner), "/", s.name);
      if (!inner.ends_with(cat("_", s.slot))) continue;
      const auto variable = flat_.find(std::string(inner.substr(0, inner.size() - s.slot.size() - 1)));
      if (variable != flat_.end()) return cat(variable->second, "/", s.name);
    }
    return name;
  }

  // Names the slots of optimizers older than Keras 2.11, which the graph itself tells.
  void name_slots(const ObjectGraph& graph, std::map<std::string, std::string>& renamed) const {
    const auto key_of = [&](int32_t node) -> const std::string* {
      if (node < 0 || node >= graph.nodes_size()) return nullptr;
      for (const auto& a : graph.nodes(node).attributes())
        if (a.name() == kValue) return &a.checkpoint_key();
      return nullptr;
    };
    for (const auto& node : graph.nodes())
      for (const auto& s : node.slot_variables()) {
        const std::string *of = key_of(s.original_variable_node_id()), *key = key_of(s.slot_variable_node_id());
        if (!of || !key) continue;
        const std::string optimizer = optimizer_of(names_.at(*key));
        for (const SlotName& known : kSlots)
          if (known.optimizer == optimizer && known.slot == s.slot_name())
            renamed[*key] = cat(renamed[*of], "/", known.name);
      }
  }

  // RMSprop's momentum is its second slot where it keeps no means of gradients.
  static void count_rmsprops_slots(std::map<std::string, std::string>& renamed) {
    constexpr std::string_view kSecond = "/RMSProp_1", kThird = "/RMSProp_2";
    std::set<std::string> seconds;
    for (const auto& [key, name] : renamed)
      if (name.ends_with(kSecond)) seconds.insert(name);
    for (auto& [key, name] : renamed) {
      if (!name.ends_with(kThird)) continue;
      const std::string second = cat(name.substr(0, name.size() - kThird.size()), kSecond);
      if (!seconds.contains(second)) name = second;
    }
  }

  std::map<std::string, std::string> names_, own_;
  std::map<std::string, std::string> flat_;  // "sequential_dense_kernel": "dense/kernel"
};

}  // namespace

Status BundleReader::name_by_objects() {
  const BundleEntry* entry = find(kObjectGraph);
  if (!entry || !entry->is_string) return {};
  TENON_ASSIGN(const std::vector<std::string> texts, read_strings(kObjectGraph));
  ObjectGraph graph;
  if (texts.size() != 1 || !graph.ParseFromString(texts[0]))
    return invalid("checkpoint ", prefix_, ": what it says of its objects is damaged");
  const Names names(graph);
  std::map<std::string, int> uses;
  for (const auto& entry_name : entries_) ++uses[entry_name.first];
  for (const auto& name : names.all()) ++uses[name.second];
  std::map<std::string, BundleEntry, std::less<>> renamed;
  for (auto& [key, value] : entries_) {
    const auto found = names.all().find(key);
    const bool has = found != names.all().end() && !found->second.empty() && uses[found->second] == 1;
    renamed.emplace(has ? found->second : key, std::move(value));
  }
  entries_ = std::move(renamed);
  return {};
}

}  // namespace tenon
