#include "import/onnx/trees.h"

#include <algorithm>
#include <map>
#include <set>

namespace tenon::onnx {
namespace {

using Key = std::pair<int64_t, int64_t>;  // tree, node

std::vector<double> reals_or(Call& c, const std::string& name) {
  if (const TensorData* data = c.tensor(name + "_as_tensor")) return to_array(*data).take().to<double>();
  return c.reals(name);
}

// How far the farthest leaf is. A walk that comes back to where it was is an error.
int64_t depth_of(const Trees& t) {
  std::vector<int64_t> level(t.feature.size(), -1);
  int64_t deepest = 0;
  std::vector<size_t> waiting;
  for (const int64_t root : t.roots) level[static_cast<size_t>(root)] = 0, waiting.push_back(static_cast<size_t>(root));
  while (!waiting.empty()) {
    const size_t node = waiting.back();
    waiting.pop_back();
    deepest = std::max(deepest, level[node]);
    for (const int64_t child : {t.above[node], t.below[node]}) {
      const auto next = static_cast<size_t>(child);
      if (next == node) continue;
      if (level[next] >= 0) fail("node ", child, " of a tree is reached twice");
      level[next] = level[node] + 1;
      waiting.push_back(next);
    }
  }
  return deepest;
}

template <class T>
Tensor table(Call& c, const std::vector<T>& values, DType dtype) {
  return constant(c.graph(), {dtype, Shape({static_cast<int64_t>(values.size())})},
                  {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}

Tensor goes_true(Call& c, const Trees& t, Tensor value, Tensor limit, Tensor at) {
  static const std::map<std::string, CompareKind> kinds = {
      {"BRANCH_LEQ", CompareKind::kLe}, {"BRANCH_LT", CompareKind::kLt}, {"BRANCH_GTE", CompareKind::kGe},
      {"BRANCH_GT", CompareKind::kGt},  {"BRANCH_EQ", CompareKind::kEq}, {"BRANCH_NEQ", CompareKind::kNe}};
  std::set<std::string> used;
  for (const std::string& mode : t.mode)
    if (mode != "LEAF") used.insert(mode);
  Tensor out;
  for (const std::string& mode : used) {
    const auto kind = kinds.find(mode);
    if (kind == kinds.end()) c.refuse("branches of mode '", mode, "'");
    const Tensor is = compare(value, limit, kind->second);
    if (used.size() == 1) {
      out = is;
      continue;
    }
    std::vector<int32_t> has;
    for (const std::string& one : t.mode) has.push_back(one == mode);
    const Tensor here =
        compare(gather(table(c, has, DType::kI32), at, 0), full(c.graph(), DType::kI32, {}, 0), CompareKind::kNe);
    out = out ? select(here, is, out) : is;
  }
  if (std::any_of(t.missing_goes.begin(), t.missing_goes.end(), [](double v) { return v != 0; })) {
    std::vector<int32_t> goes(t.missing_goes.begin(), t.missing_goes.end());
    const Tensor missing = compare(value, value, CompareKind::kNe);
    out = maximum(out, minimum(missing, compare(gather(table(c, goes, DType::kI32), at, 0),
                                                full(c.graph(), DType::kI32, {}, 0), CompareKind::kNe)));
  }
  return out;
}

}  // namespace

Trees trees_of(Call& c, const std::string& stem) {
  Trees t;
  const Ints tree = c.ints("nodes_treeids"), id = c.ints("nodes_nodeids"), yes = c.ints("nodes_truenodeids"),
             no = c.ints("nodes_falsenodeids");
  t.feature = c.ints("nodes_featureids");
  t.mode = c.texts("nodes_modes");
  t.threshold = reals_or(c, "nodes_values");
  const Ints missing = c.ints("nodes_missing_value_tracks_true");
  t.missing_goes.assign(missing.begin(), missing.end());
  const size_t n = tree.size();
  if (n == 0 || id.size() != n || yes.size() != n || no.size() != n || t.feature.size() != n || t.mode.size() != n ||
      t.threshold.size() != n || (!t.missing_goes.empty() && t.missing_goes.size() != n))
    fail("the lists of nodes differ in length: ", n, " trees, ", id.size(), " nodes, ", t.feature.size(), " features");
  std::map<Key, int64_t> place;
  for (size_t i = 0; i < n; ++i)
    if (!place.emplace(Key{tree[i], id[i]}, static_cast<int64_t>(i)).second)
      fail("node ", id[i], " of tree ", tree[i], " is there twice");
  std::vector<bool> is_child(n, false);
  for (size_t i = 0; i < n; ++i) {
    const bool leaf = t.mode[i] == "LEAF";
    const auto child = [&](int64_t node) {
      if (leaf) return static_cast<int64_t>(i);
      const auto found = place.find({tree[i], node});
      if (found == place.end()) fail("node ", node, " of tree ", tree[i], " is not there");
      is_child[static_cast<size_t>(found->second)] = true;
      return found->second;
    };
    t.above.push_back(child(yes[i]));
    t.below.push_back(child(no[i]));
  }
  for (size_t i = 0; i < n; ++i)
    if (!is_child[i]) t.roots.push_back(static_cast<int64_t>(i));
  t.depth = depth_of(t);
  const Ints of_tree = c.ints(stem + "_treeids"), node = c.ints(stem + "_nodeids"), column = c.ints(stem + "_ids");
  const std::vector<double> weight = reals_or(c, stem + "_weights");
  if (node.size() != of_tree.size() || column.size() != node.size() || weight.size() != node.size())
    fail("the lists of weights differ in length");
  t.are_probabilities = true;
  for (size_t i = 0; i < node.size(); ++i) {
    const auto found = place.find({of_tree[i], node[i]});
    if (found == place.end()) fail("node ", node[i], " of tree ", of_tree[i], " is not there");
    t.leaves.push_back({found->second, column[i], weight[i]});
    t.only_column = i == 0 || t.only_column == column[i] ? column[i] : -2;
    t.are_probabilities &= weight[i] >= 0;
  }
  return t;
}

Tensor tree_scores(Call& c, const Trees& t, Tensor x, int64_t columns) {
  if (columns < 1 || columns > int64_t{1} << 20) fail(columns, " columns of scores");
  const int64_t rows = x.dim(0), count = static_cast<int64_t>(t.roots.size()),
                nodes = static_cast<int64_t>(t.feature.size());
  if (nodes * columns > int64_t{1} << 28) c.refuse("a table of ", nodes, " nodes and ", columns, " columns");
  const Tensor features = c.ints_constant(t.feature, Shape({nodes})), above = c.ints_constant(t.above, Shape({nodes})),
               below = c.ints_constant(t.below, Shape({nodes}));
  const Tensor limits = table(c, std::vector<float>(t.threshold.begin(), t.threshold.end()), DType::kF32);
  Tensor at = broadcast(c.ints_constant(t.roots, Shape({count})), Shape({rows, count}), {1});
  for (int64_t level = 0; level < t.depth; ++level) {
    const Tensor value = gather(x, gather(features, at, 0), 1, 1);
    at = select(goes_true(c, t, value, gather(limits, at, 0), at), gather(above, at, 0), gather(below, at, 0));
  }
  const std::string how = c.text("aggregate_function", "SUM");
  std::vector<float> weights(static_cast<size_t>(nodes * columns), 0);
  for (const Trees::Leaf& leaf : t.leaves) {
    if (leaf.column < 0 || leaf.column >= columns) fail("a weight of column ", leaf.column, " of ", columns);
    weights[static_cast<size_t>(leaf.node * columns + leaf.column)] += static_cast<float>(leaf.weight);
  }
  const Tensor leaves = reshape(table(c, weights, DType::kF32), {nodes, columns});
  const Tensor each = gather(leaves, at, 0);  // [B, trees, columns]
  Tensor y = reduce(each, {1}, how == "MIN" ? ReduceKind::kMin : how == "MAX" ? ReduceKind::kMax : ReduceKind::kSum);
  if (how == "AVERAGE") y = y / static_cast<double>(count);
  const std::vector<double> base = reals_or(c, "base_values");
  if (!base.empty()) {
    if (static_cast<int64_t>(base.size()) != columns && base.size() != 1) return y;
    const std::vector<float> narrow(base.begin(), base.end());
    y = y + table(c, narrow, DType::kF32);
  }
  return y;
}

}  // namespace tenon::onnx
