// Part of the op suite: an attribute that is left out is its default.
#include <algorithm>
#include <cstring>
#include <optional>

#include "conformance/suites/support.h"
#include "conformance/suites/values/one_node.h"
#include "conformance/suites/values/parts.h"
#include "tenon/op/signature.h"
#include "tenon/op/table.h"

namespace tenon::conformance {
namespace {

using plugin::NodeView;

// What the table of ops says that absence means; not of a dtype, which is another's.
std::optional<double> number_of(const op::Signature::Attribute& a) {
  if (a.required || a.missing.empty() || a.type == "dtype") return {};
  if (a.type == "bool") return a.missing == "true";
  return std::stod(std::string(a.missing));
}

bool is_default(const NodeView& node, std::string_view attribute, double value) {
  const tenon_attr* a = node.find(attribute);
  if (!a) return false;
  if (a->type == TENON_ATTR_F64) return node.f64(attribute, value + 1) == value;
  if (a->type != TENON_ATTR_LIST) return node.i64(attribute, -1) == static_cast<int64_t>(value);
  const plugin::Span<int64_t> list = node.list(attribute);
  return !list.empty() &&
         std::all_of(list.begin(), list.end(), [&](int64_t n) { return n == static_cast<int64_t>(value); });
}

// Small numbers of either sign; integers, which may be indices, 0.
std::vector<reference::Tensor> plain_inputs(const plugin::GraphView& graph) {
  std::vector<reference::Tensor> out;
  for (uint32_t i = 0; i < graph.n_inputs(); ++i) {
    const plugin::ValueView value = graph.value(graph.input(i).value);
    out.push_back(reference::zeros(value.dtype(), value.dims().vec()));
    for (size_t k = 0; k < out.back().f.size(); ++k)
      out.back().f[k] = static_cast<double>((k * 7 + 3 * i) % 11) / 2 - 2.5;
  }
  return out;
}

std::vector<std::vector<uint8_t>> bytes_of_run(Subject& s, const plugin::FlatGraph& graph) {
  tenon_options options{};
  options.flags = TENON_OPTION_DETERMINISTIC;
  std::vector<std::vector<uint8_t>> out;
  const std::vector<reference::Tensor> inputs = plain_inputs(plugin::GraphView(*graph.graph()));
  for (const reference::Tensor& t : run_graph(s, *graph.graph(), inputs, Place::kDevice, options))
    out.push_back(reference::to_bytes(t));
  return out;
}

void leaves_out(Subject& s, std::string_view op, std::string_view attribute, double value) {
  int tried = 0;
  for (const Sample& sample : samples().at(std::string(op))) {
    if (tried == 3 || !is_default(sample.view(), attribute, value)) continue;
    Change change;
    change.less = attribute;
    const plugin::FlatGraph whole = one_node_graph(sample.view()), less = one_node_graph(sample.view(), change);
    if (answers(s, s.device(), *whole.graph()).at(0).answer != TENON_TAKE) continue;
    const Answer answer = answers(s, s.device(), *less.graph()).at(0);
    const std::string what =
        std::string(op) + " without '" + std::string(attribute) + "', whose default is " + std::to_string(value);
    expect(answer.answer == TENON_TAKE, what + ": it is taken with it, and not without: " + answer.reason);
    expect(bytes_of_run(s, less) == bytes_of_run(s, whole), what + ": other numbers than with it");
    ++tried;
  }
  if (tried == 0) throw Unsupported{std::string("no node of ") + std::string(op) + " with this default is taken"};
}

}  // namespace

void add_default_tests(Tests& tests) {
  for (const std::string_view op : reference::primitives()) {
    const auto of_op = samples().find(std::string(op));
    if (of_op == samples().end()) continue;
    for (const op::Signature::Attribute& a : op::parse(op::row(op).signature).attributes) {
      const std::optional<double> value = number_of(a);
      const auto& all = of_op->second;
      const bool has = value && std::any_of(all.begin(), all.end(), [&](const Sample& sample) {
                         return is_default(sample.view(), a.name, *value);
                       });
      if (!has) continue;
      add_test(
          tests, "op", std::string(op), "without " + std::string(a.name),
          [op, name = a.name, number = *value](Subject& s) { leaves_out(s, op, name, number); }, 2)
          .required = false;
    }
  }
}

}  // namespace tenon::conformance
