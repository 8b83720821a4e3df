#include "conformance/suites/values/one_node.h"

#include <set>

namespace tenon::conformance {
namespace {

using plugin::GraphView;
using plugin::NodeView;
using plugin::ValueView;

class Maker {
 public:
  Maker(const NodeView& node, const Change& change) : node_(node), change_(change) {}

  plugin::FlatGraph make() {
    std::vector<uint32_t> operands, results;
    for (int k = 0; k < node_.operands(); ++k) operands.push_back(node_.has(k) ? operand(k) : TENON_NONE);
    for (int k = 0; k < node_.results(); ++k) results.push_back(node_.has_result(k) ? result(k) : TENON_NONE);
    builder_.node(node_.op(), operands, results, change_.version ? change_.version : node_.version()).name("alone");
    copy_attributes();
    for (uint32_t value : results)
      if (value != TENON_NONE) builder_.result(value);
    return builder_.build();
  }

 private:
  // An operand that comes twice is one value.
  uint32_t operand(int k) {
    for (int earlier = 0; earlier < k; ++earlier)
      if (node_.has(earlier) && node_.operand_id(earlier) == node_.operand_id(k)) return inputs_[earlier];
    const ValueView v = node_.in(k);
    const int32_t dtype = change_.dtype && k == change_.operand ? change_.dtype : v.dtype();
    const tenon_role role = change_.scalars && v.rank() == 0 ? TENON_ROLE_SCALAR : TENON_ROLE_STATE;
    return inputs_[k] = builder_.input(dtype, v.dims().vec(), role);
  }

  uint32_t result(int k) {
    const ValueView v = node_.out(k);
    const bool follows = change_.dtype && change_.operand == 0 && node_.has(0) && v.dtype() == node_.in(0).dtype();
    const int32_t other = change_.result_dtype && k == 0 ? change_.result_dtype : v.dtype();
    return builder_.value(follows ? change_.dtype : other, v.dims().vec());
  }

  void copy_attributes() {
    const GraphView& graph = node_.graph();
    const tenon_node& raw = graph.raw_node(node_.index());
    for (uint32_t i = 0; i < raw.attrs.count; ++i) {
      const tenon_attr& attr = graph.attr(raw.attrs.first + i);
      const std::string_view name = graph.text(attr.name);
      if (name == change_.less) continue;
      const int64_t* numbers = reinterpret_cast<const int64_t*>(graph.attr_data(attr));
      double real = 0;
      if (attr.type == TENON_ATTR_F64) std::memcpy(&real, numbers, sizeof real);
      if (attr.type == TENON_ATTR_BYTES)
        builder_.attr_bytes(name, numbers, attr.count);
      else if (attr.type == TENON_ATTR_LIST)
        builder_.attr_list(name, {numbers, numbers + attr.count});
      else if (attr.type == TENON_ATTR_F64)
        builder_.attr_f64(name, real);
      else
        builder_.attr(name, attr.type, name == change_.enum_attribute ? change_.enum_value : *numbers);
    }
    if (!change_.more.empty()) builder_.attr_i64(change_.more, 1);
  }

  const NodeView& node_;
  const Change& change_;
  plugin::GraphBuilder builder_;
  std::map<int, uint32_t> inputs_;
};

// Equal for nodes that a backend must answer alike.
std::string key_of(const NodeView& node) {
  const plugin::FlatGraph alone = one_node_graph(node);
  return std::string(reinterpret_cast<const char*>(alone.bytes().data()), alone.bytes().size());
}

std::map<std::string, std::vector<Sample>> find_samples() {
  std::map<std::string, std::vector<Sample>> found;
  std::set<std::string> seen;
  for (const Case& c : built_in_corpus()) {
    if (c.min_memory) continue;
    for (const plugin::FlatGraph* graph : {&c.whole, &c.lowered}) {
      const GraphView view(*graph->graph());
      for (uint32_t i = 0; i < view.n_nodes(); ++i)
        if (seen.insert(key_of(view.node(i))).second) found[std::string(view.node(i).op())].push_back({graph, i});
    }
  }
  return found;
}

}  // namespace

plugin::FlatGraph one_node_graph(const NodeView& node, const Change& change) { return Maker(node, change).make(); }

const std::map<std::string, std::vector<Sample>>& samples() {
  static const auto& found = *new std::map<std::string, std::vector<Sample>>(find_samples());
  return found;
}

}  // namespace tenon::conformance
