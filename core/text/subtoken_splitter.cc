#include "text/subtoken_splitter.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tenon::subtokens {

void Splitter::add(std::u32string_view subtoken, int32_t id) {
  const uint32_t node = tree_.add(subtoken);
  if (ids_.size() < tree_.size()) ids_.resize(tree_.size(), kNoId);
  ids_[node] = id;
}

bool Splitter::has(std::u32string_view subtoken) const {
  uint32_t node = CharacterTree::kRoot;
  for (const char32_t c : subtoken)
    if ((node = tree_.child(node, c)) == CharacterTree::kNone) return false;
  return ids_[node] != kNoId;
}

void Splitter::finish() {
  const auto size = static_cast<uint32_t>(tree_.size());
  std::vector<uint32_t> by_parent(size - 1), begins(size + 1);
  std::iota(by_parent.begin(), by_parent.end(), 1u);
  std::sort(by_parent.begin(), by_parent.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(tree_.parent(a), tree_.last(a)) < std::pair(tree_.parent(b), tree_.last(b));
  });
  for (const uint32_t node : by_parent) ++begins[tree_.parent(node) + 1];
  std::partial_sum(begins.begin(), begins.end(), begins.begin());

  std::vector<uint32_t> order = {CharacterTree::kRoot};
  order.reserve(size);
  nodes_.reserve(size + 1);
  for (size_t i = 0; i < order.size(); ++i) {
    const uint32_t node = order[i];
    nodes_.push_back({tree_.last(node), static_cast<uint32_t>(order.size()), ids_[node]});
    order.insert(order.end(), by_parent.begin() + begins[node], by_parent.begin() + begins[node + 1]);
  }
  nodes_.push_back({0, size, kNoId});
  root_.assign(kTable, 0);
  for (uint32_t i = nodes_[0].children; i < nodes_[1].children; ++i)
    if (nodes_[i].last < kTable) root_[nodes_[i].last] = i;
  tree_ = CharacterTree();
  ids_ = {};
}

}  // namespace tenon::subtokens
