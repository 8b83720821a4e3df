// Escaped tokens to the longest subtokens that there are.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/character_tree.h"

namespace tenon::subtokens {

// Subtokens are added, then finish() is called, then longest() answers. Const calls are thread safe.
class Splitter {
 public:
  // REQUIRED: no subtoken is there twice, or is empty.
  void add(std::u32string_view subtoken, int32_t id);
  bool has(std::u32string_view subtoken) const;  // until finish()
  void finish();

  struct Match {
    size_t length = 0;  // 0: none
    int32_t id = kNoId;
  };
  // The longest subtoken that `text` begins with.
  Match longest(std::u32string_view text) const {
    Match best;
    uint32_t node = 0;
    for (size_t at = 0; at < text.size() && (node = child(node, text[at])) != 0; ++at)
      if (nodes_[node].id != kNoId) best = {at + 1, nodes_[node].id};
    return best;
  }

 private:
  static constexpr int32_t kNoId = -1;
  static constexpr size_t kTable = 0x500, kFew = 8;

  // A node's children stand together, in the order of their characters, up to where the next node's begin.
  struct Node {
    char32_t last;
    uint32_t children;
    int32_t id;
  };
  // Or 0.
  uint32_t child(uint32_t node, char32_t c) const {
    if (node == 0 && c < kTable) return root_[c];
    uint32_t low = nodes_[node].children, high = nodes_[node + 1].children;
    while (high - low > kFew) {
      const uint32_t middle = low + (high - low) / 2;
      (nodes_[middle].last <= c ? low : high) = middle;
    }
    for (; low < high; ++low)
      if (nodes_[low].last == c) return low;
    return 0;
  }

  CharacterTree tree_;                  // until finish()
  std::vector<int32_t> ids_ = {kNoId};  // by its nodes
  std::vector<Node> nodes_;             // from finish() on; the root, all others by depth, one more
  std::vector<uint32_t> root_;          // the root's children by their characters, of the first
};

}  // namespace tenon::subtokens
