#include "runtime/plan/arena_layout.h"

#include <algorithm>

namespace tenon::plugin {

// Places the largest blocks first, each at the lowest offset where nothing alive overlaps.
uint64_t place_blocks(std::vector<Block>& blocks) {
  std::vector<Block*> order;
  for (Block& b : blocks) order.push_back(&b);
  std::stable_sort(order.begin(), order.end(), [](const Block* a, const Block* b) { return a->bytes > b->bytes; });
  std::vector<const Block*> placed;  // by offset
  uint64_t total = 0;
  for (Block* b : order) {
    uint64_t at = 0;
    for (const Block* p : placed) {
      if (p->last < b->first || p->first > b->last) continue;
      if (p->offset >= at + b->bytes) break;
      at = std::max(at, p->offset + p->bytes);
    }
    b->offset = at;
    total = std::max(total, at + b->bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), b,
                                   [](const Block* x, const Block* y) { return x->offset < y->offset; }),
                  b);
  }
  return total;
}

}  // namespace tenon::plugin
