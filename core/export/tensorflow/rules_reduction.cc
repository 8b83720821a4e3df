// Folds of axes.
#include <algorithm>

#include "export/tensorflow/node_rules.h"

namespace tenon::tensorflow {
namespace {

std::vector<Ref> reduce_rule(NodeScribe& n) {
  constexpr const char* kOps[] = {"Sum", "Prod", "Max", "Min"};
  const auto kind = static_cast<size_t>(n.choice("kind"));
  const Ints axes = n.fixed_list("axes");
  if (axes.empty()) return {n.in(0)};
  const Fields how = {flag_field("keep_dims", false), type_field("Tidx", DT_INT32)};
  const Ref over = n.nodes().ints(axes);
  if (n.dtype() == DType::kBool)
    return {n.write(static_cast<ReduceKind>(kind) == ReduceKind::kMax ? "Any" : "All", {n.in(0), over}, how)};
  const DType dtype = NodeScribe::wide(n.dtype());
  return n.narrow(n.typed(kOps[kind], dtype, {n.wide_in(0), over}, how), dtype);
}

// The first that is the best, or is NaN, which TensorFlow's op passes over.
std::vector<Ref> argmax_rule(NodeScribe& n) {
  const bool least = static_cast<ReduceKind>(n.choice("kind")) == ReduceKind::kMin;
  const DType dtype = NodeScribe::wide(n.dtype());
  const Ref x = n.wide_in(0), axis = n.nodes().whole(n.number("axis"));
  const Fields output = {type_field("Tidx", DT_INT32), type_field("output_type", DT_INT32)};
  if (!is_float(dtype)) return {n.typed(least ? "ArgMin" : "ArgMax", dtype, {x, axis}, output)};
  const Ref best =
      n.typed(least ? "Min" : "Max", dtype, {x, axis}, {flag_field("keep_dims", true), type_field("Tidx", DT_INT32)});
  const Ref hit = n.write("LogicalOr", {n.typed("Equal", dtype, {x, best}), n.typed("NotEqual", dtype, {x, x})});
  return {n.typed("ArgMax", DType::kU8, {n.cast(hit, DType::kBool, DType::kU8), axis}, output)};
}

std::vector<Ref> cumsum_rule(NodeScribe& n) {
  const DType dtype = NodeScribe::wide(n.dtype());
  return n.narrow(n.typed("Cumsum", dtype, {n.wide_in(0), n.nodes().whole(n.number("axis"))},
                          {flag_field("exclusive", n.flag("exclusive")), flag_field("reverse", n.flag("reverse")),
                           type_field("Tidx", DT_INT32)}),
                  dtype);
}

// TensorFlow's goes along the last axis.
std::vector<Ref> softmax_rule(NodeScribe& n) {
  const DType dtype = NodeScribe::wide(n.dtype());
  Ints perm;
  for (int i = 0; i < n.rank(); ++i) perm.push_back(i);
  std::swap(perm[static_cast<size_t>(n.number("axis"))], perm.back());  // its own inverse
  const Ref y = n.typed(n.op(), dtype, {n.transpose(n.wide_in(0), dtype, perm)});
  return n.narrow(n.transpose(y, dtype, perm), dtype);
}

constexpr NodeRule kReductionRules[] = {
    {"reduce", reduce_rule},
    {"argmax", argmax_rule},
    {"cumsum", cumsum_rule},
    {"softmax", softmax_rule, "Softmax"},
    {"log_softmax", softmax_rule, "LogSoftmax"},
};

}  // namespace

std::span<const NodeRule> reduction_rules() { return kReductionRules; }

}  // namespace tenon::tensorflow
