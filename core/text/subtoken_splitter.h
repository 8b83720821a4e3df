// Escaped tokens to the longest subtokens that there are.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/character_tree.h"

namespace tenon::subtokens {

class Splitter {
 public:
  // REQUIRED: no subtoken is there twice.
  void add(std::u32string_view subtoken, int32_t id) {
    const uint32_t node = tree_.add(subtoken);
    if (ids_.size() < tree_.size()) ids_.resize(tree_.size(), kNoId);
    ids_[node] = id;
  }
  bool has(std::u32string_view subtoken) const {
    return !subtoken.empty() && longest(subtoken).length == subtoken.size();
  }

  struct Match {
    size_t length = 0;  // 0: none
    int32_t id = kNoId;
  };
  // The longest subtoken that `text` begins with.
  Match longest(std::u32string_view text) const {
    Match best;
    uint32_t node = CharacterTree::kRoot;
    for (size_t at = 0; at < text.size(); ++at) {
      node = tree_.child(node, text[at]);
      if (node == CharacterTree::kNone) break;
      if (ids_[node] != kNoId) best = {at + 1, ids_[node]};
    }
    return best;
  }

 private:
  static constexpr int32_t kNoId = -1;
  CharacterTree tree_;
  std::vector<int32_t> ids_ = {kNoId};  // by node
};

}  // namespace tenon::subtokens
