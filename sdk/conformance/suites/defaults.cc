// Part of the op suite: an attribute that is left out is its default.
#include <algorithm>
#include <cstring>

#include "conformance/suites/one_node.h"
#include "conformance/suites/parts.h"
#include "conformance/suites/support.h"

namespace tenon::conformance {
namespace {

using plugin::NodeView;

// Of primitives: the op set's defaults. A list that is left out has this number for every axis.
struct Default {
  const char* op;
  std::vector<std::pair<const char*, double>> attributes;
};

const std::vector<Default>& defaults() {
  static const auto& all = *new std::vector<Default>{
      {"random", {{"per_replica", 0}}},
      {"slice", {{"stride", 1}}},
      {"pad", {{"interior", 0}, {"value", 0}}},
      {"gather", {{"batch", 0}}},
      {"scatter", {{"batch", 0}, {"kind", TENON_SCATTER_ADD}}},
      {"sort", {{"descending", 0}}},
      {"dot", {{"ta", 0}, {"tb", 0}, {"precision", TENON_PRECISION_DEFAULT}}},
      {"conv", {{"strides", 1}, {"low", 0}, {"high", 0}, {"dilation", 1}, {"groups", 1}, {"precision", 0}}},
      {"conv_grad_input", {{"strides", 1}, {"low", 0}, {"high", 0}, {"dilation", 1}, {"groups", 1}, {"precision", 0}}},
      {"conv_grad_filter",
       {{"strides", 1}, {"low", 0}, {"high", 0}, {"dilation", 1}, {"groups", 1}, {"precision", 0}}}};
  return all;
}

bool is_default(const NodeView& node, const char* attribute, double value) {
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

void leaves_out(Subject& s, const char* op, const char* attribute, double value) {
  int tried = 0;
  for (const Sample& sample : samples().at(op)) {
    if (tried == 3 || !is_default(sample.view(), attribute, value)) continue;
    Change change;
    change.less = attribute;
    const plugin::FlatGraph whole = one_node_graph(sample.view()), less = one_node_graph(sample.view(), change);
    if (answers(s, s.device(), *whole.graph()).at(0).answer != TENON_TAKE) continue;
    const Answer answer = answers(s, s.device(), *less.graph()).at(0);
    const std::string what =
        std::string(op) + " without '" + attribute + "', whose default is " + std::to_string(value);
    expect(answer.answer == TENON_TAKE, what + ": it is taken with it, and not without: " + answer.reason);
    expect(bytes_of_run(s, less) == bytes_of_run(s, whole), what + ": other numbers than with it");
    ++tried;
  }
  if (tried == 0) throw Unsupported{std::string("no node of ") + op + " with this default is taken"};
}

}  // namespace

void add_default_tests(Tests& tests) {
  for (const Default& d : defaults()) {
    if (!samples().count(d.op)) continue;
    for (const auto& [attribute, value] : d.attributes) {
      const auto& all = samples().at(d.op);
      const bool has = std::any_of(all.begin(), all.end(), [&, name = attribute, number = value](const Sample& sample) {
        return is_default(sample.view(), name, number);
      });
      if (!has) continue;
      add_test(
          tests, "op", d.op, std::string("without ") + attribute,
          [op = d.op, name = attribute, number = value](Subject& s) { leaves_out(s, op, name, number); }, 2)
          .required = false;
    }
  }
}

}  // namespace tenon::conformance
