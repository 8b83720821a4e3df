// From graphs for three numbers of rows to one for any.
#include <algorithm>
#include <array>

#include "base/strings.h"
#include "compile/rewrite.h"
#include "export/fit/spread_constants.h"
#include "export/portable_graph.h"
#include "op/decompose.h"

namespace tenon {
namespace {

// Primes, so that no product of sizes of one kind is one of another for all three. Larger than the small sizes, up to 64 elements,
// that import of ONNX computes as numbers while it traces: an array that has the rows is then none of those, for any of the three.
constexpr std::array<int64_t, 3> kRows{67, 71, 73};
using Numbers = std::array<int64_t, 3>;

std::optional<PerRows> fit(const Numbers& n) {
  const int64_t step = n[1] - n[0], rows = kRows[1] - kRows[0];
  if (step % rows != 0) return {};
  const PerRows out{n[0] - step / rows * kRows[0], step / rows};
  return out.at(kRows[2]) == n[2] ? std::optional(out) : std::nullopt;
}

// What is left of a graph behind its results: nodes that nothing needs are gone.
Status check_exportable(const Graph& graph) {
  for (const Output& result : graph.results)
    if (result.alias >= 0)
      return Status(Code::kUnsupported, cat("variable '", graph.inputs[static_cast<size_t>(result.alias)].name,
                                            "' changes when the model predicts; what is exported cannot change"));
  for (const GraphInput& input : graph.inputs)
    if (input.role == Role::kScalar)
      return Status(Code::kUnsupported, cat("the model needs the number '", input.name, "' in each step",
                                            input.name == "seed" ? ", to draw at random" : "",
                                            "; what is exported has features and variables alone"));
  return {};
}

class Fitting {
 public:
  explicit Fitting(std::array<Graph, 3> graphs) : graphs_(std::move(graphs)) {}

  Result<PortableGraph> run() {
    TENON_TRY(check_exportable(graphs_[0]));
    for (const Graph& g : graphs_)
      if (g.nodes.size() != graphs_[0].nodes.size() || g.inputs.size() != graphs_[0].inputs.size())
        return Status(Code::kUnsupported, cat("the model has ", graphs_[0].nodes.size(), " nodes for ", kRows[0],
                                              " rows and ", g.nodes.size(), " for another number of them"));
    PortableGraph out;
    place_.assign(graphs_[0].values.size(), -1);
    for (size_t i = 0; i < graphs_[0].inputs.size(); ++i) {
      const GraphInput& input = graphs_[0].inputs[i];
      TENON_ASSIGN(const int value, take_value(out, input_value(i), cat("input '", input.name, "'")));
      out.inputs.push_back({input.name, value, input.role == Role::kState});
    }
    for (size_t n = 0; n < graphs_[0].nodes.size(); ++n) TENON_TRY(take_node(out, n));
    for (const Output& result : graphs_[0].results)
      out.results.push_back({result.name, place_[static_cast<size_t>(result.value)]});
    TENON_TRY(out.verify());
    return out;
  }

 private:
  using Ids = std::array<ValueId, 3>;
  Ids input_value(size_t i) const {
    return {graphs_[0].inputs[i].value, graphs_[1].inputs[i].value, graphs_[2].inputs[i].value};
  }

  Result<int> take_value(PortableGraph& out, const Ids& ids, const std::string& what) {
    PortableValue value{graphs_[0].type(ids[0]).dtype, {}};
    const int rank = graphs_[0].type(ids[0]).shape.rank();
    for (size_t g = 1; g < 3; ++g)
      if (graphs_[g].type(ids[g]).shape.rank() != rank || graphs_[g].type(ids[g]).dtype != value.dtype)
        return otherwise(what);
    for (int axis = 0; axis < rank; ++axis) {
      Numbers sizes;
      for (size_t g = 0; g < 3; ++g) sizes[g] = graphs_[g].type(ids[g]).shape[axis];
      const std::optional<PerRows> dim = fit(sizes);
      if (!dim) return otherwise(what);
      value.dims.push_back(*dim);
    }
    out.values.push_back(std::move(value));
    return place_[static_cast<size_t>(ids[0])] = static_cast<int>(out.values.size()) - 1;
  }

  static Status otherwise(const std::string& what, const char* expected = "base + each * rows", const char* more = "") {
    return Status(Code::kUnsupported, cat(what, " depends on the number of rows in another way than ", expected, more));
  }

  static Status otherwise(const Node& node, const std::string& attribute) {
    if (node.op != "constant" || attribute != "value")
      return otherwise(cat(describe(node), ": attribute '", attribute, "'"));
    return otherwise(cat(describe(node), ": its value"), "base + step * place + each * rows",
                     "; compute it of a feature, or of an iota over the rows (in ONNX: Range of the batch)");
  }

