#include "conformance/host/lowering.h"

#include <algorithm>

namespace tenon::conformance {
namespace {

using plugin::GraphView;
using plugin::NodeView;

// Copies parts of graphs into a new one.
class Copier {
 public:
  using Ids = std::vector<uint32_t>;  // new ids of a graph's values; TENON_NONE: not there yet

  static Ids none_of(const GraphView& from) { return Ids(from.n_values(), TENON_NONE); }

  void inputs(const GraphView& from, Ids& ids) {
    for (uint32_t i = 0; i < from.n_inputs(); ++i) {
      const tenon_input& input = from.input(i);
      const plugin::ValueView value = from.value(input.value);
      ids[input.value] = builder_.input(value.dtype(), value.dims().vec(), static_cast<tenon_role>(input.role),
                                        from.value_name(input.value), input.placement);
    }
  }

  void constants(const GraphView& from, Ids& ids) {
    for (uint32_t i = 0; i < from.n_constants(); ++i) {
      const tenon_constant& c = from.constant(i);
      const plugin::ValueView value = from.value(c.value);
      ids[c.value] = builder_.constant(value.dtype(), value.dims().vec(), from.constant_data(c), c.bytes);
    }
  }

  void results(const GraphView& from, const Ids& ids) {
    for (uint32_t i = 0; i < from.n_results(); ++i) {
      const tenon_result& r = from.result(i);
      builder_.result(known(ids, r.value), static_cast<tenon_mode>(r.mode), r.alias, r.placement);
    }
  }

  // precision: the least of a dot or convolution; -1: as it is.
  void node(const NodeView& node, Ids& ids, const std::string& name, std::string_view origin, int32_t precision = -1) {
    std::vector<uint32_t> operands, results;
    for (int k = 0; k < node.operands(); ++k)
      operands.push_back(node.has(k) ? known(ids, node.operand_id(k)) : TENON_NONE);
    for (int k = 0; k < node.results(); ++k)
      results.push_back(node.has_result(k) ? value(node.graph(), node.result_id(k), ids) : TENON_NONE);
    builder_.node(node.op(), operands, results, node.version()).name(name, origin);
    const tenon_node& raw = node.graph().raw_node(node.index());
    for (uint32_t i = 0; i < raw.attrs.count; ++i) {
      const tenon_attr& attr = node.graph().attr(raw.attrs.first + i);
      if (precision < 0 || node.graph().text(attr.name) != "precision") copy_attr(node.graph(), attr);
    }
    if (precision >= 0) builder_.attr_enum("precision", std::max(precision, node.enumerator("precision")));
  }

  static std::string_view origin_of(const NodeView& node) {
    return node.graph().text(node.graph().raw_node(node.index()).origin);
  }

  plugin::FlatGraph build() const { return builder_.build(); }

 private:
  static uint32_t known(const Ids& ids, uint32_t id) {
    expect(ids.at(id) != TENON_NONE, "a graph uses value " + std::to_string(id) + " before it is defined");
    return ids[id];
  }

  uint32_t value(const GraphView& from, uint32_t id, Ids& ids) {
    const plugin::ValueView v = from.value(id);
    return ids[id] = builder_.value(v.dtype(), v.dims().vec(), from.value_name(id));
  }

  void copy_attr(const GraphView& from, const tenon_attr& attr) {
    const std::string_view name = from.text(attr.name);
    const uint8_t* data = from.attr_data(attr);
    int64_t number = 0;
    if (attr.count == 1) std::memcpy(&number, data, attr.type == TENON_ATTR_BYTES ? 1 : 8);
    double real = 0;
    std::memcpy(&real, &number, 8);
    if (attr.type == TENON_ATTR_BYTES)
      builder_.attr_bytes(name, data, attr.count);
    else if (attr.type == TENON_ATTR_LIST)
      builder_.attr_list(name,
                         {reinterpret_cast<const int64_t*>(data), reinterpret_cast<const int64_t*>(data) + attr.count});
    else if (attr.type == TENON_ATTR_F64)
      builder_.attr_f64(name, real);
    else
      builder_.attr(name, attr.type, number);
  }

