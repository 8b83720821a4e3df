// Where the values of a step lie in its arena.
#pragma once

#include <cstdint>
#include <vector>

namespace tenon::plugin {

inline uint64_t align_up(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

// A stretch of the arena that is alive from step `first` to step `last`.
struct Block {
  uint32_t first, last;
  uint64_t bytes;
  uint64_t offset = 0;
};

// Where the values of a graph lie; what plan_description.h is made of.
struct MemoryLayout {
  struct Stored {
    int32_t base = -1;   // as Place::base
    int32_t block = -1;  // of the arena
    uint64_t offset = 0;
  };
  std::vector<Block> blocks;
  std::vector<uint32_t> makers;   // of each block: the node that first writes it; TENON_NONE: scratch, a scalar
  std::vector<Stored> values;     // by their number
  std::vector<uint32_t> scalars;  // of each block: the input that it holds; TENON_NONE
};

// Gives each block its offset in an arena of parts, one behind the other, each of `most` bytes at most. No block lies in two.
// Returns the bytes of each part, the largest first. REQUIRED: no block is larger than `most`.
std::vector<uint64_t> place_blocks(std::vector<Block>& blocks, uint64_t most);

}  // namespace tenon::plugin
