// A tree of strings: a node is a string, its children are that string and one character more.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::subtokens {

class CharacterTree {
 public:
  static constexpr uint32_t kRoot = 0, kNone = UINT32_MAX;

  CharacterTree();
  size_t size() const { return nodes_.size(); }
  uint32_t child(uint32_t node, char32_t c) const;  // or kNone
  uint32_t add(uint32_t node, char32_t c);          // the child, made where it is not there
  uint32_t add(std::u32string_view text);
  uint32_t parent(uint32_t node) const { return nodes_[node].parent; }
  uint32_t depth(uint32_t node) const { return nodes_[node].depth; }  // characters
  char32_t last(uint32_t node) const { return nodes_[node].last; }    // 0: the root
  std::u32string text(uint32_t node) const;

 private:
  struct Node {
    uint32_t parent, depth;
    char32_t last;
  };
  struct Edge {
    uint64_t key = 0;  // of (node, character); 0: free
    uint32_t child = kNone;
  };

  static uint64_t key_of(uint32_t node, char32_t c) { return (uint64_t{node} << 21 | c) + 1; }
  size_t place_of(uint64_t key) const;
  void grow();

  std::vector<Node> nodes_;
  std::vector<Edge> edges_;  // a power of two of them, at most half of them used
};

}  // namespace tenon::subtokens
