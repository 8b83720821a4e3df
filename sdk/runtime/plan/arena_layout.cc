#include "runtime/plan/arena_layout.h"

#include <algorithm>
#include <numeric>

namespace tenon::plugin {

namespace {

// The first offset from `at` where so many bytes lie in one part.
uint64_t in_one_part(uint64_t at, uint64_t bytes, uint64_t most) {
  return bytes <= most - at % most ? at : (at / most + 1) * most;
}

// Places the largest blocks first, each at the lowest offset where nothing alive overlaps. Part k begins at k * most.
void place_in_parts(std::vector<Block>& blocks, uint64_t most) {
  std::vector<Block*> order;
  for (Block& b : blocks) order.push_back(&b);
  std::stable_sort(order.begin(), order.end(), [](const Block* a, const Block* b) { return a->bytes > b->bytes; });
  std::vector<const Block*> placed;  // by offset
  for (Block* b : order) {
    uint64_t at = 0;
    for (const Block* p : placed) {
      if (p->last < b->first || p->first > b->last) continue;
      if (p->offset >= at + b->bytes) break;
      at = in_one_part(std::max(at, p->offset + p->bytes), b->bytes, most);
    }
    b->offset = at;
    placed.insert(std::upper_bound(placed.begin(), placed.end(), b,
                                   [](const Block* x, const Block* y) { return x->offset < y->offset; }),
                  b);
  }
}

}  // namespace

std::vector<uint64_t> place_blocks(std::vector<Block>& blocks, uint64_t most) {
  place_in_parts(blocks, most);
  std::vector<uint64_t> bytes(1);
  for (const Block& b : blocks) {
    bytes.resize(std::max<size_t>(bytes.size(), b.offset / most + 1));
    uint64_t& part = bytes[b.offset / most];
    part = std::max(part, b.offset % most + b.bytes);
  }
  std::vector<size_t> order(bytes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return bytes[a] > bytes[b]; });
  std::vector<uint64_t> begin(bytes.size()), sorted;
  uint64_t at = 0;
  for (const size_t part : order) {
    begin[part] = at;
    at += bytes[part];
    sorted.push_back(bytes[part]);
  }
  for (Block& b : blocks) b.offset = begin[b.offset / most] + b.offset % most;
  return sorted;
}

}  // namespace tenon::plugin
