#include "text/character_tree.h"

#include <algorithm>

namespace tenon::subtokens {

CharacterTree::CharacterTree() : nodes_{{kNone, 0, 0}}, edges_(1024) {}

// Where the key is, or would be put.
size_t CharacterTree::place_of(uint64_t key) const {
  const size_t mask = edges_.size() - 1;
  size_t at = (key * 0x9e3779b97f4a7c15u) >> 32 & mask;
  while (edges_[at].key != 0 && edges_[at].key != key) at = (at + 1) & mask;
  return at;
}

void CharacterTree::grow() {
  std::vector<Edge> old(edges_.size() * 2);
  old.swap(edges_);
  for (const Edge& edge : old)
    if (edge.key != 0) edges_[place_of(edge.key)] = edge;
}

uint32_t CharacterTree::child(uint32_t node, char32_t c) const { return edges_[place_of(key_of(node, c))].child; }

uint32_t CharacterTree::add(uint32_t node, char32_t c) {
  const uint64_t key = key_of(node, c);
  size_t at = place_of(key);
  if (edges_[at].key == key) return edges_[at].child;
  if (nodes_.size() * 2 >= edges_.size()) {
    grow();
    at = place_of(key);
  }
  nodes_.push_back({node, nodes_[node].depth + 1, c});
  edges_[at] = {key, static_cast<uint32_t>(nodes_.size() - 1)};
  return edges_[at].child;
}

uint32_t CharacterTree::add(std::u32string_view text) {
  uint32_t node = kRoot;
  for (const char32_t c : text) node = add(node, c);
  return node;
}

std::u32string CharacterTree::text(uint32_t node) const {
  std::u32string out;
  for (; node != kRoot; node = nodes_[node].parent) out += nodes_[node].last;
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace tenon::subtokens
