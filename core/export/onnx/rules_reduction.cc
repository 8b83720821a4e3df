// Folds of axes.
#include <algorithm>

#include "export/onnx/onnx_node_rules.h"

namespace tenon::onnx::out {
namespace {

// Whether all axes between the first and the last are folded: then it does not matter where the last one was.
bool folds_places(const Ints& axes, int rank) {
  for (int64_t axis = 1; axis < rank - 1; ++axis)
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) return false;
  return true;
}

std::vector<Written> reduce_rule(NodeScribe& n) {
  constexpr const char* kOps[] = {"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin"};
  const auto kind = static_cast<size_t>(n.choice("kind"));
  Ints axes = n.fixed_list("axes");
  if (axes.empty()) return {{n.in(0)}};
  const DType dtype = n.dtype() == DType::kBool ? DType::kI32 : NodeScribe::wide(n.dtype());
  const bool first = n.only_first(0) && folds_places(axes, n.rank());
  const Ref x = n.cast(first ? n.first_in(0) : n.in(0), n.dtype(), dtype);
  const Ints order = last_order(n.dims().size());  // where each of our axes is with channels first
  for (int64_t& axis : axes)
    if (first) axis = order[static_cast<size_t>(axis)];
  return n.narrow(n.write(kOps[kind], {x, n.nodes().ints(axes)}, {number_field("keepdims", 0)}), dtype);
}

std::vector<Written> argmax_rule(NodeScribe& n) {
  const bool least = static_cast<ReduceKind>(n.choice("kind")) == ReduceKind::kMin;
  const Ref found = n.write(least ? "ArgMin" : "ArgMax", {n.wide_in(0)},
                            {number_field("axis", n.number("axis")), number_field("keepdims", 0)});
  return {{n.cast(found, DType::kI64, DType::kI32)}};
}

std::vector<Written> cumsum_rule(NodeScribe& n) {
  const DType dtype = NodeScribe::wide(n.dtype());
  return n.narrow(n.write("CumSum", {n.wide_in(0), n.nodes().whole(n.number("axis"))},
                          {number_field("exclusive", n.flag("exclusive")), number_field("reverse", n.flag("reverse"))}),
                  dtype);
}

std::vector<Written> softmax_rule(NodeScribe& n) {
  const DType dtype = NodeScribe::wide(n.dtype());
  return n.narrow(n.write(n.op(), {n.wide_in(0)}, {number_field("axis", n.number("axis"))}), dtype);
}

std::vector<Written> logsumexp_rule(NodeScribe& n) {
  const Ints axes = n.fixed_list("axes");
  if (axes.empty()) return {{n.in(0)}};
  const DType dtype = NodeScribe::wide(n.dtype());
  const Ref y = n.write("ReduceLogSumExp", {n.wide_in(0), n.nodes().ints(axes)}, {number_field("keepdims", 0)});
  return n.narrow(y, dtype);
}

constexpr NodeRule kReductionRules[] = {
    {"reduce", reduce_rule},
    {"argmax", argmax_rule},
    {"cumsum", cumsum_rule},
    {"softmax", softmax_rule, "Softmax"},
    {"log_softmax", softmax_rule, "LogSoftmax"},
    {"logsumexp", logsumexp_rule},
};

}  // namespace

std::span<const NodeRule> reduction_rules() { return kReductionRules; }

}  // namespace tenon::onnx::out
