#include "step/padded_layers.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/strings.h"
#include "compile/compile.h"

namespace tenon {
namespace {

// "dense" of "dense/kernel"; a variable under no name is a layer by itself.
std::string layer_of(const std::string& variable) {
  const size_t slash = variable.rfind('/');
  return slash == std::string::npos ? variable : variable.substr(0, slash);
}

class PaddedLayers {
 public:
  PaddedLayers(const PredictedStep& step, const Graph& graph) : step_(step), graph_(graph), nodes_(image_nodes(graph)) {
    for (const PredictedPadding& p : step.paddings)
      if (const ValueId value = value_of(p); value != kAbsent) paddings_[value].push_back(&p);
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      if (graph.nodes[i].phase == Phase::kForward)
        for (const ValueId v : graph.nodes[i].operands)
          if (v != kAbsent) readers_.emplace(v, static_cast<NodeId>(i));
    for (const GraphInput& input : graph.inputs)
      if (input.role == Role::kFeed && input.split && batch_ == 0 && graph.type(input.value).shape.rank() > 0)
        batch_ = graph.type(input.value).shape[0];
  }

  std::vector<PaddedLayer> all() {
    for (const GraphInput& input : graph_.inputs)
      if (input.role == Role::kFeed) add(input.name, input.value);
    for (const Variable& v : graph_.variables)
      if (v.kind == VariableKind::kWeight) add_readers(layer_of(v.name), graph_.inputs[v.input].value);
    add_work();
    std::erase_if(layers_, [](const PaddedLayer& layer) { return layer.sizes.empty(); });
    const auto wasted = [](const PaddedLayer& layer) { return layer.bytes - layer.dense_bytes; };
    std::stable_sort(layers_.begin(), layers_.end(),
                     [&](const PaddedLayer& a, const PaddedLayer& b) { return wasted(a) > wasted(b); });
    return std::move(layers_);
  }

 private:
  // kAbsent where there is none of those numbers, or its sizes are others.
  ValueId value_of(const PredictedPadding& p) const {
    ValueId value = kAbsent;
    if (p.node < 0) {
      if (p.index < graph_.inputs.size()) value = graph_.inputs[p.index].value;
    } else if (static_cast<size_t>(p.node) < nodes_.size()) {
      const Node& node = graph_.nodes[static_cast<size_t>(nodes_[static_cast<size_t>(p.node)])];
      if (p.index < node.results.size()) value = node.results[p.index];
    }
    if (value == kAbsent) return value;
    const Shape& shape = graph_.type(value).shape;
    const auto axis = static_cast<int>(p.axis);
    return p.axis < static_cast<uint32_t>(shape.rank()) && shape[axis] == p.size && p.padded > p.size ? value : kAbsent;
  }

  // What a weight is used for: what makes something of another shape of it and something else. What only turns, casts or
  // sums it up is passed through.
  void add_readers(const std::string& layer, ValueId weight) {
    if (graph_.type(weight).shape.rank() < 2) return;
    const auto [first, last] = readers_.equal_range(weight);
    for (auto it = first; it != last; ++it) {
      const Node& node = graph_.nodes[static_cast<size_t>(it->second)];
      const ValueId result = node.results[0];
      if (node.operands.size() == 1) {
        add_readers(layer, result);
      } else if (!(graph_.type(result).shape == graph_.type(weight).shape)) {
        layer_of_node_.emplace(it->second, add(layer, result));
      }
    }
  }

  // Returns its place in layers_.
  size_t add(const std::string& name, ValueId value) {
    const auto [place, made] = places_.emplace(name, layers_.size());
    if (made) layers_.push_back({name, graph_.type_text(value), {}, 0, 0, 0, 0});
    PaddedLayer& layer = layers_[place->second];
    const auto found = paddings_.find(value);
    const Type& type = graph_.type(value);
    if (found == paddings_.end() || type.shape.rank() < 2) return place->second;
    const auto dense = static_cast<uint64_t>(type.bytes());
    double bytes = static_cast<double>(dense);
    for (const PredictedPadding* p : found->second) {
      bytes *= static_cast<double>(p->padded) / static_cast<double>(p->size);
      add_size(layer, size_of(*p, type.shape));
    }
    if (bytes - static_cast<double>(dense) >= static_cast<double>(layer.bytes - layer.dense_bytes)) {
      layer.type = graph_.type_text(value);
      layer.bytes = static_cast<uint64_t>(std::min(bytes, 1e18) + 0.5);
      layer.dense_bytes = dense;
    }
    return place->second;
  }

  PaddedSize size_of(const PredictedPadding& p, const Shape& shape) const {
    const bool last = static_cast<int>(p.axis) == shape.rank() - 1, batch = p.axis == 0 && p.size == batch_;
    return {last ? "features" : batch ? "batch" : cat("dimension ", p.axis), p.size, p.padded};
  }

  static void add_size(PaddedLayer& layer, PaddedSize size) {
    for (const PaddedSize& other : layer.sizes)
      if (other.what == size.what && other.size == size.size && other.padded == size.padded) return;
    layer.sizes.push_back(std::move(size));
  }

  // The kernels of a layer's products, and of their gradients.
  void add_work() {
    for (const PredictedKernel& k : step_.kernels) {
      if (k.node >= nodes_.size()) continue;
      const NodeId node = nodes_[k.node], forward = graph_.nodes[static_cast<size_t>(node)].forward_of;
      const auto found = layer_of_node_.find(forward >= 0 ? forward : node);
      if (found == layer_of_node_.end()) continue;
      layers_[found->second].flops += k.flops;
      layers_[found->second].padded_flops += k.padded_flops;
    }
  }

  const PredictedStep& step_;
  const Graph& graph_;
  std::vector<NodeId> nodes_;  // by the device's numbers
  std::map<ValueId, std::vector<const PredictedPadding*>> paddings_;
  std::multimap<ValueId, NodeId> readers_;
  int64_t batch_ = 0;
  std::vector<PaddedLayer> layers_;
  std::map<std::string, size_t> places_;
  std::map<NodeId, size_t> layer_of_node_;
};

}  // namespace

std::string PaddedLayer::sizes_text() const {
  std::vector<std::string> parts;
  for (const PaddedSize& s : sizes)
    parts.push_back(cat(s.what, " ", s.size, s.what == "features" ? " take " : " takes ", s.padded));
  return join(parts);
}

std::vector<PaddedLayer> padded_layers(const PredictedStep& step, const Graph& graph) {
  return PaddedLayers(step, graph).all();
}

}  // namespace tenon
