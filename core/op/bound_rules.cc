// Where dynamic dimensions go, op by op: elements, moves, folds and products. Layers' composites: bound_rules_layers.cc.
#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "op/bound_rules.h"
#include "op/rules.h"

namespace tenon::bound_rules {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

}  // namespace

void elementwise(BoundedNode& n) { n.result(0, n.together(0)); }

void each_its_own(BoundedNode& n) {
  for (int i = 0; i < n.operands(); ++i) n.result(i, n.bounds(i));
}

namespace {

void reshape_rule(BoundedNode& n) {
  const std::optional<Bounds> y = regrouped(n.bounds(0), n.type(0).shape);
  if (!y) n.refuse(0, static_cast<int>(n.dynamic_axes(0)[0]), cat("shape ", n.type(0).shape.str(), " tears it apart"));
  n.result(0, *y);
}

void transpose_rule(BoundedNode& n) {
  Bounds y;
  for (int64_t a : n.list("perm")) y.push_back(n.axis(0, static_cast<int>(a)));
  n.result(0, y);
}

void broadcast_rule(BoundedNode& n) {
  Bounds y = static_bounds(n.type(0).shape);
  const Ints& dims = n.list("dims");
  for (size_t a = 0; a < dims.size(); ++a)
    if (const int i = static_cast<int>(a); n.type(0).shape[static_cast<int>(dims[a])] == n.shape(0)[i])
      y[static_cast<size_t>(dims[a])] = n.axis(0, i);
  n.result(0, y);
}

// A whole dimension stays; its first element is always there.
void slice_rule(BoundedNode& n) {
  Bounds y = static_bounds(n.type(0).shape);
  const Ints &start = n.list("start"), &limit = n.list("limit");
  for (int a = 0; a < n.rank(0); ++a) {
    const auto at = static_cast<size_t>(a);
    const bool whole = start[at] == 0 && n.type(0).shape[a] == n.shape(0)[a];
    const bool first = start[at] == 0 && limit[at] == 1;
    if (whole) y[at] = n.axis(0, a);
    if (!whole && !first && n.is_dynamic(0, a))
      n.refuse(0, a, "a part of it may not be there; gather(.., dimension_size(..) - 1, ..) takes its last");
  }
  n.result(0, y);
}

void pad_rule(BoundedNode& n) {
  for (int64_t a : n.dynamic_axes(0))
    if (n.type(0).shape[static_cast<int>(a)] != n.shape(0)[static_cast<int>(a)])
      n.refuse(0, static_cast<int>(a), "pads would stand behind what is not there");
  Bounds y = n.bounds(0);
  for (size_t a = 0; a < y.size(); ++a)
    if (const int64_t size = n.type(0).shape[static_cast<int>(a)]; size != n.shape(0)[static_cast<int>(a)])
      y[a] = static_axis(size);
  n.result(0, y);
}

void concat_rule(BoundedNode& n) {
  const int axis = static_cast<int>(n.i64("axis"));
  Bounds y = static_bounds(n.type(0).shape);
  for (int i = 0; i < n.operands(); ++i) {
    n.expect_static(i, axis, "what is not there would stand between the parts");
    for (int a = 0; a < n.rank(i); ++a)
      if (a != axis) y[static_cast<size_t>(a)] = n.met(y[static_cast<size_t>(a)], {i, a});
  }
  n.result(0, y);
}

// From the last element that is there; behind the first one the indices are negative, which read 0.
Tensor reversed_to_its_end(Tensor x, int64_t axis) {
  const AxisBounds ends = x.graph()->bounds(x.id())[static_cast<size_t>(axis)];
  const Tensor i = iota(*x.graph(), DType::kI32, {x.dim(static_cast<int>(axis))}, 0);
  return gather(x, with_bounds((dimension_size(x, axis) - 1.0) - i, {ends}), axis);
}

void reverse_rule(BoundedNode& n) {
  Ints fixed;
  Tensor y = n.in(0);
  for (int64_t a : n.list("axes")) {
    const int axis = static_cast<int>(a);
    if (!n.is_dynamic(0, axis))
      fixed.push_back(a);
    else if (n.axis(0, axis).size() > 1)
      n.refuse(0, axis, "it is made of several; reshape takes them apart");
    else
      y = reversed_to_its_end(y, a);
  }
  if (y == n.in(0)) return n.result(0, n.bounds(0));
  n.instead({fixed.empty() ? y : reverse(y, fixed)});
}

// y[b,p,j,s] = x[b,p,i[b,j],s]; an index outside reads 0, and so does one of what is not there.
void gather_rule(BoundedNode& n) {
  using Op = op::gather;
  const int axis = static_cast<int>(n.i64("axis")), batch = static_cast<int>(n.i64("batch"));
  n.mask(Op::x, {axis}, 0);
  Bounds y;
  for (int a = 0; a < axis; ++a) y.push_back(a < batch ? n.common({{Op::x, a}, {Op::i, a}}) : n.axis(Op::x, a));
  for (int a = batch; a < n.rank(Op::i); ++a) y.push_back(n.axis(Op::i, a));
  for (int a = axis + 1; a < n.rank(Op::x); ++a) y.push_back(n.axis(Op::x, a));
  n.result(0, y);
}

// y[b,p,i[b,j],s] += or = u[b,p,j,s]; what is not there of j gets the index -1, which writes nothing.
void scatter_rule(BoundedNode& n) {
  using Op = op::scatter;
  const int axis = static_cast<int>(n.i64("axis")), batch = static_cast<int>(n.i64("batch"));
  const int of_i = n.rank(Op::i) - batch;
  Bounds indices = n.bounds(Op::i);
  Ints all;
  for (int k = batch; k < n.rank(Op::i); ++k) {
    indices[static_cast<size_t>(k)] = n.common({{Op::i, k}, {Op::u, axis + k - batch}});
    all.push_back(k);
  }
  n.replace(Op::i, masked(with_bounds(n.in(Op::i), indices), all, -1));
  Bounds y;
  for (int a = 0; a < n.rank(Op::x); ++a) {
    if (a < batch)
      y.push_back(n.common({{Op::x, a}, {Op::i, a}, {Op::u, a}}));
    else if (a == axis)
      y.push_back(n.axis(Op::x, a));
    else
      y.push_back(n.common({{Op::x, a}, {Op::u, a < axis ? a : a + of_i - 1}}));
  }
  n.result(0, y);
}

void sort_rule(BoundedNode& n) {
  const int last = n.rank(0) - 1;
  Bounds y = n.bounds(0);
  if (n.is_dynamic(0, last)) {
    if (!n.flag("descending")) n.refuse(0, last, "only the largest come first");
    if (n.i64("k") != 1 && n.i64("k") != n.shape(0)[last]) n.refuse(0, last, "there may be fewer than k");
    n.mask(0, {last}, -kInf);
    if (n.i64("k") == 1) y[static_cast<size_t>(last)] = static_axis(1);
  } else {
    y[static_cast<size_t>(last)] = static_axis(n.i64("k"));
  }
  n.result(op::sort::out::values, y);
  n.result(op::sort::out::indices, y);
}

Bounds without(const Bounds& bounds, const Ints& axes) {
  Bounds y;
  for (size_t a = 0; a < bounds.size(); ++a)
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(a)) == axes.end()) y.push_back(bounds[a]);
  return y;
}

