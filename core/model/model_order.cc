#include "model/model_order.h"

#include <algorithm>
#include <map>
#include <set>

namespace tenon {
namespace {

// Depths count from the outputs; among layers of one depth the one comes first that is met first from the outputs.
class Ordering {
 public:
  explicit Ordering(const std::function<std::string(const Symbol::Node&)>& key_of) : key_of_(key_of) {}

  void visit(const Symbol::Node* node) {
    if (!seen_.insert(node).second) return;
    index_.emplace(key_of_(*node), static_cast<int>(index_.size()));
    for (const Symbol& from : node->from) visit(&from.node());
    finished_.push_back(node);
  }
  // An input that no output needs stands at the end.
  void add_unused(const Symbol::Node* input) {
    if (!seen_.insert(input).second) return;
    index_.emplace(key_of_(*input), -1);
    finished_.insert(finished_.begin(), input);
  }

  ModelOrder order() {
    find_depths();
    ModelOrder out;
    std::map<std::string, OrderedLayer> layers;
    for (const Symbol::Node* node : finished_) layers[key_of_(*node)].calls.push_back(node);
    std::map<int, int> at_depth;
    for (const auto& [node, depth] : depth_)
      out.branching = out.branching || ++at_depth[depth] > 1 || node->from.size() > 1;
    for (auto& [key, layer] : layers) {
      layer.key = key;
      out.branching = out.branching || layer.calls.size() > 1;
      std::sort(layer.calls.begin(), layer.calls.end(), [](auto* a, auto* b) { return a->number < b->number; });
      out.layers.push_back(std::move(layer));
    }
    std::sort(out.layers.begin(), out.layers.end(), [&](const OrderedLayer& a, const OrderedLayer& b) {
      return std::pair(-layer_depth_.at(a.key), index_.at(a.key)) <
             std::pair(-layer_depth_.at(b.key), index_.at(b.key));
    });
    return out;
  }

 private:
  void find_depths() {
    for (auto it = finished_.rbegin(); it != finished_.rend(); ++it) {
      int& of_layer = layer_depth_[key_of_(**it)];
      const int depth = std::max(depth_[*it], of_layer);
      of_layer = depth_[*it] = depth;
      for (const Symbol& from : (*it)->from) depth_[&from.node()] = std::max(depth + 1, depth_[&from.node()]);
    }
  }

  const std::function<std::string(const Symbol::Node&)>& key_of_;
  std::set<const Symbol::Node*> seen_;
  std::vector<const Symbol::Node*> finished_;  // each behind what it is made of
  std::map<std::string, int> index_, layer_depth_;
  std::map<const Symbol::Node*, int> depth_;
};

}  // namespace

ModelOrder order_of(const std::vector<Symbol>& inputs, const std::vector<Symbol>& outputs,
                    const std::function<std::string(const Symbol::Node&)>& key_of) {
  Ordering ordering(key_of);
  for (const Symbol& output : outputs) ordering.visit(&output.node());
  for (const Symbol& input : inputs) ordering.add_unused(&input.node());
  return ordering.order();
}

}  // namespace tenon