  plugin::GraphBuilder builder_;
};

// Puts a decomposition in the place of `outer`.
void replace(Copier& copier, const NodeView& outer, const GraphView& inner, Copier::Ids& ids) {
  Copier::Ids inside = Copier::none_of(inner);
  uint32_t input = 0, result = 0;
  for (int k = 0; k < outer.operands(); ++k)
    if (outer.has(k) && input < inner.n_inputs()) inside[inner.input(input++).value] = ids[outer.operand_id(k)];
  copier.constants(inner, inside);
  for (uint32_t i = 0; i < inner.n_nodes(); ++i) {
    const NodeView node = inner.node(i);
    const std::string name = node.name().empty() ? std::to_string(i) : std::string(node.name());
    copier.node(node, inside, std::string(outer.name()) + "/" + name, Copier::origin_of(outer));
  }
  for (int k = 0; k < outer.results(); ++k)
    if (outer.has_result(k) && result < inner.n_results())
      ids[outer.result_id(k)] = inside[inner.result(result++).value];
}

std::string refusal(const NodeView& node, const Answer& answer) {
  std::string what = std::string(node.op());
  for (int k = 0; k < node.operands(); ++k)
    if (node.has(k)) what += std::string(k ? ", " : " of ") + plugin::dtype_name(node.in(k).dtype());
  return what + " ('" + std::string(node.name()) + "'): " + (answer.reason.empty() ? "no reason given" : answer.reason);
}

// The graph with what `add` makes of each node in its place.
template <class Add>
plugin::FlatGraph rewritten(const tenon_graph& graph, Add add) {
  const GraphView view(graph);
  Copier copier;
  Copier::Ids ids = Copier::none_of(view);
  copier.inputs(view, ids);
  copier.constants(view, ids);
  for (uint32_t i = 0; i < view.n_nodes(); ++i) add(copier, view.node(i), ids);
  copier.results(view, ids);
  return copier.build();
}

}  // namespace

plugin::FlatGraph inline_decompositions(const tenon_graph& whole, const std::vector<Decomposition>& decompositions,
                                        const std::vector<bool>& decompose) {
  return rewritten(whole, [&](Copier& copier, const NodeView& node, Copier::Ids& ids) {
    const uint32_t i = node.index();
    const auto found =
        std::find_if(decompositions.begin(), decompositions.end(), [i](const Decomposition& d) { return d.node == i; });
    if (!decompose.at(i))
      copier.node(node, ids, std::string(node.name()), Copier::origin_of(node));
    else if (found != decompositions.end())
      replace(copier, node, GraphView(*found->graph.graph()), ids);
    else
      fail(std::string(node.op()) + " '" + std::string(node.name()) + "' has no decomposition");
  });
}

plugin::FlatGraph with_precision(const tenon_graph& graph, int32_t precision) {
  return rewritten(graph, [precision](Copier& copier, const NodeView& node, Copier::Ids& ids) {
    const bool contracts =
        node.op() == "dot" || node.op() == "conv" || node.op() == "conv_grad_input" || node.op() == "conv_grad_filter";
    copier.node(node, ids, std::string(node.name()), Copier::origin_of(node), contracts ? precision : -1);
  });
}

void require_taken(Subject& subject, tenon_device* device, const tenon_graph& graph) {
  const GraphView view(graph);
  const std::vector<Answer> found = answers(subject, device, graph);
  for (uint32_t i = 0; i < view.n_nodes(); ++i)
    if (found[i].answer != TENON_TAKE) throw Unsupported{refusal(view.node(i), found[i])};
}

bool decomposes(Subject& subject, tenon_device* device, const tenon_graph& graph) {
  const std::vector<Answer> found = answers(subject, device, graph);
  return std::any_of(found.begin(), found.end(), [](const Answer& a) { return a.answer == TENON_DECOMPOSE; });
}

plugin::FlatGraph lowered_for(Subject& subject, tenon_device* device, const Case& c, size_t* taken) {
  const GraphView view(*c.whole.graph());
  const std::vector<Answer> found = answers(subject, device, *c.whole.graph());
  std::vector<bool> decompose;
  size_t whole = 0;
  for (uint32_t i = 0; i < view.n_nodes(); ++i) {
    const bool primitive = reference::is_primitive(view.node(i).op());
    if (found[i].answer == TENON_REFUSE || (primitive && found[i].answer != TENON_TAKE))
      throw Unsupported{refusal(view.node(i), found[i])};
    decompose.push_back(found[i].answer == TENON_DECOMPOSE);
    whole += !primitive && found[i].answer == TENON_TAKE;
  }
  if (taken) *taken = whole;
  plugin::FlatGraph lowered = inline_decompositions(*c.whole.graph(), c.decompositions, decompose);
  require_taken(subject, device, *lowered.graph());
  return lowered;
}

}  // namespace tenon::conformance