void reduce_rule(BoundedNode& n) {
  constexpr std::array<double, 4> kNeutral{0, 1, -kInf, kInf};  // sum, prod, max, min
  n.mask(0, n.list("axes"), kNeutral[static_cast<size_t>(n.enumerator("kind"))]);
  n.result(0, without(n.bounds(0), n.list("axes")));
}

void argmax_rule(BoundedNode& n) {
  const Ints axes{n.i64("axis")};
  n.mask(0, axes, static_cast<ReduceKind>(n.enumerator("kind")) == ReduceKind::kMax ? -kInf : kInf);
  n.result(0, without(n.bounds(0), axes));
}

void cumsum_rule(BoundedNode& n) {
  n.mask(0, {n.i64("axis")}, 0);
  n.result(0, n.bounds(0));
}

void logsumexp_rule(BoundedNode& n) {
  n.mask(0, n.list("axes"), -kInf);
  n.result(0, without(n.bounds(0), n.list("axes")));
}

void softmax_rule(BoundedNode& n) {
  n.mask(0, {n.i64("axis")}, -kInf);
  n.result(0, n.bounds(0));
}

void softmax_grad_rule(BoundedNode& n) {
  for (int i = 0; i < 2; ++i) n.mask(i, {n.i64("axis")}, 0);
  n.result(0, n.together(0));
}