  Status take_node(PortableGraph& out, size_t n) {
    const Node& first = graphs_[0].nodes[n];
    if (first.custom) return Status(Code::kUnsupported, cat(describe(first), ": a custom op cannot be exported"));
    PortableNode node{first.op, first.name, first.version, {}, {}, {}};
    for (size_t g = 1; g < 3; ++g)
      if (!alike(first, graphs_[g].nodes[n])) return otherwise(describe(first));
    for (const ValueId operand : first.operands)
      node.operands.push_back(operand < 0 ? -1 : place_[static_cast<size_t>(operand)]);
    for (size_t r = 0; r < first.results.size(); ++r) {
      const Ids ids{first.results[r], graphs_[1].nodes[n].results[r], graphs_[2].nodes[n].results[r]};
      TENON_ASSIGN(const int value, take_value(out, ids, describe(first)));
      node.results.push_back(value);
    }
    for (size_t a = 0; a < first.attrs.size(); ++a) {
      TENON_ASSIGN(PortableAttr attr, take_attr(n, a));
      node.attrs.push_back(std::move(attr));
    }
    out.nodes.push_back(std::move(node));
    return {};
  }

  // The graphs' values have the same numbers, as they were made in the same order.
  static bool alike(const Node& a, const Node& b) {
    return a.op == b.op && a.version == b.version && a.name == b.name && a.operands == b.operands &&
           a.results.size() == b.results.size() &&
           std::equal(a.attrs.begin(), a.attrs.end(), b.attrs.begin(), b.attrs.end(),
                      [](const Attr& x, const Attr& y) { return x.name == y.name; });
  }

  Result<PortableAttr> take_attr(size_t n, size_t a) const {
    std::array<const AttrValue*, 3> all;
    for (size_t g = 0; g < 3; ++g) all[g] = &graphs_[g].nodes[n].attrs[a].value;
    PortableAttr out{graphs_[0].nodes[n].attrs[a].name, *all[0], {}};
    if (*all[0] == *all[1] && *all[0] == *all[2]) return out;
    const Status refused = otherwise(graphs_[0].nodes[n], out.name);
    std::array<std::vector<int64_t>, 3> lists;
    for (size_t g = 0; g < 3; ++g) {
      if (const int64_t* number = std::get_if<int64_t>(all[g]))
        lists[g] = {*number};
      else if (const auto* list = std::get_if<std::vector<int64_t>>(all[g]))
        lists[g] = *list;
      if (lists[g].empty() || lists[g].size() != lists[0].size()) return refused;
    }
    std::vector<int64_t> base;
    for (size_t i = 0; i < lists[0].size(); ++i) {
      const std::optional<PerRows> number = fit({lists[0][i], lists[1][i], lists[2][i]});
      if (!number) return refused;
      base.push_back(number->base);
      out.each.push_back(number->each);
    }
    out.value = std::holds_alternative<int64_t>(*all[0]) ? AttrValue(base[0]) : AttrValue(base);
    return out;
  }

  std::array<Graph, 3> graphs_;
  std::vector<int> place_;  // of values of the first graph
};

using ForRows = std::function<Result<Graph>(int64_t rows)>;

Result<PortableGraph> fitted(const ForRows& graph) {
  try {
    TracedRows traced{kRows, {}};
    for (size_t g = 0; g < 3; ++g) {
      Graph& one = traced.graphs[g];
      TENON_ASSIGN(one, graph(kRows[g]));
      // Copies what results need, and numbers values in the order of nodes.
      Rewrite rewrite(one);
      one = rewrite.run([&](const Node& node, const Tensors& operands) { return rewrite.copy(node, operands); });
      one = prune_inputs(one);
    }
    spread_constants(traced);
    return Fitting(std::move(traced.graphs)).run();
  } catch (const Error& e) {
    return e.status();
  }
}

std::vector<TraceInput> inputs_at(const PortableGraph& graph, int64_t rows) {
  std::vector<TraceInput> out;
  for (const PortableInput& input : graph.inputs)
    if (!input.variable) out.push_back({input.name, graph.values[static_cast<size_t>(input.value)].at(rows)});
  return out;
}

// What an op's rule of composites is asked by: the node as it is exported, with the attributes of this number of rows.
PortableNode seen(const Node& node) {
  PortableNode out{node.op, node.name, node.version, {}, {}, {}};
  for (const ValueId operand : node.operands) out.operands.push_back(operand < 0 ? -1 : operand);
  for (const ValueId result : node.results) out.results.push_back(result);
  for (const Attr& attr : node.attrs) out.attrs.push_back({attr.name, attr.value, {}});
  return out;
}

Graph lowered(Graph graph, const std::function<bool(const PortableNode& node)>& keep) {
  for (bool any = true; any;) {
    any = false;
    Rewrite rewrite(graph);
    Graph next = rewrite.run([&](const Node& node, const Tensors& operands) {
      if (!has_decomposition(node) || keep(seen(node))) return rewrite.copy(node, operands);
      any = true;
      return decompose_node(rewrite.to(), node, operands);
    });
    graph = std::move(next);
  }
  return graph;
}

}  // namespace

Result<PortableGraph> portable(const std::function<Result<Trace>(int64_t rows)>& trace) {
  return fitted([&](int64_t rows) -> Result<Graph> {
    TENON_ASSIGN(const Trace traced, trace(rows));
    return std::move(*traced.graph);
  });
}

Result<PortableGraph> decomposed(const PortableGraph& graph,
                                 const std::function<bool(const PortableNode& node)>& keep) {
  return fitted([&](int64_t rows) -> Result<Graph> {
    const auto function = [&](const Features& features) { return build(graph, features); };
    TENON_ASSIGN(const Trace traced, trace(function, inputs_at(graph, rows), {.what = "the exported graph"}));
    return lowered(std::move(*traced.graph), keep);
  });
}

}  // namespace tenon
