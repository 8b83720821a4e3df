#include "import/onnx/trees.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

namespace tenon::onnx {
namespace {

using TreeNode = std::pair<int64_t, int64_t>;  // tree, node
constexpr const char *kLeaf = "LEAF", *kMember = "BRANCH_MEMBER";

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
      const bool leaf = t.above[next] == child && t.below[next] == child;  // which several branches may share
      if (level[next] >= 0 && !leaf) fail("node ", child, " of a tree is reached twice");
      level[next] = std::max(level[next], level[node] + 1);
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
Tensor flags(Call& c, const std::vector<int32_t>& values) { return table(c, values, DType::kI32); }
// Takes f32 and f64.
Tensor reals(Call& c, const std::vector<double>& values, DType dtype) {
  if (dtype == DType::kF64) return table(c, values, dtype);
  return table(c, std::vector<float>(values.begin(), values.end()), DType::kF32);
}

Tensor is_set(Tensor flag) { return compare(flag, scalar_like(flag, 0), CompareKind::kNe); }

// Whether each value is in its node's set: a row of the longest one's length, filled with what equals nothing.
Tensor is_member(Call& c, const Trees& t, Tensor value, Tensor at) {
  size_t longest = 1;
  for (const auto& [node, set] : t.members) longest = std::max(longest, set.size());
  expect_table(static_cast<double>(longest) * static_cast<double>(t.mode.size()));
  std::vector<double> sets(t.mode.size() * longest, std::numeric_limits<double>::quiet_NaN());
  for (const auto& [node, set] : t.members)
    std::copy(set.begin(), set.end(), sets.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(node) * longest));
  const Shape rows({static_cast<int64_t>(t.mode.size()), static_cast<int64_t>(longest)});
  const Tensor set = gather(reshape(reals(c, sets, value.dtype()), rows), at, 0);  // [B, trees, longest]
  const Tensor same = compare(broadcast(value, set.shape(), {0, 1}), set, CompareKind::kEq);
  return is_set(reduce(cast(same, DType::kI32), {2}, ReduceKind::kMax));
}

Tensor goes_true(Call& c, const Trees& t, Tensor value, Tensor limit, Tensor at) {
  static const std::map<std::string, CompareKind> kinds = {
      {"BRANCH_LEQ", CompareKind::kLe}, {"BRANCH_LT", CompareKind::kLt}, {"BRANCH_GTE", CompareKind::kGe},
      {"BRANCH_GT", CompareKind::kGt},  {"BRANCH_EQ", CompareKind::kEq}, {"BRANCH_NEQ", CompareKind::kNe}};
  std::set<std::string> used;
  for (const std::string& mode : t.mode)
    if (mode != kLeaf) used.insert(mode);
  Tensor out;
  for (const std::string& mode : used) {
    const auto kind = kinds.find(mode);
    if (kind == kinds.end() && mode != kMember) c.refuse("branches of mode '", mode, "'");
    const Tensor is = mode == kMember ? is_member(c, t, value, at) : compare(value, limit, kind->second);
    if (!out) {
      out = is;
      continue;
    }
    std::vector<int32_t> has;
    for (const std::string& one : t.mode) has.push_back(one == mode);
    out = select(is_set(gather(flags(c, has), at, 0)), is, out);
  }
  if (std::any_of(t.missing_goes.begin(), t.missing_goes.end(), [](double v) { return v != 0; })) {
    const std::vector<int32_t> goes(t.missing_goes.begin(), t.missing_goes.end());
    const Tensor missing = compare(value, value, CompareKind::kNe);
    out = maximum(out, minimum(missing, is_set(gather(flags(c, goes), at, 0))));
  }
  return out;
}

// The numbers of each set, which NaN ends, for its node.
void read_members(Call& c, Trees& t) {
  const TensorData* data = c.tensor("membership_values");
  const std::vector<double> values = data ? to_array(*data).take().to<double>() : std::vector<double>();
  size_t at = 0;
  for (size_t node = 0; node < t.mode.size(); ++node) {
    if (t.mode[node] != kMember) continue;
    std::vector<double>& set = t.members[static_cast<int64_t>(node)];
    while (at < values.size() && !std::isnan(values[at])) set.push_back(values[at++]);
    if (at++ >= values.size()) fail("membership_values has fewer sets than there are nodes of mode BRANCH_MEMBER");
  }
}

// Where a branch of node i goes: to a node, or behind those to a leaf.
int64_t branch(const char* which, const Ints& to, const Ints& is_leaf, size_t i, size_t nodes, size_t leaves) {
  const int64_t child = to[i];
  const size_t most = is_leaf[i] != 0 ? leaves : nodes;
  if (child < 0 || child >= static_cast<int64_t>(most))
    fail("the ", which, " branch of node ", i, " goes to ", is_leaf[i] != 0 ? "leaf " : "node ", child, " of ", most);
  return is_leaf[i] != 0 ? child + static_cast<int64_t>(nodes) : child;
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
  std::map<TreeNode, int64_t> place;
  for (size_t i = 0; i < n; ++i)
    if (!place.emplace(TreeNode{tree[i], id[i]}, static_cast<int64_t>(i)).second)
      fail("node ", id[i], " of tree ", tree[i], " is there twice");
  std::vector<bool> is_child(n, false);
  for (size_t i = 0; i < n; ++i) {
    const bool leaf = t.mode[i] == kLeaf;
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

Trees trees_with_leaves(Call& c) {
  constexpr std::array kModes = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                 "BRANCH_EQ",  "BRANCH_NEQ", kMember};
  const auto numbers = [&](const char* name) {
    const TensorData* data = c.tensor(name);
    return data ? to_array(*data).take().to<double>() : std::vector<double>();
  };
  Trees t;
  t.feature = c.ints("nodes_featureids"), t.roots = c.ints("tree_roots"), t.threshold = numbers("nodes_splits");
  const Ints yes = c.ints("nodes_truenodeids"), no = c.ints("nodes_falsenodeids"), yes_leaf = c.ints("nodes_trueleafs"),
             no_leaf = c.ints("nodes_falseleafs"), missing = c.ints("nodes_missing_value_tracks_true"),
             column = c.ints("leaf_targetids");
  const std::vector<double> modes = numbers("nodes_modes"), weight = numbers("leaf_weights");
  const size_t n = t.feature.size(), leaves = weight.size();
  if (n == 0 || yes.size() != n || no.size() != n || yes_leaf.size() != n || no_leaf.size() != n || modes.size() != n ||
      t.threshold.size() != n || (!missing.empty() && missing.size() != n) || column.size() != leaves)
    fail("the lists of nodes and leaves differ in length: ", n, " features, ", modes.size(), " modes, ",
         t.threshold.size(), " thresholds, ", leaves, " weights, ", column.size(), " targets");
  for (size_t i = 0; i < n; ++i) {
    if (!(modes[i] >= 0 && modes[i] < static_cast<double>(kModes.size()))) fail("node ", i, " is of mode ", modes[i]);
    t.mode.emplace_back(kModes[static_cast<size_t>(modes[i])]);
    t.above.push_back(branch("true", yes, yes_leaf, i, n, leaves));
    t.below.push_back(branch("false", no, no_leaf, i, n, leaves));
  }
  for (const int64_t root : t.roots)
    if (root < 0 || root >= static_cast<int64_t>(n)) fail("a tree begins at node ", root, " of ", n);
  if (t.roots.empty()) fail("there are no trees");
  read_members(c, t);
  t.missing_goes.assign(missing.begin(), missing.end());
  for (size_t i = 0; i < leaves; ++i) {
    const auto self = static_cast<int64_t>(n + i);
    t.leaves.push_back({self, column[i], weight[i]});
    t.feature.push_back(0), t.threshold.push_back(0), t.mode.emplace_back(kLeaf);
    t.above.push_back(self), t.below.push_back(self);
    if (!missing.empty()) t.missing_goes.push_back(0);
  }
  t.depth = depth_of(t);
  return t;
}

namespace {

// What each node gives: [nodes, columns].
Tensor leaf_table(Call& c, const Trees& t, int64_t columns, double missing, DType dtype) {
  const auto nodes = static_cast<int64_t>(t.feature.size());
  std::vector<double> weights(static_cast<size_t>(nodes * columns), missing);
  for (const Trees::Leaf& leaf : t.leaves) {
    if (leaf.column < 0 || leaf.column >= columns) fail("a weight of column ", leaf.column, " of ", columns);
    double& weight = weights[static_cast<size_t>(leaf.node * columns + leaf.column)];
    weight = weight == missing ? leaf.weight : weight + leaf.weight;
  }
  return reshape(reals(c, weights, dtype), {nodes, columns});
}

}  // namespace

Tensor tree_scores(Call& c, const Trees& t, Tensor x, int64_t columns, const std::string& how) {
  if (columns < 1 || columns > int64_t{1} << 20) fail(columns, " columns of scores");
  if (x.rank() != 2) fail("an operand of ", x.rank(), " dimensions, expected 2");
  const int64_t rows = x.dim(0), count = static_cast<int64_t>(t.roots.size()),
                nodes = static_cast<int64_t>(t.feature.size());
  if (nodes * columns > int64_t{1} << 28) c.refuse("a table of ", nodes, " nodes and ", columns, " columns");
  for (const int64_t feature : t.feature)
    if (feature < 0 || feature >= x.dim(1)) fail("a node asks for feature ", feature, " of ", x.dim(1));
  const Tensor features = c.ints_constant(t.feature, Shape({nodes})), above = c.ints_constant(t.above, Shape({nodes})),
               below = c.ints_constant(t.below, Shape({nodes})), limits = reals(c, t.threshold, x.dtype());
  Tensor at = broadcast(c.ints_constant(t.roots, Shape({count})), Shape({rows, count}), {1});
  for (int64_t level = 0; level < t.depth; ++level) {
    const Tensor value = gather(x, gather(features, at, 0), 1, 1);
    at = select(goes_true(c, t, value, gather(limits, at, 0), at), gather(above, at, 0), gather(below, at, 0));
  }
  // A column that no leaf has reached is 0.
  const bool extreme = how == "MIN" || how == "MAX";
  const double missing = !extreme ? 0 : how == "MIN" ? HUGE_VAL : -HUGE_VAL;
  const Tensor each = gather(leaf_table(c, t, columns, missing, x.dtype()), at, 0);  // [B, trees, columns]
  Tensor y = reduce(each, {1}, how == "MIN" ? ReduceKind::kMin : how == "MAX" ? ReduceKind::kMax : ReduceKind::kSum);
  if (extreme) y = select(compare(y, scalar_like(y, missing), CompareKind::kEq), scalar_like(y, 0), y);
  if (how == "AVERAGE") y = y / static_cast<double>(count);
  const std::vector<double> base = reals_or(c, "base_values");
  if (base.empty() || (static_cast<int64_t>(base.size()) != columns && base.size() != 1)) return y;
  return y + reals(c, base, x.dtype());
}

}  // namespace tenon::onnx