void global_norm_rule(BoundedNode& n) {
  for (int i = 0; i < n.operands(); ++i) n.mask(i, n.dynamic_axes(i), 0);
}

// The replicas' ends are the same.
void all_gather_rule(BoundedNode& n) {
  const auto axis = static_cast<size_t>(n.i64("axis"));
  Bounds y = n.bounds(0);
  const int64_t replicas = n.type(0).shape[static_cast<int>(axis)] / n.shape(0)[static_cast<int>(axis)];
  if (is_dynamic(y[axis]) && replicas > 1) y[axis].insert(y[axis].begin(), {replicas, kStatic});
  if (!is_dynamic(y[axis])) y[axis] = static_axis(n.type(0).shape[static_cast<int>(axis)]);
  n.result(0, y);
}

void reduce_scatter_rule(BoundedNode& n) {
  const int axis = static_cast<int>(n.i64("axis"));
  n.expect_static(0, axis, "it is dealt over the replicas");
  Bounds y = n.bounds(0);
  y[static_cast<size_t>(axis)] = static_axis(n.type(0).shape[axis]);
  n.result(0, y);
}

struct Named {
  std::string_view op;
  BoundRule rule;
};

constexpr Named kRules[] = {
    {"reshape", reshape_rule},
    {"transpose", transpose_rule},
    {"broadcast", broadcast_rule},
    {"slice", slice_rule},
    {"pad", pad_rule},
    {"concat", concat_rule},
    {"reverse", reverse_rule},
    {"gather", gather_rule},
    {"scatter", scatter_rule},
    {"sort", sort_rule},
    {"reduce", reduce_rule},
    {"argmax", argmax_rule},
    {"cumsum", cumsum_rule},
    {"softmax", softmax_rule},
    {"log_softmax", softmax_rule},
    {"softmax_grad", softmax_grad_rule},
    {"log_softmax_grad", softmax_grad_rule},
    {"logsumexp", logsumexp_rule},
    {"global_norm", global_norm_rule},
    {"all_reduce", each_its_own},
    {"all_gather", all_gather_rule},
    {"reduce_scatter", reduce_scatter_rule},
    {"dot", dot},
    {"dot_bias_act", dot},
    {"bias_act_grad", bias_act_grad},
    {"conv", conv},
    {"conv_bias_act", conv},
    {"conv_grad_input", conv_grad_input},
    {"conv_grad_filter", conv_grad_filter},
    {"max_pool", images},
    {"avg_pool", images},
    {"max_pool_grad", images},
    {"avg_pool_grad", images},
    {"resize", images},
    {"affine_image", images},
    {"crop_flip", images},
    {"batch_norm_apply", normalized_apply},
    {"layer_norm", layer_norm},
    {"layer_norm_grad", layer_norm_grad},
    {"softmax_cross_entropy", cross_entropy},
    {"softmax_cross_entropy_grad", cross_entropy_grad},
    {"attention", attention},
    {"attention_grad", attention_grad},
    {"lstm", recurrent},
    {"gru", recurrent},
    {"lstm_grad", recurrent_grad},
    {"gru_grad", recurrent_grad},
};

}  // namespace
}  // namespace tenon::bound_rules

namespace tenon {

BoundRule bound_rule(std::string_view op) {
  using namespace bound_rules;
  const op::Row* row = op::find(op);
  if (op == "dropout" || (row && row->category == op::Category::kElementwise)) return elementwise;
  for (const Named& named : kRules)
    if (named.op == op) return named.rule;
  return nullptr;
}

}  // namespace tenon
